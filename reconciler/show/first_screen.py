"""The first screen of a review: one word, the gravest access and its owners, what is for good, who still has to agree.

It is the same for a report of any size: a reviewer who reads nothing else must not come to a calmer judgement.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import chain, islice
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model.characters import counted
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_review import AccessTrend
from reconciler.results.findings import CheckStatus
from reconciler.show.access_lines import access_lines
from reconciler.show.document import Row
from reconciler.show.plan import access_words, place_words
from reconciler.show.reading import Report, compared_words
from reconciler.show.review import line_words
from reconciler.show.steps import irreversible_lines
from reconciler.show.verdicts import Tone, plan_verdict, verdict

#: So many rows of access and of what is for good.
_FEW: Final = 3
_NAMES_SHOWN: Final = 2


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


def first_screen(report: Report) -> FirstScreen:
    """What a reviewer has to know before anything else."""
    about = verdict(report).words
    word = review_word(report)
    if len(report.plans) == 1 and not report.drifts and word not in (ReviewWord.REFUSED, ReviewWord.WEAKENS):
        (plan,) = report.plans
        about = access_words(plan) if plan.steps or plan.access.access_changes or plan.access.kept else about
    return FirstScreen(
        word,
        about.removeprefix(f"{word}: "),
        tuple(_access(report)),
        _owner(report),
        tuple(_lasting(report)),
        _approval(report),
        _compared(report),
    )


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


def _weakens(report: Report) -> bool:
    return any(finding.rule in ("guardrail-looser", "guardrail-unclear") for finding in report.guardrail_findings)


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


def _owner(report: Report) -> Row | None:
    """Where no row says whose the data is: nobody was asked."""
    rows = [row for plan in report.plans for row in plan.access.access_changes if row.gained]
    if any(row.owners is None for row in rows):
        return Row("not known: no Ownership document says whose data it is, so no owner was asked")
    return None


def _lasting(report: Report) -> Iterator[Row]:
    found = chain.from_iterable(irreversible_lines(plan) for plan in report.plans)
    yield from (
        Row(text, names=names[:_FEW], unnamed=more + len(names[_FEW:])) for text, names, more in islice(found, _FEW)
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
    if _weakens(report):
        return Row(f"no check speaks against it; a person approves the change of the guardrails{passed}")
    if not plans:
        return Row(f"nothing to approve{passed}")
    return Row(f"no check speaks against it; a person approves {'it' if plans == 1 else f'{plans:,} plans'}{passed}")
