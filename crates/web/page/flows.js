// The list of flows: an algorithm for each, one more, one less.

import { element } from "live/dom";
import { swatch } from "live/looks";

// At the head of every list.
const FAMILIAR = ["bbr", "bbr2", "bbr3", "copa", "cubic", "dctcp", "ledbat", "prague", "reno", "vegas"];

function options(algorithms, chosen) {
  const option = ({ name, summary }) =>
    element("option", { value: name, title: summary, selected: name === chosen }, name);
  const familiar = algorithms.filter(({ name }) => FAMILIAR.includes(name));
  const others = algorithms.filter(({ name }) => !FAMILIAR.includes(name));
  const made = [
    element("optgroup", { label: "familiar" }, ...familiar.map(option)),
    element("optgroup", { label: "others" }, ...others.map(option)),
  ];
  const isKnown = algorithms.some(({ name }) => name === chosen);
  if (!isKnown) made.unshift(element("option", { value: chosen ?? "", selected: true }, chosen ?? "in the text"));
  return made;
}

export class Flows {
  #host;
  #algorithms;
  #change;
  #shown = "";

  // `change` gets the change of the text that is wanted.
  constructor(host, algorithms, change) {
    this.#host = host;
    this.#algorithms = algorithms;
    this.#change = change;
  }

  show(flows) {
    const wanted = JSON.stringify(flows);
    if (wanted === this.#shown) return;
    this.#shown = wanted;
    const focused = document.activeElement?.id;
    this.#host.querySelectorAll("div").forEach((row) => row.remove());
    let number = 0;
    for (const [index, flow] of flows.entries()) {
      this.#host.append(this.#row(index, flow, number));
      number += flow.count;
    }
    const add = { type: "button", id: "add-flow", on: { click: () => this.#change({ addFlow: "cubic" }) } };
    this.#host.append(element("div", {}, element("button", add, "Add a flow")));
    document.getElementById(focused)?.focus();
  }

  #row(index, flow, number) {
    const name = `Algorithm of flow ${index + 1}`;
    const choose = element(
      "select",
      { id: `algorithm-${index}`, "aria-label": name, disabled: flow.algorithm === null },
      ...options(this.#algorithms, flow.algorithm),
    );
    choose.addEventListener("change", () => this.#change({ algorithm: [index, choose.value] }));
    const words = [
      flow.label === flow.algorithm ? "" : flow.label,
      flow.count > 1 ? `× ${flow.count}` : "",
      flow.hasParameters ? "with parameters" : "",
    ];
    const remove = {
      type: "button",
      "aria-label": `Remove flow ${index + 1}`,
      on: { click: () => this.#change({ removeFlow: index }) },
    };
    return element(
      "div",
      { class: "flow" },
      swatch(number),
      choose,
      element("span", { class: "soft" }, words.filter(Boolean).join(" ")),
      element("button", remove, "Remove"),
    );
  }
}
