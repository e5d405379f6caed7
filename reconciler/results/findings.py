"""What commands found, in one shape: findings, each with a stable rule, and checks that passed or did not.

Also what came of the access tests of one state: each claim with its verdict, and what counts as a failure.
"""

import datetime
import hashlib
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Final, TypeVar

from reconciler.access.assertion import AssertionResult
from reconciler.access.lint import GROUPS
from reconciler.access.remediation import Remediation
from reconciler.access.separation import Combinations
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.tests import AccessTest, ClusterTest
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Origin
from reconciler.model.says import AnyInteger, AnyText, Says
from reconciler.plan.review.access_change import DeclaredEnd
from reconciler.results.words import binding_words


class ClaimStatus(StrEnum):
    """How a claim stands. ``UNDECIDED`` is no pass: something unknown could break the claim."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    #: Failed or undecided, and accepted for a while.
    EXCEPTED = "excepted"


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A claim and what came of it. ``verdict`` is the first that did not pass, ``None`` where all did.

    ``nobody`` are patterns of principals that match nobody known: a ``must`` about nobody holds for no reason.
    ``since``: it holds now, and not from that end on. ``combinations`` is what came of a claim of separate duties.
    """

    test: AccessTest
    standing: ClaimStatus
    verdict: AssertionResult | None = None
    mending: Remediation | None = None
    nobody: tuple[str, ...] = ()
    since: DeclaredEnd | None = None
    combinations: Combinations | None = None

    @property
    def stops(self) -> bool:
        """Whether it ends a command with status 3: a failure or a doubt that is neither a warning nor excepted."""
        return self.standing in (ClaimStatus.FAILED, ClaimStatus.UNDECIDED) and self.test.severity == "error"


def standing_of(test: AccessTest | ClusterTest, *, passed: bool, decided: bool, as_of: datetime.date) -> ClaimStatus:
    """How a claim stands on a day."""
    if passed:
        return ClaimStatus.PASSED
    if test.exception is not None and test.exception.stands(as_of):
        return ClaimStatus.EXCEPTED
    return ClaimStatus.FAILED if decided else ClaimStatus.UNDECIDED


# What came of the cluster tests of one cluster: each claim with what every broker says of it.


@dataclass(frozen=True, slots=True)
class ReportedByBroker:
    """What one broker says of a config, or the cluster (``None``) of a feature; ``doubt``: why it is not known."""

    broker: Annotated[AnyInteger | None, Says("The broker's id; null: the cluster.", 1)]
    found: Annotated[AnyText, Says("What it has, and where that comes from.", "true (from its file)")] = ""
    doubt: Annotated[AnyText, Says("Why that is not known, or no answer.", "it hides the value")] = ""


@dataclass(frozen=True, slots=True)
class ClusterTestResult:
    """A claim and what came of it.

    ``breaking`` are the answers that are not as claimed, ``unknown`` those that tell nothing. ``note``
    is what somebody else states of the same fact: it decides nothing.
    """

    test: ClusterTest
    standing: ClaimStatus
    breaking: tuple[ReportedByBroker, ...] = ()
    unknown: tuple[ReportedByBroker, ...] = ()
    note: str = ""

    @property
    def stops(self) -> bool:
        """Whether it ends a command with status 3: a failure or a doubt that is neither a warning nor excepted."""
        return self.standing in (ClaimStatus.FAILED, ClaimStatus.UNDECIDED) and self.test.severity == "error"


def any_stops(results: Iterable[ClusterTestResult]) -> bool:
    """Whether any of them ends a command with status 3."""
    return any(result.stops for result in results)


class Level(StrEnum):
    """How much a finding weighs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


#: The heaviest first.
LEVELS: Final = tuple(Level)


class CheckStatus(StrEnum):
    """What came of a check. Only ``FAILED`` and ``UNDECIDED`` stop anything; a doubt is never a pass."""

    FAILED = "failed"
    UNDECIDED = "undecided"
    #: Failed or undecided, and declared to be a warning only.
    WARNED = "warned"
    #: Failed or undecided, and accepted for a while.
    EXCEPTED = "excepted"
    PASSED = "passed"

    @property
    def stops(self) -> bool:
        """Whether it fails a pipeline."""
        return self in (CheckStatus.FAILED, CheckStatus.UNDECIDED)


#: What the rules of findings begin with that only say again what a plan has.
REFUSED: Final = "guard-"
SKIPPED: Final = "left-"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. ``rule`` is stable (``KA001``, ``KR012``, ``guard-lockout``), ``name`` its slug.

    ``cluster`` is empty where it is about the manifests themselves; ``place`` is ``None`` where nothing declares it.
    ``excepted`` says why and until when it is accepted. ``checked``: a check of the same report says it, too.
    ``binding`` is what ``subject`` spells, where it is about one. ``exact``, which no format shows, is what its words
    may leave out: findings with the same words are another matter where it differs.
    """

    rule: str
    name: str
    level: Level
    message: str
    advice: str = ""
    cluster: str = ""
    subject: str = ""
    place: Origin | None = None
    details: tuple[str, ...] = ()
    excepted: str = ""
    checked: bool = False
    binding: AclBinding | None = None
    exact: str = ""

    @property
    def sentence(self) -> str:
        """``topic x: it has one replica``: what it is about, and what is said of it."""
        return f"{self.subject}: {self.message}" if self.subject else self.message

    @property
    def on_cluster(self) -> str:
        """`` (cluster prod)``, for formats in which no heading names it; empty where it is about no cluster."""
        return f" (cluster {self.cluster})" if self.cluster else ""

    @property
    def refusing(self) -> str:
        """The safety check that refuses a plan for this; empty for other findings."""
        return self.rule.removeprefix(REFUSED) if self.rule.startswith(REFUSED) else ""

    @property
    def about_skipped(self) -> bool:
        """Whether it is about a difference that a plan skips."""
        return self.rule.startswith(SKIPPED)

    @property
    def about_guardrails(self) -> bool:
        """Whether it is about a change of the rules that judge the change."""
        return self.rule.startswith("guardrail-")


@dataclass(frozen=True, slots=True)
class Check:
    """A claim about access or a policy, and what came of it; ``lines`` say what broke it and what would mend it.

    ``basis`` is the state that was looked at: ``declared``, ``live``, ``after the plan``.
    """

    group: str
    name: str
    cluster: str
    standing: CheckStatus
    message: str
    lines: tuple[str, ...] = ()
    place: Origin | None = None
    basis: str = ""

    @property
    def reported_elsewhere(self) -> bool:
        """Whether a plan's refusals or a fleet's clusters say it already."""
        return self.group in ("Guards", "Fleet")

    @property
    def where(self) -> str:
        """``prod, after the plan``; empty where neither is known."""
        return ", ".join(filter(None, (self.cluster, self.basis)))


_Item = TypeVar("_Item", Finding, Check)

# What is new against the base: a digest of what each finding and check is about and says.
#
# Only the line on which it stands is left out, for every edit above it moves it. Whatever else differs, such as the
# subject, the level, an example or who accepts it until when, makes it another matter.

#: How files of guardrails are called: as ``PREFIX`` of the manifests; a test holds the two together.
OF_GUARDRAILS: Final = "guardrails://"
#: A line of a check, of one topic: its place has a line and a column.
_OF_TOPIC: Final = re.compile(r"^(topic \S+ at \S+?):\d+:\d+(`?: )")
#: A line that only says where ACLs are declared that the line before it names.
_PLACES: Final = "declared at "


def matter(item: Finding | Check) -> str:
    """The digest; equal for what two sets of manifests have in common."""
    # A finding about a binding moves with the rule, to whatever file.
    moves = isinstance(item, Finding) and item.rule.startswith("KA")
    file = "" if item.place is None or moves else item.place.file.removeprefix(OF_GUARDRAILS)
    if isinstance(item, Finding):
        lines = () if item.rule.startswith("KR") else item.details
        parts: tuple[str, ...] = (
            "finding",
            item.rule,
            str(item.level),
            item.subject,
            item.message,
            item.excepted,
            item.exact,
        )
    else:
        lines = item.lines
        # Ownership names its checks by their places.
        name = "" if item.group == "Ownership" else item.name
        parts = ("check", item.group, name, str(item.standing), item.message)
    kept = (_OF_TOPIC.sub(r"\1\2", line) for line in lines if not line.startswith(_PLACES))
    text = json.dumps([*parts, item.cluster, file, *kept])
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def known_among(items: Iterable[_Item], matters: Iterable[str]) -> Iterator[_Item]:
    """Those that the base has as well, by the matters that it has; of equal ones as many as there are in the base."""
    remaining = Counter(matters)
    for item in items:
        if remaining[which := matter(item)] > 0:
            remaining[which] -= 1
            yield item


# Findings by rule, as people read them: what a rule advises once, and operations on one pattern on one line.


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding, or several that differ in their operation only. ``advice`` is empty where the group has it."""

    subject: str
    message: str
    details: tuple[str, ...]
    advice: str
    place: Origin | None
    cluster: str
    count: int


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """The findings of one rule; ``advice`` is what all of its rows have in common, or empty."""

    rule: str
    name: str
    level: Level
    advice: str
    rows: tuple[FindingRow, ...]

    @property
    def total(self) -> int:
        """How many findings."""
        return sum(row.count for row in self.rows)


#: Of one level, what people must see before the rest: risks, then what does not do what it says, then what is tidied.
_ORDER: Final = ("Risky", "Ineffective", "", "Stale", "Redundant")
_RANKS: Final = {rule.code: _ORDER.index(group) for group, rules in GROUPS.items() for rule in rules}
_OTHERS: Final = _ORDER.index("")


def finding_groups(findings: Iterable[Finding]) -> Iterator[FindingGroup]:
    """One for each rule, those of the heaviest level first, of one level risks first; rows by place."""
    groups: dict[tuple[int, int, str, str], dict[Hashable, list[Finding]]] = {}
    for finding in findings:
        order = LEVELS.index(finding.level), _RANKS.get(finding.rule, _OTHERS)
        rows = groups.setdefault((*order, finding.rule, finding.name), {})
        rows.setdefault(_alike(finding), []).append(finding)
    for (level, _, rule, name), rows in sorted(groups.items(), key=lambda item: item[0]):
        advice = {finding.advice for same in rows.values() for finding in same}
        common = advice.pop() if len(advice) == 1 else ""
        yield FindingGroup(rule, name, LEVELS[level], common, tuple(_row(same, common) for same in rows.values()))


def _alike(finding: Finding) -> Hashable:
    if finding.binding is None:
        return finding
    pattern, entry = finding.binding
    return (
        pattern,
        entry.principal,
        entry.host,
        entry.permission_type,
        finding.place,
        finding.cluster,
        finding.advice,
        finding.excepted,
    )


def _row(same: Sequence[Finding], common: str) -> FindingRow:
    first = same[0]
    operations = ", ".join(item.binding.entry.operation.name for item in same if item.binding is not None)
    return FindingRow(
        first.subject if first.binding is None else binding_words(first.binding, operations),
        "; ".join(dict.fromkeys(item.message for item in same)),
        tuple(dict.fromkeys(text for item in same for text in item.details)),
        "" if first.advice == common else first.advice,
        first.place,
        first.cluster,
        len(same),
    )
