"""Algorithms in shared libraries, and projects that begin one."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dumbbell as db
from dumbbell import _core, new_algorithm
from dumbbell.application import app
from dumbbell.check.subject import subject

EXAMPLES = Path(__file__).parents[2] / "examples/library"
COMPILER = shutil.which("cc")
needs_c = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
needs_rust = pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")

LOSSY: dict[str, Any] = {
    "duration": "10s",
    "warmup": "1s",
    "path": {"rate": "20mbit", "rtt": "40ms", "buffer": "0.5bdp", "loss": 0.002, "reverse": {"loss": 0.01}},
}


def compiled(folder: Path, source: str, name: str = "own") -> Path:
    """A library of a source in C."""
    header, _ = _core.contracts()
    (folder / "dumbbell_cc.h").write_text(header)
    (folder / f"{name}.c").write_text(source)
    library = folder / f"lib{name}.so"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-std=c11", "-shared", "-fPIC"]
    subprocess.run([str(COMPILER), *flags, "-o", str(library), f"{name}.c"], cwd=folder, check=True)
    return library


def source(**changes: str) -> str:
    """Reno in C with other members of its table, or other code before it."""
    text = (EXAMPLES / "reno.c").read_text()
    before = changes.pop("before", "")
    for member, value in changes.items():
        old = next((line for line in text.splitlines() if f".{member} = " in line), None)
        line = f"    .{member} = {value},"
        text = text.replace(old, line) if old else text.replace("    .version", f"{line}\n    .version")
    return text.replace("static const dumbbell_algorithm", f"{before}\nstatic const dumbbell_algorithm")


def decisions(cc: str | dict[str, Any], transport: str = "tcp") -> list[Any]:
    """All that whole runs of an algorithm say, but for its name."""
    said = []
    for seed in (1, 2):
        flows = [{"cc": cc, "label": "one", "transport": transport}, {"cc": "cubic", "start": "2s"}]
        result = db.run({**LOSSY, "flows": flows}, seed=seed)
        rows = result.flows.rows()
        for row in rows:
            row.pop("cc"), row.pop("algorithm")
        said.append((repr(rows), repr(result.series.rows()), repr(result.links.rows())))
    return said


@needs_c
@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_reno_in_c_decides_as_the_built_in_one_to_the_bit(tmp_path: Path, transport: str) -> None:
    library = compiled(tmp_path, (EXAMPLES / "reno.c").read_text())
    assert decisions({"library": str(library)}, transport) == decisions("reno", transport)


@needs_rust
def test_reno_in_rust_decides_as_the_built_in_one_to_the_bit(tmp_path: Path) -> None:
    new_algorithm.begin("reno", "rust", tmp_path)
    project = tmp_path / "reno"
    shutil.copy(EXAMPLES / "reno.rs", project / "src/lib.rs")
    subprocess.run(new_algorithm.LANGUAGES["rust"].build, cwd=project, check=True, capture_output=True)
    place = new_algorithm.LANGUAGES["rust"].place.replace("NAME", "reno")
    assert decisions({"library": str(project / place)}) == decisions("reno")


@pytest.mark.parametrize(
    "language",
    ["python", pytest.param("c", marks=needs_c), pytest.param("rust", marks=needs_rust)],
)
def test_a_new_project_builds_soon_and_its_test_runs(tmp_path: Path, language: str) -> None:
    answer = CliRunner().invoke(app, ["new-algorithm", "mine", "--in", language, "--to", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    project = tmp_path / "mine"
    assert {Path(line) for line in answer.output.split()} == {path for path in project.rglob("*") if path.is_file()}
    begin = children_cpu_s()
    done = subprocess.run([sys.executable, "-m", "unittest"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Ran 3 tests" in done.stderr and children_cpu_s() - begin < 20
    result = db.run(project / "mine.toml", set={"duration": "8s"})
    assert result.flows.rows()[0]["delivered_bytes"] > 0
    texts = [path.read_text() for path in project.rglob("*") if path.suffix in (".md", ".toml", ".py", ".c", ".rs")]
    assert not re.search("@[A-Z]+@", "".join(texts))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Mine"], "`Mine` is no name for an algorithm"),
        (["../mine"], "is no name for an algorithm"),
        (["json", "--in", "python"], "`json` is a module that the project's own would hide"),
        (["dumbbell", "--in", "python"], "`dumbbell` is a module"),
        (["mine", "--in", "zig"], "--in zig: choose from python, c, rust"),
    ],
)
def test_what_cannot_be_begun_is_said(tmp_path: Path, arguments: list[str], message: str) -> None:
    answer = CliRunner().invoke(app, ["new-algorithm", *arguments, "--to", str(tmp_path)])
    assert answer.exit_code == 2 and message in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(db.OutputError, match="is there already"):
        new_algorithm.begin("mine", "c", tmp_path)
    assert list((tmp_path / "mine").iterdir()) == []


def children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def refusal(library: Path, **parameters: Any) -> str:
    with pytest.raises(db.ScenarioError) as refused:
        db.run({**LOSSY, "flows": [{"cc": {"library": str(library), **parameters}}]})
    return str(refused.value)


@needs_c
def test_a_library_of_another_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    said = refusal(compiled(tmp_path, source(version="2")))
    assert "it was compiled for version 2 of dumbbell_cc.h, and this is version 1" in said
    assert "compile it again with the header that `dumbbell new-algorithm` writes" in said
    assert "loading it runs its code" in said and "flows[0].cc.library" in said


@needs_c
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": "8"}, "its table of functions has 8 bytes instead of"),
        ({"name": "NULL"}, "its name is NULL"),
        ({"name": '"two words"'}, "must be one word"),
        ({"flags": "128"}, "its flags have bits that this version does not know: 0x80"),
        ({"flags": "DUMBBELL_FULL_CONTROL"}, "it has no function `cong_control`"),
        ({"ssthresh": "NULL"}, "it has no function `ssthresh`"),
        ({"parameter_count": "3"}, "it says that it has 3 parameters, and has none or too many"),
    ],
)
def test_a_library_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    text = source(**changes)
    if "ssthresh" in changes:
        text = text.replace("static uint32_t ssthresh", "__attribute__((unused)) static uint32_t ssthresh")
    assert message in refusal(compiled(tmp_path, text))


@needs_c
def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    assert "cannot read the library" in refusal(tmp_path / "libnone.so")
    broken = tmp_path / "libbroken.so"
    broken.write_text("not a library")
    assert "cannot load the library" in refusal(broken)
    assert "it does not define `dumbbell_cc`" in refusal(
        compiled(tmp_path, "int nothing(void) { return 0; }\n", "empty")
    )


@needs_c
def test_a_library_that_calls_what_is_nowhere_is_refused_before_the_run(tmp_path: Path) -> None:
    # The first call would end the program in the middle of a run, and of every other point of a sweep.
    call = """
    uint32_t of_my_stack(uint32_t acked);
    static void call(void *state, const dumbbell_view *view, dumbbell_control *control, uint32_t acked) {
        (void)state, (void)view;
        control->cwnd += of_my_stack(acked);
    }
    """
    text = source(before=call, cong_avoid="call")
    text = text.replace("static void cong_avoid", "__attribute__((unused)) static void cong_avoid")
    said = refusal(compiled(tmp_path, text, "missing"))
    assert re.search(r"cannot load the library `[^`]*libmissing\.so`: undefined symbol: of_my_stack", said), said
    broken = tmp_path / "libbroken.so"
    broken.write_text("not a library")
    assert re.search(r"libbroken\.so`: (?!dlopen failed).", refusal(broken)), "what the system's loader says"


PARAMETERS = """
static const dumbbell_parameter parameters[] = {{"gain", "Growth.", 1, 0.5, 4}, {"keep", "What is kept.", 0.5, 0, 1}};
"""


@needs_c
def test_parameters_are_those_that_the_library_describes(tmp_path: Path) -> None:
    library = compiled(tmp_path, source(before=PARAMETERS, parameters="parameters", parameter_count="2"))
    assert "has no parameter `gian`" in refusal(library, gian=2)
    assert "must be a number from 0.5 to 4" in refusal(library, gain=5)
    assert "must be a number from 0 to 1" in refusal(library, keep="half")
    result = db.run({**LOSSY, "flows": [{"cc": {"library": str(library), "gain": 2}}]})
    assert "gain = 2" in result.scenario_toml
    shown = CliRunner().invoke(app, ["cc", "show", str(library)])
    assert shown.exit_code == 0 and "keep" in shown.output and "What is kept." in shown.output
    compared = db.compare("reno", f"{library}:gain=2", rate="10mbit", duration="3s")
    names = [row["cc"] for row in compared.flows.rows()]
    assert names[0] == "reno" and len(names) == 2


@needs_c
def test_a_library_is_examined_like_any_algorithm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(tmp_path, (EXAMPLES / "reno.c").read_text())
    monkeypatch.chdir(tmp_path)
    words = ["check", "gate", "reno", "./libown.so", "--scenario", "short-buffer", "--repeat", "6"]
    tested = CliRunner().invoke(app, words)
    assert tested.exit_code == 0, tested.output
    assert "base and new did the same in every run" in tested.output
    assert subject("./libown.so:gain=2") == {"library": str(tmp_path / "libown.so"), "gain": 2}


FAULT = """
static void fails(void *state, const dumbbell_view *view, dumbbell_control *control, uint32_t acked) {
    (void)state, (void)acked;
    if (view->now_us > 3000000)
        control->fault = "its model went astray";
}
static void closes(void *state, const dumbbell_view *view, dumbbell_control *control, uint32_t acked) {
    (void)state, (void)acked, (void)view;
    control->cwnd = 0;
}
static void *none(const double *values, uint64_t seed) { (void)values, (void)seed; return NULL; }
__attribute__((unused)) static const void *all[] = {fails, closes, none};
"""


@needs_c
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cong_avoid": "fails"}, r"failed at 3\..*s: its model went astray"),
        ({"cong_avoid": "closes"}, "it set the window to 0 packets"),
        ({"create": "none"}, "has no room for the state of a flow"),
    ],
)
def test_a_fault_ends_the_run_with_what_the_library_says(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    text = source(before=FAULT.replace("static const void *all[]", "static void *const all[]"), **changes)
    text = text.replace("__attribute__((unused)) static void *const all[] = {fails, closes, none};", "")
    text = text.replace("static void fails", "__attribute__((unused)) static void fails")
    text = text.replace("static void closes", "__attribute__((unused)) static void closes")
    text = text.replace("static void *none", "__attribute__((unused)) static void *none")
    text = text.replace("static void cong_avoid", "__attribute__((unused)) static void cong_avoid")
    library = compiled(tmp_path, text)
    with pytest.raises(db.RunError, match=message):
        db.run({**LOSSY, "flows": [{"cc": {"library": str(library)}}]})


@needs_c
def test_a_library_that_is_compiled_again_is_loaded_again(tmp_path: Path) -> None:
    library = compiled(tmp_path, (EXAMPLES / "reno.c").read_text())
    before = db.run({**LOSSY, "flows": [{"cc": {"library": str(library)}}]}).flows.rows()[0]
    gentle = (EXAMPLES / "reno.c").read_text().replace("control->cwnd / 2", "control->cwnd * 3 / 4")
    assert compiled(tmp_path, gentle) == library
    after = db.run({**LOSSY, "flows": [{"cc": {"library": str(library)}}]}).flows.rows()[0]
    assert after["algorithm"] != before["algorithm"]
    assert after["delivered_bytes"] > before["delivered_bytes"]


LAYOUT = """
#include "dumbbell_cc.h"
#include <stdlib.h>

static void *create(const double *values, uint64_t seed) { (void)values; return seed ? malloc(1) : NULL; }
static void init(void *state, const dumbbell_view *view, dumbbell_control *control) {
    (void)state, (void)view;
    control->cwnd = 20;
    control->pacing_rate = 1000000;
}
static uint32_t ssthresh(void *state, const dumbbell_view *view, const dumbbell_control *control) {
    (void)state, (void)view;
    return control->ssthresh;
}
static void cong_control(void *state, const dumbbell_view *view, dumbbell_control *control,
                         const dumbbell_sample *sample) {
    (void)state;
    if (view->size != sizeof *view || control->size != sizeof *control || sample->size != sizeof *sample)
        control->fault = "the structs have other sizes";
    else if (view->mss != 1448 || view->paced != 1 || view->hz != 1000 || view->no_unsent_data)
        control->fault = "the connection is another one";
    else if (view->in_flight != view->packets_out + view->retrans_out - view->sacked_out - view->lost_out)
        control->fault = "packets in flight do not add up";
    else if (view->srtt_us < 40000 || view->min_rtt_us < 40000 || view->now_us != view->now_ns / 1000)
        control->fault = "times do not fit";
    else if (sample->rtt_us > 1000000 || sample->acked > 20 || sample->is_ece > 1)
        control->fault = "the sample does not fit";
    else if (control->cwnd != 20 || control->pacing_rate != 1000000 || control->ssthresh != DUMBBELL_INFINITE_SSTHRESH)
        control->fault = "the levers are not those that were set";
}

#ifdef __cplusplus
extern "C"
#endif
const dumbbell_algorithm *dumbbell_cc(void) {
    static dumbbell_algorithm table;
    table.version = DUMBBELL_CC_VERSION;
    table.size = sizeof table;
    table.flags = DUMBBELL_FULL_CONTROL | DUMBBELL_WANTS_PACING;
    table.name = "layout";
    table.summary = "looks at what it is given";
    table.create = create;
    table.destroy = free;
    table.init = init;
    table.ssthresh = ssthresh;
    table.cong_control = cong_control;
    return &table;
}
"""


@needs_c
def test_a_library_is_paced_if_it_wants_that(tmp_path: Path) -> None:
    wishes = LAYOUT.replace(" | DUMBBELL_WANTS_PACING", "").replace("view->paced != 1", "view->paced != 0")
    assert wishes.count("paced != 0") == 1 and "WANTS_PACING" not in wishes
    library = compiled(tmp_path, wishes)
    path = {"rate": "20mbit", "rtt": "40ms"}
    assert db.run({"duration": "1s", "path": path, "flows": [{"cc": {"library": str(library)}}]}).flows.rows()


@pytest.mark.parametrize("compiler", ["cc", "c++"])
def test_both_sides_know_the_same_structs(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    (tmp_path / "dumbbell_cc.h").write_text(_core.contracts()[0])
    (tmp_path / "layout.c").write_text(LAYOUT)
    language = ["-x", "c++"] if compiler == "c++" else []
    library = tmp_path / "layout.so"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([compiler, *flags, *language, "layout.c"], cwd=tmp_path, check=True)
    path = {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp", "loss": 0.01}
    result = db.run({"duration": "5s", "path": path, "flows": [{"cc": {"library": str(library)}}]})
    # A megabyte a second, or twenty packets a round trip.
    assert result.flows.rows()[0]["goodput_mbps"] == pytest.approx(20 * 1448 * 8 / 0.041 / 1e6, rel=0.1)
