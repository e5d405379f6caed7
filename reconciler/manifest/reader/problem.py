"""A problem in a manifest, with its place, and how it is shown."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from reconciler.dataclass import dataclass
from reconciler.manifest.reader.codes import Code
from reconciler.model import Origin

Severity = Literal["error", "warning"]
#: So many problems are shown of all files together; a build server's log and a reader end before that.
MOST_PROBLEMS: Final = 1_000
#: A longer line is shown around the mark only.
_WIDTH: Final = 120


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. ``length`` is how many characters from the origin's column are meant, at least 1.

    ``line_text`` is the line with secrets masked; ``related`` are other places that have to do with it. A line that
    counts problems instead of showing them stands for ``more`` of them.
    """

    code: str
    origin: Origin
    message: str
    line_text: str = ""
    length: int = 1
    advice: str = ""
    related: tuple[Origin, ...] = ()
    severity: Severity = "error"
    more: int = 0

    def __lt__(self, other: "Problem") -> bool:
        """By place, then code, then words; a count stands after what it counts on from."""
        return self._order() < other._order()

    def _order(self) -> tuple[object, ...]:
        return self.origin.file, self.more > 0, self.origin, self.code, self.message


class ManifestError(Exception):
    """The manifests cannot be used; ``problems`` are sorted, each once, the first thousand and a count of the rest."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Sorts."""
        self.problems = in_order(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        """Every problem in full."""
        return "\n\n".join(map(render_problem, self.problems))


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorted by place; what is said twice of one place is said once.

    At most :data:`MOST_PROBLEMS` are shown, errors before warnings; a line at the end counts the others of all files.
    """
    found = sorted(_once(problems))
    told = [problem for problem in found if not problem.more]
    if len(told) <= MOST_PROBLEMS:
        return tuple(found)
    told.sort(key=lambda problem: problem.severity != "error")
    others = told[MOST_PROBLEMS:] + [problem for problem in found if problem.more]
    severity: Severity = "error" if any(problem.severity == "error" for problem in others) else "warning"
    last = more_problems(min(others).origin, problem_count(others), "the manifests", severity)
    return (*sorted(told[:MOST_PROBLEMS]), last)


def _once(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Each problem once, and one count of a file's others.

    A file is read for each cluster, and what is wrong with it is mostly wrong for all of them. Which problems a count
    stands for is not kept, so the largest one counts: all of them together would count one problem several times.
    """
    counts: dict[tuple[str, Severity], Problem] = {}
    told: dict[tuple[Origin, str, str], Problem] = {}
    for problem in problems:
        if problem.more:
            key = (problem.origin.file, problem.severity)
            counts[key] = max(counts.get(key, problem), problem, key=lambda one: one.more)
        else:
            told[problem.origin, problem.code, problem.message] = problem
    yield from (*told.values(), *counts.values())


def problem_count(problems: Iterable[Problem]) -> int:
    """How many there are, those that are only counted among them."""
    return sum(problem.more or 1 for problem in problems)


def more_problems(first: Origin, number: int, where: str, severity: Severity) -> Problem:
    """The line that stands for ``number`` problems that are not shown, the first of them at ``first``."""
    message = f"and {number:,} more {'problem' if number == 1 else 'problems'} in {where}"
    return Problem(Code.MORE_PROBLEMS, first, message, severity=severity, more=number)


def render_problem(problem: Problem) -> str:
    """Text for a person: place, code, message, the line with a mark, advice, related places; no newline at the end."""
    shown, before = _window(problem)
    gutter = " " * len(str(problem.origin.line))
    pad = "".join("\t" if character == "\t" else " " for character in before)
    mark = "^" * max(1, min(problem.length, len(shown) - len(before)))
    parts = [f"{problem.origin}: {problem.severity} {problem.code}: {problem.message}"]
    if shown.strip():
        parts += [f"{gutter} |", f"{problem.origin.line} | {shown}", f"{gutter} | {pad}{mark}"]
    if problem.advice:
        parts.append(f"{gutter} = {problem.advice}")
    parts += [f"{gutter} = see also {place}" for place in problem.related]
    return "\n".join(parts)


def _window(problem: Problem) -> tuple[str, str]:
    """The part of the line that is shown, and how much of it is before the mark."""
    column, line = problem.origin.column - 1, problem.line_text
    if len(line) <= _WIDTH:
        return line, line[:column]
    start = max(0, min(column - _WIDTH // 3, len(line) - _WIDTH))
    head, tail = "…" if start else "", "…" if start + _WIDTH < len(line) else ""
    return f"{head}{line[start : start + _WIDTH]}{tail}", f"{head}{line[start:column]}"
