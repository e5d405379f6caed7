"""Which declared topics break which rules of a ``TopicPolicy``; needs no cluster.

Use ``TopicPolicy(rules).decide(desired, as_of, around)``. With ``around.live``, an existing topic's own values count
for what its declaration leaves to the broker.
"""

import datetime
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

from reconciler.dataclass import dataclass
from reconciler.model import (
    CountRule,
    DesiredState,
    ExpressionRule,
    NameRule,
    Origin,
    RelationRule,
    RulePart,
    SettingRule,
    TopicCheck,
    TopicRule,
    TopicWaiver,
)
from reconciler.policy.topic_checks import (
    Check,
    Shortfall,
    count_check,
    name_check,
    relation_check,
    setting_check,
)
from reconciler.policy.topic_expressions import ExpressionProblem, expression_checks
from reconciler.policy.topic_facts import ClusterContext, TopicFacts, facts_of

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
    WAIVED = "waived"


@dataclass(frozen=True, slots=True)
class TopicFinding:
    """One topic that does not pass one part of a rule. ``waiver`` is the waiver that accepts it, or has expired."""

    code: TopicCheck
    status: TopicFindingStatus
    topic: str
    origin: Origin
    rule: TopicRule
    rule_origin: Origin
    about: str
    found: str
    wanted: str
    waiver: TopicWaiver | None = None

    @property
    def stops(self) -> bool:
        """Whether it fails a check: broken or undecided, not waived, and the rule is not only a warning."""
        return self.status is not TopicFindingStatus.WAIVED and self.rule.severity == "error"


@dataclass(frozen=True, slots=True)
class TopicPolicyResult:
    """The findings, the numbers of rules and topics, and the waivers that accept nothing."""

    findings: tuple[TopicFinding, ...] = ()
    rules: int = 0
    topics: int = 0
    unused_waivers: tuple[TopicWaiver, ...] = ()

    @property
    def stopping(self) -> tuple[TopicFinding, ...]:
        """The findings that fail the check."""
        return tuple(finding for finding in self.findings if finding.stops)


class TopicPolicy:
    """The rules of one cluster, compiled. Raises :class:`ExpressionError` or ``MissingEngineError``."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Iterable[TopicRule]) -> None:
        """Compile patterns and expressions once."""
        rules = tuple(rules)
        expressions = [part for rule in rules for part in rule.parts if isinstance(part, ExpressionRule)]
        compiled, faults = expression_checks(expressions)
        if faults:
            raise ExpressionError(faults)
        self._rules = [(rule, [(part, _check(part, compiled)) for part in rule.parts]) for rule in rules]

    @property
    def asks_for_brokers(self) -> bool:
        """Whether a rule depends on the number of brokers."""
        return any(_needs_brokers(part) for rule, _ in self._rules for part in rule.parts)

    def decide(
        self, desired: DesiredState, as_of: datetime.date, around: ClusterContext = _NOTHING
    ) -> TopicPolicyResult:
        """All findings, in the order of files and lines; topics declared absent pass every rule."""
        topics = [facts_of(wanted, around) for wanted in desired.topics.values() if not wanted.absent]
        found = [finding for topic in topics for finding in self._of_topic(topic, as_of)]
        found.sort(key=lambda one: (one.origin, one.topic, one.code, one.rule_origin, one.about))
        used = {finding.waiver for finding in found}
        waivers = (waiver for rule, _ in self._rules for waiver in rule.waivers)
        idle = tuple(waiver for waiver in waivers if waiver.stands(as_of) and waiver not in used)
        return TopicPolicyResult(tuple(found), len(self._rules), len(topics), idle)

    def _of_topic(self, topic: TopicFacts, as_of: datetime.date) -> Iterator[TopicFinding]:
        for rule, checks in self._rules:
            if _is_about(rule, topic):
                for part, check in checks:
                    for lack in check(topic):
                        yield _finding(rule, part, topic, lack, as_of)


def _check(part: RulePart, expressions: dict[ExpressionRule, Check]) -> Check:
    match part:
        case NameRule():
            return name_check(part, None if part.pattern is None else matcher(part.pattern))
        case CountRule():
            return count_check(part)
        case SettingRule():
            return setting_check(part)
        case RelationRule():
            return relation_check(part)
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


def _finding(rule: TopicRule, part: RulePart, topic: TopicFacts, lack: Shortfall, as_of: datetime.date) -> TopicFinding:
    about = [
        waiver
        for waiver in rule.waivers
        if waiver.topics.selects_name(topic.name) and (not waiver.codes or lack.code in waiver.codes)
    ]
    standing = TopicFindingStatus.BROKEN if lack.decided else TopicFindingStatus.UNDECIDED
    # Of several waivers the one that lasts longest; an expired one is still shown with the finding.
    waiver = max(about, key=lambda one: one.expires.end, default=None)
    if waiver is not None and waiver.stands(as_of):
        standing = TopicFindingStatus.WAIVED
    return TopicFinding(
        lack.code, standing, topic.name, topic.origin, rule, part.origin, lack.about, lack.found, lack.wanted, waiver
    )
