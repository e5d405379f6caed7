"""Laws of topic policies: a doubt is never a pass, and a proposal is a manifest that its own topics keep."""

import datetime
import re
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from reconciler.manifest.documents.topic_policy import TopicPolicyDeclaration
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.manifests import policy_text
from reconciler.manifest.write.text import scalar, topic_problem
from reconciler.model.desired import DesiredState, DesiredTopic, Expiry, Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.scope import NameSelector
from reconciler.model.topic import Topic
from reconciler.model.topic_rule import (
    Bound,
    CountRule,
    ExpressionRule,
    Relation,
    RelationRule,
    RulePart,
    SettingRule,
    TopicCheck,
    TopicException,
    TopicRule,
)
from reconciler.policy.topic_checks import ClusterContext
from reconciler.policy.topic_policy import (
    Occasion,
    ProposedRule,
    TopicFindingStatus,
    TopicPolicy,
    TopicPolicyResult,
    propose_policy,
)
from tests.property.strategies import topics

DAY = datetime.date(2027, 1, 1)
PLACE = Origin("a.yaml", 1, 1)
NUMBERS = ("min.insync.replicas", "retention.ms", "segment.ms", "local.retention.ms")
EXPRESSIONS = (
    "partitions > 2",
    "partitions > 2 || replicationFactor > 1",
    "replicationFactor <= brokers && partitions <= 3",
    "name == 't' || partitions == 1",
)
small = st.integers(1, 4)
limit = st.none() | small
bound = st.none() | small.map(lambda number: Bound(number, str(number)))
counts = st.builds(
    CountRule,
    st.just(PLACE),
    st.sampled_from(["partitions", "replicationFactor"]),
    limit,
    limit,
    limit,
    limit,
)
settings = st.builds(
    SettingRule,
    st.just(PLACE),
    st.sampled_from(NUMBERS),
    allowed=st.none() | st.lists(small.map(str), min_size=1).map(tuple),
    minimum=bound,
    maximum=bound,
).filter(lambda part: bool(part.allowed or part.minimum or part.maximum))
operands = st.sampled_from([*NUMBERS, "partitions", "replicationFactor", "brokers"])
relations = st.builds(RelationRule, st.just(PLACE), operands, st.sampled_from(Relation), operands)
expressions = st.builds(ExpressionRule, st.just(PLACE), st.sampled_from(EXPRESSIONS))
values = st.sampled_from(["-1", "1", "2", "3", "4"])
declared = st.builds(Topic, st.just("t"), limit, limit, st.dictionaries(st.sampled_from(NUMBERS), values, max_size=2))
known = st.fixed_dictionaries(
    {"num.partitions": small.map(str), "default.replication.factor": small.map(str), **dict.fromkeys(NUMBERS, values)}
)


def decided(part: RulePart, topic: Topic, around: ClusterContext) -> TopicPolicyResult:
    state = DesiredState(topics={topic.name: DesiredTopic(topic, PLACE)})
    return TopicPolicy([TopicRule("a", PLACE, (part,))]).decide(state, DAY, around)


@given(counts | settings | relations | expressions, declared, known, small)
def test_more_knowledge_never_turns_a_pass_or_a_breach(
    part: RulePart, topic: Topic, defaults: Mapping[str, str], brokers: int
) -> None:
    before = decided(part, topic, ClusterContext("prod"))
    after = decided(part, topic, ClusterContext("prod", brokers, {}, defaults))
    assert all(one.status is TopicFindingStatus.BROKEN for one in after.findings)
    if not before.findings:
        assert not after.findings
    broken = {one.code for one in before.findings if one.status is TopicFindingStatus.BROKEN}
    assert broken <= {one.code for one in after.findings}


def reread(rules: tuple[ProposedRule, ...]) -> TopicPolicy:
    text = policy_text("prod", rules, origin="cluster prod", labels={"env": "prod"}, notes=["a: # b", "\x1b[31m"])
    (document,) = load([Source("proposal.yaml", text)]).of(TopicPolicyDeclaration)
    assert document.heading.match_labels == {"env": "prod"}
    assert len(document.rules) == len(rules)
    heads = re.findall(r"    # kept by ([0-9,]+) of ([0-9,]+) topics?\n    - name: (.+)\n", text)
    assert heads == [(f"{rule.kept:,}", f"{rule.topics:,}", scalar(rule.rule.name or "")) for rule in rules]
    return TopicPolicy(document.rules)


ordinary = st.dictionaries(st.sampled_from([*NUMBERS, "cleanup.policy", "preallocate"]), values, max_size=3).map(
    lambda configs: {
        **configs,
        **({"cleanup.policy": "compact"} if "cleanup.policy" in configs else {}),
        **({"preallocate": "true"} if "preallocate" in configs else {}),
        **({"min.insync.replicas": "1"} if "min.insync.replicas" in configs else {}),
        **({"segment.ms": "2"} if "segment.ms" in configs else {}),
    }
)
names = st.text("abcXY._-0", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))
lived_in = st.lists(st.builds(Topic, names, st.integers(1, 100), st.integers(1, 3), ordinary), min_size=1, max_size=25)


@given(lived_in)
def test_the_topics_that_a_proposal_is_made_of_keep_it(found: list[Topic]) -> None:
    by_name = {topic.name: topic for topic in found}
    rules = propose_policy(by_name.values(), Occasion("prod", "as it was", Expiry(DAY)))
    state = DesiredState(topics={name: DesiredTopic(topic, PLACE) for name, topic in by_name.items()})
    result = reread(rules).decide(state, DAY)
    assert not result.stopping
    assert not result.unused_exceptions
    for proposed in rules:
        excepted = proposed.rule.exceptions[0].topics if proposed.rule.exceptions else NameSelector()
        assert proposed.kept + len(excepted.literal) == proposed.topics == len(by_name)


@given(st.lists(topics(), min_size=1, max_size=6))
def test_the_order_of_the_topics_means_nothing(found: list[Topic]) -> None:
    fit = {topic.name: topic for topic in found if topic_problem(topic) is None}
    assume(fit)
    occasion = Occasion("prod", "as it was", Expiry(DAY))
    assert propose_policy(fit.values(), occasion) == propose_policy(reversed(list(fit.values())), occasion)


LABELS = [("team", "a"), ("team", "b"), ("env", "prod"), ("env", "test")]
selectors = st.none() | st.sampled_from(
    [
        NameSelector(any_name=True),
        NameSelector(("a",)),
        NameSelector(("a", "ab"), ("b",)),
        NameSelector(prefixes=("a", "ab")),
        NameSelector(("*",)),
    ]
)
labels = st.lists(st.sampled_from(LABELS), max_size=2).map(lambda pairs: FrozenMap(dict(pairs)))
exceptions = st.lists(
    st.builds(
        TopicException,
        selectors.map(lambda names: names or NameSelector(any_name=True)),
        st.text("xyz", max_size=3),
        st.integers(0, 3).map(lambda days: Expiry(DAY + datetime.timedelta(days=days))),
        st.just(PLACE),
        st.sampled_from([frozenset(), frozenset({TopicCheck.PARTITIONS}), frozenset({TopicCheck.NAME})]),
    ),
    max_size=4,
).map(tuple)
few = CountRule(PLACE, "partitions", minimum=5)
selecting = st.lists(st.builds(TopicRule, st.just("a"), st.just(PLACE), st.just((few,)), selectors, selectors, labels))


def about(rule: TopicRule, name: str, labels: Mapping[str, str]) -> bool:
    wanted = rule.topics is None or rule.topics.selects_name(name)
    excluded = rule.excluded is not None and rule.excluded.selects_name(name)
    return wanted and not excluded and rule.labels.items() <= labels.items()


@given(selecting, st.lists(exceptions, max_size=8), st.dictionaries(st.sampled_from(["a", "ab", "b", "c"]), labels))
def test_a_topic_is_held_against_every_rule_that_is_about_it(
    rules: list[TopicRule], accepted: list[tuple[TopicException, ...]], topics: dict[str, Mapping[str, str]]
) -> None:
    rules = [
        replace(rule, name=str(number), exceptions=accepted[number] if number < len(accepted) else ())
        for number, rule in enumerate(rules)
    ]
    state = DesiredState(
        topics={name: DesiredTopic(Topic(name, 1, 1), PLACE, labels=held) for name, held in topics.items()}
    )
    found = {(one.rule.name, one.topic): one.exception for one in TopicPolicy(rules).decide(state, DAY).findings}
    expected = {}
    for rule in rules:
        for name, held in topics.items():
            if about(rule, name, held):
                near = [item for item in rule.exceptions if item.topics.selects_name(name)]
                near = [item for item in near if not item.codes or TopicCheck.PARTITIONS in item.codes]
                expected[rule.name, name] = max(near, key=lambda item: item.expires.end, default=None)
    assert found == expected
