// The page: one text, the experiment, from which everything else follows.

import * as address from "live/address";
import { Charts } from "live/charts";
import { element } from "live/dom";
import { Engine } from "live/engine";
import { Flows } from "live/flows";
import { MOST_FLOWS } from "live/pictures";
import { Sliders } from "live/sliders";
import { Tables, parsed } from "live/tables";

const TYPING_MS = 150;
const ADDRESS_MS = 250; // Browsers refuse an address that changes too often.
// In a notebook the page is part of another one, and has no address.
const HAS_ADDRESS = location.protocol !== "about:";

const at = (id) => document.getElementById(id);
const presets = JSON.parse(at("presets").textContent);
const editor = at("toml");
const engine = new Engine();
const charts = new Charts(at("charts"));
const tables = new Tables(at("tables"));

// `changes` are those of the form that are not in the text yet; each question has all of them.
const state = { toml: "", changes: [], point: 0 };

const later = (milliseconds, action) => {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
};

const say = (text) => {
  at("said").textContent = text;
};

// --- questions and answers ------------------------------------------------------------------------------------------

function ask() {
  const { toml, changes, point } = state;
  // What is typed in the meantime is newer than the answer, even before it is asked about.
  engine.ask({ run: { toml, changes, point } }, (answer, isNewest, took) =>
    answered(answer, isNewest && toml === state.toml, took),
  );
}

function change(one) {
  // A slider that moves on replaces what it has asked for.
  if (one.set) state.changes = state.changes.filter(({ set }) => set?.[0] !== one.set[0]);
  state.changes.push(one);
  ask();
}

function load({ toml, point = 0 }) {
  Object.assign(state, { toml, point, changes: [] });
  editor.value = toml;
  ask();
}

function answered({ toml, form, errors, run }, isNewest, took) {
  if (isNewest) {
    if (toml !== null) state.toml = toml;
    state.changes = [];
    if (editor.value !== state.toml) editor.value = state.toml;
    if (form) showForm(form);
    showPreset();
    // An engine that stopped says nothing of the text.
    at("form").inert = toml !== null && !form;
    showProblems(errors);
    keepAddress();
  }
  at("pictures").classList.toggle("stale", !run);
  if (run) showRun(run, form, took);
  else at("cost").textContent = "Pictures and tables are those of the last experiment that ran.";
}

// --- the form and the text ------------------------------------------------------------------------------------------

let sliders = null;
let flows = null;

function showForm(form) {
  sliders.show(form);
  flows.show(form.flows);
}

// Which experiment of the list this is, if it is one.
function showPreset() {
  const index = presets.findIndex(({ toml }) => toml === state.toml);
  at("preset").value = index < 0 ? "" : String(index);
}

// The gutter of the editor has the numbers of the lines; those with errors are marked.
function showProblems(errors) {
  const wrong = new Set(errors.map(({ line }) => line));
  const count = editor.value.split("\n").length;
  editor.rows = count;
  editor.setAttribute("aria-invalid", String(errors.length > 0));
  const line = (_, index) => element("span", { class: wrong.has(index + 1) ? "wrong" : null }, String(index + 1));
  at("lines").replaceChildren(...Array.from({ length: count }, line));
  const problem = ({ line: number, text }) => {
    const jump = { type: "button", on: { click: () => select(number) } };
    const button = number ? [element("button", jump, `Go to line ${number}`)] : [];
    return element("div", { class: "problem" }, element("pre", {}, text), ...button);
  };
  at("problems").replaceChildren(...errors.map(problem));
}

function select(number) {
  const lines = editor.value.split("\n");
  const start = lines.slice(0, number - 1).reduce((sum, line) => sum + line.length + 1, 0);
  editor.focus();
  editor.setSelectionRange(start, start + lines[number - 1].length);
}

const keepAddress = later(ADDRESS_MS, async () => {
  if (!HAS_ADDRESS) return;
  history.replaceState(null, "", await address.written(state.toml, state.point));
});

// --- a run ----------------------------------------------------------------------------------------------------------

// The name of each flow: its label, with its number where others have the same.
function namesOf(rows) {
  const labels = rows.map(({ label }) => label);
  return labels.map((label, flow) =>
    labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} (${flow})`,
  );
}

// Where most flows meet is the link that is used most.
function busiest(rows) {
  const used = (row) => Number(row.utilization || 0);
  return rows.reduce((best, row) => (used(row) > used(best) ? row : best), rows[0]);
}

// The dotted lines; those of the path belong to its link.
function levels(form, flowRows, link) {
  const { rate, rtt, buffer } = form ?? {};
  const base = [...new Set(flowRows.map((row) => row.base_rtt_ms))];
  const isPath = link.name === "bottleneck" && rate?.number && rtt?.number && buffer?.number;
  const kilobytes = isPath ? (rate.number * rtt.number * buffer.number) / 8 : null;
  return {
    rate: rate?.number ? { name: "rate of the path", value: rate.number } : null,
    rtt: base.length === 1 && base[0] ? { name: "base round trip", value: Number(base[0]) } : null,
    buffer: kilobytes ? { name: "buffer", value: kilobytes } : null,
  };
}

function showRun(run, form, took) {
  const flowRows = run.tables.flows ? parsed(run.tables.flows) : [];
  const names = namesOf(flowRows);
  const link = busiest(parsed(run.tables.links));
  const view = {
    series: run.series.series,
    linkSeries: run.series.linkSeries,
    duration: run.durationS,
    flows: names.map((name, flow) => ({ flow, name })),
    link: { number: Number(link.link), name: link.name },
    level: levels(form, flowRows, link),
  };
  charts.show(view);
  tables.show(run, (flow) => names[flow]);
  at("cost").textContent = [
    `${run.durationS} s and ${run.packets.toLocaleString("en")} packets in ${took.toFixed(0)} ms.`,
    link.utilization ? `The link ${link.name} was used to ${(100 * Number(link.utilization)).toFixed(0)} %.` : "",
    names.length > MOST_FLOWS ? `${MOST_FLOWS} of ${names.length} flows are drawn.` : "",
    view.linkSeries.t_s.length ? "" : "No pictures: this experiment records no time series (record.series = false).",
  ]
    .filter(Boolean)
    .join(" ");
  showPoints(run);
  showCommands(run);
}

function showPoints({ points, point }) {
  at("points").hidden = points.length < 2;
  const option = (text, index) => element("option", { value: index, selected: index === point }, text || "first");
  at("point").replaceChildren(...points.map(option));
  state.point = point;
}

function showCommands({ contentHash, points }) {
  const end = state.toml.endsWith("\n") ? "" : "\n";
  const command = "dumbbell run experiment.toml --plot --out result";
  at("commands").textContent = `cat > experiment.toml <<'END'\n${state.toml}${end}END\n${command}\n`;
  at("hash").replaceChildren(
    points.length > 1 ? "There it runs every point of the sweep. " : "",
    "The content hash of the run that is shown, which names everything that it depends on: ",
    element("code", {}, contentHash),
  );
}

async function copy(text, done, otherwise) {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
  } catch {
    say(`The browser does not let the page copy. ${otherwise}`);
  }
}

// --- the beginning --------------------------------------------------------------------------------------------------

async function fromAddress() {
  try {
    const found = await address.read(location.hash);
    return found ?? presets[0];
  } catch {
    say("The link is damaged: its address holds no experiment. This is the first experiment in its place.");
    return presets[0];
  }
}

function listen() {
  at("copy-link").hidden = !HAS_ADDRESS;
  const askSoon = later(TYPING_MS, ask);
  editor.addEventListener("input", () => {
    Object.assign(state, { toml: editor.value, changes: [] });
    askSoon();
  });
  at("preset").append(...presets.map(({ name }, index) => element("option", { value: index }, name)));
  at("preset").addEventListener("change", () => {
    if (at("preset").value) load(presets[Number(at("preset").value)]);
  });
  at("point").addEventListener("change", () => {
    state.point = Number(at("point").value);
    ask();
  });
  addEventListener("hashchange", async () => load(await fromAddress()));
  // Followed as a link it would take the place of the experiment in the address.
  at("to-own-machine").addEventListener("click", (event) => {
    event.preventDefault();
    at("own-machine").scrollIntoView();
    at("copy-commands").focus();
  });
  at("copy-link").addEventListener("click", async () => {
    const link = new URL(await address.written(state.toml, state.point), location.href);
    history.replaceState(null, "", link);
    await copy(link.href, "The link is copied. Whoever opens it sees this result.", "The address bar has the link.");
  });
  at("copy-commands").addEventListener("click", () =>
    copy(at("commands").textContent, "The commands are copied.", "Select them and copy them yourself."),
  );
}

async function start() {
  await engine.start();
  const { version, algorithms } = await new Promise((resolve) => engine.ask("about", resolve));
  at("version").textContent = `Dumbbell ${version}. The page holds the engine as WebAssembly and loads nothing.`;
  sliders = new Sliders(at("sliders"), (key, text) => change({ set: [key, text] }));
  flows = new Flows(at("flows"), algorithms, change);
  listen();
  load(await fromAddress());
}

start().catch((error) => {
  at("cost").textContent = `The engine does not start in this browser: ${error.message}`;
});
