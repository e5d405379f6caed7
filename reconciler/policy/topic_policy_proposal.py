"""Propose a policy that the topics of a cluster already pass, with waivers for the few exceptions.

A rule is proposed if at most a tenth of the topics break it. A range is as wide as the existing values, except for a
few outliers. There is no rule for a config that less than a tenth of the topics set.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from reconciler.model import (
    THROTTLE_CONFIGS,
    TOPIC_CONFIGS,
    UNLIMITED_CONFIGS,
    Bound,
    ConfigType,
    CountRule,
    DesiredTopic,
    Expiry,
    NameRule,
    NameSelector,
    Origin,
    Relation,
    RelationRule,
    RulePart,
    SettingRule,
    Topic,
    TopicRule,
    TopicWaiver,
    normal_form,
    readable,
)
from reconciler.policy.topic_checks import Check, count_check, name_check, relation_check, setting_check
from reconciler.policy.topic_facts import ClusterContext, TopicFacts, facts_of
from reconciler.policy.topic_policy import matcher

#: Usual forms of names, the strictest first.
NAME_PATTERNS: Final = (
    "[a-z0-9]+([.-][a-z0-9]+)*",
    "[a-z0-9]+([._-][a-z0-9]+)*",
    "[A-Za-z0-9]+([._-][A-Za-z0-9]+)*",
)
_MOST: Final = 0.9
_FEW: Final = 0.1
#: A config with more distinct values than this gets no list of allowed values.
_USUAL: Final = 10
_NUMBERS: Final = frozenset({ConfigType.INTEGER, ConfigType.MILLIS, ConfigType.BYTES, ConfigType.DOUBLE})
_NOWHERE: Final = Origin("", 1, 1)
_MIN_INSYNC: Final = "min.insync.replicas"


class Occasion(NamedTuple):
    """The name of the proposed document, and the reason and expiry of its waivers."""

    document: str
    reason: str
    expires: Expiry


class ProposedRule(NamedTuple):
    """A rule, and how many of the topics pass it."""

    rule: TopicRule
    kept: int
    topics: int


def propose_policy(topics: Iterable[Topic], occasion: Occasion) -> tuple[ProposedRule, ...]:
    """The rules for existing topics, in a fixed order; empty without topics. All their numbers must be known."""
    subjects = [facts_of(DesiredTopic(topic, _NOWHERE), ClusterContext()) for topic in sorted(topics)]
    if not subjects:
        return ()
    found = [
        ("names", _names(subjects)),
        ("partitions", _partitions(subjects)),
        ("replicas", _replicas(subjects)),
        *((name, _setting(name, values, subjects)) for name, values in _settings(subjects).items()),
        (f"{_MIN_INSYNC} below replicationFactor", _relation(subjects)),
    ]
    return tuple(_proposed(name, part, subjects, occasion) for name, part in found if part is not None)


def _proposed(name: str, part: RulePart, subjects: Sequence[TopicFacts], occasion: Occasion) -> ProposedRule:
    out = tuple(topic.name for topic in _breaking(part, subjects))
    waiver = TopicWaiver(NameSelector(literal=out), occasion.reason, occasion.expires, _NOWHERE)
    rule = TopicRule(
        occasion.document,
        _NOWHERE,
        (part,),
        NameSelector(any_name=True),
        name=name,
        waivers=(waiver,) if out else (),
    )
    return ProposedRule(rule, len(subjects) - len(out), len(subjects))


def _breaking(part: RulePart, subjects: Iterable[TopicFacts]) -> list[TopicFacts]:
    check = _check(part)
    return [topic for topic in subjects if any(check(topic))]


def _check(part: RulePart) -> Check:
    match part:
        case NameRule():
            return name_check(part, matcher(part.pattern) if part.pattern else None)
        case CountRule():
            return count_check(part)
        case SettingRule():
            return setting_check(part)
        case RelationRule():
            return relation_check(part)
        case _:
            raise ValueError("no expression is ever proposed")


def _kept_by_most(part: RulePart, subjects: Sequence[TopicFacts]) -> bool:
    return len(_breaking(part, subjects)) <= _FEW * len(subjects)


def _names(subjects: Sequence[TopicFacts]) -> NameRule | None:
    candidates = (NameRule(_NOWHERE, pattern) for pattern in NAME_PATTERNS)
    return next((part for part in candidates if _kept_by_most(part, subjects)), None)


def _partitions(subjects: Sequence[TopicFacts]) -> CountRule:
    counts = sorted(topic.partitions or 0 for topic in subjects)
    usual = counts[int(_MOST * (len(counts) - 1))]
    most = usual if counts[-1] > 2 * usual else counts[-1]
    rule = CountRule(_NOWHERE, "partitions", counts[0] if counts[0] > 1 else None, most)
    return rule if _kept_by_most(rule, subjects) else CountRule(_NOWHERE, "partitions", rule.minimum, counts[-1])


def _replicas(subjects: Sequence[TopicFacts]) -> CountRule:
    factors = Counter(topic.replication_factor or 0 for topic in subjects)
    usual = CountRule(_NOWHERE, "replicationFactor", factors.most_common(1)[0][0])
    return usual if _kept_by_most(usual, subjects) else CountRule(_NOWHERE, "replicationFactor", min(factors))


def _relation(subjects: Sequence[TopicFacts]) -> RelationRule | None:
    part = RelationRule(_NOWHERE, _MIN_INSYNC, Relation.BELOW, "replicationFactor", required=False)
    is_set = any(_MIN_INSYNC in topic.configs for topic in subjects)
    return part if is_set and _kept_by_most(part, subjects) else None


def _settings(subjects: Iterable[TopicFacts]) -> Mapping[str, list[str]]:
    """The values of each config, once for each topic that sets it."""
    found: dict[str, list[str]] = defaultdict(list)
    for topic in subjects:
        for name, value in topic.configs.items():
            found[name].append(normal_form(name, value))
    return dict(sorted(found.items()))


def _setting(name: str, values: Sequence[str], subjects: Sequence[TopicFacts]) -> SettingRule | None:
    if name in THROTTLE_CONFIGS or len(values) < _FEW * len(subjects):
        return None
    required = len(values) >= _MOST * len(subjects)
    distinct = sorted(set(values))
    number = TOPIC_CONFIGS.get(name) in _NUMBERS
    if len(distinct) == 1 or (not number and len(distinct) <= _USUAL):
        return SettingRule(_NOWHERE, name, required, allowed=tuple(distinct))
    low, high = _limits(name, distinct) if number else (None, None)
    within = SettingRule(_NOWHERE, name, required, minimum=low, maximum=high)
    part = within if _kept_by_most(within, subjects) else SettingRule(_NOWHERE, name, required, minimum=low)
    return part if required or part.minimum is not None else None


def _limits(name: str, values: Iterable[str]) -> tuple[Bound | None, Bound | None]:
    """The least and the greatest finite value."""
    numbers = {(float(text) if TOPIC_CONFIGS.get(name) is ConfigType.DOUBLE else int(text)): text for text in values}
    limited = {number: text for number, text in numbers.items() if name not in UNLIMITED_CONFIGS or number >= 0}
    if not limited:
        return None, None
    low, high = min(limited), max(limited)
    return Bound(low, readable(name, limited[low])), Bound(high, readable(name, limited[high]))
