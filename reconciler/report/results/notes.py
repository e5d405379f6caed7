"""What a plan says besides its steps and its access: bridges, what is for good, what the broker said when asked."""

from collections.abc import Iterator

from reconciler.dataclass import dataclass
from reconciler.model.naming import as_name
from reconciler.plan import EVERYBODY_ELSE, Plan
from reconciler.report.document import SectionName
from reconciler.report.plan_text import plan_document
from reconciler.report.style import safe


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
    for section in plan_document(plan, expand=expand).of(SectionName.NOTES, SectionName.ACCEPTED):
        yield Note(safe(section.title or section.closing), tuple(safe(row.sentence) for row in section.rows))
