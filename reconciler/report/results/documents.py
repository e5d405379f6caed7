"""What ``lint``, ``test``, ``validate`` and the checks of a plan print as JSON: one definition that writes and reads.

``report`` reads what the commands write; what is missing or of another shape is refused with its place.
"""

from collections.abc import Mapping
from dataclasses import field

from reconciler.dataclass import dataclass
from reconciler.model import AclBinding, Origin
from reconciler.plan.guardrail_review import NO_GUARDRAILS, GuardrailReview
from reconciler.report.results.finding import Level


@dataclass(frozen=True, slots=True)
class WaiverEntry:
    """Why and until when something is accepted, and where that is declared."""

    reason: str
    expires: str
    ticket: str | None = None
    place: Origin | None = None


@dataclass(frozen=True, slots=True)
class LintEntry:
    """One finding of ``lint``."""

    rule: str
    name: str
    severity: Level
    binding: AclBinding
    message: str
    advice: str
    evidence: tuple[str, ...]
    related: tuple[AclBinding, ...]
    place: Origin | None
    waiver: WaiverEntry | None = None


@dataclass(frozen=True, slots=True)
class LintedState:
    """What ``lint`` says of one state; ``ignored`` and ``implied`` count findings that are not shown.

    ``unseen`` is what decides access there and no ACL listing shows.
    """

    cluster: str
    basis: str
    findings: tuple[LintEntry, ...]
    waived: tuple[LintEntry, ...]
    idle_waivers: tuple[Origin, ...]
    ignored: int = 0
    implied: int = 0
    condition: str | None = None
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LintOutput:
    """``lint --output json``."""

    states: tuple[LintedState, ...]


@dataclass(frozen=True, slots=True)
class WitnessEntry:
    """A request that breaks a claim, and why it is allowed or denied."""

    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    via: str | None
    bindings: tuple[AclBinding, ...]
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemediationEntry:
    """Bindings to create and to delete."""

    create: tuple[AclBinding, ...]
    delete: tuple[AclBinding, ...]


@dataclass(frozen=True, slots=True)
class ClaimEntry:
    """One claim of an AccessTest and its result."""

    test: str
    document: str
    claim: str
    place: Origin
    severity: Level
    standing: str
    stops: bool
    words: str
    about_nobody: tuple[str, ...] = ()
    witness: WitnessEntry | None = None
    reason: str | None = None
    mending: RemediationEntry | None = None
    waiver: WaiverEntry | None = None


@dataclass(frozen=True, slots=True)
class BrokerAnswerEntry:
    """What one broker says of a config, or the cluster (``None``) of a feature; ``doubt``: why it is not known."""

    broker: int | None
    found: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class ClusterTestEntry:
    """One claim of a ClusterTest and its result; ``note`` is what somebody else states of the same fact."""

    test: str
    document: str
    key: str
    place: Origin
    severity: Level
    standing: str
    stops: bool
    words: str
    breaking: tuple[BrokerAnswerEntry, ...] = ()
    unknown: tuple[BrokerAnswerEntry, ...] = ()
    note: str = ""
    waiver: WaiverEntry | None = None


@dataclass(frozen=True, slots=True)
class TestedState:
    """The claims of one state; ``unseen`` as in :class:`LintedState`."""

    cluster: str
    basis: str
    claims: tuple[ClaimEntry, ...]
    guardrails: GuardrailReview = NO_GUARDRAILS
    unseen: tuple[str, ...] = ()
    cluster_tests: tuple[ClusterTestEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class TestOutput:
    """``test --output json``."""

    passed: bool
    clusters: tuple[TestedState, ...]


@dataclass(frozen=True, slots=True)
class BreachEntry:
    """A breach of ownership."""

    place: Origin
    kind: str
    message: str
    advice: str
    teams: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsentEntry:
    """A consent without which something declared would be a breach of ownership."""

    place: Origin
    message: str
    team: str
    to: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ProblemEntry:
    """A problem in a manifest."""

    code: str
    severity: Level
    file: str
    line: int
    column: int
    message: str
    advice: str
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """A topic that does not keep a policy; ``rule`` is a code, ``policy`` and ``policy_rule`` name the rule."""

    rule: str
    name: str
    severity: Level
    standing: str
    stops: bool
    topic: str
    place: Origin
    policy: str
    policy_rule: str
    message: str
    reason: str
    advice: str
    rule_place: str = ""
    about: str = ""
    found: str = ""
    wanted: str = ""
    waiver: WaiverEntry | None = None


@dataclass(frozen=True, slots=True)
class PoliciesEntry:
    """Topics held against the rules of topic policies."""

    rules: int
    topics: int
    findings: tuple[PolicyEntry, ...]
    idle_waivers: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class ChecksEntry:
    """What was checked about one cluster; what a command did not check is not there."""

    claims: tuple[ClaimEntry, ...] = ()
    breaches: tuple[BreachEntry, ...] | None = None
    policies: PoliciesEntry | None = None
    consents: tuple[ConsentEntry, ...] = ()
    guardrails: GuardrailReview = NO_GUARDRAILS
    cluster_tests: tuple[ClusterTestEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class DeclaredBinding:
    """A binding, and where it is declared; ``role`` is the rule of a ``Role`` document that names the operation."""

    binding: AclBinding
    place: Origin
    role: Origin | None = None


@dataclass(frozen=True, slots=True)
class DeclaredTopic:
    """The name of a topic, and where it is declared."""

    name: str
    place: Origin
    absent: bool = False


@dataclass(frozen=True, slots=True)
class ValidatedEntry:
    """One cluster: how much is declared, and what was checked; with ``--expand``, each binding and topic."""

    checks: ChecksEntry
    bindings: int = 0
    topics: int = 0
    expired: int = 0
    declared: tuple[DeclaredBinding, ...] = ()
    declared_topics: tuple[DeclaredTopic, ...] = ()


@dataclass(frozen=True, slots=True)
class ValidateOutput:
    """``validate --output json``."""

    valid: bool
    clusters: Mapping[str, ValidatedEntry] = field(default_factory=dict)
    problems: tuple[ProblemEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedOutput:
    """A command that ended without a result, as a pipeline notes it."""

    failed: str
    status: int
    cluster: str = ""
