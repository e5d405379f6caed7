"""What a plan says besides its steps and its access: bridges, what is for good, what the broker said when asked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from reconciler.plan import EVERYBODY_ELSE, Plan
from reconciler.plan.review.irreversible import irreversible
from reconciler.report.bridge_text import closing_lines, opening_lines
from reconciler.report.style import plain, safe
from reconciler.report.validation_text import validation_lines
from reconciler.report.words import accepted_words


@dataclass(frozen=True, slots=True)
class Note:
    """A title and what stands below it."""

    title: str
    items: tuple[str, ...] = ()


def plan_notes(plan: Plan) -> Iterator[Note]:
    """All notes, in the order in which the plan's text has them."""
    exempt = [f"{one.principal} on {one.region.describe()}" for one in plan.access.exceptions]
    if exempt:
        yield Note(f"What happens to {EVERYBODY_ELSE} does not happen to these", tuple(map(safe, exempt)))
    said = chain(
        opening_lines(plan, plain),
        closing_lines(plan, plain),
        validation_lines(plan.topics.validation),
    )
    yield from _grouped(said)
    sentences = tuple(map(safe, irreversible(plan.steps)))
    if sentences:
        yield Note("Cannot be undone", sentences)
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
