"""Findings and checks of what a cluster said when it was asked about a plan's steps, each at its line."""

from collections.abc import Iterator
from typing import Final

from reconciler.plan import BrokerAnswer, Plan, Ruling
from reconciler.report.results.finding import Check, CheckStatus, Finding, Level

_LEVELS: Final = {Ruling.REFUSED: Level.ERROR, Ruling.UNKNOWN: Level.ERROR, Ruling.AFTER_GRANT: Level.NOTE}
_STANDINGS: Final = {Ruling.REFUSED: CheckStatus.FAILED, Ruling.UNKNOWN: CheckStatus.UNDECIDED}
_WORDS: Final = {
    Ruling.REFUSED: "the cluster refuses this step",
    Ruling.UNKNOWN: "the cluster gave no answer about this step",
    Ruling.AFTER_GRANT: "the cluster could not be asked, because the plan grants the right first",
}


def answer_findings(plan: Plan) -> tuple[Finding, ...]:
    """One for each step that was not simply accepted; none where nobody asked."""
    return tuple(
        Finding(
            f"broker-{answer.ruling}",
            f"broker-{answer.ruling}",
            _LEVELS[answer.ruling],
            _told(answer),
            "",
            plan.terms.cluster,
            answer.subject,
            answer.origin,
            checked=answer.ruling in _STANDINGS,
        )
        for answer in _answers(plan)
        if answer.ruling in _LEVELS
    )


def answer_checks(plan: Plan) -> tuple[Check, ...]:
    """One for each step without the cluster's consent; one that passed where all have it; none where nobody asked."""
    validation = plan.topics.validation
    if validation is None:
        return ()
    if not any(answer.ruling in _STANDINGS for answer in validation.answers):
        message = f"asked at {validation.asked} about {len(validation.answers):,} steps, the cluster refuses none"
        return (Check("Broker", "validated", plan.terms.cluster, CheckStatus.PASSED, message),)
    return tuple(
        Check("Broker", answer.subject, plan.terms.cluster, _STANDINGS[answer.ruling], _told(answer), (), answer.origin)
        for answer in validation.answers
        if answer.ruling in _STANDINGS
    )


def _answers(plan: Plan) -> Iterator[BrokerAnswer]:
    if plan.topics.validation is not None:
        yield from plan.topics.validation.answers


def _told(answer: BrokerAnswer) -> str:
    return f"{_WORDS[answer.ruling]}: {answer.code}: {answer.message}"
