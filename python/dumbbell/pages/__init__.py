"""A page about a result: who won, charts, numbers, what limits each flow, and what to choose."""

from dumbbell.pages.content import Content, of_result
from dumbbell.pages.writing import FORMATS, render, write

__all__ = ["FORMATS", "Content", "of_result", "render", "write"]
