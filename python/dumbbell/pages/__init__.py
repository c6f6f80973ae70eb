"""A page about a result: what was run, the numbers, pictures, what limits each flow, and what to choose."""

from dumbbell.pages.content import Content, of_result
from dumbbell.pages.writing import FORMATS, render, write

__all__ = ["FORMATS", "Content", "of_result", "render", "write"]
