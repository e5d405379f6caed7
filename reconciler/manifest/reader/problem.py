"""A problem in a manifest, with its place, and how it is shown."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from reconciler.model import Origin

Severity = Literal["error", "warning"]
#: A longer line is shown around the mark only.
_WIDTH: Final = 120


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. ``length`` is how many characters from the origin's column are meant, at least 1.

    ``line_text`` is the line with secrets masked; ``related`` are other places that have to do with it.
    """

    code: str
    origin: Origin
    message: str
    line_text: str = ""
    length: int = 1
    advice: str = ""
    related: tuple[Origin, ...] = ()
    severity: Severity = "error"

    def __lt__(self, other: "Problem") -> bool:
        """By place, then code, then words."""
        return (self.origin, self.code, self.message) < (other.origin, other.code, other.message)


class ManifestError(Exception):
    """The manifests cannot be used; ``problems`` are all of them, sorted, each once."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Sorts."""
        self.problems = in_order(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        """Every problem in full."""
        return "\n\n".join(map(render_problem, self.problems))


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorted by place; what is said twice of one place is said once."""
    return tuple(sorted({(p.origin, p.code, p.message): p for p in problems}.values()))


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
