"""Expressions of topic policies: what they see, where their mistakes are, what bounds them, what they need."""

import datetime
import sys
from pathlib import Path

import pytest

from reconciler.manifest.documents.topic_policy import ExpressionFault, expression_problems
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import Problem
from reconciler.manifest.safeguards import topic_rules
from reconciler.model.desired import DesiredState, DesiredTopic, Origin
from reconciler.model.topic import Topic
from reconciler.model.topic_rule import ExpressionRule, TopicRule
from reconciler.policy.topic_checks import ClusterContext, MissingEngineError, _faults
from reconciler.policy.topic_policy import ExpressionError, TopicPolicy

DAY = datetime.date(2027, 1, 1)
PLACE = Origin("policy.yaml", 3, 1)
TOPIC = DesiredTopic(
    Topic(
        "pay.orders",
        6,
        None,
        {"cleanup.policy": "compact,delete", "retention.ms": "5", "preallocate": "true", "compression.type": "zstd"},
    ),
    PLACE,
    {"team": "pay"},
)


def answer(expression: str, around: ClusterContext | None = None) -> tuple[str, str]:
    """Standing and what was found; ``kept`` where nothing was."""
    policy = TopicPolicy([TopicRule("a", PLACE, (ExpressionRule(PLACE, expression),))])
    result = policy.decide(DesiredState(topics={"pay.orders": TOPIC}), DAY, around or ClusterContext("prod"))
    return next(((one.status, one.found) for one in result.findings), ("kept", ""))


@pytest.mark.parametrize(
    "expression",
    [
        "name.startsWith(labels.team + '.')",
        "partitions == 6 && cluster == 'prod'",
        "configs['retention.ms'] < 6 && configs['preallocate'] && configs['compression.type'] == 'zstd'",
        "'delete' in configs['cleanup.policy']",
        "!('segment.ms' in configs)",
        "configs.all(name, name != 'segment.ms')",
        "replicationFactor > 1 || partitions > 1",
        "name.matches('[a-z.]+')",
    ],
)
def test_what_is_true_is_kept(expression: str) -> None:
    assert answer(expression) == ("kept", "")


def test_what_is_false_is_broken_and_told_by_its_values() -> None:
    assert answer("name.startsWith(labels.team + '-') && partitions > 7") == (
        "broken",
        "name is pay.orders, partitions is 6, team is pay",
    )
    assert answer("configs['retention.ms'] > 7 * 24 * 3600 * 1000") == ("broken", "retention.ms is 5")


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("replicationFactor > 1", "replicationFactor left to the broker"),
        ("brokers > 1", "how many brokers there are is not known"),
        ("configs['segment.ms'] > 1", "segment.ms is not set"),
        ("labels.data == 'x'", "data is not set"),
        ("1 / (partitions - 6) == 1", "divide by zero"),
        ("name.matches(labels.team + '(')", "invalid regular expression"),
    ],
)
def test_what_cannot_be_known_is_undecided(expression: str, found: str) -> None:
    standing, reason = answer(expression)
    assert standing == "undecided"
    assert found in reason


def test_what_the_cluster_says_is_seen() -> None:
    around = ClusterContext("prod", 3, {}, {"default.replication.factor": "3"})
    assert answer("replicationFactor == brokers", around) == ("kept", "")


def test_the_engine_counts_every_round() -> None:
    inner = "configs.all(a, configs.all(b, configs.all(c, configs.all(d, a + b + c + d != ''))))"
    many = DesiredTopic(Topic("t", 1, 1, {f"s{number}": "x" for number in range(100)}), PLACE)
    policy = TopicPolicy([TopicRule("a", PLACE, (ExpressionRule(PLACE, inner),))])
    (found,) = policy.decide(DesiredState(topics={"t": many}), DAY).findings
    assert (found.status, found.found) == ("undecided", "Iteration budget exceeded")


def test_texts_are_bounded_before_they_are_given() -> None:
    long = DesiredTopic(Topic("t", 1, 1, {"leader.replication.throttled.replicas": "0:1," * 500}), PLACE)
    policy = TopicPolicy([TopicRule("a", PLACE, (ExpressionRule(PLACE, "configs == configs"),))])
    (found,) = policy.decide(DesiredState(topics={"t": long}), DAY).findings
    assert found.status == "undecided"


HEAD = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {}
---
apiVersion: reconciler/v1
kind: TopicPolicy
metadata: {name: a}
spec:
  rules:
    - topics: {any: true}
"""


def problems(rule: str) -> tuple[Problem, ...]:
    manifests = load([Source("policy.yaml", HEAD + rule)])
    with pytest.raises(ExpressionError) as caught:
        TopicPolicy(topic_rules(manifests, "prod"))
    return expression_problems(
        manifests.sources,
        (
            ExpressionFault(one.part.origin, one.part.text, one.line, one.column, one.message)
            for one in caught.value.faults
        ),
    )


@pytest.mark.parametrize(
    ("rule", "place", "words"),
    [
        ("      expression: name == nme\n", "12:27", "undeclared reference to 'nme'"),
        ('      expression: "name == nme"\n', "12:28", "undeclared reference to 'nme'"),
        ("      expression: |\n        name == 'x' ||\n        name == nme\n", "14:17", "undeclared"),
        ("      expression: >-\n        name == 'x' ||\n        name == nme\n", "12:19", "undeclared"),
        ("      expression: partitions >\n", "12:31", "mismatched input"),
        ("      expression: partitions > 'a'\n", "12:30", "no matching overload"),
        ("      expression: partitions\n", "12:19", "the expression gives INT, where true or false is expected"),
        ("      expression: configs['a']\n", "12:19", "the expression gives DYN"),
        ("      expression: topic.name == 'a'\n", "12:24", "undeclared reference to 'topic.name'"),
    ],
)
def test_a_mistake_has_its_place(rule: str, place: str, words: str) -> None:
    (problem,) = problems(rule)
    assert str(problem.origin) == f"policy.yaml:{place}"
    assert problem.code == "KR095"
    assert words in problem.message
    assert "partitions" in problem.advice


def test_a_mistake_without_a_place_is_at_the_beginning_of_its_expression() -> None:
    part = ExpressionRule(PLACE, "x")
    (found,) = _faults(part, "INVALID_ARGUMENT: it is too deep [INTERNAL]")
    assert (found.part, found.line, found.column, found.message) == (part, 1, 1, "not CEL: it is too deep")


def test_mistakes_come_all_at_once() -> None:
    assert len(problems("      expression: nme\n    - topics: a\n      expression: other\n")) == 2


def test_without_the_extra_only_expressions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    manifests = load([Source("policy.yaml", HEAD + "      expression: partitions > 3\n")])
    with pytest.raises(MissingEngineError, match=r"policy\.yaml:12:19 needs the package cel-expr-python"):
        TopicPolicy(topic_rules(manifests, "prod"))
    manifests = load([Source("policy.yaml", HEAD + "      partitions: {max: 3}\n")])
    policy = TopicPolicy(topic_rules(manifests, "prod"))
    assert policy.decide(desired_state(manifests, "prod", DAY), DAY).findings == ()


def test_every_check_is_documented_by_code_and_name() -> None:
    from reconciler.model.topic_rule import TopicCheck

    page = Path("docs/policies.md").read_text(encoding="utf-8")
    assert [one for one in TopicCheck if f"### {one}: {one.slug.replace('-', ' ')}\n" not in page] == []
