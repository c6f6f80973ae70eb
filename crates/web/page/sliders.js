// The sliders and text fields of the form. A slider moves over round numbers; a field takes any value of the file.

import { element } from "live/dom";

const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

function rounds(low, high) {
  const found = [];
  for (let decade = 1e-3; decade <= high; decade *= 10) {
    for (const digit of ROUND) {
      const number = Number((digit * decade).toPrecision(2));
      if (number >= low && number <= high) found.push(number);
    }
  }
  return found;
}

const rate = (number) => (number < 1 ? `${Number((1000 * number).toPrecision(3))}kbit` : `${number}mbit`);

const SLIDERS = [
  { name: "rate", key: "path.rate", title: "Rate", numbers: rounds(0.5, 200), text: rate },
  { name: "rtt", key: "path.rtt", title: "Round trip", numbers: rounds(1, 500), text: (number) => `${number}ms` },
  { name: "buffer", key: "path.buffer", title: "Buffer", numbers: rounds(0.1, 20), text: (number) => `${number}bdp` },
  {
    name: "loss",
    key: "path.loss",
    title: "Random loss",
    numbers: [0, ...rounds(0.01, 20)],
    text: (number) => `${number}%`,
  },
  { name: "duration", key: "duration", title: "Duration", numbers: rounds(2, 120), text: (number) => `${number}s` },
];

const nearest = (numbers, wanted) =>
  numbers.reduce(
    (best, number, index) => (Math.abs(number - wanted) < Math.abs(numbers[best] - wanted) ? index : best),
    0,
  );

export class Sliders {
  #rows = [];

  // `change(key, text)` is called while a slider moves, and when a field has a new text.
  constructor(host, change) {
    for (const slider of SLIDERS) {
      const range = element("input", {
        type: "range",
        id: slider.name,
        min: 0,
        max: slider.numbers.length - 1,
        step: 1,
      });
      const field = element("input", {
        type: "text",
        "aria-label": `${slider.title}, exact`,
        spellcheck: "false",
        size: 8,
      });
      const row = { slider, range, field, shown: "" };
      range.addEventListener("input", () => {
        field.value = slider.text(slider.numbers[range.valueAsNumber]);
        range.setAttribute("aria-valuetext", field.value);
        change(slider.key, field.value);
      });
      field.addEventListener("change", () => {
        row.shown = field.value;
        change(slider.key, field.value.trim());
      });
      host.append(
        element("div", { class: "slider" }, element("label", { for: slider.name }, slider.title), range, field),
      );
      this.#rows.push(row);
    }
  }

  show(form) {
    for (const row of this.#rows) {
      const { slider, range, field } = row;
      const setting = form[slider.name];
      range.disabled = field.disabled = setting === null;
      const shown = setting ? setting.text : "in the text";
      // What somebody types stays until it is entered.
      const isTyped = document.activeElement === field && field.value !== row.shown;
      if (!isTyped) field.value = row.shown = shown;
      range.valueAsNumber = nearest(slider.numbers, setting?.number ?? 1);
      range.setAttribute("aria-valuetext", shown);
    }
  }
}
