"""Docstrings name functions and classes as ``:func:`run```; the reference shows the name as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|class|meth|mod|data|attr|exc):(`[^`]+`)")


class Roles(griffe.Extension):  # type: ignore[misc]
    """Takes the roles out of docstrings."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Of everything that is read."""
        if obj.docstring:
            obj.docstring.value = _ROLE.sub(r"\1", obj.docstring.value)
