"""Topic policies: who breaks them, and a policy proposed from what a cluster has.

Which declared topics break which rules of a ``TopicPolicy``; needs no cluster.

Use ``TopicPolicy(rules).decide(desired, as_of, around)``. With ``around.live``, an existing topic's own values count
for what its declaration leaves to the broker.
"""

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.desired import UNWRITTEN, DesiredState, DesiredTopic, Expiry, Origin
from reconciler.model.scope import ItemsByName, NameSelector
from reconciler.model.topic import Topic
from reconciler.model.topic_configs import (
    NUMBERS,
    THROTTLE_CONFIGS,
    TOPIC_CONFIGS,
    UNLIMITED_CONFIGS,
    ConfigType,
    normal_form,
    readable,
)
from reconciler.model.topic_rule import (
    Bound,
    CountRule,
    ExpressionRule,
    NameRule,
    Relation,
    RelationRule,
    RulePart,
    SettingRule,
    TopicCheck,
    TopicException,
    TopicRule,
)
from reconciler.policy import topic_checks
from reconciler.policy.topic_checks import Check, ClusterContext, ExpressionProblem, Shortfall, TopicFacts

_NOTHING = ClusterContext()


class ExpressionError(Exception):
    """Expressions that cannot be compiled; ``faults`` has the first error of each."""

    def __init__(self, faults: Iterable[ExpressionProblem]) -> None:
        """``faults`` is not empty."""
        self.faults = tuple(faults)
        super().__init__(self.faults)


class TopicFindingStatus(StrEnum):
    """Why a topic does not pass a rule. ``UNDECIDED`` is not a pass: a broker default may break the rule."""

    BROKEN = "broken"
    UNDECIDED = "undecided"
    #: Broken or undecided, and accepted until a date.
    EXCEPTED = "excepted"


@dataclass(frozen=True, slots=True)
class TopicFinding:
    """One topic that does not pass one part of a rule. ``exception`` accepts it, or has expired."""

    code: TopicCheck
    status: TopicFindingStatus
    topic: str
    origin: Origin
    rule: TopicRule
    rule_origin: Origin
    about: str
    found: str
    wanted: str
    exception: TopicException | None = None

    @property
    def stops(self) -> bool:
        """Whether it fails a check: broken or undecided, not excepted, and the rule is not only a warning."""
        return self.status is not TopicFindingStatus.EXCEPTED and self.rule.severity == "error"


@dataclass(frozen=True, slots=True)
class TopicPolicyResult:
    """The findings, the numbers of rules and topics, and the exceptions that accept nothing."""

    findings: tuple[TopicFinding, ...] = ()
    rules: int = 0
    topics: int = 0
    unused_exceptions: tuple[TopicException, ...] = ()

    @property
    def stopping(self) -> tuple[TopicFinding, ...]:
        """The findings that fail the check."""
        return tuple(finding for finding in self.findings if finding.stops)


class TopicPolicy:
    """The rules of one cluster, compiled. Raises :class:`ExpressionError` or ``MissingEngineError``."""

    __slots__ = ("_by_label", "_by_name", "_rules")

    def __init__(self, rules: Iterable[TopicRule]) -> None:
        """Compile patterns and expressions once."""
        rules = tuple(rules)
        expressions = [part for rule in rules for part in rule.parts if isinstance(part, ExpressionRule)]
        compiled, faults = topic_checks.expression_checks(expressions)
        if faults:
            raise ExpressionError(faults)
        self._rules = [
            (_AcceptedBreaks(rule), [(part, _check(part, compiled)) for part in rule.parts]) for rule in rules
        ]
        by_label = [bool(rule.labels) and (rule.topics is None or rule.topics.any_name) for rule in rules]
        self._by_name = ItemsByName((rule.topics, n) for n, rule in enumerate(rules) if not by_label[n])
        #: Of the labels of a rule by the one that the fewest have: each may be of its own team in the same environment.
        self._by_label: dict[tuple[str, str], list[int]] = {}
        counts = Counter(label for rule in rules for label in rule.labels.items())
        for n, rule in enumerate(rules):
            if by_label[n]:
                self._by_label.setdefault(min(rule.labels.items(), key=counts.__getitem__), []).append(n)

    @property
    def asks_for_brokers(self) -> bool:
        """Whether a rule depends on the number of brokers."""
        return any(_needs_brokers(part) for _, checks in self._rules for part, _ in checks)

    def decide(
        self, desired: DesiredState, as_of: datetime.date, around: ClusterContext = _NOTHING
    ) -> TopicPolicyResult:
        """All findings, in the order of files and lines; topics declared absent pass every rule."""
        topics = [topic_checks.facts_of(wanted, around) for wanted in desired.topics.values() if not wanted.absent]
        findings = [finding for topic in topics for finding in self._of_topic(topic, as_of)]
        findings.sort(key=lambda item: (item.origin, item.topic, item.code, item.rule_origin, item.about))
        used = {finding.exception for finding in findings}
        exceptions = (exception for item, _ in self._rules for exception in item.rule.exceptions)
        idle = tuple(exception for exception in exceptions if exception.stands(as_of) and exception not in used)
        return TopicPolicyResult(tuple(findings), len(self._rules), len(topics), idle)

    def _of_topic(self, topic: TopicFacts, as_of: datetime.date) -> Iterator[TopicFinding]:
        near = {*self._by_name.near(topic.name), *chain(*map(self._labelled, topic.labels.items()))}
        for item, checks in (self._rules[number] for number in sorted(near)):
            if _is_about(item.rule, topic):
                for part, check in checks:
                    for lack in check(topic):
                        yield _finding(item, part, topic, lack, as_of)

    def _labelled(self, label: tuple[str, str]) -> Iterable[int]:
        return self._by_label.get(label, ())


class _AcceptedBreaks:
    """A rule, and its exceptions by name."""

    __slots__ = ("_by_name", "rule")

    def __init__(self, rule: TopicRule) -> None:
        self.rule = rule
        self._by_name = ItemsByName((item.topics, number) for number, item in enumerate(rule.exceptions))

    def about(self, topic: str, code: TopicCheck) -> Iterator[TopicException]:
        """Those that may accept what a topic breaks, in the order of the rule."""
        for item in (self.rule.exceptions[number] for number in sorted({*self._by_name.near(topic)})):
            if item.topics.selects_name(topic) and (not item.codes or code in item.codes):
                yield item


def _check(part: RulePart, expressions: dict[ExpressionRule, Check]) -> Check:
    match part:
        case NameRule():
            return topic_checks.name_check(part, None if part.pattern is None else matcher(part.pattern))
        case CountRule():
            return topic_checks.count_check(part)
        case SettingRule():
            return topic_checks.setting_check(part)
        case RelationRule():
            return topic_checks.relation_check(part)
        case ExpressionRule():
            return expressions[part]


def matcher(pattern: str) -> Callable[[str], bool]:
    """A function that tells whether a whole name matches an RE2 regular expression."""
    import re2  # noqa: PLC0415 - native code, for policies with patterns only

    compiled = re2.compile(pattern)
    return lambda name: compiled.fullmatch(name) is not None


def _is_about(rule: TopicRule, topic: TopicFacts) -> bool:
    if rule.topics is not None and not rule.topics.selects_name(topic.name):
        return False
    if rule.excluded is not None and rule.excluded.selects_name(topic.name):
        return False
    return not rule.labels or all(topic.labels.get(label) == value for label, value in rule.labels.items())


def _needs_brokers(part: RulePart) -> bool:
    match part:
        case CountRule():
            return part.min_per_broker is not None or part.max_per_broker is not None
        case RelationRule():
            return "brokers" in (part.value, part.other)
        case ExpressionRule():
            return "brokers" in part.text
        case _:
            return False


def _finding(
    item: _AcceptedBreaks, part: RulePart, topic: TopicFacts, lack: Shortfall, as_of: datetime.date
) -> TopicFinding:
    standing = TopicFindingStatus.BROKEN if lack.decided else TopicFindingStatus.UNDECIDED
    # Of several exceptions the one that lasts longest; an expired one is still shown with the finding.
    exception = max(item.about(topic.name, lack.code), key=lambda item: item.expires.end, default=None)
    if exception is not None and exception.stands(as_of):
        standing = TopicFindingStatus.EXCEPTED
    about = topic.name, topic.origin, item.rule, part.origin
    return TopicFinding(lack.code, standing, *about, lack.about, lack.actual, lack.wanted, exception)


# Propose a policy that the topics of a cluster already pass, with exceptions for the few that do not.
#
# A rule is proposed if at most a tenth of the topics break it. A range is as wide as the existing values, except for
# a few outliers. There is no rule for a config that less than a tenth of the topics set.

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
_MIN_INSYNC: Final = "min.insync.replicas"


class Occasion(NamedTuple):
    """The name of the proposed document, and the reason and expiry of its exceptions."""

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
    subjects = [topic_checks.facts_of(DesiredTopic(topic, UNWRITTEN), ClusterContext()) for topic in sorted(topics)]
    if not subjects:
        return ()
    parts = [
        ("names", _names(subjects)),
        ("partitions", _partitions(subjects)),
        ("replicas", _replicas(subjects)),
        *((name, _setting(name, values, subjects)) for name, values in _settings(subjects).items()),
        (f"{_MIN_INSYNC} below replicationFactor", _relation(subjects)),
    ]
    return tuple(_proposed(name, part, subjects, occasion) for name, part in parts if part is not None)


def _proposed(name: str, part: RulePart, subjects: Sequence[TopicFacts], occasion: Occasion) -> ProposedRule:
    out = tuple(topic.name for topic in _breaking(part, subjects))
    exception = TopicException(NameSelector(literal=out), occasion.reason, occasion.expires, UNWRITTEN)
    rule = TopicRule(
        occasion.document,
        UNWRITTEN,
        (part,),
        NameSelector(any_name=True),
        name=name,
        exceptions=(exception,) if out else (),
    )
    return ProposedRule(rule, len(subjects) - len(out), len(subjects))


def _breaking(part: RulePart, subjects: Iterable[TopicFacts]) -> list[TopicFacts]:
    check = _check(part, {})  # no expression is ever proposed
    return [topic for topic in subjects if any(check(topic))]


def _kept_by_most(part: RulePart, subjects: Sequence[TopicFacts]) -> bool:
    return len(_breaking(part, subjects)) <= _FEW * len(subjects)


def _names(subjects: Sequence[TopicFacts]) -> NameRule | None:
    candidates = (NameRule(UNWRITTEN, pattern) for pattern in NAME_PATTERNS)
    return next((part for part in candidates if _kept_by_most(part, subjects)), None)


def _partitions(subjects: Sequence[TopicFacts]) -> CountRule:
    counts = sorted(topic.partitions or 0 for topic in subjects)
    usual = counts[int(_MOST * (len(counts) - 1))]
    most = usual if counts[-1] > 2 * usual else counts[-1]
    rule = CountRule(UNWRITTEN, "partitions", counts[0] if counts[0] > 1 else None, most)
    return rule if _kept_by_most(rule, subjects) else CountRule(UNWRITTEN, "partitions", rule.minimum, counts[-1])


def _replicas(subjects: Sequence[TopicFacts]) -> CountRule:
    factors = Counter(topic.replication_factor or 0 for topic in subjects)
    usual = CountRule(UNWRITTEN, "replicationFactor", factors.most_common(1)[0][0])
    return usual if _kept_by_most(usual, subjects) else CountRule(UNWRITTEN, "replicationFactor", min(factors))


def _relation(subjects: Sequence[TopicFacts]) -> RelationRule | None:
    part = RelationRule(UNWRITTEN, _MIN_INSYNC, Relation.BELOW, "replicationFactor", required=False)
    is_set = any(_MIN_INSYNC in topic.configs for topic in subjects)
    return part if is_set and _kept_by_most(part, subjects) else None


def _settings(subjects: Iterable[TopicFacts]) -> Mapping[str, list[str]]:
    """The values of each config, once for each topic that sets it."""
    values: dict[str, list[str]] = defaultdict(list)
    for topic in subjects:
        for name, value in topic.configs.items():
            values[name].append(normal_form(name, value))
    return dict(sorted(values.items()))


def _setting(name: str, values: Sequence[str], subjects: Sequence[TopicFacts]) -> SettingRule | None:
    if name in THROTTLE_CONFIGS or len(values) < _FEW * len(subjects):
        return None
    required = len(values) >= _MOST * len(subjects)
    distinct = sorted(set(values))
    number = TOPIC_CONFIGS.get(name) in NUMBERS
    if len(distinct) == 1 or (not number and len(distinct) <= _USUAL):
        return SettingRule(UNWRITTEN, name, required, allowed=tuple(distinct))
    low, high = _limits(name, distinct) if number else (None, None)
    within = SettingRule(UNWRITTEN, name, required, minimum=low, maximum=high)
    part = within if _kept_by_most(within, subjects) else SettingRule(UNWRITTEN, name, required, minimum=low)
    return part if required or part.minimum is not None else None


def _limits(name: str, values: Iterable[str]) -> tuple[Bound | None, Bound | None]:
    """The least and the greatest finite value."""
    numbers = {(float(text) if TOPIC_CONFIGS.get(name) is ConfigType.DOUBLE else int(text)): text for text in values}
    limited = {number: text for number, text in numbers.items() if name not in UNLIMITED_CONFIGS or number >= 0}
    if not limited:
        return None, None
    low, high = min(limited), max(limited)
    return Bound(low, readable(name, limited[low])), Bound(high, readable(name, limited[high]))
