"""What no undo brings back, as sentences: one for all that the same happens to."""

from collections.abc import Iterator

from reconciler.plan import Plan, Step
from reconciler.plan.review.irreversible import irreversible
from reconciler.report.folding import arranged, first_names
from reconciler.report.kinds import kind_of

_FEW = 4


def irreversible_lines(plan: Plan, *, expand: bool = False) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Sentences; those about several things of a sort with the first names, and how many have none here."""
    steps = [step for step in plan.steps if not step.reversible]
    if expand:
        yield from ((sentence, (), 0) for sentence in irreversible(steps))
        return
    for same in arranged(steps, lambda step: kind_of(step.change).alike([step.change]), fold=True, few=_FEW):
        yield from _sentence(same)


def _sentence(same: list[Step]) -> Iterator[tuple[str, tuple[str, ...], int]]:
    kind = kind_of(same[0].change)
    names = [kind.name([step.change]) for step in same]
    for sentence in irreversible(same[:1]):
        if len(same) == 1:
            yield sentence, (), 0
            continue
        shown = first_names(names, kind.alike([same[0].change]).gravity)
        these = f"each of these {len(same):,} {kind.NOUN}s"
        yield sentence.replace(f"{kind.NOUN} {names[0]}", these, 1), shown, len(same) - len(shown)
