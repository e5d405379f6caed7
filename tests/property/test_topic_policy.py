"""Laws of topic policies: a doubt is never a pass, and a proposal is a manifest that its own topics keep."""

import datetime
import re
from collections.abc import Mapping

from hypothesis import assume, given
from hypothesis import strategies as st

from reconciler.manifest.documents.topic_policy import TopicPolicyDeclaration
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.manifests import policy_text
from reconciler.manifest.write.text import scalar, topic_problem
from reconciler.model.desired import DesiredState, DesiredTopic, Expiry, Origin
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
