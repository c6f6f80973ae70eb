// The tables of a run: what most people ask for first, every column on demand, and the text that the engine wrote.

import { element } from "live/dom";
import { swatch } from "live/looks";

const FIRST = {
  flows: ["goodput_mbps", "mean_rtt_ms", "p95_rtt_ms", "retransmits", "network_drops", "completion_s"],
  traffic: ["started", "completed", "goodput_mbps", "mean_rtt_ms", "mean_plt_s", "retransmits"],
  datagrams: [],
};
const TITLES = { flows: "Flows", traffic: "Traffic", datagrams: "Datagrams" };
const MOST_ROWS = 24;

// Rows of a text with commas; what is in quotes may hold commas, quotes twice, and ends of lines.
export function parsed(csv) {
  const rows = [[]];
  for (const [, quoted, plain, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^,\n]*))(,|\n|$)/g)) {
    rows.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === "\n") rows.push([]);
    if (end === "") break;
  }
  const [names, ...values] = rows.filter((row) => row.length > 1 || row[0] !== "");
  return values.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
}

function shown(value) {
  if (value === "" || value === undefined) return "–";
  const number = Number(value);
  return Number.isNaN(number) ? value : Number(number.toPrecision(4)).toLocaleString("en");
}

// One table with a column a flow, so that it fits a telephone.
function grid(name, rows, columns, meanings, names) {
  const head = rows.map((row, index) =>
    element("th", { scope: "col" }, ...(name === "flows" ? [swatch(Number(row.flow)), " "] : []), names[index]),
  );
  const line = (column) => {
    const [unit, meaning] = meanings[column];
    return element(
      "tr",
      {},
      element("th", { scope: "row", title: meaning }, element("code", {}, column), unit ? ` ${unit}` : ""),
      ...rows.map((row) => element("td", {}, shown(row[column]))),
    );
  };
  const table = element(
    "table",
    {},
    element("thead", {}, element("tr", {}, element("td", {}), ...head)),
    element("tbody", {}, ...columns.map(line)),
  );
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table ${name}` }, table);
}

export class Tables {
  #host;
  #open = new Set();
  #urls = [];

  constructor(host) {
    this.#host = host;
  }

  show({ tables, columns }, nameOf) {
    this.#urls.splice(0).forEach((url) => URL.revokeObjectURL(url));
    const present = Object.keys(TITLES).filter((name) => tables[name]);
    const made = present.map((name) => this.#table(name, tables[name], columns[name], nameOf));
    this.#host.replaceChildren(...made);
  }

  #table(name, csv, described, nameOf) {
    const all = parsed(csv);
    const rows = all.slice(0, MOST_ROWS);
    const columns = Object.keys(rows[0]);
    const meanings = Object.fromEntries(columns.map((column, index) => [column, described[index]]));
    const names = rows.map((row, index) => (name === "flows" ? nameOf(index) : row.label));
    const first = FIRST[name].filter((column) => rows.some((row) => row[column]));
    const part = element("section", { "aria-label": TITLES[name] }, element("h3", {}, TITLES[name]));
    if (first.length) part.append(grid(name, rows, first, meanings, names));
    if (all.length > rows.length)
      part.append(element("p", { class: "soft" }, `${all.length - rows.length} more rows are in ${name}.csv.`));
    const whole = () => [grid(`${name}, all columns`, rows, columns, meanings, names)];
    part.append(this.#details(`${name}-all`, `All ${columns.length} columns`, whole));
    part.append(this.#details(`${name}-csv`, `${name}.csv, to the byte`, () => this.#text(name, csv)));
    return part;
  }

  // Filled when it is opened; it stays open when a slider moves.
  #details(id, title, content) {
    const details = element("details", { id }, element("summary", {}, title));
    const fill = () => {
      if (details.open && details.children.length === 1) details.append(...content());
    };
    details.addEventListener("toggle", () => {
      this.#open[details.open ? "add" : "delete"](id);
      fill();
    });
    details.open = this.#open.has(id);
    fill();
    return details;
  }

  #text(name, csv) {
    const url = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
    this.#urls.push(url);
    return [
      element(
        "p",
        { class: "soft" },
        "The engine wrote this text. Polars writes the table of a native run with the same bytes.",
      ),
      element("p", {}, element("a", { href: url, download: `${name}.csv` }, `Download ${name}.csv`)),
      element(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": `${name}.csv` },
        element("pre", {}, csv),
      ),
    ];
  }
}
