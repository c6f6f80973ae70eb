"""Lists the mutants of Python files, or makes some of them; runs where mutmut is installed, which knows how.

Texts are left out, since they are for people: which of their letters matter no test should say. So is how thick, how
large or how opaque a picture draws something, which no reading of the picture depends on. And so is `strict` of `zip`,
an assertion: where rows are as long as each other, as they have to be, it does nothing.

Reads a JSON object from standard input, file: [numbers of mutants], or file: null for all; prints for each file
its numbers or, for those that were asked for, {number: text of the whole file}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# Arguments of matplotlib. What tells data apart, colours, dashes and markers, is not among them.
LOOKS = {
    "alpha",
    "capsize",
    "elinewidth",
    "fontsize",
    "labelpad",
    "labelsize",
    "linewidth",
    "linewidths",
    "markeredgewidth",
    "markersize",
    "pad",
    "zorder",
}


def main() -> None:
    """Answers."""
    from mutmut.mutation.file_mutation import create_mutations

    answer: dict[str, object] = {}
    for name, numbers in json.load(sys.stdin).items():
        module, mutations, *_ = create_mutations(name, Path(name).read_text("utf-8"))
        left_out = of_left_out(module)
        known = {
            number: mutation
            for number, mutation in enumerate(mutations)
            if mutation.contained_by_top_level_function is not None and not is_left_out(mutation, left_out)
        }
        if numbers is None:
            answer[name] = list(known)
        else:
            pairs = {number: (known[number].original_node, known[number].mutated_node) for number in numbers}
            answer[name] = {number: module.deep_replace(*pair).code for number, pair in pairs.items()}
    json.dump(answer, sys.stdout)


def is_left_out(mutation: Any, left_out: set[int]) -> bool:
    """Whether a text changes, or nothing but such arguments."""
    import libcst

    before, after = mutation.original_node, mutation.mutated_node
    if isinstance(before, libcst.BaseString):
        return True
    if isinstance(before, libcst.Call) and isinstance(after, libcst.Call):
        kept = {id(argument) for argument in after.args}
        changed = [argument for argument in before.args if id(argument) not in kept]
        return bool(changed) and all(id(argument) in left_out for argument in changed)
    return id(before) in left_out


def of_left_out(node: Any) -> set[int]:
    """Such arguments of calls, and what is inside them."""
    import libcst

    found: set[int] = set()
    for child in node.children:
        name = child.keyword.value if isinstance(child, libcst.Arg) and child.keyword is not None else ""
        is_assertion = name == "strict" and isinstance(node.func, libcst.Name) and node.func.value == "zip"
        found |= {id(one) for one in everything_in(child)} if name in LOOKS or is_assertion else of_left_out(child)
    return found


def everything_in(node: Any) -> list[Any]:
    """A node and what is inside it."""
    return [node, *(inner for child in node.children for inner in everything_in(child))]


if __name__ == "__main__":
    main()
