"""The makes of Kafka that people run, as facts: in what a cluster differs from Apache Kafka, and whose word it is.

Besides the readers of vendors' own formats and ``authorizers``, this file is the only one that names vendors. Other
code asks a :class:`Flavor` for a fact, never which one it is. Each fact is what the vendor documents, in one of
``documents``; ``docs/vendors.md`` says how each is known.
"""

import re
from collections.abc import Mapping
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model.frozen import FrozenMap
from reconciler.model.scope import NameSelector, Selector


@dataclass(frozen=True, slots=True)
class IntermediateValue:
    """A change of a topic's config that the service refuses in one step: ``via`` has to be set between."""

    config: str
    before: str
    via: str
    after: str
    #: What the value between may do to the topic, for the reviewer.
    harm: str = ""


@dataclass(frozen=True, slots=True)
class Signs:
    """How a cluster shows what it is: :mod:`reconciler.model.flavor_signs` looks for them.

    ``hosts`` are names under which brokers are advertised, to us or on another listener. ``configs`` are names of
    configs that only this make gives its brokers, ``topic_configs`` those that only its topics can have.
    ``by_id``: every cluster of this make has such an id, so one without it is of another make. A proxy or a private
    link changes host names, so that a host is missing never disproves anything.
    """

    cluster_id: re.Pattern[str] | None = None
    hosts: re.Pattern[str] | None = None
    configs: re.Pattern[str] | None = None
    topic_configs: re.Pattern[str] | None = None
    by_id: bool = False


@dataclass(frozen=True, slots=True)
class Flavor:
    """In what one make of Kafka differs; the defaults are Apache Kafka's. ``name`` is the word in ``spec.flavor``.

    ``no_acls``: why there are no ACLs to manage; empty where there are. ``acl_principals``: the principal filter under
    which DescribeAcls names principals as people write them; ``None``: none is needed. ``aliases``: principals that are
    other names of principals, so that deleting one deletes the other's bindings. ``principal_types``: the types that
    principals of bindings can have. ``parses_hosts``: an entry's host is compared as an address, not as text.
    ``wait_seconds``: how long after a change every broker enforces it. ``default_allow``: its
    ``allow.everyone.if.no.acl.found``, which somebody may have changed where it ``varies``; ``None``: the make says
    nothing. ``settable_configs``: the only topic configs that a user can set; ``None``: all. ``intermediates``: changes
    of configs that it refuses in one step. ``max_bindings``: the most ACLs that any of its clusters takes,
    ``fewest_bindings`` those that its smallest type takes.
    ``owned_elsewhere``: what another program of the make manages. ``unseen``: what decides access there and no ACL
    listing shows.
    """

    name: str
    title: str
    documents: tuple[str, ...] = ()
    signs: Signs = Signs()
    no_acls: str = ""
    acl_principals: str | None = None
    aliases: re.Pattern[str] | None = None
    principal_types: frozenset[str] = frozenset({"User"})
    parses_hosts: bool = False
    wait_seconds: float = 2.0
    default_allow: bool | None = None
    default_allow_varies: bool = False
    settable_configs: frozenset[str] | None = None
    intermediates: tuple[IntermediateValue, ...] = ()
    max_bindings: int | None = None
    fewest_bindings: int | None = None
    owned_elsewhere: tuple[Selector, ...] = ()
    unseen: tuple[str, ...] = ()

    def is_alias(self, principal: str) -> bool:
        """Whether it is another name of a principal."""
        return self.aliases is not None and self.aliases.fullmatch(principal) is not None

    def may_set(self, config: str) -> bool:
        """Whether a user can set this topic config."""
        return self.settable_configs is None or config in self.settable_configs

    def intermediate(
        self, before: Mapping[str, str | None], after: Mapping[str, str | None]
    ) -> IntermediateValue | None:
        """What has to be set first where configs of a topic are altered; one that is not set has Kafka's default."""
        return next((one for one in self.intermediates if _needs(one, before, after)), None)


#: Kafka's defaults of configs that some :class:`IntermediateValue` is about.
_DEFAULTS: Final[Mapping[str, str]] = FrozenMap({"cleanup.policy": "delete"})


def _needs(one: IntermediateValue, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> bool:
    if one.config not in after:
        return False
    sides = (side.get(one.config) or _DEFAULTS.get(one.config, "") for side in (before, after))
    return [_values(side) for side in sides] == [_values(one.before), _values(one.after)]


def _values(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(","))


APACHE: Final = Flavor("apache", "Apache Kafka")

_CONFLUENT: Final = "https://docs.confluent.io/cloud/current/"
CONFLUENT_CLOUD: Final = Flavor(
    "confluent-cloud",
    "Confluent Cloud",
    (
        # Which names DescribeAcls and DeleteAcls answer with; DENYs win over role bindings.
        f"{_CONFLUENT}security/access-control/acls/operations.html",
        # Which topic configs a user can edit, and cleanup.policy in two steps.
        f"{_CONFLUENT}topics/manage.html",
        f"{_CONFLUENT}clusters/cluster-types.html",
    ),
    Signs(re.compile(r"lkc-[a-z0-9]+"), re.compile(r".*\.confluent(gov)?\.cloud|.*\.confluentgov\.com"), by_id=True),
    # Only this filter lists every ACL, User:* included, by the resource ids (sa-…, u-…, pool-…) that people declare.
    acl_principals="UserV2:*",
    # The integer id of an account: the service keeps one list for both of its names.
    aliases=re.compile(r"User(V2)?:[0-9]+"),
    default_allow=False,
    # As the vendor's own Terraform provider has them, too (internal/provider/resource_kafka_topic.go).
    settable_configs=frozenset(
        {
            "cleanup.policy",
            "confluent.key.schema.validation",
            "confluent.key.subject.name.strategy",
            "confluent.schema.validation.context.name",
            "confluent.value.schema.validation",
            "confluent.value.subject.name.strategy",
            "delete.retention.ms",
            "max.compaction.lag.ms",
            "max.message.bytes",
            "message.timestamp.after.max.ms",
            "message.timestamp.before.max.ms",
            "message.timestamp.difference.max.ms",
            "message.timestamp.type",
            "min.compaction.lag.ms",
            "min.insync.replicas",
            "retention.bytes",
            "retention.ms",
            "segment.bytes",
            "segment.ms",
        }
    ),
    intermediates=(
        IntermediateValue(
            "cleanup.policy",
            "delete",
            "compact",
            "compact,delete",
            "while it is compact, the service deletes records without a key",
        ),
    ),
    # "ACLs: Max 1000" of Basic clusters; Kafka's protocol does not tell a cluster's type. How many requests for ACLs a
    # second the service takes is not documented for Kafka's protocol.
    max_bindings=10_000,
    fewest_bindings=1_000,
    unseen=("role bindings (RBAC) grant access too, and no ACL listing shows them",),
)

MSK: Final = Flavor(
    "msk",
    "Amazon MSK",
    (
        "https://docs.aws.amazon.com/msk/latest/developerguide/msk-acls.html",
        "https://docs.aws.amazon.com/msk/latest/developerguide/iam-access-control.html",
    ),
    Signs(hosts=re.compile(r".*\.kafka(-serverless)?\.[a-z0-9-]+\.amazonaws\.com(\.cn)?")),
    default_allow=True,
    default_allow_varies=True,
    unseen=("principals that log in by IAM are bound by IAM policies, and no ACL reaches them",),
)

REDPANDA: Final = Flavor(
    "redpanda",
    "Redpanda",
    (
        "https://docs.redpanda.com/current/manage/security/authorization/acl/",
        "https://docs.redpanda.com/current/manage/security/authorization/gbac/",
        "https://docs.redpanda.com/current/manage/audit-logging/audit-log-samples/",
        "https://docs.redpanda.com/current/reference/properties/topic-properties/",
    ),
    # Apache Kafka refuses a topic config that it does not know.
    Signs(re.compile(r"redpanda\..+"), topic_configs=re.compile(r"redpanda\..+")),
    principal_types=frozenset({"User", "RedpandaRole", "Group"}),
    parses_hosts=True,
    unseen=("who is in a role or group is not an ACL: bindings of RedpandaRole: and Group: reach principals unnamed",),
)

WARPSTREAM: Final = Flavor(
    "warpstream",
    "WarpStream",
    ("https://docs.warpstream.com/warpstream/reference/configure-acls",),
    Signs(re.compile(r"vci_.+"), re.compile(r".*\.warpstream\.com")),
    # "Changes to ACLs may take between 30 seconds to 1 minute to take effect": agents cache them.
    wait_seconds=60.0,
    # It does not implement allow.everyone.if.no.acl.found.
    default_allow=False,
)

AIVEN: Final = Flavor(
    "aiven",
    "Aiven for Apache Kafka",
    (
        "https://aiven.io/docs/products/kafka/concepts/acl",
        "https://aiven.io/docs/products/kafka/howto/manage-acls",
    ),
    Signs(hosts=re.compile(r".*\.aivencloud\.com")),
    unseen=("Aiven ACLs are a second system that Kafka does not list: they grant too, and a DENY in either wins",),
)

_STRIMZI: Final = "https://github.com/strimzi/strimzi-kafka-operator/blob/main/"
STRIMZI: Final = Flavor(
    "strimzi",
    "Strimzi",
    (
        "https://strimzi.io/docs/operators/latest/deploying#assembly-using-the-user-operator-str",
        # The User Operator deletes the ACLs of principals without a KafkaUser, except those of this pattern.
        f"{_STRIMZI}CHANGELOG.md",
        f"{_STRIMZI}cluster-operator/src/main/java/io/strimzi/operator/cluster/model/KafkaBrokerConfigurationBuilder.java",
    ),
    Signs(
        hosts=re.compile(r".*-kafka-brokers\.[a-z0-9-]+\.svc(\..*)?"),
        # Where the brokers' credentials and certificates are; the operator writes these into each broker's file.
        configs=re.compile(r"config\.providers\.strimzi[a-z]+\..+"),
    ),
    # The name of a KafkaUser with TLS authentication; the brokers' and operators' own certificates have such names too.
    owned_elsewhere=(Selector(principals=NameSelector(prefix="User:CN=")),),
)

EVENT_HUBS: Final = Flavor(
    "event-hubs",
    "Azure Event Hubs",
    ("https://learn.microsoft.com/azure/event-hubs/authorize-access-event-hubs",),
    Signs(hosts=re.compile(r".*\.servicebus\.(windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)")),
    no_acls="Azure roles and shared access signatures decide who may do what, and there are no Kafka ACLs",
)

#: By the word in ``spec.flavor``.
FLAVORS: Final[Mapping[str, Flavor]] = FrozenMap(
    {one.name: one for one in (APACHE, CONFLUENT_CLOUD, MSK, REDPANDA, WARPSTREAM, AIVEN, STRIMZI, EVENT_HUBS)}
)


def between(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Mapping[str, str]:
    """Values of configs at which a change in two steps may have been cut off, by config, whatever the flavor."""
    found = (flavor.intermediate(before, after) for flavor in FLAVORS.values())
    return {one.config: one.via for one in found if one is not None}
