"""Collects the problems of one file, each with the text of its line."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.nodes import Node
from reconciler.manifest.reader.problem import Problem, Severity
from reconciler.manifest.reader.source import Source, showable_lines
from reconciler.model import Origin

_WORD = re.compile(r"""[^\s,\]}]+""")


class Trouble(NamedTuple):
    """What is wrong with a value, in whatever field."""

    code: Code
    message: str
    advice: str = ""


class Findings:
    """The problems of one file, in the order of their finding; ``cut_short`` if not all of it could be read."""

    def __init__(self, source: Source) -> None:
        """Starts empty."""
        self.source = source
        self.problems: list[Problem] = []
        self.cut_short = False
        self._places: set[tuple[int, int]] = set()
        self._lines: list[str] = []

    def origin(self, node: Node) -> Origin:
        """The place of ``node``."""
        return Origin(self.source.path, node.line + 1, node.column + 1)

    def add(self, trouble: Trouble, node: Node, related: Iterable[Origin] = (), severity: Severity = "error") -> None:
        """Reports ``trouble`` at ``node``."""
        self.add_at(trouble, self.origin(node), node.length, related=related, severity=severity)

    def add_at(
        self,
        trouble: Trouble,
        origin: Origin,
        length: int | None = None,
        *,
        related: Iterable[Origin] = (),
        severity: Severity = "error",
    ) -> None:
        """Reports ``trouble`` at a place; without ``length`` the word there is meant, with 0 the rest of the line."""
        text = self.line(origin.line)
        line = min(max(origin.line, 1), len(self._lines))
        column = min(max(origin.column, 1), len(text) + 1)
        if length is None:
            word = _WORD.match(text, column - 1)
            length = len(word[0]) if word else 1
        rest = len(text.rstrip()) - column + 1
        length = max(1, min(length or rest, rest))
        if severity == "error":
            self._places.add((line, column))
        place = Origin(origin.file, line, column)
        self.problems.append(
            Problem(trouble.code, place, trouble.message, text, length, trouble.advice, tuple(related), severity)
        )

    def line(self, number: int) -> str:
        """A line from 1, as it may be shown; the nearest one for a number outside of the file."""
        if not self._lines:
            self._lines = showable_lines(self.source.text)
        return self._lines[min(max(number, 1), len(self._lines)) - 1]

    @property
    def has_errors(self) -> bool:
        """Whether there is more than warnings."""
        return any(problem.severity == "error" for problem in self.problems)

    def silence(self, node: Node) -> None:
        """Counts as reported here what has been reported at another place."""
        self._places.add((node.line + 1, node.column + 1))

    def marks(self, node: Node) -> bool:
        """Whether an error has been reported at this very place."""
        return bool(self._places) and (node.line + 1, node.column + 1) in self._places
