// Colours and lines, which the style names: --ink, --flow-0 and so on.

import { element } from "live/dom";

const COLOURS = 6;

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const ink = () => colour("ink");
export const ofFlow = (flow) => () => colour(`flow-${flow % COLOURS}`);
export const dashOf = (flow) => (flow < COLOURS ? [] : [6, 3]);

// The line of a flow in lists and legends.
export const swatch = (flow) =>
  element("span", { class: "swatch", "data-flow": flow % COLOURS, "aria-hidden": "true" });
