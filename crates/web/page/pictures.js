// What the pictures of a run show: throughput, round-trip time, queue and windows over time.

import { curves, growth, means } from "live/curves";
import { colour, dashOf, ink, ofFlow } from "live/looks";

export const MOST_FLOWS = 12;

// The pictures of a run, as plain data: `{ id, title, unit, data, lines, level, marks, note }`. `data` has times first, and
// then the values of each line.
export function pictures({ series, linkSeries, flows, link, level }) {
  const { times, found } = curves(series, "flow", ["received_mbps", "srtt_ms", "cwnd", "inflight", "lost_total"]);
  const shown = flows.filter(({ flow }) => found.has(flow)).slice(0, MOST_FLOWS);
  const column = (name) => shown.map(({ flow }) => found.get(flow)[name]);
  const lines = shown.map(({ flow, name }) => ({ name, stroke: ofFlow(flow), dash: dashOf(flow), flow }));
  const made = [];
  if (shown.length) {
    made.push({
      id: "throughput",
      title: "Throughput at the receiver",
      unit: "Mbit/s",
      data: means(times, column("received_mbps")),
      lines,
      level: level.rate,
    });
    made.push({
      id: "rtt",
      title: "Smoothed round-trip time",
      unit: "ms",
      data: [times, ...column("srtt_ms")],
      lines,
      level: level.rtt,
    });
  }
  const links = curves(linkSeries, "link", ["queue_bytes", "drops_total", "losses_total"]);
  const queue = links.found.get(link.number);
  if (queue) {
    made.push({
      id: "queue",
      title: `Queue of the link ${link.name}`,
      unit: "kB",
      data: [links.times, queue.queue_bytes.map((bytes) => (bytes === null ? null : bytes / 1000))],
      lines: [{ name: "queue", stroke: ink, dash: [], isArea: true }],
      level: level.buffer,
      marks: [
        {
          name: "drops by the queue",
          shape: "triangle",
          stroke: () => colour("bad"),
          times: growth(links.times, queue.drops_total),
          row: 0,
        },
        { name: "random losses", shape: "cross", stroke: ink, times: growth(links.times, queue.losses_total), row: 1 },
      ],
    });
  }
  if (shown.length) {
    const thin = lines.map((line) => ({ ...line, name: `${line.name} in flight`, isThin: true }));
    const lost = shown.map(({ flow, name }, row) => ({
      name: `${name} finds losses`,
      shape: "tick",
      stroke: ofFlow(flow),
      times: growth(times, found.get(flow).lost_total),
      row,
    }));
    made.push({
      id: "cwnd",
      title: "Congestion window",
      unit: "packets",
      data: [times, ...column("cwnd"), ...column("inflight")],
      lines: [...lines, ...thin],
      marks: lost,
      note: "thin: in flight · ticks: losses that the sender finds",
    });
  }
  return made;
}
