"""Draws a random sample of mutants, and says how many of them no test notices. See README.md beside this file."""

from __future__ import annotations

import argparse
from pathlib import Path

import in_python
import in_rust
from verdicts import ROOT, report


def main() -> None:
    """Draws, builds, judges, reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="of the sample: a fresh one for a fresh estimate")
    parser.add_argument("--language", choices=("rust", "python"), default="rust", help="whose mutants (rust)")
    parser.add_argument("--size", type=int, default=300, help="how many mutants (300)")
    parser.add_argument("--least", type=int, default=20, help="how many of a crate or folder at least (20)")
    parser.add_argument("--work", type=Path, default=ROOT / "target/mutants", help="where to build (target/mutants)")
    parser.add_argument("--tool", help="a cargo with the subcommand mutants (cargo); a Python with mutmut (one of uv)")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of files to which it is limited")
    parser.add_argument("--no-coverage", dest="coverage", action="store_false", help="ask no test before its file")
    parser.add_argument("--files", type=int, help="how many test files look at a mutant of Python at most (all)")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    survey = in_rust.survey if arguments.language == "rust" else in_python.survey
    sample, sizes = survey(work, arguments)
    report(sample, sizes)


if __name__ == "__main__":
    main()
