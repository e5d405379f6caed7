"""Topic policies, told on manifests as people write them: what is broken, undecided or excepted, and what is not."""

import datetime
from unittest.mock import patch

import pytest

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.safeguards import topic_rules
from reconciler.model.desired import Expiry
from reconciler.model.scope import NameSelector
from reconciler.model.topic import Topic
from reconciler.model.topic_rule import CountRule, RulePart, SettingRule
from reconciler.policy import topic_policy
from reconciler.policy.topic_checks import ClusterContext
from reconciler.policy.topic_policy import Occasion, TopicPolicy, TopicPolicyResult, propose_policy

DAY = datetime.date(2027, 1, 31)
CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod, labels: {env: prod}}\nspec: {}\n"
NOTHING = ClusterContext("prod")


def document(kind: str, spec: str) -> str:
    return f"apiVersion: reconciler/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n{spec}\n"


def decided(topics: list[str], rules: list[str], around: ClusterContext = NOTHING) -> TopicPolicyResult:
    texts = {
        "cluster.yaml": CLUSTER,
        "topics.yaml": document("Topics", "  topics:\n" + "\n".join(f"    - {topic}" for topic in topics)),
        "policy.yaml": document("TopicPolicy", "  rules:\n" + "\n".join(f"    - {rule}" for rule in rules)),
    }
    manifests = load(Source(path, text) for path, text in texts.items())
    return TopicPolicy(topic_rules(manifests, "prod")).decide(desired_state(manifests, "prod", DAY), DAY, around)


def told(topic: str, rule: str, around: ClusterContext = NOTHING) -> list[str]:
    """``KT003 broken replicationFactor: 1 / at least 3`` for each finding of one rule about one topic."""
    found = decided([f"{{name: pay.a, {topic}}}"], [f"{{topics: {{any: true}}, {rule}}}"], around).findings
    return [f"{one.code} {one.status} {one.about}: {one.found} / {one.wanted}" for one in found]


KEPT = [
    ("partitions: 3", "partitions: {min: 3, max: 3}"),
    ("partitions: 6, replicationFactor: 2", "replicationFactor: {min: 1, max: 3, required: true}"),
    ("labels: {a: b}", "partitions: {min: 3, required: false}"),
    ("configs: {retention.ms: 7d}", "configs: {retention.ms: {min: 7d, max: 168h}}"),
    ("configs: {retention.ms: -1}", "configs: {retention.ms: {min: 7d}}"),
    ("configs: {retention.ms: -1}", "configs: {retention.ms: {allowed: [-1, 7d]}}"),
    ("configs: {cleanup.policy: [delete, compact]}", "configs: {cleanup.policy: {allowed: 'compact,delete'}}"),
    ("configs: {retention.ms: 1h, local.retention.ms: -2}", "configs: {local.retention.ms: {max: 1h}}"),
    ("configs: {min.cleanable.dirty.ratio: 0.5}", "configs: {min.cleanable.dirty.ratio: {min: 0.5, max: 0.5}}"),
    ("configs: {new.setting: 12}", "configs: {new.setting: {min: 12}}"),
    ("labels: {a: b}", "configs: {preallocate: {forbidden: true}, retention.ms: {max: 1d, required: false}}"),
    ("configs: {min.insync.replicas: 2}, replicationFactor: 3", "relations: [{value: min.insync.replicas, below: rf}]"),
    ("replicationFactor: 3", "relations: [{value: min.insync.replicas, below: rf, required: false}]"),
    ("configs: {segment.ms: 7d, retention.ms: -1}", "relations: [{value: segment.ms, atMost: retention.ms}]"),
    ("partitions: 6", "names: {pattern: 'pay[.][a-z]', maxLength: 5}"),
    ("partitions: 1", "matchLabels: {data: personal}, partitions: {min: 3}"),
    ("partitions: 1, labels: {data: public}", "matchLabels: {data: personal}, partitions: {min: 3}"),
    ("partitions: 1", "except: pay.a, partitions: {min: 3}"),
    ("partitions: 1", "except: {prefix: pay.}, partitions: {min: 3}"),
    ("absent: true", "names: {pattern: x}, partitions: {min: 3, required: true}"),
]
BROKEN = [
    ("partitions: 2", "partitions: {min: 3}", "KT002 broken partitions: 2 / at least 3"),
    ("partitions: 9", "partitions: {min: 3, max: 8}", "KT002 broken partitions: 9 / at least 3, at most 8"),
    ("replicationFactor: 1", "replicationFactor: {min: 2}", "KT003 broken replicationFactor: 1 / at least 2"),
    ("labels: {a: b}", "partitions: {required: true}", "KT002 broken partitions: left to the broker / declared"),
    ("labels: {a: b}", "partitions: {max: 3}", "KT002 undecided partitions: left to the broker / at most 3"),
    ("replicaAssignments: [[1], [2]]", "partitions: {min: 3}", "KT002 broken partitions: 2 / at least 3"),
    (
        "replicaAssignments: [[1], [2]]",
        "replicationFactor: {min: 2}",
        "KT003 broken replicationFactor: 1 / at least 2",
    ),
    ("labels: {a: b}", "configs: {retention.ms: {required: true}}", "KT004 broken retention.ms: not set / set"),
    (
        "labels: {a: b}",
        "configs: {retention.ms: {required: true, max: 7d}}",
        "KT004 broken retention.ms: not set / at most 7d",
    ),
    (
        "configs: {preallocate: false}",
        "configs: {preallocate: {forbidden: true}}",
        "KT005 broken preallocate: false / not set",
    ),
    (
        "configs: {cleanup.policy: compact}",
        "configs: {cleanup.policy: {allowed: [delete, 'compact,delete']}}",
        "KT006 broken cleanup.policy: compact / one of delete · compact,delete",
    ),
    (
        "labels: {a: b}",
        "configs: {cleanup.policy: {allowed: delete}}",
        "KT006 undecided cleanup.policy: left to the broker / delete",
    ),
    (
        "configs: {retention.ms: 8d}",
        "configs: {retention.ms: {max: 7d}}",
        "KT007 broken retention.ms: 691200000 / at most 7d",
    ),
    ("configs: {retention.ms: -1}", "configs: {retention.ms: {max: 9999d}}", "KT007 broken retention.ms: -1 / at most"),
    (
        "configs: {local.retention.ms: -2}",
        "configs: {local.retention.ms: {max: 1h}}",
        "KT007 undecided local.retention.ms: -2, left to the broker / at most 1h",
    ),
    ("configs: {new.setting: x}", "configs: {new.setting: {min: 12}}", "KT007 undecided new.setting: x, left"),
    (
        "configs: {min.insync.replicas: 3}, replicationFactor: 3",
        "relations: [{value: min.insync.replicas, below: rf}]",
        "KT008 broken min.insync.replicas: min.insync.replicas 3, replicationFactor 3 / min.insync.replicas below repl",
    ),
    (
        "configs: {min.insync.replicas: 3}",
        "relations: [{value: min.insync.replicas, atMost: rf}]",
        "KT008 undecided min.insync.replicas: replicationFactor left to the broker / ",
    ),
    (
        "replicationFactor: 3",
        "relations: [{value: min.insync.replicas, below: rf, required: true}]",
        "KT004 broken min.insync.replicas: not set / ",
    ),
    (
        "configs: {segment.ms: -0, retention.ms: -1}".replace("-0", "8d"),
        "relations: [{value: retention.ms, atMost: segment.ms}]",
        "KT008 broken retention.ms: retention.ms -1, segment.ms 8d / ",
    ),
    ("partitions: 3", "relations: [{value: partitions, atLeast: brokers}]", "KT008 undecided partitions: how many"),
    ("partitions: 3", "names: {pattern: 'ay.a'}", "KT001 broken name: pay.a / a name that matches ay.a"),
    ("partitions: 3", "names: {maxLength: 4}", "KT001 broken name: 5 characters / at most 4 characters"),
    (
        "partitions: 3",
        "partitions: {maxPerBroker: 3}",
        "KT002 undecided partitions: 3, but how many brokers there are is not known / at most 3 for each broker",
    ),
    ("partitions: 1, labels: {data: personal}", "matchLabels: {data: personal}, partitions: {min: 3}", "KT002 broken"),
]


def spelled(rule: str) -> str:
    return rule.replace(": rf", ": replicationFactor")


@pytest.mark.parametrize(("topic", "rule"), KEPT)
def test_what_a_topic_keeps(topic: str, rule: str) -> None:
    assert told(topic, spelled(rule)) == []


@pytest.mark.parametrize(("topic", "rule", "expected"), BROKEN)
def test_what_a_topic_breaks(topic: str, rule: str, expected: str) -> None:
    (found,) = told(topic, spelled(rule))
    assert found.startswith(expected)


@pytest.mark.parametrize(
    ("brokers", "partitions", "kept"),
    [(3, 6, True), (3, 7, False), (3, 2, False), (1, 2, True), (1, 3, False), (4, 7, True)],
)
def test_limits_for_each_broker(brokers: int, partitions: int, kept: bool) -> None:
    rule = "partitions: {minPerBroker: 1, maxPerBroker: 2}"
    found = told(f"partitions: {partitions}", rule, ClusterContext("prod", brokers))
    assert (found == []) is kept
    assert (
        kept or f"at most 2 {'for the only broker' if brokers == 1 else f'for each of {brokers} brokers'}" in found[0]
    )


def test_the_narrower_limit_counts() -> None:
    around = ClusterContext("prod", 3)
    assert told("partitions: 5", "partitions: {max: 4, maxPerBroker: 2}", around)
    assert told("partitions: 7", "partitions: {max: 9, maxPerBroker: 2}", around)
    assert not told("partitions: 4", "partitions: {max: 4, maxPerBroker: 2}", around)


LIVE = {"pay.a": Topic("pay.a", 2, 3, {"retention.ms": "1"})}
DEFAULTS = {"num.partitions": "5", "default.replication.factor": "1", "retention.ms": "604800000"}


def test_an_existing_topic_keeps_the_numbers_that_are_not_declared() -> None:
    around = ClusterContext("prod", live=LIVE, defaults=DEFAULTS)
    assert told("labels: {a: b}", "partitions: {max: 3}, replicationFactor: {min: 3}", around) == []
    (found,) = told("labels: {a: b}", "partitions: {min: 3}", around)
    assert found == "KT002 broken partitions: 2, which the broker chooses / at least 3"


def test_a_new_topic_takes_the_brokers_defaults_where_they_are_known() -> None:
    around = ClusterContext("prod", defaults=DEFAULTS)
    assert told("labels: {a: b}", "partitions: {max: 5}, configs: {retention.ms: {max: 7d}}", around) == []
    assert told("labels: {a: b}", "replicationFactor: {min: 2}, configs: {retention.ms: {max: 6d}}", around) == [
        "KT003 broken replicationFactor: 1, which the broker chooses / at least 2",
        "KT007 broken retention.ms: 7d, which the broker chooses / at most 6d",
    ]
    (found,) = told("labels: {a: b}", "relations: [{value: segment.ms, atMost: retention.ms}]", around)
    assert found.startswith("KT008 undecided segment.ms: segment.ms left to the broker")
    assert told("labels: {a: b}", "partitions: {max: 9, required: true}", around) == [
        "KT002 broken partitions: left to the broker / at most 9"
    ]


def test_of_an_unreadable_topic_nothing_is_known() -> None:
    around = ClusterContext("prod", defaults=DEFAULTS, unreadable=frozenset({"pay.a"}))
    found = told("labels: {a: b}", "partitions: {max: 5}, configs: {retention.ms: {max: 7d}}", around)
    assert [one.partition(":")[0] for one in found] == ["KT002 undecided partitions", "KT007 undecided retention.ms"]


def test_an_ignored_setting_stays_as_the_topic_has_it() -> None:
    rule = "configs: {retention.ms: {min: 1h}}"
    assert told("labels: {a: b}", rule, ClusterContext("prod", live=LIVE, defaults=DEFAULTS)) == []
    around = ClusterContext("prod", live=LIVE, defaults=DEFAULTS, ignored=frozenset({"retention.ms"}))
    (found,) = told("labels: {a: b}", rule, around)
    assert found.startswith("KT007 broken retention.ms: 1")


def test_every_place_is_named_and_the_order_is_that_of_topics() -> None:
    result = decided(
        ["{name: b, partitions: 1}", "{name: a, partitions: 1}"],
        ["{topics: {any: true}, names: {maxLength: 9}, partitions: {min: 3}, message: why}"],
    )
    assert [(one.topic, str(one.origin), str(one.rule_origin)) for one in result.findings] == [
        ("b", "topics.yaml:6:14", "policy.yaml:6:52"),
        ("a", "topics.yaml:7:14", "policy.yaml:6:52"),
    ]
    assert (result.rules, result.topics, len(result.stopping)) == (1, 2, 2)


def excepted(*exceptions: str) -> TopicPolicyResult:
    rule = "{name: few, topics: {any: true}, partitions: {min: 3}, names: {maxLength: 1}}"
    return decided(["{name: pay.a, partitions: 1}"], [f"{rule}\n  exceptions: [{', '.join(exceptions)}]"])


def test_an_exception_counts_through_its_last_day_and_what_it_accepts_stays_counted() -> None:
    last, over = (f"{{check: few, topics: {{prefix: pay.}}, reason: r, expires: {day}}}" for day in (DAY, "2027-01-30"))
    result = excepted(last)
    assert [one.status for one in result.findings] == ["excepted", "excepted"]
    assert not result.stopping
    result = excepted(over)
    assert [one.status for one in result.findings] == ["broken", "broken"]
    assert all(one.exception is not None for one in result.findings)
    assert [one.status for one in excepted(over, last).findings] == ["excepted", "excepted"]


def test_an_exception_may_be_of_some_codes_and_an_idle_one_is_named() -> None:
    exception = "{{check: few, topics: pay.a, codes: {}, reason: r, expires: 2028-01-01}}"
    result = excepted(exception.format("KT001"), exception.format("[KT003, KT004]"))
    assert [(one.code, one.status) for one in result.findings] == [("KT001", "excepted"), ("KT002", "broken")]
    assert [idle.codes for idle in result.unused_exceptions] == [{"KT003", "KT004"}]


def test_a_doubt_stops_as_a_breach_does() -> None:
    (doubt,) = decided(["{name: a}"], ["{topics: a, partitions: {min: 3}}"]).stopping
    assert doubt.status == "undecided"


def test_a_warning_stops_nothing() -> None:
    rule = "{topics: a, partitions: {min: 3}, severity: warning}"
    assert not decided(["{name: a, partitions: 1}"], [rule]).stopping
    assert decided(["{name: a, partitions: 1}"], [rule]).findings


def test_patterns_take_time_linear_to_the_name() -> None:
    name = "a" * 249
    assert decided([f"{{name: {name}}}"], ["{topics: {any: true}, names: {pattern: '(a+)+b'}}"]).findings


@pytest.mark.parametrize(
    ("rule", "asks"),
    [
        ("partitions: {min: 1}", False),
        ("partitions: {minPerBroker: 1}", True),
        ("partitions: {maxPerBroker: 1}", True),
        ("relations: [{value: partitions, atMost: brokers}]", True),
        ("relations: [{value: brokers, atMost: partitions}]", True),
        ("relations: [{value: partitions, atMost: replicationFactor}]", False),
        ("expression: partitions <= 3 * brokers", True),
        ("expression: partitions <= 3", False),
        ("configs: {retention.ms: {max: 1d}}", False),
    ],
)
def test_brokers_are_counted_where_a_rule_needs_their_number(rule: str, asks: bool) -> None:
    policy = document("TopicPolicy", f"  rules: [{{name: r, topics: {{any: true}}, message: m, {rule}}}]")
    manifests = load([Source("cluster.yaml", CLUSTER), Source("policy.yaml", policy)])
    assert TopicPolicy(topic_rules(manifests, "prod")).asks_for_brokers is asks


def test_a_proposal_says_no_more_than_the_topics_do() -> None:
    """A minimum of one partition says nothing, and -1 is no number among numbers, but a value without a limit."""

    def proposed(partitions: int, retention: list[str]) -> dict[str | None, RulePart]:
        topics = [Topic(f"t{number}", partitions, 3, {"retention.ms": text}) for number, text in enumerate(retention)]
        rules = propose_policy(topics, Occasion("prod", "as it was", Expiry(DAY)))
        return {one.rule.name: one.rule.parts[0] for one in rules}

    for least in (1, 2):
        count = proposed(least, ["1", "2"])["partitions"]
        assert isinstance(count, CountRule)
        assert (count.minimum, count.maximum) == (None if least == 1 else least, least)
    within = [part for part in proposed(1, ["5", "6", "7", "8", "9"]).values() if isinstance(part, SettingRule)]
    assert [(part.minimum and part.minimum.number, part.maximum and part.maximum.number) for part in within] == [(5, 9)]


def test_a_topic_is_held_against_the_rules_that_name_it() -> None:
    topics = [f"{{name: t{n}., partitions: 1}}" for n in range(40)]
    rules = [f"{{name: r{n}, topics: [t{n}.], partitions: {{min: 2}}}}" for n in range(40)]
    rules += [f"{{name: p{n}, topics: {{prefix: t{n}.}}, partitions: {{min: 3}}}}" for n in range(40)]
    rules += ["{name: all, topics: {any: true}, partitions: {min: 4}}"]
    with patch.object(topic_policy, "_is_about", side_effect=topic_policy._is_about) as asked:
        findings = decided(topics, rules).findings
    assert sorted((one.topic, one.rule.name) for one in findings) == sorted(
        (f"t{n}.", name) for n in range(40) for name in (f"r{n}", f"p{n}", "all")
    )
    assert asked.call_count == 3 * 40


def test_a_topic_is_held_against_the_rules_of_its_labels_and_the_exceptions_of_its_name_alone() -> None:
    counts = []
    for size in (20, 80):
        topics = [f"{{name: t{n}, partitions: 1, labels: {{env: prod, team: x{n}}}}}" for n in range(size)]
        one = "except: none, partitions: {min: 3}"
        rules = [f"{{matchLabels: {{env: prod, team: x{n}}}, {one}}}" for n in range(size)]
        accepted = ", ".join(f"{{check: all, topics: [t{n}], reason: r, expires: 2028-01-01}}" for n in range(size))
        rules.append(f"{{name: all, topics: {{any: true}}, partitions: {{min: 2}}}}\n  exceptions: [{accepted}]")
        with (
            patch.object(topic_policy, "_is_about", side_effect=topic_policy._is_about) as held,
            patch.object(NameSelector, "selects_name", autospec=True, side_effect=NameSelector.selects_name) as asked,
        ):
            found = decided(topics, rules).findings
        assert len(found) == 2 * size
        counts.append(held.call_count + asked.call_count)
    assert counts[1] <= 4 * counts[0]
