"""What a plan does not change, as lines by reason, built once for all formats; nothing here is escaped."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby

from reconciler.dataclass import dataclass
from reconciler.diff import Skipped, SkipReason
from reconciler.model import Origin
from reconciler.plan import Plan, TopicReview
from reconciler.report.folding import FEW, MOST_LINES, arranged, first_names
from reconciler.report.kinds import VERBS, Alike, kind_of, sign_of

#: Reasons that a person has to look at come before those that somebody asked for; what is refused, before all.
_ASKED_FOR = (SkipReason.HELD_BACK, SkipReason.EXCLUDED)


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """One difference that stays, or several that are alike: the first ``names``, and how many have none here."""

    text: str
    origin: Origin | None = None
    names: tuple[str, ...] = ()
    unnamed: int = 0


@dataclass(frozen=True, slots=True)
class SkippedGroup:
    """Differences that stay for one reason; ``total`` is their number."""

    reason: SkipReason
    detail: str
    lines: tuple[SkippedLine, ...]
    total: int

    @property
    def heading(self) -> str:
        """Why they stay, in words: who asked for no deletions needs no name for that reason."""
        return self.detail if self.reason is SkipReason.HELD_BACK else f"{self.reason}: {self.detail}"

    @property
    def unnamed(self) -> int:
        """How many of them are only counted."""
        return sum(line.unnamed for line in self.lines)


def skipped_groups(plan: Plan, *, expand: bool = False, fold: bool = True) -> Iterator[SkippedGroup]:
    """What stays, by reason; with ``expand`` each has a line of its own, else as the steps of a plan have theirs.

    Very many reasons are one more group, without a reason.
    """
    groups: dict[tuple[SkipReason, str], list[Skipped]] = {}
    for item in plan.skipped:
        groups.setdefault((item.reason, item.detail), []).append(item)
    found = list(groups.items())
    if fold and not expand and len(found) > FEW:
        found.sort(key=lambda item: item[0][0] in _ASKED_FOR)
    most = FEW if fold and not expand else len(found)
    for (reason, detail), items in found[:most]:
        yield SkippedGroup(reason, detail, tuple(_lines(items, plan.topics, expand=expand, fold=fold)), len(items))
    if others := [item for _, items in found[most:] for item in items]:
        line = SkippedLine(f"{len(others):,} more for {len(found) - most:,} other reasons", unnamed=len(others))
        yield SkippedGroup(others[0].reason, "and others", (line,), len(others))


def _lines(items: Sequence[Skipped], review: TopicReview, *, expand: bool, fold: bool) -> Iterator[SkippedLine]:
    if expand:
        yield from (SkippedLine(_subject(item, review), item.origin) for item in items)
        return
    shared = [list(group) for _, group in groupby(items, key=_key)]
    lines = arranged(shared, _alike, fold=fold)
    most = MOST_LINES if fold and len(lines) > MOST_LINES else len(lines)
    yield from (_line(line, review) for line in lines[:most])
    if others := [item for line in lines[most:] for same in line for item in same]:
        yield SkippedLine(f"{len(others):,} more of {len(lines) - most:,} other shapes", unnamed=len(others))


def _key(item: Skipped) -> Hashable:
    shared = None if item.change is None else kind_of(item.change).shared(item.change)
    return id(item) if shared is None else (type(item.change), shared, item.origin)


def _alike(same: Sequence[Skipped]) -> Alike:
    change = same[0].change
    if change is None:
        return Alike(2, None)
    gravity, shape = kind_of(change).alike([one.change for one in same if one.change is not None])
    return Alike(gravity, (type(change), shape))


def _subject(item: Skipped, review: TopicReview) -> str:
    """One difference that stays; of what a guard refuses, with what a person has to know who would accept it."""
    if item.change is None or item.reason is not SkipReason.REFUSED:
        return item.subject
    known = [detail.text for detail in kind_of(item.change).details([item.change], review)]
    return f"{item.subject}: {'; '.join(known)}" if known else item.subject


def _line(line: Sequence[Sequence[Skipped]], review: TopicReview) -> SkippedLine:
    first = line[0][0]
    origin = first.origin if len({item.origin for same in line for item in same}) == 1 else None
    if first.change is None:
        names = first_names([same[0].subject for same in line], 2)
        text = first.subject if len(line) == 1 else f"{len(line):,} of these"
        return SkippedLine(text, origin, names if len(line) > 1 else (), len(line) - len(names))
    if len(line) == 1 and len(line[0]) == 1:
        return SkippedLine(_subject(first, review), origin)
    kind = kind_of(first.change)
    changes = [[item.change for item in same if item.change is not None] for same in line]
    words, verb = kind.words(changes[0], review), VERBS[sign_of(first.change)]
    if len(line) == 1:
        return SkippedLine(f"{verb} {words.text}", origin)
    names = first_names((kind.name(some) for some in changes), kind.alike(changes[0]).gravity)
    text = kind.many([change for some in changes for change in some], words.text, review)
    return SkippedLine(f"{verb} {text}", origin, names, sum(map(len, changes[len(names) :])))
