"""The first line of every report, and the first screen of a review.

The line: may this go ahead, and what does it do to access. The screen: one word, the gravest access and its owners,
what is for good, who still has to agree. It is the same for a report of any size: a reviewer who reads nothing else
must not come to a calmer judgement.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import chain, islice, repeat
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model.characters import counted, safe, shortened
from reconciler.plan.file import plan_id
from reconciler.plan.kinds import kind_of
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_change import ending_words
from reconciler.plan.review.access_review import AccessTrend
from reconciler.plan.review.effects import EffectKind
from reconciler.plan.review.warnings import claims_warning
from reconciler.plan.step import Step
from reconciler.policy.laws import ACL, TOPIC
from reconciler.results.findings import LEVELS, CheckStatus, Level
from reconciler.show.access_lines import access_lines
from reconciler.show.document import Row
from reconciler.show.fleet_report import FleetReport
from reconciler.show.kinds import VERBS, sign_of
from reconciler.show.kinds import kind_of as shown_kind
from reconciler.show.plan import access_words, cause_counts, drift_counts, place_words
from reconciler.show.reading import Report, compared_words
from reconciler.show.review import line_words
from reconciler.show.steps import irreversible_lines, skipped_groups, summary

_ACCESS: Final = {
    AccessTrend.NONE: "Nobody's access changes",
    AccessTrend.NARROWING: "Access narrows",
    AccessTrend.WIDENING: "Access widens",
    AccessTrend.MIXED: "Access widens and narrows",
}


class Tone(StrEnum):
    """How a verdict is to be taken, the gravest first."""

    STOP = "stop"
    CAUTION = "caution"
    CALM = "calm"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A sentence, and how it is to be taken."""

    tone: Tone
    words: str


def verdict(report: Report) -> Verdict:
    """The verdict on everything together."""
    verdicts = [
        *(plan_verdict(plan) for plan in report.plans),
        *(plan_verdict(plan, drift=True) for plan in report.drifts),
        *map(fleet_verdict, report.fleets),
    ]
    parts = []
    tone = min((conclusion.tone for conclusion in verdicts), key=tuple(Tone).index, default=Tone.CALM)
    if _spoilt(report):
        tone = Tone.STOP
        parts.append(_spoilt(report))
    if report.guardrail_findings:
        # What a change does is judged by these rules: a calm verdict of theirs says nothing once they are loosened.
        parts.append(_guardrails_changed(report))
        if tone is Tone.CALM and any(finding.level is not Level.NOTE for finding in report.guardrail_findings):
            tone = Tone.CAUTION
    if len(verdicts) == 1:
        parts.append(verdicts[0].words)
    elif verdicts:
        parts.append(_many(report, verdicts))
    levels = [
        finding.level for finding in report.new_findings if not finding.about_skipped and not finding.about_guardrails
    ]
    if tone is Tone.CALM and any(level is not Level.NOTE for level in levels):
        tone = Tone.CAUTION
        counts = [counted(levels.count(level), level) for level in LEVELS if level in levels]
        parts.append(", ".join(counts))
    if tone is Tone.CALM and (warnings := _new_warnings(report)):
        tone = Tone.CAUTION
        parts.append(counted(len(warnings), "warning"))
    if not parts and report.checks:
        parts.append("Every check holds" if set(report.standings) == {CheckStatus.PASSED} else "No check stops this")
    return Verdict(tone, ". ".join(parts) or "Nothing was found")


def plan_verdict(plan: Plan, *, drift: bool = False) -> Verdict:
    """The verdict on one plan, or on one drift report."""
    if drift:
        count = len(plan.steps) + len(plan.skipped)
        if not count and (plan.warnings or plan.login_warnings):
            # Where nothing differs, warnings tell of what could not be seen: a doubt is never a pass.
            return Verdict(Tone.CAUTION, "As far as it could be seen, the cluster is as declared: see the warnings")
        if not count:
            return Verdict(Tone.CALM, "The cluster is as declared")
        causes = f", {cause_counts(plan)}" if plan.causes else ""
        words = f"The cluster differs from what is declared: {counted(count, 'difference')}{causes}"
        return Verdict(Tone.CAUTION, words)
    if not plan.refusals:
        return _of_steps(plan)
    words = f"Refused: {counted(len(plan.refusals), 'object')} that a safety check protects"
    if not plan.stops:
        # The rest may go ahead; a verdict on that alone would look calmer than the change is.
        rest = _of_steps(plan).words
        omitted = counted(len(plan.refused), "change")
        words += f", and {omitted} left out. The rest: {rest[:1].lower()}{rest[1:]}"
    return Verdict(Tone.STOP, words)


def _of_steps(plan: Plan) -> Verdict:
    """The verdict on what is left once guards have refused what they refuse."""
    widening = _later(plan)
    if not plan.steps and not widening and plan.access.kept:
        return Verdict(Tone.CAUTION, f"Nothing to do now, and {plan.access.kept[0].text}")
    if not plan.steps and widening:
        return Verdict(Tone.CAUTION, f"Nothing to do now, and access {widening}")
    if not plan.steps:
        if plan.skipped:
            return Verdict(
                Tone.CAUTION,
                f"Nothing that this plan is allowed to do: {counted(len(plan.skipped), 'difference')} skipped",
            )
        if claims_warning(plan.terms) in plan.warnings:
            return Verdict(Tone.CAUTION, "Nothing to do, as far as facts hold that only the manifests state")
        return Verdict(Tone.CALM, "Nothing to do")
    words = _ACCESS[plan.access.at_once.trend]
    if widening:
        words = f"Access {widening}" if words == _ACCESS[AccessTrend.NONE] else f"{words}, and {widening}"
    if any(row.reading for row in plan.access.access_changes):
        words += ", in part depending on cluster settings that are not known"
    return Verdict(Tone.CALM if _harmless(plan) else Tone.CAUTION, words)


def _harmless(plan: Plan) -> bool:
    """Whether nobody gains access, nothing is taken away, limited or altered, and no warning asks to be weighed.

    Only an ACL and a topic are new without altering something: a first quota throttles its user, a login lets somebody
    in, a first config of a group is another one than its members have had.
    """
    if plan.gives_access or plan.skipped or plan.warnings or plan.login_warnings:
        return False
    return not any(step.destructive or sign_of(step.change) == "~" or _alters(step) for step in plan.steps)


def _alters(step: Step) -> bool:
    return kind_of(step.change).law(step.change) not in (ACL, TOPIC)


def _later(plan: Plan) -> str:
    """``widens on 2027-02-23, when a DENY ends``; nothing where no end gives access."""
    first = min((row.since for row in plan.access.access_changes if row.since is not None), default=None)
    return "" if first is None else f"widens {ending_words(first)}"


def quiet_line(plan: Plan, *, drift: bool = False, stopped: bool = False) -> str:
    """A plan or a drift report in one line: verdict, counts, and the id that approves it unless something stops it.

    ``stopped``: a check of the manifests says no.
    """
    parts = ["Policy checks failed"] if stopped else []
    if plan.guardrails.weakened:
        parts.append("Guardrails changed")
    parts.append(plan_verdict(plan, drift=drift).words)
    if drift:
        parts += [drift_counts(plan)] if plan.steps or plan.skipped else []
    else:
        parts += [summary(plan)] if plan.steps else []
        parts += [f"{len(plan.skipped):,} skipped"] if plan.skipped else []
    warnings = len({*plan.warnings, *plan.login_warnings})
    numbers = ((0 if drift else len(plan.access.callouts), "warning about access", "warnings about access"),)
    counts = [f"{number:,} {noun if number == 1 else nouns}" for number, noun, nouns in numbers if number]
    counts += [counted(warnings, "warning")] if warnings else []
    parts += [", ".join(counts)] if counts else []
    approved = plan.steps and not (drift or plan.stops or stopped)
    return f"{safe(plan.terms.cluster)}: {'. '.join(parts)}." + (f"  {plan_id(plan)}" if approved else "")


def fleet_verdict(fleet: FleetReport) -> Verdict:
    """The verdict on a fleet's drift; a cluster that nothing is known of is never a pass."""
    if fleet.unknown:
        return Verdict(Tone.STOP, fleet.words)
    return Verdict(Tone.CAUTION if fleet.differing or fleet.doubtful else Tone.CALM, fleet.words)


def plan_counts(plan: Plan, *, drift: bool = False) -> str:
    """``3 ACLs to create, 1 topic to alter``; of drift ``3 ACLs missing, 1 topic different``."""
    return drift_counts(plan) if drift else summary(plan) or "no step"


def _spoilt(report: Report) -> str:
    """What speaks against it besides the plans: broken checks and errors."""
    broken = len(report.stopping_checks)
    parts = [f"{counted(broken, 'check')} failed"] if broken else []
    errors = sum(finding.level is LEVELS[0] and not finding.checked for finding in report.open_findings)
    if errors:
        parts.append(counted(errors, "error"))
    return ", ".join(parts)


def _guardrails_changed(report: Report) -> str:
    """``Guardrails changed: 2 looser, 1 unclear``."""
    meanings = Counter(finding.rule.removeprefix("guardrail-") for finding in report.guardrail_findings)
    ordered = [meaning for meaning in ("looser", "unclear", "tighter") if meanings[meaning]]
    parts = [f"{meanings.pop(meaning):,} {meaning}" for meaning in ordered]
    return "Guardrails changed: " + ", ".join([*parts, *([f"{meanings.total():,} held"] if meanings else [])])


def _many(report: Report, verdicts: list[Verdict]) -> str:
    stopped = sum(conclusion.tone is Tone.STOP for conclusion in verdicts)
    calm = sum(conclusion.tone is Tone.CALM for conclusion in verdicts)
    clusters = counted(len({plan.terms.cluster for plan in report.all_plans}), "cluster")
    parts = [f"{stopped:,} refused"] * bool(stopped) + [f"{len(verdicts) - stopped - calm:,} to look at"]
    return f"{counted(len(verdicts), 'plan')} for {clusters}: " + ", ".join([*parts, f"{calm:,} without concern"])


#: So many rows of access and of what is for good.
_FEW: Final = 3
_NAMES_SHOWN: Final = 2
_LONGEST_DETAIL: Final = 80
_WEAKER: Final = ("guardrail-looser", "guardrail-unclear")
#: Steps about ACLs of which no row of access speaks.
_SILENT: Final = (EffectKind.NO_EFFECT, EffectKind.REDUNDANT)


class ReviewWord(StrEnum):
    """What a review comes to, the gravest first."""

    REFUSED = "Refused"
    WEAKENS = "Weakens guardrails"
    DESTROYS = "Destroys"
    WIDENS = "Widens"
    NARROWS = "Narrows"
    DRIFTED = "Drifted"
    CHANGES = "Changes"
    UNCLEAR = "Unclear"
    HARMLESS = "Harmless"


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The word and who it is about; then rows by what they say, none of them escaped. Empty ones are left out."""

    word: ReviewWord
    about: str
    access: tuple[Row, ...]
    owner: Row | None
    lasting: tuple[Row, ...]
    approval: Row | None
    compared: Row | None = None
    #: What no row of access says, each with what it is as its label: a step, what stays (both have a sign, and their
    #: text is about names), a warning, a guardrail.
    others: tuple[Row, ...] = ()


def first_screen(report: Report) -> FirstScreen:
    """What a reviewer has to know before anything else."""
    about = verdict(report).words
    word = review_word(report)
    if len(report.plans) == 1 and not report.drifts and word not in (ReviewWord.REFUSED, ReviewWord.WEAKENS):
        (plan,) = report.plans
        about = _about(plan) if plan.steps or plan.access.access_changes or plan.access.kept else about
    return FirstScreen(
        word,
        about.removeprefix(f"{word}: "),
        tuple(_access(report)),
        _owner(report),
        tuple(_lasting(report)),
        _approval(report),
        _compared(report),
        (*_guardrail_rows(report), *_step_rows(report.plans), *_skipped_rows(report.plans), *_warning_rows(report)),
    )


def _about(plan: Plan) -> str:
    """Who gains and loses access; where nobody does, first what is done."""
    words = access_words(plan)
    moved = plan.access.access_changes or plan.access.kept
    return words if moved or not plan.steps else f"{summary(plan)}; {words}"


def _compared(report: Report) -> Row | None:
    """How many findings and exceptions the base has as well; ``None`` where nothing was compared."""
    if report.known is None:
        return None
    return Row(compared_words(report))


def known_rows(report: Report) -> Iterator[Row]:
    """Findings and checks that stop nothing and that the base has as well."""
    for finding in report.known_findings:
        yield Row(
            f"{finding.rule}: {finding.sentence}",
            label=str(finding.level),
            place=place_words(finding.place),
            notes=(finding.cluster, finding.excepted),
        )
    for check in report.known_checks:
        yield Row(
            f"{check.name}: {check.message}",
            label=str(check.standing),
            place=place_words(check.place),
            notes=(check.where,),
        )


def review_word(report: Report) -> ReviewWord:
    """One word, the gravest that is true of any plan; calm only where nothing speaks against it."""
    tone = verdict(report).tone
    if tone is Tone.STOP:
        return ReviewWord.REFUSED
    if _weakens(report):
        return ReviewWord.WEAKENS
    words = {word for plan in report.plans for word in _words(plan)}
    words |= {ReviewWord.DRIFTED} if any(plan.steps or plan.skipped for plan in report.drifts) else set()
    words |= {ReviewWord.DRIFTED} if any(fleet.differing for fleet in report.fleets) else set()
    fallback = ReviewWord.HARMLESS if tone is Tone.CALM else ReviewWord.UNCLEAR
    return next((word for word in ReviewWord if word in words), fallback)


def plan_words(plan: Plan) -> tuple[ReviewWord, ...]:
    """Every word that is true of what a plan does, the gravest first; nothing of what safety checks left out of it."""
    words = {*_words(plan), *([ReviewWord.WEAKENS] if plan.guardrails.weakened else [])}
    # That it changes something goes without saying beside what it does.
    words -= {ReviewWord.CHANGES} if len(words) > 1 else set()
    return tuple(word for word in ReviewWord if word in words) or (ReviewWord.HARMLESS,)


def unmoved_words(plan: Plan) -> str:
    """What a plan without a step says; empty where there is nothing to do, and nothing to look at."""
    conclusion = plan_verdict(plan)
    parts = ["Guardrails changed"] * plan.guardrails.weakened + [conclusion.words] * (conclusion.tone is not Tone.CALM)
    parts += [f"{counted(len(plan.skipped), 'difference')} skipped"] if plan.skipped else []
    # Where nothing else is to be said, the words are about what is skipped.
    return ". ".join(part for part in parts if not any(part in other for other in parts if other != part))


def _weakens(report: Report) -> bool:
    return any(finding.rule in _WEAKER for finding in report.guardrail_findings)


def _words(plan: Plan) -> Iterator[ReviewWord]:
    if any(not step.reversible for step in plan.steps):
        yield ReviewWord.DESTROYS
    trend = plan.access.trend
    if plan.gives_access or plan.access.callouts:
        yield ReviewWord.WIDENS
    if trend in (AccessTrend.NARROWING, AccessTrend.MIXED):
        yield ReviewWord.NARROWS
    if plan.steps and plan_verdict(plan).tone is not Tone.CALM:
        yield ReviewWord.CHANGES


def _access(report: Report) -> Iterator[Row]:
    changes = [row for plan in report.plans for row in plan.access.access_changes]
    lines = list(access_lines(changes, most_names=_NAMES_SHOWN, gravest_first=True))
    for line in lines[:_FEW]:
        yield Row(line_words(line), line.sign)
    if len(lines) > _FEW:
        yield Row("", unnamed=len(lines) - _FEW)


def _first(rows: Sequence[Row]) -> Iterator[Row]:
    """Few rows, and how many there are besides."""
    yield from rows[:_FEW]
    if more := sum(max(row.unnamed, 1) for row in rows[_FEW:]):
        yield Row("", label=rows[0].label, unnamed=more)


def _guardrail_rows(report: Report) -> Iterator[Row]:
    """What weakens the rules that judge the change, or may."""
    weaker = [finding for rule in _WEAKER for finding in report.guardrail_findings if finding.rule == rule]
    yield from _first(
        [Row(f"{item.rule.removeprefix('guardrail-')}: {item.message}", label="Guardrails") for item in weaker]
    )


def _step_rows(plans: Sequence[Plan]) -> Iterator[Row]:
    """What is done besides moving access: the gravest step of each kind, whatever is done to others, then the rest."""
    silent = [
        (step, plan)
        for plan in plans
        for step, effect in zip(plan.steps, plan.access.effects or repeat(None), strict=False)
        if effect is None or effect.kind in _SILENT
    ]
    silent.sort(key=lambda item: _gravity(item[0]))
    kinds = {id(shown_kind(step.change)): item for item in reversed(silent) for step in item[:1]}
    chosen = sorted(kinds.values(), key=lambda item: _gravity(item[0]))
    chosen += [item for item in silent if item not in chosen][: max(_FEW - len(chosen), 0)]
    for step, plan in chosen:
        sign = sign_of(step.change)
        yield Row(_step_words(step, plan), sign, label=VERBS[sign].capitalize())
    if more := len(silent) - len(chosen):
        yield Row("", label="Steps", unnamed=more)


def _gravity(step: Step) -> tuple[bool, int]:
    return not step.destructive, shown_kind(step.change).alike([step.change]).gravity


def _step_words(step: Step, plan: Plan) -> str:
    """``quota of user alice: producer_byte_rate: 1048576 → not set``."""
    words = shown_kind(step.change).words([step.change], plan.topics)
    details = [shortened(detail.text, _LONGEST_DETAIL) for detail in words.details]
    more = [f"{len(details) - _FEW:,} more"] if len(details) > _FEW else []
    return ": ".join(filter(None, (words.text, "; ".join([*details[:_FEW], *more]))))


def _skipped_rows(plans: Sequence[Plan]) -> Iterator[Row]:
    """What the manifests say otherwise and no step changes, with the reason."""
    rows = dict.fromkeys(
        (line.text, group.heading, line.names, line.unnamed)
        for plan in plans
        for group in skipped_groups(plan)
        for line in group.lines
    )
    yield from _first(
        [
            Row(text, "!", label="Skipped", notes=(shortened(heading, _LONGEST_DETAIL),), names=names, unnamed=more)
            for text, heading, names, more in rows
        ]
    )


def _new_warnings(report: Report) -> list[str]:
    """Warnings of plans that the base does not have."""
    standing = {finding.message for finding in report.known_findings}
    warnings = dict.fromkeys(text for plan in report.plans for text in (*plan.warnings, *plan.login_warnings))
    return [text for text in warnings if text not in standing]


def _warning_rows(report: Report) -> Iterator[Row]:
    yield from _first([Row(text, label="Warning") for text in _new_warnings(report)])


def _owner(report: Report) -> Row | None:
    """Where no row says whose the data is: nobody was asked."""
    rows = [row for plan in report.plans for row in plan.access.access_changes if row.gained]
    if any(row.owners is None for row in rows):
        return Row("not known: no Ownership document says whose data it is, so no owner was asked")
    return None


def _lasting(report: Report) -> Iterator[Row]:
    lines = chain.from_iterable(irreversible_lines(plan) for plan in report.plans)
    yield from (
        Row(text, names=names[:_FEW], unnamed=more + len(names[_FEW:])) for text, names, more in islice(lines, _FEW)
    )
    lasting = sum(not step.reversible for plan in report.plans for step in plan.steps)
    if lasting > _FEW:
        yield Row(f"{lasting:,} steps in all")


def _approval(report: Report) -> Row | None:
    """Who or what still has to agree, as far as the results say; ``None`` where there is no plan."""
    if not report.plans:
        return None
    needed = []
    refusals = sum(len(plan.refusals) for plan in report.plans)
    if refusals:
        needed.append(f"{counted(refusals, 'refusal')} of safety checks (see Refused)")
    broken = report.stopping_checks
    owners = sum(check.group == "Ownership" for check in broken)
    if owners:
        needed.append(f"the owners of {counted(owners, 'item')}")
    if len(broken) > owners:
        needed.append(counted(len(broken) - owners, "check") + " that did not pass")
    excepted = sum(check.standing is CheckStatus.EXCEPTED for check in report.broken_checks)
    accepted = excepted + sum(len(plan.accepted) for plan in report.plans)
    passed = f"; {counted(accepted, 'exception')} already accepted" if accepted else ""
    if needed:
        return Row(f"against it: {', '.join(needed)}{passed}", "!")
    plans = sum(bool(plan.steps or plan.access.kept) for plan in report.plans)
    if not plans and any(plan.skipped for plan in report.plans):
        return Row(f"nothing is applied now; what is skipped is declared all the same{passed}")
    if not plans and not _weakens(report) and _new_warnings(report):
        return Row(f"nothing is applied now; a person weighs the warnings{passed}")
    if _weakens(report):
        return Row(f"no check speaks against it; a person approves the change of the guardrails{passed}")
    if not plans:
        return Row(f"nothing to approve{passed}")
    return Row(f"no check speaks against it; a person approves {'it' if plans == 1 else f'{plans:,} plans'}{passed}")
