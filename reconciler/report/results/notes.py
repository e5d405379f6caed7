"""What a plan says besides its steps and its access: bridges, what is for good, what the broker said when asked."""

from collections.abc import Iterable, Iterator
from itertools import chain

from reconciler.dataclass import dataclass
from reconciler.model.naming import as_name
from reconciler.plan import EVERYBODY_ELSE, Plan
from reconciler.report.bridge_text import opening_lines, removal_lines, unbridged_lines
from reconciler.report.coverage_words import coverage_words
from reconciler.report.gaining_words import GAINING_TITLE, gaining_words
from reconciler.report.irreversible_lines import irreversible_lines
from reconciler.report.style import plain, safe
from reconciler.report.validation_text import validation_lines
from reconciler.report.words import accepted_words


@dataclass(frozen=True, slots=True)
class Note:
    """A title and what stands below it."""

    title: str
    items: tuple[str, ...] = ()


def plan_notes(plan: Plan, *, expand: bool = False) -> Iterator[Note]:
    """All notes, in the order in which the plan's text has them; with ``expand`` each has all its lines."""
    exempt = [f"{as_name(one.principal)} on {one.region.describe()}" for one in plan.access.exceptions]
    if exempt:
        yield Note(f"What happens to {EVERYBODY_ELSE} does not happen to these", tuple(map(safe, exempt)))
    said = chain(
        opening_lines(plan, plain, expand=expand),
        removal_lines(plan, plain),
        unbridged_lines(plan, plain, expand=expand),
        validation_lines(plan.topics.validation),
    )
    yield from _grouped(said)
    sentences = [
        sentence + (f": {', '.join(names)}{f' and {unnamed:,} more' if unnamed else ''}" if names else "")
        for sentence, names, unnamed in irreversible_lines(plan, expand=expand)
    ]
    if sentences:
        yield Note("Cannot be undone", tuple(map(safe, sentences)))
    if plan.gaining:
        yield Note(GAINING_TITLE, tuple(map(safe, gaining_words(plan, expand=expand))))
    yield from (Note(title, tuple(map(safe, patterns))) for title, patterns in coverage_words(plan))
    if plan.acknowledgements:
        yield Note("Accepted", tuple(safe(accepted_words(one)) for one in plan.acknowledgements))


def _grouped(lines: Iterable[str]) -> Iterator[Note]:
    """A line that does not stand in begins a note; those that stand in belong to it."""
    title, items = "", list[str]()
    for line in filter(None, lines):
        if line.startswith(" "):
            items.append(line.strip())
            continue
        if title:
            yield Note(title, tuple(items))
        title, items = line.strip("─ "), []
    if title:
        yield Note(title, tuple(items))
