"""Lists the mutants of Python files, or makes some of them; runs where mutmut is installed, which knows how.

Texts are left out, since they are for people: which of their letters matter no test should say.

Reads a JSON object from standard input, file: [numbers of mutants], or file: null for all; prints for each file
its numbers or, for those that were asked for, {number: text of the whole file}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """Answers."""
    import libcst
    from mutmut.mutation.file_mutation import create_mutations

    answer: dict[str, object] = {}
    for name, numbers in json.load(sys.stdin).items():
        module, mutations, *_ = create_mutations(name, Path(name).read_text("utf-8"))
        known = {
            number: mutation
            for number, mutation in enumerate(mutations)
            if mutation.contained_by_top_level_function is not None
            and not isinstance(mutation.original_node, libcst.BaseString)
        }
        if numbers is None:
            answer[name] = list(known)
        else:
            pairs = {number: (known[number].original_node, known[number].mutated_node) for number in numbers}
            answer[name] = {number: module.deep_replace(*pair).code for number, pair in pairs.items()}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
