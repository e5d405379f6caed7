"""The steps of a plan as lines, built once for all formats; nothing here is escaped."""

import datetime
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat
from typing import Final, TypeAlias

from reconciler.model import Origin
from reconciler.plan import BrokerAnswer, Effect, Phase, Plan, Ruling, Step
from reconciler.report.kinds import Detail, kind_of, sign_of
from reconciler.report.review_text import effect_words
from reconciler.report.validation_text import answer_words
from reconciler.report.words import why_words

_Tagged: TypeAlias = tuple[Step, Effect | None]

#: So many steps of a phase are always shown one by one,
_FEW: Final = 50
#: and so many that are alike.
_ALIKE: Final = 5


@dataclass(frozen=True, slots=True)
class StepLine:
    """One or several steps that share a line. ``sign`` is ``+``, ``-`` or ``~``; ``about`` the principal or the name.

    ``names`` are those of steps that are alike, where there are very many: the line counts them.
    """

    phase: Phase
    sign: str
    about: str
    words: str
    details: tuple[Detail, ...]
    effect: str
    step: Step
    ids: tuple[str, ...]
    names: tuple[str, ...] = ()

    @property
    def origin(self) -> Origin | None:
        """Where it is declared."""
        return self.step.origin

    @property
    def until(self) -> str:
        """``until 2026-12-31``; empty where it has no end."""
        expires: datetime.date | None = self.step.expires
        return "" if expires is None else f"until {expires}"

    @property
    def why(self) -> str:
        """``PAY-12: settlement reads orders``, as the manifest says; empty where it says nothing."""
        return why_words(self.step.reason, self.step.ticket)


def step_lines(plan: Plan, *, expand: bool = False) -> Iterator[StepLine]:
    """Every step, in order. With ``expand`` each has a line of its own.

    Without, bindings that differ in their operation only share one. So do very many topics that get the same, unless
    data is lost or the broker did not simply accept it; their line comes first in its phase.
    """
    validation = plan.topics.validation
    answers = {answer.step: answer for answer in validation.answers} if validation else {}
    tagged = zip(plan.steps, plan.access.effects or repeat(None), strict=False)
    for _, steps in groupby(tagged, key=lambda item: item[0].phase):
        rest = list(steps)
        if not expand:
            together, rest = _divided(rest, answers)
            yield from (_grouped(plan, same) for same in together)
        for _, group in groupby(rest, key=lambda item: _key(*item, expand=expand)):
            yield _line(plan, list(group), answers)


def _key(step: Step, effect: Effect | None, *, expand: bool) -> Hashable:
    shared = None if expand else kind_of(step.change).shared(step.change)
    if shared is None:
        return step.id
    return type(step.change), shared, effect, step.origin, step.expires, step.reason, step.ticket


def _divided(steps: list[_Tagged], answers: Mapping[str, BrokerAnswer]) -> tuple[list[list[_Tagged]], list[_Tagged]]:
    """Very many steps that are alike, each set of them in the order of its first; and the other steps."""
    if len(steps) <= _FEW:
        return [], steps
    sets: dict[Hashable, list[_Tagged]] = {}
    for item in steps:
        change = item[0].change
        alike = kind_of(change).alike(change)
        answer = answers.get(item[0].id) if answers and alike is not None else None
        if alike is not None and (answer is None or answer.ruling is Ruling.ACCEPTED):
            sets.setdefault((type(change), alike), []).append(item)
    together = [same for same in sets.values() if len(same) > _ALIKE]
    shown = {step.id for same in together for step, _ in same}
    return together, [item for item in steps if item[0].id not in shown] if shown else steps


def _line(plan: Plan, steps: Sequence[_Tagged], answers: Mapping[str, BrokerAnswer]) -> StepLine:
    first, effect = steps[0]
    words = kind_of(first.change).words([step.change for step, _ in steps], plan.topics)
    details = (*words.details, *_answered(answers.get(first.id))) if answers else words.details
    ids = tuple(step.id for step, _ in steps)
    sign = sign_of(first.change)
    return StepLine(first.phase, sign, words.about, words.text, details, effect_words(effect), first, ids)


def _grouped(plan: Plan, steps: Sequence[_Tagged]) -> StepLine:
    """``2,000 topics: 3 partitions``, with all names."""
    first, effect = steps[0]
    kind = kind_of(first.change)
    words = kind.words([first.change], plan.topics)
    names = tuple(kind.words([step.change], plan.topics).about for step, _ in steps)
    text = words.text.replace(f"{kind.NOUN} {words.about}", f"{len(steps):,} {kind.NOUN}s", 1)
    ids = tuple(step.id for step, _ in steps)
    sign = sign_of(first.change)
    return StepLine(first.phase, sign, words.about, text, words.details, effect_words(effect), first, ids, names)


def _answered(answer: BrokerAnswer | None) -> tuple[Detail, ...]:
    if answer is None or answer.ruling is Ruling.ACCEPTED:
        return ()
    return (Detail("error" if answer.ruling is Ruling.REFUSED else "warn", answer_words(answer)),)
