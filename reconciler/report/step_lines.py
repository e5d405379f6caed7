"""The steps of a plan as lines, built once for all formats; nothing here is escaped."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, repeat
from typing import Final, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model import Origin
from reconciler.plan import BrokerAnswer, Effect, EffectKind, Phase, Plan, Ruling, Step
from reconciler.report.folding import MOST_LINES, arranged, first_names
from reconciler.report.kinds import KINDS, VERBS, Alike, Detail, kind_of, sign_of
from reconciler.report.review_text import effect_words
from reconciler.report.style import counted
from reconciler.report.validation_text import answer_words
from reconciler.report.words import why_words

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


def step_lines(plan: Plan, *, expand: bool = False, fold: bool = True) -> Iterator[StepLine]:
    """Every step, phase after phase. With ``expand`` each has a line of its own, in the order in which it is sent.

    Without, bindings that differ in their operation only share one. Where a phase has very many lines, the gravest come
    first, and with ``fold`` lines of one shape share one that counts them: see :mod:`reconciler.report.folding`.
    """
    validation = plan.topics.validation
    answers = {answer.step: answer for answer in validation.answers} if validation else {}
    tagged = zip(plan.steps, plan.access.effects or repeat(None), strict=False)
    for _, steps in groupby(tagged, key=lambda item: item[0].phase):
        shared = [list(group) for _, group in groupby(steps, key=lambda item: _key(*item, expand=expand))]
        if expand:
            yield from (_line(plan, [one], answers) for one in shared)
            continue
        lines = arranged(shared, lambda one: _alike(one, answers), fold=fold)
        most = MOST_LINES if fold and len(lines) > MOST_LINES else len(lines)
        yield from (_line(plan, one, answers) for one in lines[:most])
        if lines[most:]:
            yield _others(lines[most:])


def summary(plan: Plan) -> str:
    """``3 ACLs to create, 1 topic to alter``: one line that counts the steps."""
    counts = Counter((kind_of(step.change), sign_of(step.change)) for step in plan.steps)
    there = {kind for kind, _ in counts}
    kinds = (kind for kind in KINDS if kind in there)
    found = ((counts[kind, sign], kind.NOUN, verb) for kind in kinds for sign, verb in VERBS.items())
    return ", ".join(f"{counted(number, noun)} to {verb}" for number, noun, verb in found if number)


def steps_shown(lines: Iterable[StepLine]) -> tuple[int, int]:
    """How many steps these lines show by name, and how many they are about."""
    found = list(lines)
    total = sum(line.steps for line in found)
    return total - sum(line.unnamed for line in found), total


def note_lines(lines: Sequence[StepLine]) -> Iterator[tuple[int, str]]:
    """Each note of a phase's lines once, with the number of steps that it is about."""
    notes = dict.fromkeys(note for line in lines for note in line.notes)
    for note in notes:
        yield sum(line.steps for line in lines if note in line.notes), note


def _key(step: Step, effect: Effect | None, *, expand: bool) -> Hashable:
    shared = None if expand else kind_of(step.change).shared(step.change)
    if shared is None:
        return step.id
    # Of the operations of one DENY some may narrow an ALLOW of the plan and others nothing: they stay one line.
    told = _TOGETHER if effect is not None and effect.kind in _TOGETHER else effect
    return type(step.change), shared, told, step.origin, step.expires, step.reason, step.ticket, step.role


def _effect(shared: _Shared) -> Effect | None:
    """What the steps of one line do together."""
    found = (effect for _, effect in shared if effect is not None and effect.kind is EffectKind.NARROWS_NEW)
    return next(found, shared[0][1])


def _alike(shared: _Shared, answers: _Answers) -> Alike:
    step, effect = shared[0][0], _effect(shared)
    answer = answers.get(step.id) if answers else None
    if answer is not None and answer.ruling is not Ruling.ACCEPTED:
        return Alike(0, step.id)  # what the broker says about it is about this step only
    gravity, shape = kind_of(step.change).alike([one.change for one, _ in shared])
    kind = None if effect is None else effect.kind
    return Alike(gravity, (type(step.change), shape, kind, step.expires, step.role))


def _line(plan: Plan, lines: Sequence[_Shared], answers: _Answers) -> StepLine:
    step, effect = lines[0][0][0], _effect(lines[0])
    kind, changes = kind_of(step.change), [one.change for one, _ in lines[0]]
    words = kind.words(changes, plan.topics)
    steps = [one for shared in lines for one, _ in shared]
    line = StepLine(
        step.phase,
        sign_of(step.change),
        words.about,
        words.text,
        words.details,
        effect_words(effect),
        len(steps),
        step.origin,
        "" if step.expires is None else f"until {step.expires}",
        _why(step),
        notes=words.notes,
    )
    if len(lines) == 1:
        return replace(line, details=(*words.details, *_answered(answers.get(step.id)))) if answers else line
    names = first_names((kind.name([one.change for one, _ in shared]) for shared in lines), kind.alike(changes).gravity)
    below = {kind.details([one.change for one, _ in shared], plan.topics) for shared in lines}
    return replace(
        line,
        words=kind.many([one.change for one in steps], words.text, plan.topics),
        # What is said below or after one of them is said of all only where it is the same.
        details=words.details if len(below) == 1 else (),
        effect="" if effect is None else effect_words(replace(effect, covered_by=None)),
        origin=step.origin if len({one.origin for one in steps}) == 1 else None,
        why=_why(step) if len({(one.reason, one.ticket) for one in steps}) == 1 else _role(step),
        names=names,
        unnamed=sum(len(shared) for shared in lines[len(names) :]),
    )


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
