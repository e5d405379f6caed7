"""What ``lint``, ``test``, ``validate`` and the checks of a plan print as JSON: one definition that writes and reads.

``report`` reads what the commands write; what is missing or of another shape is refused with its place.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Annotated, Final, TypeAlias, TypeVar

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import constant
from reconciler.codec.objects import Record, derived
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.characters import as_name, binding_name
from reconciler.model.desired import Origin
from reconciler.model.says import AnyInteger, AnyText, Flat, Says
from reconciler.plan.guards import GUARDRAILS, NO_GUARDRAILS, GuardrailReview
from reconciler.results import KIND, OutputKind
from reconciler.results.findings import Level, ReportedByBroker

T = TypeVar("T")

_Rule: TypeAlias = Annotated[str, Says("The rule, as a stable code.", "KA001")]
_Name: TypeAlias = Annotated[str, Says("The rule's name.", "dead-host")]
_Severity: TypeAlias = Annotated[Level, Says("How much it weighs.", "error")]
_Message: TypeAlias = Annotated[AnyText, Says("What is wrong.", "nobody connects from this address")]
_Advice: TypeAlias = Annotated[AnyText, Says("What to do.", "remove it")]
_Place: TypeAlias = Annotated[Origin, Says("The place in the manifests, file:line:column.", "acls.yaml:8:16")]
_Cluster: TypeAlias = Annotated[str, Says("The cluster.", "prod")]
_Basis: TypeAlias = Annotated[str, Says("The state that was looked at.", "declared")]
_Unseen: TypeAlias = Annotated[
    tuple[AnyText, ...], Says("What decides access there and no ACL listing shows.", omit=True)
]
_IdleExceptions: TypeAlias = Annotated[tuple[Origin, ...], Says("Exceptions that accept nothing that was found.")]
_Standing: TypeAlias = Annotated[str, Says("What came of it.", "failed")]
_Stops: TypeAlias = Annotated[bool, Says("Whether it ends the command with a failure.", True)]
_Known: TypeAlias = Annotated[
    tuple[AnyText, ...] | None,
    Says(
        "A digest of each finding and check of the base; null: there is none that could be read.", omit=True, null=True
    ),
]
_Guardrails: TypeAlias = Annotated[
    GuardrailReview, GUARDRAILS, Says("What judged the manifests besides themselves.", omit=True)
]


@dataclass(frozen=True, slots=True)
class ExceptionEntry:
    """Why and until when something is accepted, and where that is declared."""

    reason: Annotated[AnyText, Says("Why it is accepted.", "until the migration is over")]
    expires: Annotated[str, Says("Until when it is accepted.", "2027-01-31")]
    ticket: Annotated[AnyText | None, Says("The ticket.", "OPS-42")] = None
    place: Annotated[Origin | None, Says("Where it is declared.", "acls.yaml:8:16", omit=True)] = None


_ExceptionEntry: TypeAlias = Annotated[ExceptionEntry | None, Says("Who accepts it, and until when.")]


@dataclass(frozen=True, slots=True)
class LintEntry:
    """One finding of ``lint``."""

    rule: _Rule
    name: _Name
    severity: _Severity
    binding: Annotated[AclBinding | None, Says("The binding that it is about; null: it is about something else.")]
    subject: Annotated[AnyText, Says("What it is about, in words.", "SCRAM user böse")]
    message: _Message
    advice: _Advice
    evidence: Annotated[tuple[AnyText, ...], Says("Examples that show it.")]
    related: Annotated[tuple[AclBinding, ...], Says("Other bindings that have to do with it.")]
    place: Annotated[Origin | None, Says("Where it is declared; null: it is not.", "acls.yaml:8:16")]
    exception: Annotated[ExceptionEntry | None, Says("Who accepts it, and until when.", omit=True, null=True)] = None


@dataclass(frozen=True, slots=True)
class LintedState:
    """What ``lint`` says of one state; ``ignored`` and ``implied`` count findings that are not shown."""

    cluster: _Cluster
    basis: _Basis
    findings: Annotated[tuple[LintEntry, ...], Says("What was found.")]
    excepted: Annotated[tuple[LintEntry, ...], Says("What was found and is accepted.")]
    idle_exceptions: _IdleExceptions
    ignored: Annotated[int, Says("Findings about bindings that somebody else manages.", 0)] = 0
    implied: Annotated[int, Says("Findings about a DESCRIBE that READ or WRITE implies.", 0)] = 0
    condition: Annotated[
        AnyText | None,
        Says(
            "What has to be true for these findings, and only the manifests say.",
            "if the brokers' super.users has User:admin",
        ),
    ] = None
    unseen: _Unseen = ()
    known: _Known = None


@dataclass(frozen=True, slots=True)
class LintOutput:
    """``lint --output json``."""

    states: Annotated[tuple[LintedState, ...], Says("One for each state that was looked at.")]


@dataclass(frozen=True, slots=True)
class WitnessEntry:
    """A request that breaks a claim, and why it is allowed or denied."""

    principal: Annotated[str, Says("The principal.", "User:svc-orders")]
    host: Annotated[str, Says("The address that it connects from.", "10.0.0.1")]
    operation: Annotated[str, Says("The operation.", "READ")]
    resource_type: Annotated[str, Says("The type of resource.", "TOPIC")]
    resource_name: Annotated[str, Says("The name of the resource.", "orders")]
    via: Annotated[str | None, Says("What other than a binding decides.", "super-user")]
    bindings: Annotated[tuple[AclBinding, ...], Says("The bindings that decide.")]
    origins: Annotated[tuple[AnyText, ...], Says("Where they are declared.")]


@dataclass(frozen=True, slots=True)
class RemediationEntry:
    """Bindings to create and to delete."""

    create: Annotated[tuple[AclBinding, ...], Says("Bindings to create.")]
    delete: Annotated[tuple[AclBinding, ...], Says("Bindings to delete.")]


@dataclass(frozen=True, slots=True)
class StepEntry:
    """A right on the way to something: an example of it, and the bindings that give it."""

    by: Annotated[str, Says("By which rule the principal acts as somebody else; right: what it gets.", "create-tokens")]
    principal: Annotated[str, Says("Who has the right.", "User:ci")]
    operation: Annotated[str | None, Says("The operation; null: membership of a group.", "CREATE_TOKENS")]
    resource_type: Annotated[str, Says("The type of resource.", "USER")]
    resource_name: Annotated[str | None, Says("A name of a resource; null: membership of a group.", "User:svc-appr")]
    names: Annotated[AnyText, Says("The names in words.", "user User:svc-appr")]
    acts_as: Annotated[
        tuple[AnyText, ...] | None, Says("As whom it acts then; null: as anybody, or it is no such right.")
    ] = ()
    bindings: Annotated[tuple[AclBinding, ...], Says("The bindings that give it.")] = ()
    origins: Annotated[tuple[AnyText, ...], Says("Where they are declared.")] = ()


#: One such step.
STEP: Final = record_of(StepEntry)


@dataclass(frozen=True, slots=True)
class WayEntry:
    """How a principal could get a right."""

    words: Annotated[AnyText, Says("The steps in words.", "WRITE topic orders (acls.yaml:4:9)")]
    steps: Annotated[tuple[StepEntry, ...], Says("The steps, the first one first.")]


@dataclass(frozen=True, slots=True)
class CombinationEntry:
    """A principal that could hold all duties of a claim."""

    principal: Annotated[AnyText | None, Says("Who; null: everybody whom no ACL names.", "User:ci")]
    certain: Annotated[bool, Says("false: it depends on something that is not known.", True)]
    ways: Annotated[tuple[WayEntry, ...], Says("A way for each duty.")]
    fix: Annotated[RemediationEntry | None, Says("The least to take away, so that it no longer could.")] = None

    @property
    def words(self) -> str:
        """``User:ci could do both: WRITE topic orders (a.yaml:4:9); …``."""
        who = "everybody whom no ACL names" if self.principal is None else as_name(self.principal)
        every = "both" if len(self.ways) == 2 else "all"
        return (
            f"{who} could {'' if self.certain else 'perhaps '}do {every}: {'; '.join(way.words for way in self.ways)}"
        )

    @property
    def fix_words(self) -> str:
        """What to delete; nothing where that is not known."""
        if self.fix is None or not self.fix.delete:
            return ""
        return "it would hold after: " + "; ".join(f"delete {binding_name(binding)}" for binding in self.fix.delete)


@dataclass(frozen=True, slots=True)
class ClaimEntry:
    """One claim of an AccessTest and its result."""

    test: Annotated[str, Says("The test's name.", "pii")]
    document: Annotated[str, Says("The document that declares it.", "access-tests")]
    claim: Annotated[str, Says("The kind of claim.", "only-readers")]
    place: _Place
    severity: _Severity
    standing: _Standing
    stops: _Stops
    words: Annotated[AnyText, Says("The claim in words.", "only User:a may read topic orders")]
    about_nobody: Annotated[tuple[AnyText, ...], Says("Patterns of principals that match nobody known.")] = ()
    witness: Annotated[WitnessEntry | None, Says("A request that breaks it.")] = None
    reason: Annotated[AnyText | None, Says("Why it is undecided.", "default-allow is not declared")] = None
    mending: Annotated[RemediationEntry | None, Says("Bindings that would make it hold.")] = None
    exception: _ExceptionEntry = None
    breaking: Annotated[
        tuple[CombinationEntry, ...], Says("All who could hold duties that separate keeps apart.", omit=True)
    ] = ()


@dataclass(frozen=True, slots=True)
class ClusterTestEntry:
    """One claim of a ClusterTest and its result; ``note`` is what somebody else states of the same fact."""

    test: Annotated[str, Says("The test's name.", "no accidental topics")]
    document: Annotated[str, Says("The document that declares it.", "brokers")]
    key: Annotated[str, Says("The config of brokers, or the feature.", "auto.create.topics.enable")]
    place: _Place
    severity: _Severity
    standing: _Standing
    stops: _Stops
    words: Annotated[AnyText, Says("The claim in words.", "auto.create.topics.enable is false on every broker")]
    breaking: Annotated[tuple[ReportedByBroker, ...], Says("The answers that are not as claimed.")] = ()
    unknown: Annotated[tuple[ReportedByBroker, ...], Says("The answers that tell nothing.")] = ()
    note: Annotated[AnyText, Says("What somebody else states of it; it decides nothing.", "", omit=True)] = ""
    exception: _ExceptionEntry = None


_ClusterTests: TypeAlias = Annotated[tuple[ClusterTestEntry, ...], Says("The claims of cluster tests.", omit=True)]


@dataclass(frozen=True, slots=True)
class TestedState:
    """The claims of one state."""

    cluster: _Cluster
    basis: _Basis
    claims: Annotated[tuple[ClaimEntry, ...], Says("The claims of access tests.")]
    guardrails: _Guardrails = NO_GUARDRAILS
    unseen: _Unseen = ()
    cluster_tests: _ClusterTests = ()


@dataclass(frozen=True, slots=True)
class TestOutput:
    """``test --output json``."""

    passed: Annotated[bool, Says("Whether no claim failed.", True)]
    clusters: Annotated[tuple[TestedState, ...], Says("One for each state that was looked at.")]


@dataclass(frozen=True, slots=True)
class BreachEntry:
    """A breach of ownership."""

    place: _Place
    kind: Annotated[str, Says("What is named without a right to it.", "principal")]
    teams: Annotated[tuple[AnyText, ...], Says("The teams of the file.", default=())]
    owners: Annotated[tuple[AnyText, ...], Says("The teams that it belongs to.", default=())]
    message: _Message
    advice: _Advice


@dataclass(frozen=True, slots=True)
class ConsentEntry:
    """A consent without which something declared would be a breach of ownership."""

    place: _Place
    team: Annotated[str, Says("The team that gives it.", "ledger")]
    to: Annotated[str, Says("The team that it is given to.", "payments")]
    reason: Annotated[AnyText, Says("Why, as declared.", "settlement reads the ledger", default="")]
    message: _Message


@dataclass(frozen=True, slots=True)
class EndEntry:
    """A user, a quota or another item that is declared with an end, and what the end does."""

    place: _Place
    subject: Annotated[str, Says("What ends.", "SCRAM user svc-payments")]
    ends: Annotated[str, Says("When, a day or an instant in UTC.", "2027-01-31")]
    message: _Message


@dataclass(frozen=True, slots=True)
class ProblemEntry:
    """A problem in a manifest."""

    code: Annotated[str, Says("The problem, as a stable code.", "KR012")]
    severity: _Severity
    file: Annotated[AnyText, Says("The file.", "acls.yaml")]
    line: Annotated[int, Says("The line, from 1.", 8)]
    column: Annotated[int, Says("The column, from 1.", 16)]
    message: _Message
    advice: _Advice
    related: Annotated[tuple[AnyText, ...], Says("Other places that have to do with it.")] = ()


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """A topic that does not keep a policy; ``rule`` is a code, ``policy`` and ``policy_rule`` name the rule."""

    rule: _Rule
    name: _Name
    severity: _Severity
    standing: _Standing
    stops: _Stops
    topic: Annotated[str, Says("The topic.", "orders")]
    place: _Place
    policy: Annotated[str, Says("The document that declares the rule.", "platform")]
    policy_rule: Annotated[str, Says("The name of the rule.", "replicated")]
    rule_place: Annotated[AnyText, Says("Where the rule is declared.", "policy.yaml:8:5", default="")]
    about: Annotated[AnyText, Says("What it is about.", "replication factor", default="")]
    found: Annotated[AnyText, Says("What was found.", "1", default="")]
    wanted: Annotated[AnyText, Says("What the rule asks for.", "at least 3", default="")]
    message: _Message
    reason: Annotated[AnyText, Says("The rule's own words.", "one broker may fail")]
    advice: _Advice
    exception: _ExceptionEntry = None


@dataclass(frozen=True, slots=True)
class PoliciesEntry:
    """Topics held against the rules of topic policies."""

    rules: Annotated[int, Says("How many rules there are.", 4)]
    topics: Annotated[int, Says("How many topics were held against them.", 40)]
    findings: Annotated[tuple[PolicyEntry, ...], Says("Topics that do not keep a rule.")]
    idle_exceptions: _IdleExceptions


@dataclass(frozen=True, slots=True)
class ChecksEntry:
    """What was checked about one cluster; what a command did not check is not there."""

    claims: Annotated[tuple[ClaimEntry, ...], Says("The claims of access tests.")] = ()
    breaches: Annotated[tuple[BreachEntry, ...] | None, Says("Breaches of ownership.", omit=True, null=True)] = None
    policies: Annotated[PoliciesEntry | None, Says("Topics and topic policies.", omit=True, null=True)] = None
    consents: Annotated[
        tuple[ConsentEntry, ...], Says("The consents that something declared relies on.", omit=True)
    ] = ()
    guardrails: _Guardrails = NO_GUARDRAILS
    cluster_tests: _ClusterTests = ()
    ends: Annotated[tuple[EndEntry, ...], Says("Declared items of listed kinds that end.", omit=True)] = ()
    known: _Known = None


@dataclass(frozen=True, slots=True)
class DeclaredBinding:
    """A binding, and where it is declared."""

    binding: Annotated[AclBinding, Says("The binding, variables and roles resolved.")]
    place: _Place
    role: Annotated[
        Origin | None, Says("The rule of the Role that names the operation.", "roles.yaml:7:7", omit=True)
    ] = None


@dataclass(frozen=True, slots=True)
class DeclaredTopic:
    """The name of a topic, and where it is declared."""

    name: Annotated[str, Says("The topic.", "prod.orders")]
    place: _Place
    absent: Annotated[bool, Says("Whether it must not exist.", False)] = False


@dataclass(frozen=True, slots=True)
class ValidatedEntry:
    """One cluster: how much is declared, and what was checked; with ``--expand``, each binding and topic."""

    bindings: Annotated[int, Says("How many bindings are declared.", 40, default=0)]
    topics: Annotated[int, Says("How many topics are declared.", 4, default=0)]
    expired: Annotated[int, Says("How many declarations, of any kind, have expired.", 0, default=0)]
    declared: Annotated[tuple[DeclaredBinding, ...], Says("Each binding, with --expand.", default=(), omit=True)]
    declared_topics: Annotated[tuple[DeclaredTopic, ...], Says("Each topic, with --expand.", default=(), omit=True)]
    checks: Annotated[ChecksEntry, Flat]


@dataclass(frozen=True, slots=True)
class ValidateOutput:
    """``validate --output json``."""

    valid: Annotated[bool, Says("Whether nothing is wrong.", True)]
    clusters: Annotated[Mapping[str, ValidatedEntry], Says("The clusters, by name.")] = field(default_factory=dict)
    problems: Annotated[tuple[ProblemEntry, ...], Says("Problems in manifests.")] = ()
    touched: Annotated[
        tuple[str, ...] | None,
        Says("The clusters that the change from --base can touch; null: without --base.", ["prod"], default=None),
    ] = None


@dataclass(frozen=True, slots=True)
class FailedOutput:
    """A command that ended without a result, as a pipeline notes it."""

    failed: Annotated[str, Says("The command.", "plan")]
    status: Annotated[AnyInteger, Says("The status that it ended with.", 1)]
    cluster: Annotated[str, Says("The cluster.", "prod")] = ""
    message: Annotated[AnyText, Says("Its error, or how far it came; empty: not known.", "0 done of 12 steps")] = ""


LINT: Final = record_of(LintOutput)
TEST: Final = record_of(TestOutput)
CHECKS: Final = record_of(ChecksEntry)
VALIDATE: Final = record_of(ValidateOutput)
FAILED: Final = record_of(FailedOutput)


def printed(kind: OutputKind, cls: type[T]) -> Record[T]:
    """The codec of the whole document that a command prints: a result and its kind."""
    word = derived(KIND, constant(kind.value), "The kind of the result.", kind.value, get=lambda _: kind.value)
    return record_of(cls, first=(word,))


# What brokers say against a cluster test, in words.


def broken_lines(entry: ClusterTestEntry) -> Iterator[str]:
    """What breaks a claim, by the brokers that say the same; then what could not be found out."""
    yield from (f"but {line}" for line in _together(entry.breaking))
    yield from (f"could not be found out: {line}" for line in _together(entry.unknown))
    if entry.note:
        yield entry.note


def _together(answers: Iterable[ReportedByBroker]) -> Iterator[str]:
    """``brokers 1, 3: true (from its file)``; in the order of the first broker that says so."""
    who: dict[str, list[str]] = {}
    for answer in answers:
        words = ", ".join(filter(None, (answer.found, answer.doubt)))
        who.setdefault(words, []).append("" if answer.broker is None else str(answer.broker))
    for words, brokers in who.items():
        named = f"broker{'' if len(brokers) == 1 else 's'} {', '.join(brokers)}: " if any(brokers) else ""
        yield named + words
