"""Runs twenty experiments on the simulator and on the running kernel, and writes how well they agree.

    python tests/fidelity/agreement.py [--case NAME] [--retries N] [--out docs]

Real time: about twenty minutes. What was measured before is kept in ``recordings/agreement.csv``; ``--simulate`` only
runs the simulator anew, beside what the kernel did, and ``--page`` only writes the page. The page is
``docs/agreement.md``, its picture ``docs/images/agreement.png``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import polars as pl
from own import keep, number, with_hz
from rich.console import Console

import dumbbell

RECORDED = Path(__file__).parent / "recordings" / "agreement.csv"
DOCS = Path(__file__).parents[2] / "docs"
#: A difference up to this share is agreement; of retransmissions a factor or a number.
GOODPUT, RTT, RETRANSMITS, FEW = 0.05, 0.10, 1.5, 20
SEEDS = 40
LATE = ("late_p50_us", "late_p999_us", "app_late_p99_us")
#: Runs on the kernel where chance decides, by random losses or by how two flows meet; the median counts.
RUNS = {"cubic-loss": 5, "bbr-loss": 5, "reno+cubic": 5, "bbr+cubic": 5}
#: What is compared, with its name and unit.
MEASURES = {
    "goodput_mbps": ("goodput", "Mbit/s"),
    "mean_rtt_ms": ("RTT", "ms"),
    "retransmits": ("retransmissions", ""),
}
#: Of the simulated runs, four in five lie between these quantiles.
MOST = (0.1, 0.9)


def _alone(cc: str, **path: Any) -> dict[str, Any]:
    return _scenario([cc], **path)


def _scenario(ccs: list[str], duration: str = "20s", warmup: str = "5s", **path: Any) -> dict[str, Any]:
    return {
        "duration": duration,
        "warmup": warmup,
        "record": {"interval": "50ms"},
        "path": {"rate": "10mbit", "rtt": "50ms", "buffer": "1bdp"} | path,
        "flows": [{"cc": cc, "start_jitter": "10ms"} for cc in ccs],
    }


#: A cellular link in small: outages, and bundles of packets.
CELLULAR: dict[str, Any] = {"rate": {"synth": "lte-verizon", "seed": 1}, "buffer": "200packets"}
STEPS: dict[str, Any] = {"rate": [["0s", "20mbit"], ["8s", "5mbit"], ["14s", "20mbit"]], "buffer": "100packets"}

SCENARIOS: dict[str, tuple[str, dict[str, Any]]] = {
    "reno": ("Reno alone, 10 Mbit/s, 50 ms, 1 BDP", _alone("reno")),
    "cubic": ("CUBIC alone, 10 Mbit/s, 50 ms, 1 BDP", _alone("cubic")),
    "bbr": ("BBR alone, 10 Mbit/s, 50 ms, 1 BDP", _alone("bbr")),
    "cubic-slow": ("CUBIC, 1 Mbit/s, 200 ms, 2 BDP", _alone("cubic", rate="1mbit", rtt="200ms", buffer="2bdp")),
    "bbr-slow": ("BBR, 2 Mbit/s, 100 ms, 4 BDP", _alone("bbr", rate="2mbit", rtt="100ms", buffer="4bdp")),
    "cubic-fast": ("CUBIC, 100 Mbit/s, 40 ms, 1 BDP", _alone("cubic", rate="100mbit", rtt="40ms")),
    "bbr-fast": ("BBR, 50 Mbit/s, 40 ms, 1 BDP", _alone("bbr", rate="50mbit", rtt="40ms")),
    "reno-short": ("Reno, 10 Mbit/s, 5 ms, 8 BDP", _alone("reno", rtt="5ms", buffer="8bdp")),
    "reno-shallow": ("Reno, 20 Mbit/s, 100 ms, 0.5 BDP", _alone("reno", rate="20mbit", rtt="100ms", buffer="0.5bdp")),
    "cubic-deep": ("CUBIC, 10 Mbit/s, 100 ms, 8 BDP", _alone("cubic", rtt="100ms", buffer="8bdp")),
    "cubic-loss": ("CUBIC, 0.1 % random loss", _alone("cubic", loss="0.1%")),
    "bbr-loss": ("BBR, 1 % random loss", _alone("bbr", loss="1%")),
    "cubic-codel": ("CUBIC behind CoDel", _alone("cubic", queue="codel", buffer="200packets")),
    "cubic-steps": ("CUBIC, rate 20, 5, 20 Mbit/s", _alone("cubic", **STEPS)),
    "bbr-steps": ("BBR, rate 20, 5, 20 Mbit/s", _alone("bbr", **STEPS)),
    "cubic-cellular": ("CUBIC on a cellular link", _alone("cubic", **CELLULAR)),
    "bbr-policer": (
        "BBR behind a policer of 5 Mbit/s",
        _alone("bbr", rate="20mbit", policer={"rate": "5mbit", "burst": "30packets"}),
    ),
    "bbr-ack-loss": ("BBR, 5 % of ACKs lost", _alone("bbr", reverse={"loss": "5%"})),
    "reno+cubic": ("Reno beside CUBIC, 1 BDP", _scenario(["reno", "cubic"], "40s", "10s", rtt="100ms")),
    "bbr+cubic": ("BBR beside CUBIC, 4 BDP", _scenario(["bbr", "cubic"], "40s", "10s", buffer="4bdp")),
}


def measure(names: list[str], retries: int, console: Console) -> int:
    """Runs scenarios on both grounds and keeps what was measured; returns how many could not be."""
    missing = 0
    for name in names:
        _, scenario = SCENARIOS[name]
        try:
            on = dumbbell.Linux(retries=retries)
            runs = [dumbbell.run(scenario, seed=seed, on=on) for seed in range(1, RUNS.get(name, 1) + 1)]
        except dumbbell.VoidRunError as error:
            console.print(f"{name}: {error}", style="yellow", highlight=False)
            missing += 1
            continue
        certificates = [run.meta.certificate or {} for run in runs]
        kernel = pl.concat([run.flows.to_polars().select("flow", "cc", *MEASURES) for run in runs])
        hz = certificates[0]["hz"]
        rows = []
        for (flow, cc), of_kernel in kernel.group_by("flow", "cc", maintain_order=True):
            rows.append(
                {"case": name, "flow": flow, "cc": cc, "kernel_runs": len(runs)}
                | {f"kernel_{key}": number(of_kernel[key].median()) for key in MEASURES}
                | {key: max(one[key] for one in certificates) for key in LATE}
                | {"kernel": certificates[0]["kernel"], "void_attempts": sum(len(run.void_attempts) for run in runs)}
                | {"hz": hz}
            )
        _simulate_and_keep(name, rows, console)
    return missing


def simulate(names: list[str], console: Console) -> None:
    """Runs scenarios in the simulator, beside what was measured on the kernel before."""
    recorded = pl.read_csv(RECORDED)
    for name in names:
        if rows := recorded.filter(pl.col("case") == name).to_dicts():
            _simulate_and_keep(name, rows, console)


def _simulate_and_keep(name: str, rows: list[dict[str, Any]], console: Console) -> None:
    """Adds to the rows of a case what the simulator has, with the kernel's clock and buffers, and keeps them."""
    scenario = with_hz(SCENARIOS[name][1], int(rows[0]["hz"]))
    ours = dumbbell.sweep(scenario, repeat=SEEDS, progress=False).collect().flows.to_polars()
    for row in rows:
        of_flow = ours.filter(pl.col("flow") == row["flow"])
        for key in MEASURES:
            row[f"sim_{key}"] = number(of_flow[key].median())
            row[f"sim_{key}_most_from"] = number(of_flow[key].quantile(MOST[0]))
            row[f"sim_{key}_most_to"] = number(of_flow[key].quantile(MOST[1]))
        console.print(f"{name}: {row}", highlight=False)
    keep(RECORDED, name, pl.DataFrame(rows).with_columns(pl.col(pl.Float64).round(4)), list(SCENARIOS))


def misses(row: dict[str, Any]) -> list[str]:
    """The measures of a flow in which the grounds disagree."""
    missed = []
    if abs(row["sim_goodput_mbps"] / row["kernel_goodput_mbps"] - 1) > GOODPUT:
        missed.append("goodput_mbps")
    if abs(row["sim_mean_rtt_ms"] / row["kernel_mean_rtt_ms"] - 1) > RTT:
        missed.append("mean_rtt_ms")
    ours, kernel = row["sim_retransmits"], row["kernel_retransmits"]
    if abs(ours - kernel) > FEW and max(ours, kernel) > RETRANSMITS * max(1.0, min(ours, kernel)):
        missed.append("retransmits")
    return missed


def remark(row: dict[str, Any], measure_: str) -> str:
    """Whether chance alone explains a disagreement: whether most simulated runs have the kernel's median among them."""
    name, unit = MEASURES[measure_]
    kernel, start, end = (
        row[key] for key in (f"kernel_{measure_}", f"sim_{measure_}_most_from", f"sim_{measure_}_most_to")
    )
    runs = "a run" if row["kernel_runs"] == 1 else f"{row['kernel_runs']} runs in the median"
    where = "which lies among them: chance" if start <= kernel <= end else "which does not: open"
    return (
        f"{name} of {row['cc']}: four in five of {SEEDS} simulated runs have {start:.3g} to {end:.3g} {unit}".rstrip()
        + f", the kernel in {runs} {kernel:.3g}, {where}."
    )


def page(rows: list[dict[str, Any]]) -> str:
    """The page in Markdown."""
    off = {row["case"] for row in rows if misses(row)}
    total = len({row["case"] for row in rows})
    kernels = ", ".join(sorted({row["kernel"] for row in rows}))
    lines = [
        "# Where simulator and kernel agree",
        "",
        "Twenty experiments, each run twice from the same file: in the simulator, and with real sockets of Linux",
        f"{kernels} over the same links (`--on linux`, [how](linux.md)). `make agreement` measures them anew on your",
        "own kernel.",
        "",
        f"**{total - len(off)} of {total} agree**: goodput within {GOODPUT:.0%}, mean RTT within {RTT:.0%},",
        f"retransmissions within a factor of {RETRANSMITS:g} or {FEW}.",
        "",
        "![Simulator over kernel: goodput and round-trip time of every flow](images/agreement.png)",
        "",
        "| experiment | flow | goodput Mbit/s | mean RTT ms | retransmissions | late us | |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        words, _ = SCENARIOS[row["case"]]
        names = [MEASURES[measure_][0] for measure_ in misses(row)]
        verdict = f"**off**: {', '.join(names)}" if names else "agrees"
        lines.append(
            f"| {words} | {row['cc']} | {row['sim_goodput_mbps']:.3f} / {row['kernel_goodput_mbps']:.3f} "
            f"| {row['sim_mean_rtt_ms']:.1f} / {row['kernel_mean_rtt_ms']:.1f} "
            f"| {row['sim_retransmits']:.0f} / {row['kernel_retransmits']:.0f} "
            f"| {row['late_p50_us']:.0f} / {row['late_p999_us']:.0f} | {verdict} |"
        )
    lines += [
        "",
        f"Simulator (median of {SEEDS} seeds, which differ in the start by up to 10 ms) / kernel (one run; with random",
        "loss and with two flows the median of five). The simulator has the kernel's clock and buffers (`hz`,",
        "`receive_autotuning`, `send_buffer`). *late*: by how much the emulator handed packets over too late,",
        "median / one in a thousand, from the certificate.",
    ]
    if off:
        lines += ["", "## What disagrees", ""]
        lines += [f"* {SCENARIOS[row['case']][0]}: {remark(row, one)}" for row in rows for one in misses(row)]
    return "\n".join(lines) + "\n"


def draw(rows: list[dict[str, Any]], out: Path) -> list[Path]:
    """Ours over the kernel's, a mark a flow; on the diagonal they agree."""
    from dumbbell.plots.style import INK, look, picture

    panels = (("goodput_mbps", "goodput (Mbit/s)", GOODPUT), ("mean_rtt_ms", "mean RTT (ms)", RTT))
    with picture(7.2, 3.6) as figure:
        for axis, (measure_, label, tolerance) in zip(figure.subplots(1, 2), panels, strict=True):
            ours = [row[f"sim_{measure_}"] for row in rows]
            kernel = [row[f"kernel_{measure_}"] for row in rows]
            ends = [0.8 * min(ours + kernel), 1.25 * max(ours + kernel)]
            axis.plot(ends, ends, color=INK, lw=0.8)
            axis.fill_between(
                ends, [end * (1 - tolerance) for end in ends], [end * (1 + tolerance) for end in ends], color="#EEEEEE"
            )
            for cc in dict.fromkeys(row["cc"] for row in rows):
                chosen = look(cc)
                marks = [(y, x) for x, y, row in zip(ours, kernel, rows, strict=True) if row["cc"] == cc]
                axis.plot(
                    *zip(*marks, strict=True), chosen.marker, color=chosen.colour, ls="", label=cc, mfc="none", mew=1.2
                )
            axis.set(xscale="log", yscale="log", xlabel=f"kernel: {label}", ylabel=f"simulator: {label}")
            axis.set_xlim(*ends)
            axis.set_ylim(*ends)
            ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if ends[0] <= tick <= ends[1]]
            axis.set_xticks(ticks, [str(tick) for tick in ticks])
            axis.set_yticks(ticks, [str(tick) for tick in ticks])
            axis.minorticks_off()
            axis.set_aspect("equal")
        figure.axes[0].legend(loc="upper left")
    return figure.write(out / "images" / "agreement", ["png"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", choices=list(SCENARIOS), help="only this one (may be repeated)")
    parser.add_argument("--retries", type=int, default=8, help="attempts after a void one")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--simulate", action="store_true", help="run the simulator alone, beside what the kernel did")
    only.add_argument("--page", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--out", type=Path, default=DOCS, help="where the page goes")
    args = parser.parse_args()
    console = Console(width=200)
    missing = 0
    names = args.case or list(SCENARIOS)
    if args.simulate:
        simulate(names, console)
    elif not args.page:
        missing = measure(names, args.retries, console)
    rows = pl.read_csv(RECORDED).to_dicts()
    (args.out / "agreement.md").write_text(page(rows), encoding="utf-8")
    console.print(f"{args.out / 'agreement.md'}, {draw(rows, args.out)[0]}", highlight=False)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
