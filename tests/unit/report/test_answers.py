"""What a cluster said to a plan's steps, as findings and checks of a report."""

import datetime
from dataclasses import replace

from reconciler.model.desired import DesiredState, Origin
from reconciler.model.state import ClusterState
from reconciler.plan.file import plan_to_json
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.review.topics import BrokerAnswer, BrokerValidation, Ruling, TopicReview
from reconciler.results import OutputKind, output
from reconciler.results.findings import CheckStatus, Level
from reconciler.show.reading import read_result

_PLACE = Origin("t.yaml", 3, 5)


def plan(*rulings: Ruling) -> Plan:
    answers = tuple(
        BrokerAnswer(f"{number:012d}", f"topic {number}", ruling, "CODE", "words", _PLACE)
        for number, ruling in enumerate(rulings)
    )
    empty = propose(DesiredState(), ClusterState("c"), Terms("c"), Request(datetime.date(2026, 1, 1)))
    return replace(empty, topics=TopicReview(validation=BrokerValidation("2026-01-01T00:00:00Z", answers)))


def test_a_refusal_fails_and_no_answer_is_undecided_each_at_its_line() -> None:
    asked = plan(Ruling.ACCEPTED, Ruling.REFUSED, Ruling.UNKNOWN, Ruling.AFTER_GRANT)
    report = read_result(output(OutputKind.PLAN, plan_to_json(asked)))
    checks = [check for check in report.checks if check.group == "Broker"]
    assert [(check.name, check.standing, check.place) for check in checks] == [
        ("topic 1", CheckStatus.FAILED, _PLACE),
        ("topic 2", CheckStatus.UNDECIDED, _PLACE),
    ]
    assert checks[0].message == "the cluster refuses this step: CODE: words"
    found = [finding for finding in report.findings if finding.rule.startswith("broker-")]
    assert [(finding.rule, finding.level, finding.place) for finding in found] == [
        ("broker-refused", Level.ERROR, _PLACE),
        ("broker-unknown", Level.ERROR, _PLACE),
        ("broker-after-grant", Level.NOTE, _PLACE),
    ]


def test_consent_is_a_check_that_passed_and_silence_is_none() -> None:
    accepted = read_result(output(OutputKind.PLAN, plan_to_json(plan(Ruling.ACCEPTED))))
    (check,) = (one for one in accepted.checks if one.group == "Broker")
    assert check.standing is CheckStatus.PASSED
    assert "2026-01-01T00:00:00Z" in check.message
    unasked = replace(plan(), topics=TopicReview())
    silent = read_result(output(OutputKind.PLAN, plan_to_json(unasked)))
    assert not [one for one in silent.checks if one.group == "Broker"]
