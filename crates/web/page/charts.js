// Draws the pictures, with the values at the cursor in the legend.

import { element } from "live/dom";
import { colour, ink, swatch } from "live/looks";
import { pictures } from "live/pictures";

const { uPlot } = globalThis;
const HEIGHT = 190;
const FONT = "12px system-ui, sans-serif";
const STEP = 0.02; // An arrow key moves the cursor by this share of the time.

const number = (value) => Number(value.toPrecision(value >= 100 ? 4 : 3)).toLocaleString("en");

const axis = (more) => ({
  stroke: ink,
  font: FONT,
  gap: 4,
  size: 28,
  grid: { stroke: () => colour("line"), width: 1 },
  ticks: { stroke: () => colour("line"), width: 1, size: 4 },
  ...more,
});

function drawLevel(u, level) {
  if (!level) return;
  const y = u.valToPos(level.value, "y", true);
  u.ctx.save();
  u.ctx.strokeStyle = ink();
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  u.ctx.beginPath();
  u.ctx.moveTo(u.bbox.left, y);
  u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
  u.ctx.stroke();
  u.ctx.restore();
}

const SHAPES = {
  triangle: (ctx, x, y, half) => {
    ctx.moveTo(x - half, y - half);
    ctx.lineTo(x + half, y - half);
    ctx.lineTo(x, y + half);
    ctx.closePath();
    ctx.fill();
  },
  cross: (ctx, x, y, half) => {
    ctx.moveTo(x - half, y - half);
    ctx.lineTo(x + half, y + half);
    ctx.moveTo(x - half, y + half);
    ctx.lineTo(x + half, y - half);
  },
  tick: (ctx, x, y, half) => {
    ctx.moveTo(x, y - half);
    ctx.lineTo(x, y + half);
  },
};

// Marks stand in rows below the upper edge.
function drawMarks(u, marks) {
  const dot = devicePixelRatio;
  for (const { shape, stroke, times, row } of marks) {
    u.ctx.save();
    u.ctx.strokeStyle = u.ctx.fillStyle = stroke();
    u.ctx.lineWidth = 1.5 * dot;
    for (const time of times) {
      u.ctx.beginPath();
      SHAPES[shape](u.ctx, u.valToPos(time, "x", true), u.bbox.top + (6 + 10 * row) * dot, 4 * dot);
      u.ctx.stroke();
    }
    u.ctx.restore();
  }
}

// --- one picture ----------------------------------------------------------------------------------------------------

class Picture {
  // Pictures whose lines differ need a new plot; others take new data.
  static shape = ({ id, title, lines }) => JSON.stringify([id, title, lines.map(({ name }) => name)]);

  // `point(time)` moves the cursors of all pictures.
  constructor(host, spec, duration, point) {
    this.shape = Picture.shape(spec);
    this.values = [];
    this.time = element("span", { class: "soft" });
    this.caption = element("figcaption", {}, element("strong", {}, `${spec.title} (${spec.unit})`), this.time);
    this.notes = element("p", { class: "legend soft" });
    this.place = element("div", { class: "plot", role: "img", tabindex: 0 });
    this.figure = element(
      "figure",
      { id: `chart-${spec.id}` },
      this.caption,
      this.#legend(spec),
      this.place,
      this.notes,
    );
    host.append(this.figure);
    this.spec = spec;
    this.duration = duration;
    this.plot = new uPlot(this.#options(), spec.data, this.place);
    this.sized = new ResizeObserver(() => this.plot.setSize({ width: this.place.clientWidth, height: HEIGHT }));
    this.sized.observe(this.place);
    this.place.addEventListener("keydown", (event) => this.#key(event, point));
    this.#say();
  }

  show(spec, duration) {
    this.spec = spec;
    this.duration = duration;
    this.plot.setData(spec.data);
    this.#say();
  }

  remove() {
    this.sized.disconnect();
    this.plot.destroy();
    this.figure.remove();
  }

  #legend({ lines }) {
    const items = lines
      .filter((line) => !line.isArea)
      .map((line) => {
        const value = element("span", { class: "value" });
        this.values.push(value);
        if (line.isThin) return null;
        return element("li", {}, swatch(line.flow), line.name, value);
      });
    return element("ul", { class: "legend" }, ...items.filter(Boolean));
  }

  // What the picture says without eyes, and what its dotted line and its marks are.
  #say() {
    const { title, unit, data, lines, level, marks = [], note } = this.spec;
    const ranges = lines.map(({ name }, index) => {
      const known = data[index + 1].filter((value) => value !== null);
      return known.length ? `${name} ${number(Math.min(...known))} to ${number(Math.max(...known))}` : `${name} none`;
    });
    const said = `${title} over ${this.duration} s, in ${unit}: ${ranges.join(", ")}. Arrow keys move the cursor.`;
    this.place.setAttribute("aria-label", said);
    const symbols = { triangle: "▼", cross: "✕" };
    const seen = marks.filter(({ shape, times }) => symbols[shape] && times.length);
    const notes = seen.map(({ shape, name }) => `${symbols[shape]} ${name}`);
    if (level) notes.unshift(`dotted: ${level.name}, ${number(level.value)} ${unit}`);
    if (note) notes.unshift(note);
    this.notes.textContent = notes.join(" · ");
  }

  #options() {
    const top = (_, __, high) => [0, 1.08 * Math.max(high ?? 0, this.spec.level?.value ?? 0) || 1];
    const line = ({ stroke, dash, isThin, isArea }) => ({
      stroke,
      dash,
      points: { show: false },
      width: isThin ? 0.8 : isArea ? 1 : 1.8,
      alpha: isThin ? 0.5 : 1,
      fill: isArea ? () => colour("area") : undefined,
    });
    return {
      width: this.place.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      scales: { x: { time: false, range: () => [0, this.duration] }, y: { range: top } },
      axes: [
        axis({ values: (_, splits) => splits.map((value) => `${number(value)} s`), space: 56 }),
        axis({ values: (_, splits) => splits.map(number), size: 48, space: 34 }),
      ],
      series: [{}, ...this.spec.lines.map(line)],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 }, sync: { key: "time" } },
      hooks: {
        setCursor: [(u) => this.#read(u.cursor.idx)],
        draw: [
          (u) => {
            drawLevel(u, this.spec.level);
            drawMarks(u, this.spec.marks ?? []);
          },
        ],
      },
    };
  }

  // The values at the cursor; `index` is null where there is none.
  #read(index) {
    const { data, lines, unit } = this.spec;
    const isThere = index !== null && index !== undefined && data[0][index] !== undefined;
    const single = isThere && lines[0]?.isArea ? `, ${number(data[1][index] ?? 0)} ${unit}` : "";
    this.time.textContent = isThere ? ` at ${data[0][index].toFixed(2)} s${single}` : "";
    this.values.forEach((place, line) => {
      const value = isThere ? data[line + 1][index] : null;
      place.textContent = value === null || value === undefined ? "" : number(value);
    });
  }

  point(time) {
    this.plot.setCursor({ left: this.plot.valToPos(time, "x"), top: 10 }, true, false);
  }

  #key(event, point) {
    const way = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (!way) return;
    event.preventDefault();
    const { left } = this.plot.cursor;
    const time = left >= 0 ? this.plot.posToVal(left, "x") : this.duration / 2;
    point(Math.max(0, Math.min(this.duration, time + way * this.duration)));
  }
}

// --- all of them ----------------------------------------------------------------------------------------------------

export class Charts {
  #host;
  #pictures = [];

  constructor(host) {
    this.#host = host;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const { plot } of this.#pictures) plot.redraw(false, true);
    });
  }

  // `view` has the series of a run, `duration`, its `flows` (`{ flow, name }`), the `link` whose queue is shown, and
  // the dotted lines: `level` of `rate`, `rtt` and `buffer`.
  show(view) {
    const specs = pictures(view);
    const isSame =
      specs.length === this.#pictures.length &&
      specs.every((spec, index) => Picture.shape(spec) === this.#pictures[index].shape);
    if (isSame) {
      this.#pictures.forEach((picture, index) => picture.show(specs[index], view.duration));
      return;
    }
    this.#pictures.forEach((picture) => picture.remove());
    const point = (time) => this.#pictures.forEach((picture) => picture.point(time));
    this.#pictures = specs.map((spec) => new Picture(this.#host, spec, view.duration, point));
  }
}
