"""The steps of a plan as lines, built once for all formats; nothing here is escaped."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, repeat
from typing import Final, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model.characters import counted
from reconciler.model.desired import Expiry, Origin
from reconciler.model.listing import Change
from reconciler.plan.difference import DriftCause, Skipped, SkipReason
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Plan, difference_id
from reconciler.plan.review.effects import Effect, EffectKind
from reconciler.plan.review.topics import BrokerAnswer, Ruling, TopicReview, irreversible
from reconciler.plan.step import Step
from reconciler.results.words import why_words
from reconciler.show.document import FEW, MOST_LINES, Alike, Detail, arranged, first_names
from reconciler.show.kinds import KINDS, VERBS, kind_of, sign_of
from reconciler.show.review import answer_words, effect_words

_Tagged: TypeAlias = tuple[Step, Effect | None]
#: Steps that differ in their operation only, and so share a line.
_Shared: TypeAlias = list[_Tagged]
_Answers: TypeAlias = Mapping[str, BrokerAnswer]

_TOGETHER: Final = frozenset({EffectKind.NO_EFFECT, EffectKind.NARROWS_NEW})


@dataclass(frozen=True, slots=True)
class StepLine:
    """So many ``steps`` on one line. ``sign`` is ``+``, ``-`` or ``~``; ``about`` the principal or the name.

    ``until`` is its end (``until 2026-12-31``), ``why`` what the manifest says of why; both may be empty.
    ``names`` are the first of steps that are alike, where there are very many; ``unnamed`` steps are only counted.
    ``notes`` are what such steps bring with them, to be said once for all of a phase.
    """

    phase: Phase
    sign: str
    about: str
    words: str
    details: tuple[Detail, ...]
    effect: str
    steps: int
    origin: Origin | None = None
    until: str = ""
    why: str = ""
    names: tuple[str, ...] = ()
    unnamed: int = 0
    notes: tuple[str, ...] = ()
    #: Of a drift report, where what was applied last is known.
    cause: DriftCause | None = None


def step_lines(plan: Plan, *, expand: bool = False, fold: bool = True) -> Iterator[StepLine]:
    """Every step, phase after phase. With ``expand`` each has a line of its own, in the order in which it is sent.

    Without, bindings that differ in their operation only share one. Where a phase has very many lines, the gravest come
    first, and with ``fold`` lines of one shape share one that counts them: see :mod:`reconciler.show.document`.
    """
    validation = plan.topics.validation
    answers = {answer.step: answer for answer in validation.answers} if validation else {}
    tagged = zip(plan.steps, plan.access.effects or repeat(None), strict=False)
    for _, steps in groupby(tagged, key=lambda item: item[0].phase):
        shared = [list(group) for _, group in groupby(steps, key=lambda item: _key(plan, *item, expand=expand))]
        if expand:
            yield from (_line(plan, [group], answers) for group in shared)
            continue
        lines = arranged(shared, lambda group: _alike(plan, group, answers), fold=fold)
        most = MOST_LINES if fold and len(lines) > MOST_LINES else len(lines)
        yield from (_line(plan, line, answers) for line in lines[:most])
        if lines[most:]:
            yield _others(lines[most:])


def summary(plan: Plan) -> str:
    """``3 ACLs to create, 1 topic to alter``: one line that counts the steps."""
    counts = Counter((kind_of(step.change), sign_of(step.change)) for step in plan.steps)
    there = {kind for kind, _ in counts}
    kinds = (kind for kind in KINDS if kind in there)
    totals = ((counts[kind, sign], kind.NOUN, verb) for kind in kinds for sign, verb in VERBS.items())
    return ", ".join(f"{counted(number, noun)} to {verb}" for number, noun, verb in totals if number)


def steps_shown(lines: Iterable[StepLine]) -> tuple[int, int]:
    """How many steps these lines show by name, and how many they are about."""
    rows = list(lines)
    total = sum(line.steps for line in rows)
    return total - sum(line.unnamed for line in rows), total


def note_lines(lines: Sequence[StepLine]) -> Iterator[tuple[int, str]]:
    """Each note of a phase's lines once, with the number of steps that it is about."""
    notes = dict.fromkeys(note for line in lines for note in line.notes)
    for note in notes:
        yield sum(line.steps for line in lines if note in line.notes), note


def _cause(plan: Plan, item: Step | Skipped) -> DriftCause | None:
    return None if plan.causes is None else plan.causes[difference_id(item)]


def _key(plan: Plan, step: Step, effect: Effect | None, *, expand: bool) -> Hashable:
    shared = None if expand else kind_of(step.change).shared(step.change)
    if shared is None:
        return step.id
    # Of the operations of one DENY some may narrow an ALLOW of the plan and others nothing: they stay one line.
    effect_key = _TOGETHER if effect is not None and effect.kind in _TOGETHER else effect
    declared = step.origin, step.expires, step.reason, step.ticket, step.role
    return type(step.change), shared, effect_key, declared, _cause(plan, step)


def _effect(shared: _Shared) -> Effect | None:
    """What the steps of one line do together."""
    narrowing = (effect for _, effect in shared if effect is not None and effect.kind is EffectKind.NARROWS_NEW)
    return next(narrowing, shared[0][1])


def _alike(plan: Plan, shared: _Shared, answers: _Answers) -> Alike:
    step, effect = shared[0][0], _effect(shared)
    answer = answers.get(step.id) if answers else None
    if answer is not None and answer.ruling is not Ruling.ACCEPTED:
        return Alike(0, step.id)  # what the broker says about it is about this step only
    gravity, shape = kind_of(step.change).alike([member.change for member, _ in shared])
    kind = None if effect is None else effect.kind
    return Alike(gravity, (type(step.change), shape, kind, step.expires, step.role, _cause(plan, step)))


def _line(plan: Plan, lines: Sequence[_Shared], answers: _Answers) -> StepLine:
    step, effect = lines[0][0][0], _effect(lines[0])
    kind, changes = kind_of(step.change), [member.change for member, _ in lines[0]]
    words = kind.words(changes, plan.topics)
    steps = [member for shared in lines for member, _ in shared]
    line = StepLine(
        step.phase,
        sign_of(step.change),
        words.about,
        words.text,
        words.details,
        effect_words(effect),
        len(steps),
        step.origin,
        "" if step.expires is None else _end(step.change, step.expires),
        _why(step),
        notes=words.notes,
        cause=_cause(plan, step),
    )
    if len(lines) == 1:
        return replace(line, details=(*words.details, *_answered(answers.get(step.id)))) if answers else line
    names = first_names(
        (kind.name([member.change for member, _ in shared]) for shared in lines), kind.alike(changes).gravity
    )
    below = {kind.details([member.change for member, _ in shared], plan.topics) for shared in lines}
    return replace(
        line,
        words=kind.many([member.change for member in steps], words.text, plan.topics),
        # What is said below or after one of them is said of all only where it is the same.
        details=words.details if len(below) == 1 else (),
        effect="" if effect is None else effect_words(replace(effect, covered_by=None)),
        origin=step.origin if len({member.origin for member in steps}) == 1 else None,
        why=_why(step) if len({(member.reason, member.ticket) for member in steps}) == 1 else _role(step),
        names=names,
        unnamed=sum(len(shared) for shared in lines[len(names) :]),
    )


def _end(change: Change, end: Expiry) -> str:
    return f"ended {end.past}" if change.after is None else f"until {end}"


def _why(step: Step) -> str:
    """A role comes first: the place of the step only uses it, so a change of the role is seen nowhere else."""
    return "; ".join(filter(None, (_role(step), why_words(step.reason, step.ticket))))


def _role(step: Step) -> str:
    return "" if step.role is None else f"by the Role at {step.role}"


def _others(lines: Sequence[Sequence[_Shared]]) -> StepLine:
    """One line for all shapes that there is no room for, however many there are."""
    steps = [step for line in lines for shared in line for step, _ in shared]
    text = f"{len(steps):,} more of {len(lines):,} other shapes"
    return StepLine(steps[0].phase, sign_of(steps[0].change), "", text, (), "", len(steps), unnamed=len(steps))


def _answered(answer: BrokerAnswer | None) -> tuple[Detail, ...]:
    if answer is None or answer.ruling is Ruling.ACCEPTED:
        return ()
    return (Detail("error" if answer.ruling is Ruling.REFUSED else "warn", answer_words(answer)),)


# What a plan does not change, as lines by reason, built once for all formats; nothing here is escaped.

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
    cause: DriftCause | None = None

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
    groups: dict[tuple[SkipReason, str, DriftCause | None], list[Skipped]] = {}
    for item in plan.skipped:
        groups.setdefault((item.reason, item.detail, _cause(plan, item)), []).append(item)
    ordered = list(groups.items())
    if fold and not expand and len(ordered) > FEW:
        ordered.sort(key=lambda item: item[0][0] in _ASKED_FOR)
    most = FEW if fold and not expand else len(ordered)
    for (reason, detail, cause), items in ordered[:most]:
        lines = tuple(_lines(items, plan.topics, expand=expand, fold=fold))
        yield SkippedGroup(reason, detail, lines, len(items), cause)
    if others := [item for _, items in ordered[most:] for item in items]:
        line = SkippedLine(f"{len(others):,} more for {len(ordered) - most:,} other reasons", unnamed=len(others))
        yield SkippedGroup(others[0].reason, "and others", (line,), len(others))


def _lines(items: Sequence[Skipped], review: TopicReview, *, expand: bool, fold: bool) -> Iterator[SkippedLine]:
    if expand:
        yield from (SkippedLine(_subject(item, review), item.origin) for item in items)
        return
    shared = [list(group) for _, group in groupby(items, key=_skipped_key)]
    lines = arranged(shared, _skipped_alike, fold=fold)
    most = MOST_LINES if fold and len(lines) > MOST_LINES else len(lines)
    yield from (_skipped_line(line, review) for line in lines[:most])
    if others := [item for line in lines[most:] for same in line for item in same]:
        yield SkippedLine(f"{len(others):,} more of {len(lines) - most:,} other shapes", unnamed=len(others))


def _skipped_key(item: Skipped) -> Hashable:
    shared = None if item.change is None else kind_of(item.change).shared(item.change)
    return id(item) if shared is None else (type(item.change), shared, item.origin)


def _skipped_alike(same: Sequence[Skipped]) -> Alike:
    change = same[0].change
    if change is None:
        return Alike(2, None)
    gravity, shape = kind_of(change).alike([skipped.change for skipped in same if skipped.change is not None])
    return Alike(gravity, (type(change), shape))


def _subject(item: Skipped, review: TopicReview) -> str:
    """One difference that stays; of what a guard refuses, with what a person has to know who would accept it."""
    if item.change is None or item.reason is not SkipReason.REFUSED:
        return item.subject
    texts = [detail.text for detail in kind_of(item.change).details([item.change], review)]
    return f"{item.subject}: {'; '.join(texts)}" if texts else item.subject


def _skipped_line(line: Sequence[Sequence[Skipped]], review: TopicReview) -> SkippedLine:
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


# What no undo brings back, as sentences: one for all that the same happens to.

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
