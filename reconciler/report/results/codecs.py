"""How results look in JSON: a table of fields for each, from which writer, reader and the places of errors follow."""

from typing import Final

from reconciler.codec import (
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    TEXT,
    Record,
    array,
    by_value,
    field,
    flat,
    integer,
    mapping,
    nullable,
    record,
)
from reconciler.codec.values import BINDING, ORIGIN
from reconciler.plan import Guard, Refusal
from reconciler.plan.file.guardrails import GUARDRAILS
from reconciler.plan.guardrail_review import NO_GUARDRAILS
from reconciler.report.results.documents import (
    BreachEntry,
    BrokerAnswerEntry,
    ChecksEntry,
    ClaimEntry,
    ClusterTestEntry,
    ConsentEntry,
    DeclaredBinding,
    DeclaredTopic,
    FailedOutput,
    LintedState,
    LintEntry,
    LintOutput,
    PoliciesEntry,
    PolicyEntry,
    ProblemEntry,
    RemediationEntry,
    TestedState,
    TestOutput,
    ValidatedEntry,
    ValidateOutput,
    WaiverEntry,
    WitnessEntry,
)
from reconciler.report.results.finding import Level

_TEXTS: Final = array(ANY_TEXT)
_BINDINGS: Final = array(BINDING)
_ORIGINS: Final = array(ORIGIN)
_LEVEL: Final = by_value(Level)

_RULE: Final = field("rule", TEXT, "The rule, as a stable code.", "KA001")
_NAME: Final = field("name", TEXT, "The rule's name.", "dead-host")
_SEVERITY: Final = field("severity", _LEVEL, "How much it weighs.", "error")
_MESSAGE: Final = field("message", ANY_TEXT, "What is wrong.", "nobody connects from this address")
_ADVICE: Final = field("advice", ANY_TEXT, "What to do.", "remove it")
_PLACE: Final = field("place", ORIGIN, "The place in the manifests, file:line:column.", "acls.yaml:8:16")
_CLUSTER: Final = field("cluster", TEXT, "The cluster.", "prod")
_UNSEEN: Final = field("unseen", _TEXTS, "What decides access there and no ACL listing shows.", default=(), omit=True)
_BASIS: Final = field("basis", TEXT, "The state that was looked at.", "declared")
_IDLE: Final = field("idleWaivers", _ORIGINS, "Waivers that accept nothing that was found.")
_STANDING: Final = field("standing", TEXT, "What came of it.", "failed")
_STOPS: Final = field("stops", BOOLEAN, "Whether it ends the command with a failure.", True)

_WAIVER: Final[Record[WaiverEntry]] = record(
    WaiverEntry,
    field("reason", ANY_TEXT, "Why it is accepted.", "until the migration is over"),
    field("expires", TEXT, "Until when it is accepted.", "2027-01-31"),
    field("ticket", nullable(ANY_TEXT), "The ticket.", "OPS-42", default=None),
    field("place", ORIGIN, "Where it is declared.", "acls.yaml:8:16", default=None, omit=True),
)
_WAIVED: Final = field("waiver", nullable(_WAIVER), "Who accepts it, and until when.", default=None)
_LINT_ENTRY: Final[Record[LintEntry]] = record(
    LintEntry,
    _RULE,
    _NAME,
    _SEVERITY,
    field("binding", BINDING, "The binding that it is about."),
    _MESSAGE,
    _ADVICE,
    field("evidence", _TEXTS, "Examples that show it."),
    field("related", _BINDINGS, "Other bindings that have to do with it."),
    field("place", nullable(ORIGIN), "Where it is declared; null: it is not.", "acls.yaml:8:16"),
    field("waiver", nullable(_WAIVER), "Who accepts it, and until when.", default=None, omit=True),
)
LINT: Final[Record[LintOutput]] = record(
    LintOutput,
    field(
        "states",
        array(
            record(
                LintedState,
                _CLUSTER,
                _BASIS,
                field("findings", array(_LINT_ENTRY), "What was found."),
                field("waived", array(_LINT_ENTRY), "What was found and is accepted."),
                _IDLE,
                field("ignored", COUNT, "Findings about bindings that somebody else manages.", 0, default=0),
                field("implied", COUNT, "Findings about a DESCRIBE that READ or WRITE implies.", 0, default=0),
                field(
                    "condition",
                    nullable(ANY_TEXT),
                    "What has to be true for these findings, and only the manifests say.",
                    "if the brokers' super.users has User:admin",
                    default=None,
                ),
                _UNSEEN,
            )
        ),
        "One for each state that was looked at.",
    ),
)
_WITNESS: Final[Record[WitnessEntry]] = record(
    WitnessEntry,
    field("principal", TEXT, "The principal.", "User:svc-orders"),
    field("host", TEXT, "The address that it connects from.", "10.0.0.1"),
    field("operation", TEXT, "The operation.", "READ"),
    field("resourceType", TEXT, "The type of resource.", "TOPIC"),
    field("resourceName", TEXT, "The name of the resource.", "orders"),
    field("via", nullable(TEXT), "What other than a binding decides.", "super-user"),
    field("bindings", _BINDINGS, "The bindings that decide."),
    field("origins", _TEXTS, "Where they are declared."),
)
_REMEDIATION: Final[Record[RemediationEntry]] = record(
    RemediationEntry,
    field("create", _BINDINGS, "Bindings to create."),
    field("delete", _BINDINGS, "Bindings to delete."),
)
CLAIM: Final[Record[ClaimEntry]] = record(
    ClaimEntry,
    field("test", TEXT, "The test's name.", "pii"),
    field("document", TEXT, "The document that declares it.", "access-tests"),
    field("claim", TEXT, "The kind of claim.", "only-readers"),
    _PLACE,
    _SEVERITY,
    _STANDING,
    _STOPS,
    field("words", ANY_TEXT, "The claim in words.", "only User:a may read topic orders"),
    field("aboutNobody", _TEXTS, "Patterns of principals that match nobody known.", default=()),
    field("witness", nullable(_WITNESS), "A request that breaks it.", default=None),
    field("reason", nullable(ANY_TEXT), "Why it is undecided.", "default-allow is not declared", default=None),
    field("mending", nullable(_REMEDIATION), "Bindings that would make it hold.", default=None),
    _WAIVED,
)
_ANSWERS: Final = array(
    record(
        BrokerAnswerEntry,
        field("broker", nullable(integer(None)), "The broker's id; null: the cluster.", 1),
        field("found", ANY_TEXT, "What it has, and where that comes from.", "true (from its file)", default=""),
        field("doubt", ANY_TEXT, "Why that is not known, or no answer.", "it hides the value", default=""),
    )
)
_CLUSTER_TEST: Final[Record[ClusterTestEntry]] = record(
    ClusterTestEntry,
    field("test", TEXT, "The test's name.", "no accidental topics"),
    field("document", TEXT, "The document that declares it.", "brokers"),
    field("key", TEXT, "The config of brokers, or the feature.", "auto.create.topics.enable"),
    _PLACE,
    _SEVERITY,
    _STANDING,
    _STOPS,
    field("words", ANY_TEXT, "The claim in words.", "auto.create.topics.enable is false on every broker"),
    field("breaking", _ANSWERS, "The answers that are not as claimed.", default=()),
    field("unknown", _ANSWERS, "The answers that tell nothing.", default=()),
    field("note", ANY_TEXT, "What somebody else states of it; it decides nothing.", "", default="", omit=True),
    _WAIVED,
)
_CLUSTER_TESTS: Final = field(
    "clusterTests", array(_CLUSTER_TEST), "The claims of cluster tests.", default=(), omit=True
)
_GUARDRAILS: Final = field(
    "guardrails", GUARDRAILS, "What judged the manifests besides themselves.", default=NO_GUARDRAILS, omit=True
)
TEST: Final[Record[TestOutput]] = record(
    TestOutput,
    field("passed", BOOLEAN, "Whether no claim failed.", True),
    field(
        "clusters",
        array(
            record(
                TestedState,
                _CLUSTER,
                _BASIS,
                field("claims", array(CLAIM), "The claims of access tests."),
                _GUARDRAILS,
                _UNSEEN,
                _CLUSTER_TESTS,
            )
        ),
        "One for each state that was looked at.",
    ),
)
_BREACH: Final[Record[BreachEntry]] = record(
    BreachEntry,
    _PLACE,
    field("kind", TEXT, "What is named without a right to it.", "principal"),
    field("teams", _TEXTS, "The teams of the file.", default=()),
    field("owners", _TEXTS, "The teams that it belongs to.", default=()),
    _MESSAGE,
    _ADVICE,
)
_CONSENT: Final[Record[ConsentEntry]] = record(
    ConsentEntry,
    _PLACE,
    field("team", TEXT, "The team that gives it.", "ledger"),
    field("to", TEXT, "The team that it is given to.", "payments"),
    field("reason", ANY_TEXT, "Why, as declared.", "settlement reads the ledger", default=""),
    _MESSAGE,
)
_POLICY_ENTRY: Final[Record[PolicyEntry]] = record(
    PolicyEntry,
    _RULE,
    _NAME,
    _SEVERITY,
    _STANDING,
    _STOPS,
    field("topic", TEXT, "The topic.", "orders"),
    _PLACE,
    field("policy", TEXT, "The document that declares the rule.", "platform"),
    field("policyRule", TEXT, "The name of the rule.", "replicated"),
    field("rulePlace", ANY_TEXT, "Where the rule is declared.", "policy.yaml:8:5", default=""),
    field("about", ANY_TEXT, "What it is about.", "replication factor", default=""),
    field("found", ANY_TEXT, "What was found.", "1", default=""),
    field("wanted", ANY_TEXT, "What the rule asks for.", "at least 3", default=""),
    _MESSAGE,
    field("reason", ANY_TEXT, "The rule's own words.", "one broker may fail"),
    _ADVICE,
    _WAIVED,
)
_POLICIES: Final[Record[PoliciesEntry]] = record(
    PoliciesEntry,
    field("rules", COUNT, "How many rules there are.", 4),
    field("topics", COUNT, "How many topics were held against them.", 40),
    field("findings", array(_POLICY_ENTRY), "Topics that do not keep a rule."),
    _IDLE,
)
CHECKS: Final[Record[ChecksEntry]] = record(
    ChecksEntry,
    field("claims", array(CLAIM), "The claims of access tests.", default=()),
    field("breaches", nullable(array(_BREACH)), "Breaches of ownership.", default=None, omit=True),
    field("policies", nullable(_POLICIES), "Topics and topic policies.", default=None, omit=True),
    field("consents", array(_CONSENT), "The consents that something declared relies on.", default=(), omit=True),
    _GUARDRAILS,
    _CLUSTER_TESTS,
)
_DECLARED: Final[Record[DeclaredBinding]] = record(
    DeclaredBinding,
    field("binding", BINDING, "The binding, variables and roles resolved."),
    _PLACE,
    field("role", ORIGIN, "The rule of the Role that names the operation.", "roles.yaml:7:7", default=None, omit=True),
)
_DECLARED_TOPIC: Final[Record[DeclaredTopic]] = record(
    DeclaredTopic,
    field("name", TEXT, "The topic.", "prod.orders"),
    _PLACE,
    field("absent", BOOLEAN, "Whether it must not exist.", False, default=False),
)
_VALIDATED: Final[Record[ValidatedEntry]] = record(
    ValidatedEntry,
    field("bindings", COUNT, "How many bindings are declared.", 40, default=0),
    field("topics", COUNT, "How many topics are declared.", 4, default=0),
    field("expired", COUNT, "How many bindings have expired.", 0, default=0),
    field("declared", array(_DECLARED), "Each binding, with --expand.", default=(), omit=True),
    field("declaredTopics", array(_DECLARED_TOPIC), "Each topic, with --expand.", default=(), omit=True),
    flat(CHECKS, "checks"),
)
_PROBLEM: Final[Record[ProblemEntry]] = record(
    ProblemEntry,
    field("code", TEXT, "The problem, as a stable code.", "KR012"),
    _SEVERITY,
    field("file", ANY_TEXT, "The file.", "acls.yaml"),
    field("line", COUNT, "The line, from 1.", 8),
    field("column", COUNT, "The column, from 1.", 16),
    _MESSAGE,
    _ADVICE,
    field("related", _TEXTS, "Other places that have to do with it.", default=()),
)
VALIDATE: Final[Record[ValidateOutput]] = record(
    ValidateOutput,
    field("valid", BOOLEAN, "Whether nothing is wrong.", True),
    field("clusters", mapping(_VALIDATED), "The clusters, by name.", default={}),
    field("problems", array(_PROBLEM), "Problems in manifests.", default=()),
)
FAILED: Final[Record[FailedOutput]] = record(
    FailedOutput,
    field("failed", TEXT, "The command.", "plan"),
    field("status", integer(None), "The status that it ended with.", 1),
    field("cluster", TEXT, "The cluster.", "prod", default=""),
)
REFUSAL: Final[Record[Refusal]] = record(
    Refusal,
    field("guard", by_value(Guard), "The guard that refuses.", "topic-delete"),
    field("object", TEXT, "What it is about.", "orders.old"),
    _MESSAGE,
    field("remedy", ANY_TEXT, "What a person can do.", "--accept topic-delete=orders.old"),
)
