"""Collects the problems of one file, each with the text of its line."""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.nodes import Node
from reconciler.manifest.reader.problem import Problem, Severity, more_problems
from reconciler.manifest.reader.source import ShowableLines, Source
from reconciler.model import Origin

_WORD = re.compile(r"""[^\s,\]}]+""")
#: So many errors, and as many warnings, are kept of one file; nobody reads more, and a hostile file has millions.
MOST_PROBLEMS: Final = 100


class Trouble(NamedTuple):
    """What is wrong with a value, in whatever field."""

    code: Code
    message: str
    advice: str = ""


class Findings:
    """The problems of one file; ``cut_short`` if not all of it could be read.

    The first :data:`MOST_PROBLEMS` errors are kept, and as many warnings, so that no flood of one hides the other; of
    the rest only the number. What is found at one of the ``excused`` places is marked there and not reported.
    """

    def __init__(self, source: Source, excused: Collection[Origin] = ()) -> None:
        """Starts empty."""
        self.source = source
        self.cut_short = False
        self._excused, self._has_excused = excused, False
        self._kept: list[Problem] = []
        self._found: Counter[Severity] = Counter()
        self._more: Counter[Severity] = Counter()
        self._first_more: Origin | None = None
        self._places: set[tuple[int, int]] = set()
        self._sources_of: dict[Origin, tuple[Origin, ...]] = {}
        self._lines = ShowableLines(source.text)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Those that are kept, in the order of their finding; then one line that counts the rest."""
        if self._first_more is None:
            return tuple(self._kept)
        severity: Severity = "error" if self._more["error"] else "warning"
        unread = ", which was not read to its end" if self.cut_short else ""
        return (*self._kept, more_problems(self._first_more, self._more.total(), f"this file{unread}", severity))

    @property
    def count(self) -> int:
        """How many problems there are, those that are only counted among them."""
        return self._found.total() + self._more.total()

    @property
    def is_full(self) -> bool:
        """Whether further errors are only counted, so that finding words for them is lost work."""
        return self._found["error"] >= MOST_PROBLEMS

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
        if origin in self._excused:
            self._has_excused = True
            self._places.add((origin.line, origin.column))
            return
        # A generated file with one mistake has it a thousand times: the rest is counted.
        if self._found[severity] >= MOST_PROBLEMS:
            self.count_more(origin, 1, severity)
            return
        line, text = self._lines.nearest(origin.line)
        column = min(max(origin.column, 1), len(text) + 1)
        if length is None:
            word = _WORD.match(text, column - 1)
            length = len(word[0]) if word else 1
        rest = len(text.rstrip()) - column + 1
        length = max(1, min(length or rest, rest))
        if severity == "error":
            self._places.add((line, column))
        place = Origin(origin.file, line, column)
        others = dict.fromkeys(related)
        others.update(dict.fromkeys(source for one in (origin, *others) for source in self._sources_of.get(one, ())))
        self._keep(Problem(trouble.code, place, trouble.message, text, length, trouble.advice, tuple(others), severity))

    def relate(self, node: Node, sources: Iterable[Origin]) -> None:
        """Names in every problem that is found at ``node`` from now on the places that its value comes from."""
        self._sources_of[self.origin(node)] = tuple(sources)

    def take(self, problem: Problem) -> None:
        """Reports a problem that was found in another reading of this file."""
        if problem.more or self._found[problem.severity] >= MOST_PROBLEMS:
            self.count_more(problem.origin, problem.more or 1, problem.severity)
        else:
            self._keep(problem)

    def count_more(self, origin: Origin, number: int, severity: Severity = "error") -> None:
        """Counts ``number`` further problems, the first of them at ``origin``."""
        self._more[severity] += number
        self._first_more = self._first_more or origin

    def _keep(self, problem: Problem) -> None:
        self._kept.append(problem)
        self._found[problem.severity] += 1

    def line(self, number: int) -> str:
        """A line from 1, as it may be shown; the nearest one for a number outside of the file."""
        return self._lines.nearest(number)[1]

    @property
    def has_errors(self) -> bool:
        """Whether there is more than warnings, reported or excused."""
        return self._found["error"] > 0 or self._more["error"] > 0 or self._has_excused

    def silence(self, node: Node) -> None:
        """Counts as reported here what has been reported at another place."""
        self._places.add((node.line + 1, node.column + 1))

    def marks(self, node: Node) -> bool:
        """Whether an error has been reported at this very place."""
        return bool(self._places) and (node.line + 1, node.column + 1) in self._places
