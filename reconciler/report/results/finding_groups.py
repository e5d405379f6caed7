"""Findings by rule, as people read them: what a rule advises once, and operations on one pattern on one line."""

from collections.abc import Hashable, Iterable, Iterator, Sequence

from reconciler.dataclass import dataclass
from reconciler.model import Origin
from reconciler.report.results.finding import LEVELS, Finding, Level
from reconciler.report.words import binding_words


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding, or several that differ in their operation only. ``advice`` is empty where the group has it."""

    subject: str
    message: str
    details: tuple[str, ...]
    advice: str
    place: Origin | None
    cluster: str
    count: int


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """The findings of one rule; ``advice`` is what all of its rows have in common, or empty."""

    rule: str
    name: str
    level: Level
    advice: str
    rows: tuple[FindingRow, ...]

    @property
    def total(self) -> int:
        """How many findings."""
        return sum(row.count for row in self.rows)


def finding_groups(findings: Iterable[Finding]) -> Iterator[FindingGroup]:
    """One for each rule, those of the heaviest level first, then by rule; rows by place."""
    found: dict[tuple[int, str, str], dict[Hashable, list[Finding]]] = {}
    for one in findings:
        rows = found.setdefault((LEVELS.index(one.level), one.rule, one.name), {})
        rows.setdefault(_alike(one), []).append(one)
    for (level, rule, name), rows in sorted(found.items(), key=lambda item: item[0]):
        advice = {one.advice for same in rows.values() for one in same}
        common = advice.pop() if len(advice) == 1 else ""
        yield FindingGroup(rule, name, LEVELS[level], common, tuple(_row(same, common) for same in rows.values()))


def _alike(one: Finding) -> Hashable:
    if one.binding is None:
        return one
    pattern, entry = one.binding
    return pattern, entry.principal, entry.host, entry.permission_type, one.place, one.cluster, one.advice, one.waived


def _row(same: Sequence[Finding], common: str) -> FindingRow:
    first = same[0]
    operations = ", ".join(one.binding.entry.operation.name for one in same if one.binding is not None)
    return FindingRow(
        first.subject if first.binding is None else binding_words(first.binding, operations),
        "; ".join(dict.fromkeys(one.message for one in same)),
        tuple(dict.fromkeys(text for one in same for text in one.details)),
        "" if first.advice == common else first.advice,
        first.place,
        first.cluster,
        len(same),
    )
