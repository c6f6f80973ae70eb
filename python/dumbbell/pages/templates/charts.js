// Draws the charts of a page with uPlot: lines that can be switched off, zoom, values under the pointer, time played.
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("chart-data").textContent);
  const root = document.documentElement;
  const FONT = '12px system-ui, sans-serif';
  const PLAY_MS = 10000;
  const CLOSEST = 500; // The whole time over the shortest that zooming shows.
  const MOST_ROWS = 12;
  const NAMED_MARKS = 12;

  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const ink = () => colour("ink");
  const faint = () => colour("line");
  const ofLine = (line) => () => (line && line.colour) || ink();
  const number = (value) => Number(value.toPrecision(4)).toLocaleString("en");
  const everyChart = new Set();

  const add = (parent, tag, text, attributes) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    parent.append(made);
    return made;
  };

  // --- what all charts have ------------------------------------------------------------------------------------------

  const axis = (more) => ({
    stroke: ink, font: FONT, labelFont: FONT, labelSize: 20, labelGap: 2, gap: 4,
    size: 28, grid: { stroke: faint, width: 1 }, ticks: { stroke: faint, width: 1, size: 4 }, ...more,
  });

  const yAxis = () => axis({
    // Charts below each other have their times below each other.
    size: (u, values) => Math.max(48, 16 + 7.2 * Math.max(0, ...(values || []).map((value) => String(value).length))),
    values: (u, splits) => splits.map((value) => (value === null ? "" : number(value))),
    space: 34,
  });

  // Ticks whose names would touch are left out.
  const named = (ticks) => ({
    splits: () => ticks.map(([place]) => place),
    values: (u) => {
      let end = -Infinity;
      return ticks.map(([place, name]) => {
        const half = 3.6 * name.length;
        const at = u.valToPos(place, "x");
        if (at - half < end) return "";
        end = at + half + 6;
        return name;
      });
    },
  });

  const fromZero = (refs) => (u, low, high) => {
    const top = Math.max(high === null || high === undefined ? 0 : high, ...refs.map((ref) => ref.y));
    return [0, top > 0 ? 1.06 * top : 1];
  };

  const padded = (share) => (u, low, high) => {
    const middle = (low + high) / 2;
    const half = Math.max((high - low) / 2, 0.05 * Math.abs(middle), 1e-9) * (1 + share);
    return [middle - half, middle + half];
  };

  const tip = (u) => {
    const box = add(u.over, "div", "", { class: "tip" });
    return (left, rows) => {
      box.replaceChildren();
      box.hidden = !rows.length;
      for (const [text, stroke] of rows.slice(0, MOST_ROWS)) {
        const row = add(box, "div", text);
        if (stroke) row.style.borderLeftColor = stroke;
      }
      if (rows.length > MOST_ROWS) add(box, "div", `and ${rows.length - MOST_ROWS} more`);
      const width = u.over.clientWidth;
      const beside = left < width / 2 ? left + 12 : left - box.offsetWidth - 12;
      box.style.left = `${Math.max(0, Math.min(beside, width - box.offsetWidth))}px`;
    };
  };

  const references = (u, refs) => {
    const { left, width } = u.bbox;
    for (const ref of refs) {
      const y = u.valToPos(ref.y, "y", true);
      u.ctx.save();
      u.ctx.strokeStyle = ink();
      u.ctx.lineWidth = devicePixelRatio;
      u.ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
      u.ctx.beginPath();
      u.ctx.moveTo(left, y);
      u.ctx.lineTo(left + width, y);
      u.ctx.stroke();
      u.ctx.restore();
    }
  };

  const show = (host, title, options, data) => {
    const figure = add(host, "figure");
    add(figure, "figcaption", title);
    const place = add(figure, "div", "", { class: "plot", role: "img", "aria-label": title });
    const u = new uPlot({ width: place.clientWidth, height: 210, legend: { show: false }, ...options }, data, place);
    const sized = new ResizeObserver(() => u.setSize({ width: place.clientWidth, height: 210 }));
    sized.observe(place);
    everyChart.add(u);
    u.gone = () => { sized.disconnect(); everyChart.delete(u); u.destroy(); figure.remove(); };
    return u;
  };

  const swatch = (line) => {
    const ns = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(ns, "svg");
    const drawn = document.createElementNS(ns, "line");
    for (const [name, value] of Object.entries({ width: 30, height: 10, "aria-hidden": "true" })) svg.setAttribute(name, value);
    for (const [name, value] of Object.entries({ x1: 0, x2: 30, y1: 5, y2: 5, "stroke-width": 2.5 })) drawn.setAttribute(name, value);
    drawn.style.stroke = line.colour || "var(--ink)";
    if (line.dash.length) drawn.setAttribute("stroke-dasharray", line.dash.join(" "));
    svg.append(drawn);
    return svg;
  };

  // Check boxes that switch lines on and off, and are the legend.
  const switches = (host, lines, hidden, change) => {
    if (!lines.length) return null;
    const set = add(host, "fieldset");
    add(set, "legend", "lines");
    lines.forEach((line, index) => {
      const label = add(set, "label");
      const box = add(label, "input", "", { type: "checkbox" });
      box.checked = !hidden.has(line.name);
      label.append(swatch(line));
      add(label, "span", line.name);
      box.addEventListener("change", () => {
        hidden[box.checked ? "delete" : "add"](line.name);
        change(index, box.checked);
      });
    });
    return set;
  };

  const button = (host, text, action) => {
    const made = add(host, "button", text, { type: "button" });
    made.addEventListener("click", action);
    return made;
  };

  // Values on one axis: uPlot wants all lines to share their places.
  const joined = (series) => {
    const places = [...new Set(series.flatMap((one) => one.x))].sort((a, b) => a - b);
    const at = new Map(places.map((place, index) => [place, index]));
    const columns = series.map((one) => {
      const column = new Array(places.length).fill(null);
      one.x.forEach((place, index) => { column[at.get(place)] = one.y[index]; });
      return column;
    });
    return [places, ...columns];
  };

  // Marks, of which several may stand in one place.
  const scattered = (series) => {
    const all = series.flatMap((one, owner) => one.x.map((x, n) => ({ owner, x, y: one.y[n] }))).sort((a, b) => a.x - b.x);
    return [all.map((mark) => mark.x), ...series.map((_, owner) => all.map((mark) => (mark.owner === owner ? mark.y : null)))];
  };

  // Draws the part of a chart that is chosen; `draw` returns what removes it.
  const choosing = (host, parts, draw) => {
    let remove = null;
    const change = (number) => {
      if (remove) remove();
      body.replaceChildren();
      remove = draw(body, parts[number]);
    };
    if (parts.length > 1) {
      const label = add(add(host, "div", "", { class: "controls" }), "label", "shown: ");
      const chosen = add(label, "select");
      parts.forEach((part, index) => add(chosen, "option", part.name, { value: index }));
      chosen.addEventListener("change", () => change(Number(chosen.value)));
    }
    const body = add(host, "div");
    change(0);
  };

  // --- over time -----------------------------------------------------------------------------------------------------

  const overTime = (host, spec) => {
    const hidden = new Set();
    choosing(host, spec.runs, (body, run) => oneRun(body, run, hidden));
  };

  const oneRun = (host, run, hidden) => {
    const end = run.t[run.t.length - 1];
    const state = { until: end, hovered: null, byTime: false, low: 0, high: end, frame: 0 };
    const plots = [];

    const zoom = (low, high) => {
      const span = Math.min(end, Math.max(end / CLOSEST, high - low));
      state.low = Math.max(0, Math.min((low + high - span) / 2, end - span));
      state.high = state.low + span;
      plots.forEach((u) => u.setScale("x", { min: state.low, max: state.high }));
    };
    const stretch = (factor) => {
      const middle = (state.low + state.high) / 2;
      const half = (factor * (state.high - state.low)) / 2;
      zoom(middle - half, middle + half);
    };
    const pan = (share) => {
      const by = Math.max(-state.low, Math.min(end - state.high, share * (state.high - state.low)));
      zoom(state.low + by, state.high + by);
    };

    switches(host, run.lines, hidden, (index, on) => {
      plots.forEach((u) => u.own.forEach((one, place) => {
        if (one.line === index) u.setSeries(place + 1, { show: on });
      }));
    });
    const tools = add(host, "div", "", { class: "controls" });
    const play = button(tools, "Play", () => (state.frame ? pause() : start()));
    const time = add(add(tools, "label", "time "), "input", "", { type: "range", min: 0, max: end, step: "any", value: end });
    const shown = add(tools, "output", `${number(end)} s`);
    button(tools, "Zoom in", () => stretch(0.5));
    button(tools, "Zoom out", () => stretch(2));
    button(tools, "Earlier", () => pan(-0.5));
    button(tools, "Later", () => pan(0.5));
    button(tools, "Whole time", () => zoom(0, end));

    const reveal = (t) => {
      state.until = t;
      time.value = t;
      shown.value = `${number(t)} s`;
      time.setAttribute("aria-valuetext", `${number(t)} seconds`);
      state.byTime = true;
      plots.forEach((u) => {
        u.redraw(false, false);
        u.setCursor({ left: u.valToPos(t, "x"), top: 0 }, true, false);
      });
      state.byTime = false;
    };
    const pause = () => {
      cancelAnimationFrame(state.frame);
      state.frame = 0;
      play.textContent = "Play";
    };
    const start = () => {
      const from = state.until >= end ? 0 : state.until;
      let began = null;
      play.textContent = "Pause";
      const step = (now) => {
        began = began === null ? now : began;
        const t = Math.min(end, from + ((now - began) / PLAY_MS) * end);
        reveal(t);
        if (t < end) state.frame = requestAnimationFrame(step);
        else pause();
      };
      state.frame = requestAnimationFrame(step);
    };
    time.addEventListener("input", () => { pause(); reveal(Number(time.value)); });

    const valueAt = (one, index) => {
      if (!one.at) return one.v[index];
      let nearest = 0;
      one.at.forEach((place, n) => { if (Math.abs(place - index) < Math.abs(one.at[nearest] - index)) nearest = n; });
      return one.v[nearest];
    };
    const spread = (one) => {
      if (!one.at) return one.v;
      const column = new Array(run.t.length).fill(null);
      one.at.forEach((place, index) => { column[place] = one.v[index]; });
      return column;
    };

    for (const panel of run.panels) {
      let say = null;
      const looks = {
        line: (line) => ({ width: 2, dash: line ? line.dash : [] }),
        faint: () => ({ width: 0.8, alpha: 0.3 }),
        area: () => ({ width: 1, fill: faint }),
      };
      const dotted = panel.refs.map((ref) => ref.name).join(", ");
      const u = show(host, panel.title + (dotted && `; dotted: ${dotted}`), {
        scales: { x: { time: false }, y: { range: fromZero(panel.refs) } },
        axes: [axis({ values: (_, splits) => splits.map((value) => `${number(value)} s`), space: 56 }), yAxis()],
        series: [{}, ...panel.series.map((one) => {
          const line = one.line === null ? null : run.lines[one.line];
          return {
            stroke: ofLine(line), points: { show: false }, spanGaps: Boolean(one.at),
            show: !(line && hidden.has(line.name)), ...looks[one.look](line),
          };
        })],
        cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
        hooks: {
          init: [(chart) => {
            say = tip(chart);
            chart.over.addEventListener("mouseenter", () => { state.hovered = chart; });
            chart.over.addEventListener("mouseleave", () => { state.hovered = null; });
            pinch(chart, state, zoom, end);
          }],
          setSelect: [(chart) => {
            if (chart.select.width > 4) {
              zoom(chart.posToVal(chart.select.left, "x"), chart.posToVal(chart.select.left + chart.select.width, "x"));
            }
            chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          }],
          setCursor: [(chart) => {
            const { left, idx } = chart.cursor;
            const wanted = state.byTime || state.hovered === chart;
            if (!wanted || left < 0 || idx === null || idx === undefined) { say(0, []); return; }
            if (!state.byTime) {
              plots.forEach((other) => other !== chart && other.setCursor({ left: other.valToPos(run.t[idx], "x"), top: 0 }, false, false));
            }
            const rows = [[`${number(run.t[idx])} s`, null]];
            panel.series.forEach((one, place) => {
              const value = valueAt(one, idx);
              if (one.look === "faint" || value === null || !chart.series[place + 1].show) return;
              const line = one.line === null ? null : run.lines[one.line];
              rows.push([`${line ? line.name : one.name}: ${number(value)}`, ofLine(line)()]);
            });
            say(left, rows);
          }],
          drawAxes: [(chart) => {
            chart.ctx.save();
            chart.ctx.beginPath();
            const { left, top, width, height } = chart.bbox;
            const right = state.until >= end ? left + width : chart.valToPos(state.until, "x", true);
            chart.ctx.rect(left, top, Math.max(0, Math.min(width, right - left)), height);
            chart.ctx.clip();
          }],
          draw: [(chart) => { chart.ctx.restore(); references(chart, panel.refs); }],
        },
      }, [run.t, ...panel.series.map(spread)]);
      u.own = panel.series;
      u.over.addEventListener("dblclick", () => zoom(0, end));
      plots.push(u);
    }
    zoom(0, end);
    return () => { pause(); plots.forEach((u) => u.gone()); };
  };

  // Two fingers zoom, and one moves what is zoomed; up and down still scroll the page.
  const pinch = (u, state, zoom, end) => {
    const fingers = new Map();
    let before = null;
    const measure = () => {
      const x = [...fingers.values()];
      return { centre: x.reduce((a, b) => a + b, 0) / x.length, apart: x.length > 1 ? Math.max(20, Math.abs(x[0] - x[1])) : 0 };
    };
    u.over.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "touch") return;
      fingers.set(event.pointerId, event.clientX);
      before = { ...measure(), low: state.low, high: state.high };
    });
    u.over.addEventListener("pointermove", (event) => {
      if (!fingers.has(event.pointerId) || (fingers.size === 1 && state.high - state.low >= end)) return;
      fingers.set(event.pointerId, event.clientX);
      const now = measure();
      const factor = before.apart && now.apart ? before.apart / now.apart : 1;
      const { left, width } = u.over.getBoundingClientRect();
      const span = (before.high - before.low) * factor;
      const fixed = before.low + ((before.centre - left) / width) * (before.high - before.low);
      const low = fixed - ((now.centre - left) / width) * span;
      if (factor === 1 && (low < 0 || low + span > end)) return;
      zoom(low, low + span);
    });
    const lift = (event) => {
      if (fingers.delete(event.pointerId) && fingers.size) before = { ...measure(), low: state.low, high: state.high };
    };
    u.over.addEventListener("pointerup", lift);
    u.over.addEventListener("pointercancel", lift);
  };

  // --- over settings, trade-offs, distributions ----------------------------------------------------------------------

  // A chart of its own: its switches, and `per` of uPlot's series for each line, one after the other.
  const single = (host, spec, per, hidden, options, data) => {
    let u = null;
    switches(host, spec.lines, hidden, (index, on) => {
      for (let n = 0; n < per; n += 1) u.setSeries(1 + per * index + n, { show: on });
    });
    let say = null;
    const { rows, hooks, ...rest } = options;
    u = show(host, spec.title, {
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
      ...rest,
      hooks: {
        ...hooks,
        init: [(chart) => { say = tip(chart); }],
        setCursor: [(chart) => {
          const { left, idx } = chart.cursor;
          if (left < 0 || idx === null || idx === undefined) say(0, []);
          else say(left, rows(chart, idx));
        }],
      },
    }, data);
    spec.lines.forEach((line, index) => {
      if (hidden.has(line.name)) for (let n = 0; n < per; n += 1) u.setSeries(1 + per * index + n, { show: false });
    });
    return () => u.gone();
  };

  const overSettings = (host, spec) => {
    const hidden = new Set();
    const tops = spec.parts.flatMap((part) => part.series.flatMap((one) => one.high.map((y) => ({ y }))));
    choosing(host, spec.parts, (body, part) => oneSetting(body, { ...spec, ...part, title: spec.title + (part.name && `, ${part.name}`) }, tops, hidden));
  };

  const oneSetting = (host, spec, tops, hidden) => {
    const data = joined(spec.series);
    const names = new Map(spec.x.ticks);
    return single(host, spec, 1, hidden, {
      scales: { x: { time: false, range: padded(0.12) }, y: { range: fromZero(tops) } },
      axes: [axis({ ...named(spec.x.ticks), label: spec.x.label }), yAxis()],
      series: [{}, ...spec.series.map((one) => {
        const line = spec.lines[one.line];
        return { stroke: ofLine(line), width: 2, dash: line.dash, spanGaps: true, points: { show: true, size: 7, fill: ofLine(line) } };
      })],
      rows: (u, index) => [
        [`${spec.x.label} ${names.get(data[0][index])}`, null],
        ...spec.series.flatMap((one) => {
          const n = one.x.indexOf(data[0][index]);
          if (n < 0 || !u.series[one.line + 1].show) return [];
          const half = (one.high[n] - one.low[n]) / 2;
          const line = spec.lines[one.line];
          return [[`${line.name}: ${number(one.y[n])}${half > 0 ? ` ± ${Number(half.toPrecision(2))}` : ""}`, ofLine(line)()]];
        }),
      ],
      hooks: {
        draw: [(u) => {
          // The 95 % intervals.
          const cap = 4 * devicePixelRatio;
          for (const one of spec.series) {
            if (!u.series[one.line + 1].show) continue;
            u.ctx.save();
            u.ctx.strokeStyle = ofLine(spec.lines[one.line])();
            u.ctx.lineWidth = 1.5 * devicePixelRatio;
            u.ctx.beginPath();
            one.x.forEach((place, n) => {
              if (one.high[n] <= one.low[n]) return;
              const x = u.valToPos(place, "x", true);
              const [low, high] = [one.low[n], one.high[n]].map((value) => u.valToPos(value, "y", true));
              for (const y of [low, high]) { u.ctx.moveTo(x - cap, y); u.ctx.lineTo(x + cap, y); }
              u.ctx.moveTo(x, low);
              u.ctx.lineTo(x, high);
            });
            u.ctx.stroke();
            u.ctx.restore();
          }
        }],
      },
    }, data);
  };

  const tradeoff = (host, spec) => {
    const series = spec.series.flatMap((one) => [{ x: one.runs[0], y: one.runs[1] }, { x: one.x, y: one.y }]);
    const marks = spec.series.flatMap((one) => one.x.map((x, n) => ({ line: one.line, x, y: one.y[n], name: one.names[n] || "" })));
    const visible = (u) => marks.filter((mark) => u.series[2 * mark.line + 2].show);
    single(host, spec, 2, new Set(), {
      scales: { x: { time: false, dir: -1, range: padded(0.15) }, y: { range: fromZero([]) } },
      axes: [axis({ label: spec.x.label, values: (u, splits) => splits.map((value) => number(value)), space: 50 }), yAxis()],
      series: [{}, ...spec.series.flatMap((one) => {
        const stroke = ofLine(spec.lines[one.line]);
        const dots = (size, alpha) => ({ stroke, alpha, paths: () => null, points: { show: true, size, fill: stroke, width: 0 } });
        return [dots(4, 0.45), dots(11, 1)];
      })],
      cursor: { y: false, x: false, points: { show: false }, drag: { x: true, y: false } },
      rows: (u) => {
        const { left, top } = u.cursor;
        const far = (mark) => Math.hypot(u.valToPos(mark.x, "x") - left, u.valToPos(mark.y, "y") - top);
        const nearest = visible(u).sort((a, b) => far(a) - far(b))[0];
        if (!nearest) return [];
        const line = spec.lines[nearest.line];
        return [
          [line.name, ofLine(line)()], ...(nearest.name ? [[nearest.name, null]] : []),
          [`${number(nearest.y)} Mbit/s at ${number(nearest.x)} ms`, null],
        ];
      },
      hooks: {
        draw: [(u) => {
          const shown = visible(u);
          if (shown.length > NAMED_MARKS) return;
          u.ctx.save();
          u.ctx.fillStyle = ink();
          u.ctx.font = FONT.replace("12", 12 * devicePixelRatio);
          u.ctx.textBaseline = "bottom";
          const taken = [];
          for (const mark of shown) {
            const width = u.ctx.measureText(mark.name).width;
            const x = Math.min(u.valToPos(mark.x, "x", true) + 8 * devicePixelRatio, u.bbox.left + u.bbox.width - width);
            const y = u.valToPos(mark.y, "y", true) - 4 * devicePixelRatio;
            const height = 14 * devicePixelRatio;
            if (taken.some((box) => x < box.x + box.width && box.x < x + width && Math.abs(y - box.y) < height)) continue;
            taken.push({ x, y, width });
            u.ctx.fillText(mark.name, x, y);
          }
          u.ctx.restore();
        }],
      },
    }, scattered(series));
  };

  const distribution = (host, spec) => {
    single(host, spec, 1, new Set(), {
      scales: { x: { time: false, distr: 3 }, y: { range: [0, 102] } },
      axes: [axis({ space: 40, values: (u, splits) => splits.map((value) => (value === null ? "" : value >= 1000 ? `${number(value / 1000)} s` : `${number(value)} ms`)) }), yAxis()],
      series: [{}, ...spec.series.map((one) => ({ stroke: ofLine(spec.lines[one.line]), width: 2, dash: spec.lines[one.line].dash, points: { show: false } }))],
      rows: (u, index) => [
        [`up to ${number(spec.t[index])} ms`, null],
        ...spec.series.filter((one) => u.series[one.line + 1].show).map((one) => {
          const line = spec.lines[one.line];
          return [`${line.name}: ${number(one.v[index])} %`, ofLine(line)()];
        }),
      ],
    }, [spec.t, ...spec.series.map((one) => one.v)]);
  };

  root.classList.add("live");
  const kinds = { time: overTime, setting: overSettings, tradeoff, distribution };
  charts.forEach((spec, index) => kinds[spec.kind](document.getElementById(`chart-${index}`), spec));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => everyChart.forEach((u) => u.redraw()));
})();
