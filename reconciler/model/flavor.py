"""Vendors and releases of Kafka: their facts, the signs by which a cluster shows them, their authorizers.

The makes of Kafka that people run, as facts: in what a cluster differs from Apache Kafka, and whose word it is.

Besides the readers of vendors' own formats and ``authorizers``, this file is the only one that names vendors. Other
code asks a :class:`Flavor` for a fact, never which one it is. Each fact is what the vendor documents, in one of
``documents``; ``docs/vendors.md`` says how each is known.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model.acl import SUPPORTED_OPERATIONS, AclBinding, AclOperation, ResourceType
from reconciler.model.frozen import FrozenMap
from reconciler.model.scope import NameSelector, Selector
from reconciler.model.state import ClusterState

# Kafka's releases, as (major, minor).

#: A broker's release as (major, minor); more parts are fine.
KafkaVersion: TypeAlias = tuple[int, ...]
#: The release whose rules hold where nothing else is known: ranges of hosts are texts.
ASSUMED_VERSION: Final[KafkaVersion] = (4, 3)
#: The newest release whose authorizer this project was tested against.
NEWEST_RELEASE: Final = (4, 4)
#: The first level of ``metadata.version`` of each release (``org.apache.kafka.server.common.MetadataVersion``).
FIRST_LEVELS: Final = (
    (7, (3, 3)),
    (8, (3, 4)),
    (9, (3, 5)),
    (12, (3, 6)),
    (15, (3, 7)),
    (20, (3, 8)),
    (21, (3, 9)),
    (22, (4, 0)),
    (26, (4, 1)),
    (28, (4, 2)),
    (30, (4, 3)),
    (31, (4, 4)),
)


def known_release(version: KafkaVersion | None) -> KafkaVersion | None:
    """The same, but ``None`` for a release after the newest that is known: its rules may be others."""
    return None if version is None or version[:2] > NEWEST_RELEASE else version


def release_text(version: KafkaVersion) -> str:
    """``4.4``."""
    return ".".join(map(str, version[:2]))


def supported(resource_type: ResourceType, version: KafkaVersion) -> frozenset[AclOperation]:
    """The operations that a broker of that release checks on a resource type (``AclEntry.supportedOperations``)."""
    operations = SUPPORTED_OPERATIONS[resource_type]
    if version < (4, 1):
        operations -= {AclOperation.TWO_PHASE_COMMIT}
    if version < (4, 0) and resource_type is ResourceType.GROUP:
        operations -= {AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}
    return operations


# The authorizers that brokers name in ``authorizer.class.name``, and by what each decides.
#
# Apache Kafka's decide by the ACLs that it lists. Whoever runs another one is told so: a class name proves nothing
# good, for a subclass or a wrapper may do anything.

#: The broker config that names it.
CLASS_NAME: Final = "authorizer.class.name"

#: Apache Kafka's own: KRaft's, and ZooKeeper's before 4.0.
_APACHE: Final = frozenset(
    {
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "kafka.security.auth.SimpleAclAuthorizer",
    }
)
#: What is known of others, each by its own documentation or source: ``docs/compatibility.md``.
_OTHERS: Final[Mapping[str, str]] = FrozenMap(
    {
        "org.openpolicyagent.kafka.OpaAuthorizer": "Open Policy Agent's, whose policies decide",
        "com.bisnode.kafka.authorization.OpaAuthorizer": "Open Policy Agent's, whose policies decide",
        "org.apache.ranger.authorization.kafka.authorizer.RangerKafkaAuthorizer": (
            "Apache Ranger's, whose policies decide"
        ),
        "io.confluent.kafka.security.authorizer.ConfluentServerAuthorizer": (
            "Confluent Server's, where role bindings (RBAC) grant too"
        ),
        "io.strimzi.kafka.oauth.server.authorizer.KeycloakAuthorizer": (
            "Strimzi's for Keycloak, whose grants decide, and ACLs only where it is told to ask them too"
        ),
        "io.strimzi.kafka.oauth.server.authorizer.KeycloakRBACAuthorizer": (
            "Strimzi's for Keycloak, whose grants decide, and ACLs only where it is told to ask them too"
        ),
    }
)


def foreign_authorizer(configs: Mapping[str, str | None]) -> str | None:
    """What is known of the authorizer that a broker's configs name, after its name; ``None`` for Apache Kafka's.

    Also ``None`` where the configs do not show it: then nothing is known.
    """
    name = configs.get(CLASS_NAME)
    if not name or name in _APACHE:
        return None
    authorizer = _OTHERS.get(name, "not Apache Kafka's")
    return f"{CLASS_NAME}={name}, which is {authorizer}"


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
    """How a cluster shows what it is: :mod:`reconciler.model.flavor` looks for them.

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
    nothing. ``settable_configs``: the only topic configs that a user can set; ``None``: all. ``added_configs``: those
    that its brokers set by themselves when a topic is created, with their values. ``intermediates``: changes
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
    added_configs: Mapping[str, str] = FrozenMap()
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

    @property
    def membership_types(self) -> frozenset[str]:
        """The types of principals that stand for others: who is in such a group or role is in no ACL."""
        return self.principal_types - {"User"}

    def intermediate(
        self, before: Mapping[str, str | None], after: Mapping[str, str | None]
    ) -> IntermediateValue | None:
        """What has to be set first where configs of a topic are altered; one that is not set has Kafka's default."""
        return next((item for item in self.intermediates if _needs(item, before, after)), None)


#: Kafka's defaults of configs that some :class:`IntermediateValue` is about.
_DEFAULTS: Final[Mapping[str, str]] = FrozenMap({"cleanup.policy": "delete"})


def _needs(intermediate: IntermediateValue, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> bool:
    if intermediate.config not in after:
        return False
    sides = (side.get(intermediate.config) or _DEFAULTS.get(intermediate.config, "") for side in (before, after))
    return [_values(side) for side in sides] == [_values(intermediate.before), _values(intermediate.after)]


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
        # ``ReplicationControlManager.createTopic`` and ``ClassicTopicRemoteStorageForcePolicy`` of its Kafka.
        "https://github.com/aiven/inkless/pull/619",
    ),
    Signs(hosts=re.compile(r".*\.aivencloud\.com")),
    added_configs=FrozenMap({"diskless.enable": "true", "remote.storage.enable": "true"}),
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
    owned_elsewhere=(Selector(principals=NameSelector(prefixes=("User:CN=",))),),
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
    {item.name: item for item in (APACHE, CONFLUENT_CLOUD, MSK, REDPANDA, WARPSTREAM, AIVEN, STRIMZI, EVENT_HUBS)}
)


def between(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Mapping[str, str]:
    """Values of configs at which a change in two steps may have been cut off, by config, whatever the flavor."""
    intermediates = (flavor.intermediate(before, after) for flavor in FLAVORS.values())
    return {item.config: item.via for item in intermediates if item is not None}


def may_be_added(config: str, value: str) -> bool:
    """Whether brokers of some make set a topic's config to this by themselves."""
    return any(item.added_configs.get(config) == value for item in FLAVORS.values())


# What a cluster shows of its make, and whether that contradicts what somebody states.

#: The broker config that holds the host names of all its listeners, also of those that are not for us.
LISTENERS: Final = "advertised.listeners"
_LISTENER_HOST: Final = re.compile(r"://\[?([^,/\]]+?)\]?:[0-9]+")
_RESOURCE_ID: Final = re.compile(r"User:(sa|u|pool)-[a-z0-9]+")
#: Asked of each of a broker's some 360 configs, in most commands.
_CONFIG_SIGNS: Final = tuple(item.signs.configs for item in FLAVORS.values() if item.signs.configs is not None)


@dataclass(frozen=True, slots=True)
class ClusterSigns:
    """What of a cluster may tell its make.

    ``hosts`` are those under which its brokers are advertised to us, ``configs`` those of a broker's configs that
    :func:`may_tell`, with their values as far as they are shown, and ``topic_configs`` names of configs of topics.
    """

    cluster_id: str
    hosts: Collection[str] = ()
    configs: Mapping[str, str | None] = FrozenMap()
    topic_configs: Collection[str] = ()


def signs_of(live: ClusterState) -> ClusterSigns:
    """Those that a state holds."""
    topic_configs = {name for topic in live.topics.values() for name in topic.configs}
    return ClusterSigns(live.cluster_id, live.broker_hosts, live.broker_configs, topic_configs)


def may_tell(config: str) -> bool:
    """Whether a broker has a config of this name only at some make, or its value holds host names."""
    return config == LISTENERS or any(sign.fullmatch(config) for sign in _CONFIG_SIGNS)


@dataclass(frozen=True, slots=True)
class ShownFlavor:
    """What a cluster shows itself to be, and by what; ``by_id``: by its id, which no proxy changes."""

    flavor: Flavor
    sign: str
    by_id: bool = False


def shown_flavors(signs: ClusterSigns) -> tuple[ShownFlavor, ...]:
    """The makes that a cluster shows, each with its best sign; several where names disagree."""
    shown = (next(_shown(flavor, signs), None) for flavor in FLAVORS.values())
    return tuple(item for item in shown if item is not None)


def _shown(flavor: Flavor, signs: ClusterSigns) -> Iterator[ShownFlavor]:
    if _fits(flavor.signs.cluster_id, signs.cluster_id):
        yield ShownFlavor(flavor, f"the cluster id is {signs.cluster_id}", by_id=True)
    yield from (ShownFlavor(flavor, sign) for sign in _other_signs(flavor.signs, signs))


def _other_signs(wanted: Signs, signs: ClusterSigns) -> Iterator[str]:
    yield from (f"a broker is {host}" for host in sorted(signs.hosts) if _fits(wanted.hosts, host))
    listeners = _LISTENER_HOST.findall(signs.configs.get(LISTENERS) or "")
    yield from (f"{LISTENERS} of a broker names {host}" for host in listeners if _fits(wanted.hosts, host))
    yield from (f"a broker has the config {name}" for name in sorted(signs.configs) if _fits(wanted.configs, name))
    topics = sorted(signs.topic_configs)
    yield from (f"a topic has the config {name}" for name in topics if _fits(wanted.topic_configs, name))


def _fits(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is not None and pattern.fullmatch(text) is not None


def mixed_names(bindings: Collection[AclBinding]) -> ShownFlavor | None:
    """The make whose accounts have two names, where a listing has both kinds: each may name one account twice."""
    principals = {entry[0] for _, entry in bindings}  # by its place: each plan asks all bindings
    resource = min(filter(_RESOURCE_ID.fullmatch, principals), default=None)
    for flavor in FLAVORS.values() if resource is not None else ():
        integer = min(filter(flavor.is_alias, principals), default=None)
        if integer is not None:
            return ShownFlavor(flavor, f"ACLs name both {integer} and {resource}")
    return None


def flavor_contradiction(stated: Flavor, signs: ClusterSigns) -> str | None:
    """Why a cluster cannot be what somebody states, with both facts; ``None`` where nothing speaks against it.

    Where names disagree, a statement that agrees with one of them settles it; an id it cannot overrule.
    """
    shown = shown_flavors(signs)
    contrary = sorted((item for item in shown if item.flavor != stated), key=lambda item: not item.by_id)
    if contrary and (len(contrary) == len(shown) or contrary[0].by_id):
        return f"flavor is {stated.name}, but {contrary[0].sign}, which is {contrary[0].flavor.title}'s"
    if not shown and stated.signs.by_id:
        return (
            f"flavor is {stated.name}, but the cluster id is {signs.cluster_id}, which no cluster of {stated.title} has"
        )
    return None
