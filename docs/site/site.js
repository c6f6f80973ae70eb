// What the theme leaves out for keyboards and screen readers.

// A table or a listing that scrolls can be reached by a keyboard.
function reachable() {
  for (const part of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code, .md-typeset .arithmatex")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

// The corner of a table heads nothing.
function corners() {
  for (const head of document.querySelectorAll(".md-typeset th:empty")) head.replaceWith(document.createElement("td"));
}

// Landmarks of a kind have different names.
function named() {
  const seen = new Map();
  for (const nav of document.querySelectorAll("nav:not([aria-labelledby])")) {
    const name = nav.getAttribute("aria-label") ?? (nav.matches(".md-code__nav") ? "Listing" : "Pages");
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    nav.setAttribute("aria-label", count > 1 ? `${name} ${count}` : name);
  }
}

addEventListener("load", () => setTimeout(() => [reachable, corners, named].forEach((each) => each())));
addEventListener("resize", reachable);
