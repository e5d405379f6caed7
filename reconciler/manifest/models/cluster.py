"""The documents of the kind ``Cluster``: connection, facts and limits that no Kafka API exposes; and ``Fleet``."""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from reconciler.codec.kinds import PRUNABLE
from reconciler.manifest.parts.document import ApiVersion, ClusterSelector, Metadata
from reconciler.manifest.parts.fields import (
    GUARD_TAG,
    LINT_TAG,
    MILLISECONDS,
    Boolean,
    Ends,
    FixedCount,
    ManifestModel,
    OneOrMoreTexts,
    Percent,
    PrincipalText,
    Seconds,
    Text,
    amount,
    ends,
    reading,
    refuse,
)
from reconciler.manifest.parts.selectors import LintExceptionItem, SelectorItem, is_lint_code
from reconciler.manifest.parts.topic_settings import ClusterTopicDefaults
from reconciler.manifest.read.findings import quoted
from reconciler.manifest.read.problem import Code, did_you_mean, one_of
from reconciler.model.flavor import FLAVORS
from reconciler.model.scope import RESOURCE_FIELDS

# Single values of a Cluster document: the name of a guard or a flavor, a release, what is known of default-allow.

#: The guards that an exception can name.
GUARDS = frozenset(
    {
        "broken-binding",
        "replica-move",
        "cluster-alter",
        "data-loss",
        "empty-desired",
        "empty-live",
        "limit",
        "lockout",
        "login-limit",
        "open-by-default",
        "closed-by-default",
        "protected",
        "topic-delete",
        "user-enable",
    }
)


def _default_allow(value: object) -> object:
    if value not in ("true", "false", "unknown"):
        raise refuse(Code.WRONG_VALUE, "true, false or unknown is expected here", "write what server.properties says")
    return value


def _guard(value: object) -> object:
    if not isinstance(value, str):
        raise refuse(Code.WRONG_SHAPE, "the name of a safety check is expected here", one_of(GUARDS))
    if value not in GUARDS:
        raise refuse(
            Code.WRONG_VALUE, f"there is no safety check {quoted(value)}", did_you_mean(value, GUARDS, one_of(GUARDS))
        )
    return value


def _prunable(value: object) -> object:
    if not isinstance(value, str) or value not in PRUNABLE:
        given = (
            f"nothing of the kind {quoted(value)} is pruned" if isinstance(value, str) else "a kind is expected here"
        )
        advice = did_you_mean(value, PRUNABLE, one_of(PRUNABLE)) if isinstance(value, str) else one_of(PRUNABLE)
        raise refuse(Code.WRONG_VALUE, given, advice)
    return value


def _flavor(value: object) -> object:
    if not isinstance(value, str) or value not in FLAVORS:
        given = (
            f"there is no vendor {quoted(value)}" if isinstance(value, str) else "the name of a vendor is expected here"
        )
        advice = did_you_mean(value, FLAVORS, one_of(FLAVORS)) if isinstance(value, str) else one_of(FLAVORS)
        raise refuse(Code.WRONG_VALUE, given, advice)
    return value


DefaultAllow = Annotated[
    Literal["true", "false", "unknown"],
    BeforeValidator(_default_allow),
    WithJsonSchema({"enum": [True, False, "unknown"]}),
]
FlavorName = Annotated[str, BeforeValidator(_flavor), WithJsonSchema({"type": "string", "enum": list(FLAVORS)})]
PrunableKind = Annotated[str, BeforeValidator(_prunable), WithJsonSchema({"type": "string", "enum": sorted(PRUNABLE)})]
GuardName = Annotated[str, BeforeValidator(_guard), WithJsonSchema({"type": "string", "enum": sorted(GUARDS)})]


def _release(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,3})(\.[0-9]{1,3})?", text)
    if match is None:
        raise ValueError(f"{quoted(text)} is not a release of Kafka: write it as 4.4")
    return int(match[1]), int(match[2])


#: A release of Kafka; a patch release counts as its minor release, whose rules it has.
Release = Annotated[
    tuple[int, int],
    BeforeValidator(reading(_release)),
    WithJsonSchema({"type": ["string", "number"], "pattern": r"^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?$"}),
]


class ScopeSpec(ManifestModel):
    """What the manifests answer for: included first, then less what is excluded."""

    include: list[SelectorItem] | None = Field(
        None,
        min_length=1,
        description="What is in scope; one fitting item is enough. Without it, all ACLs and the declared topics.",
        examples=[[{"principals": {"prefix": "User:svc-"}}, {"topics": {"prefix": "payments."}}]],
    )
    exclude: list[SelectorItem] = Field(
        default_factory=list, description="What is not in scope after all.", examples=[[{"topics": {"prefix": "__"}}]]
    )


class DeleteLimitsSpec(ManifestModel):
    """How much one plan may delete."""

    max_deletes: FixedCount | None = Field(None, description="At most so many deletes in one plan.", examples=[200])
    max_delete_percent: Percent | None = Field(
        None,
        description="At most this share of a kind in scope. Default: 20, if more than 10 of it go.",
        examples=[20],
    )
    percent_above: FixedCount | None = Field(
        None, description="maxDeletePercent counts only where more of a kind than this go.", examples=[10]
    )


class BarrierSpec(ManifestModel):
    """How to wait until every broker knows a change."""

    wait: Seconds | None = Field(
        None, description="A fixed delay between phases: a number and ms, s, m or h.", examples=["2s"]
    )
    principal: PrincipalText | None = Field(
        None,
        description="A principal without rights, as which every broker is asked what it enforces.",
        examples=["User:acl-probe"],
    )
    client: dict[str, Text] = Field(
        default_factory=dict,
        description="How that principal logs in: settings that replace those of the cluster's client.",
        examples=[{"sasl.username": "acl-probe"}],
    )
    timeout: Seconds | None = Field(
        None, description="How long every broker may take to enforce what was sent.", examples=["30s"]
    )


class GuardExceptionItem(ManifestModel):
    """A guard that may be passed for one named object."""

    check: GuardName = Field(description="The safety check.", examples=["topic-delete"])
    object: Text = Field(description="What it is accepted for, as the check names it.", examples=["payments.old"])
    reason: Text = Field(description="Why.", examples=["replaced by payments.orders"])
    expires: Ends | None = ends("It counts")
    ticket: Text | None = Field(None, description="Where it was agreed.", examples=["OPS-7"])


def _what(value: object) -> str:
    """Of which of the two an exception is: by its check, or by the fields that only one has."""
    fields: dict[str, object] = value if isinstance(value, dict) else {}
    of_lint = is_lint_code(fields.get("check")) or fields.keys() & {"principals", *RESOURCE_FIELDS}
    return LINT_TAG if of_lint else GUARD_TAG


ClusterExceptionItem = Annotated[
    Annotated[GuardExceptionItem, Tag(GUARD_TAG)] | Annotated[LintExceptionItem, Tag(LINT_TAG)], Discriminator(_what)
]


class StatedSpec(ManifestModel):
    """How a cluster is reached, and what no Kafka API exposes of it: all that an operator's file may hold."""

    bootstrap_servers: OneOrMoreTexts | None = Field(
        None,
        description="Where to connect first, as host:port; a connections file replaces it.",
        examples=[["broker-1:9093"]],
    )
    client: dict[str, Text] = Field(
        default_factory=dict,
        description="Client settings in Java's or librdkafka's spelling; secrets as ${env:NAME}, in connections only.",
        examples=[{"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}],
    )
    principal: PrincipalText | None = Field(
        None, description="The principal that we connect as.", examples=["User:reconciler"]
    )
    super_users: list[PrincipalText] = Field(
        default_factory=list, description="The brokers' super.users, which no ACL limits.", examples=[["User:admin"]]
    )
    flavor: FlavorName | None = Field(
        None,
        description="The vendor of Kafka, with what is different there; `doctor` proposes it. Default: apache.",
        examples=["confluent-cloud"],
    )
    allow_everyone_if_no_acl_found: DefaultAllow = Field(
        "unknown", description="The brokers' allow.everyone.if.no.acl.found: true, false or unknown.", examples=[False]
    )
    kafka_version: Release | None = Field(
        None,
        description="The Kafka release that the brokers run, for a snapshot or a cluster that does not tell it.",
        examples=["4.4"],
    )
    inter_broker_principals: list[PrincipalText] = Field(
        default_factory=list,
        description="The principals that the brokers connect to each other as; no plan may lock them out.",
        examples=[["User:broker"]],
    )
    protect: list[SelectorItem] = Field(
        default_factory=list,
        description="Names and principals whose access no plan may change, whatever pattern would cause it.",
        examples=[[{"topics": ["ledger.v1"]}, {"principals": ["User:monitoring"]}]],
    )
    delete_limits: DeleteLimitsSpec | None = Field(
        None, description="How much one plan may delete.", examples=[{"maxDeletes": 200}]
    )
    barrier: BarrierSpec | None = Field(None, description="How to wait between phases.", examples=[{"wait": "2s"}])
    brokers: list[FixedCount] = Field(
        default_factory=list,
        description="The ids of the brokers that have to enforce a change before anything relies on it.",
        examples=[[1, 2, 3]],
    )
    exceptions: list[GuardExceptionItem] = Field(
        default_factory=list,
        description="Safety checks that may be passed, each for a named object.",
        examples=[[{"check": "topic-delete", "object": "payments.old", "reason": "replaced"}]],
    )


class ClusterSpec(StatedSpec):
    """All that is declared of one cluster."""

    scope: ScopeSpec | None = Field(
        None,
        description="What these manifests answer for.",
        examples=[{"include": [{"topics": {"prefix": "payments."}}]}],
    )
    ignore: list[SelectorItem] = Field(
        default_factory=list,
        description="What somebody else manages: counted, never planned.",
        examples=[[{"principals": {"prefix": "User:sa-"}}]],
    )
    prune: list[PrunableKind] = Field(
        default_factory=list,
        description="The kinds of which everything in scope that no manifest declares is deleted, or reset.",
        examples=[["topics"]],
    )
    topic_defaults: ClusterTopicDefaults | None = Field(
        None,
        description="What the topics of this cluster have unless a Topics document says otherwise.",
        examples=[{"replicationFactor": 3, "configs": {"min.insync.replicas": 2}}],
    )
    ignore_configs: list[Text] = Field(
        default_factory=list, description="Topic settings that are left as they are.", examples=[["retention.ms"]]
    )
    exceptions: list[ClusterExceptionItem] = Field(  # type: ignore[assignment]
        default_factory=list,
        description="Safety checks that may be passed, each for a named object, and accepted findings of lint.",
        examples=[[{"check": "topic-delete", "object": "payments.old", "reason": "replaced"}]],
    )
    vars: dict[str, Text] = Field(
        default_factory=dict,
        description="Values that other documents take, as ${vars.env}, whole or inside a text.",
        examples=[{"env": "prod", "partitions": 6}],
    )


class ClusterDocument(ManifestModel):
    """A cluster: connection, declared facts, scope and limits."""

    api_version: ApiVersion
    kind: Literal["Cluster"] = Field(description="What the document declares.", examples=["Cluster"])
    metadata: Metadata = Field(
        description="Name and labels.", examples=[{"name": "prod-eu", "labels": {"env": "prod"}}]
    )
    spec: ClusterSpec = Field(
        description="Connection, facts, scope and limits.", examples=[{"bootstrapServers": ["broker-1:9093"]}]
    )


class UserSecretsSpec(ManifestModel):
    """Which references to secrets manifests may contain; without it none is followed."""

    env_prefixes: list[Text] = Field(
        default_factory=list,
        description="Prefixes of the names of environment variables.",
        examples=[["KAFKA_USER_"]],
    )
    directories: list[Text] = Field(
        default_factory=list,
        description="Directories of secret files, as absolute paths.",
        examples=[["/run/secrets/kafka-users"]],
    )
    verify: Literal["login"] | None = Field(
        default=None,
        description="With login, apply logs in once with each password that it has set. Without it, nobody does.",
        examples=["login"],
    )


class UnlockSpec(ManifestModel):
    """What it takes to end a lock."""

    approvals: FixedCount = Field(
        default=0, description="So many people have to sign the plan of an unlock.", examples=[2]
    )


class BreakGlassSpec(ManifestModel):
    """Which checks break-glass access may be given over, and what that takes."""

    override: list[Literal["access-tests"]] = Field(
        default_factory=list,
        description="What --override may name: access-tests, those of AccessTests documents.",
        examples=[["access-tests"]],
    )
    approvals: FixedCount = Field(
        default=1, description="So many people have to sign the plan of access over a failed check.", examples=[2]
    )
    longest: Seconds = Field(
        default=3600.0, description="How long such access may last: a number and ms, s, m or h.", examples=["1h"]
    )


class ConnectionSpec(StatedSpec):
    """A cluster's spec in the operator's file: the only place where a reference to a secret is followed."""

    client: dict[str, Text] = Field(
        default_factory=dict,
        description="Client settings in Java's or librdkafka's spelling; secrets as ${env:NAME}.",
        examples=[{"security.protocol": "SASL_SSL", "sasl.password": "${env:KAFKA_PASSWORD}"}],
    )
    user_secrets: UserSecretsSpec = Field(
        default_factory=UserSecretsSpec,
        description="Where manifests may take the passwords of SCRAM users from; by default from nowhere.",
        examples=[{"envPrefixes": ["KAFKA_USER_"]}],
    )
    locked: list[Text] = Field(
        default_factory=list,
        description="Principals that are locked for good: no plan creates an ALLOW for them, and no unlock ends it.",
        examples=[["User:svc-old"]],
    )
    unlock: UnlockSpec = Field(
        default_factory=UnlockSpec,
        description="How many people have to sign before a lock ends.",
        examples=[{"approvals": 2}],
    )
    locks_end: Boolean = Field(
        False,
        description="With true, a server that acts ends a lock at the end that --until named.",
        examples=[True],
    )
    break_glass: BreakGlassSpec = Field(
        default_factory=BreakGlassSpec,
        description="Which checks break-glass access may be given over; by default none.",
        examples=[{"override": ["access-tests"], "approvals": 2, "longest": "1h"}],
    )
    only_scram_logins: Boolean = Field(
        False,
        description="With true, no listener lets anybody log in otherwise than with SCRAM: whoever is no SCRAM user "
        "cannot log in.",
        examples=[True],
    )


class ConnectionsDocument(ManifestModel):
    """A cluster in the operator's file: its connection, and the facts that are the operator's word."""

    api_version: ApiVersion
    kind: Literal["Cluster"] = Field(description="What the document is about.", examples=["Cluster"])
    metadata: Metadata = Field(description="The cluster's name, as in its manifest.", examples=[{"name": "prod-eu"}])
    spec: ConnectionSpec = Field(
        description="Connection and facts.", examples=[{"bootstrapServers": ["broker-1:9093"], "superUsers": []}]
    )


def _soak(text: str) -> float:
    milliseconds = amount(text, MILLISECONDS)
    if text[-1:].isdigit():
        raise ValueError(f"{quoted(text)} is not a duration: write a number and s, m, h or d, such as 1h")
    return milliseconds / 1000


SoakTime = Annotated[
    float,
    BeforeValidator(reading(_soak)),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]+ ?(ms|s|m|h|d)$"}),
]


class GateSpec(ManifestModel):
    """What has to hold before the next wave begins."""

    soak: SoakTime | None = Field(
        None, description="Time to wait after the wave before the next one: a number and s, m, h or d.", examples=["1h"]
    )
    max_failures: FixedCount = Field(
        0, description="With more clusters of the wave failed than this, the next one does not begin.", examples=[0]
    )


class WaveSpec(ManifestModel):
    """Clusters that get a change together."""

    name: Text = Field(description="The wave's name, unique in the fleet.", examples=["canary"])
    clusters: ClusterSelector = Field(
        description="Which clusters; one that fits several waves belongs to the first.",
        examples=[{"matchLabels": {"ring": "canary"}}],
    )
    gate: GateSpec | None = Field(
        None, description="What has to hold before the next wave begins.", examples=[{"soak": "1h"}]
    )


class FleetLimitsSpec(ManifestModel):
    """How much one plan may change, all clusters together."""

    max_changed_clusters_percent: Percent | None = Field(
        None, description="At most this share of the fleet's clusters may change in one plan.", examples=[50]
    )
    max_deletes: FixedCount | None = Field(
        None, description="At most so many deletes in one plan, all clusters together.", examples=[5000]
    )


class FleetSpec(ManifestModel):
    """Waves and limits."""

    waves: list[WaveSpec] = Field(
        min_length=1,
        description="The waves, in the order in which they are performed.",
        examples=[[{"name": "canary", "clusters": {"matchLabels": {"ring": "canary"}}, "gate": {"soak": "1h"}}]],
    )
    limits: FleetLimitsSpec | None = Field(
        None, description="How much one plan may change.", examples=[{"maxChangedClustersPercent": 50}]
    )


class FleetDocument(ManifestModel):
    """A fleet: waves of clusters, gates between them, limits for all."""

    api_version: ApiVersion
    kind: Literal["Fleet"] = Field(description="What the document declares.", examples=["Fleet"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "world"}])
    spec: FleetSpec = Field(
        description="The waves, and the limits of one plan.",
        examples=[{"waves": [{"name": "all", "clusters": {"matchLabels": {}}}]}],
    )
