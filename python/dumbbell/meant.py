"""What was probably meant by a word that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Asks for the nearest known word, ``did you mean `WORD`?``; empty where none is near.

    Args:
        word: What was written.
        known: What could have been written.
        cutoff: How alike the two must be, between 0 and 1.
    """
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f"did you mean `{near[0]}`?" if near else ""
