"""The state of a cluster: facts, brokers' configs, and all resources that were read.

What a cluster has, with everything about it that could not be read.
"""

import datetime
from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclOperation, OpaqueBinding
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import NOT_READ, Item, Listing
from reconciler.model.says import REQUIRED, Says
from reconciler.model.topic import Layout, Topic

# Whose word the facts of a cluster are: what no Kafka API exposes, somebody has to state.
#
# The one who proposes a change may also write the manifests by which it is judged, so a fact of theirs is a claim.
# The operator's file is out of their reach.


class FactSource(StrEnum):
    """Who states a fact: the operator's connections file, the manifests alone, or nobody.

    ``FLAVOR``: nobody states it, and the vendor documents it as a default that a user can change.
    """

    OPERATOR = "operator"
    MANIFESTS = "manifests"
    NOBODY = "nobody"
    FLAVOR = "flavor"

    @property
    def is_claim(self) -> bool:
        """Whether the fact may be otherwise, so that access is computed with and without it."""
        return self in (FactSource.MANIFESTS, FactSource.FLAVOR)


def _says(words: str, name: str = "") -> Says:
    return Says(words, "operator", name=name, default=REQUIRED)


@dataclass(frozen=True, slots=True)
class FactSources:
    """Who states each fact of a cluster. The operator's word stands wherever it is given; manifests may repeat it."""

    principal: Annotated[FactSource, _says("Of our own principal.")] = FactSource.NOBODY
    super_users: Annotated[FactSource, _says("Of the super users.")] = FactSource.NOBODY
    default_allow: Annotated[FactSource, _says("Of the setting in terms.", "allowEveryoneIfNoAclFound")] = (
        FactSource.NOBODY
    )
    kafka_version: Annotated[
        FactSource, Says("Of the stated Kafka release; absent where nobody states it.", "operator", omit=True)
    ] = FactSource.NOBODY
    inter_broker_principals: Annotated[FactSource, _says("Of the brokers' principals; manifests may add some.")] = (
        FactSource.NOBODY
    )
    brokers: Annotated[FactSource, _says("Of the brokers in terms.")] = FactSource.NOBODY
    barrier: Annotated[FactSource, _says("Of how terms wait between phases.")] = FactSource.NOBODY
    protect: Annotated[FactSource, _says("Of what is protected; manifests may add to it.")] = FactSource.NOBODY
    limits: Annotated[FactSource, _says("Of the limits in terms; manifests may tighten them.")] = FactSource.NOBODY
    exceptions: Annotated[FactSource, _says("Of the exceptions that were not given on the command line.")] = (
        FactSource.NOBODY
    )
    flavor: Annotated[FactSource, Says("Of the flavor in terms.", "operator", omit=True)] = FactSource.NOBODY


NO_SOURCES: Final = FactSources()


@dataclass(frozen=True, slots=True)
class StatedFacts:
    """What was stated of a cluster's access when it was read, and by whom: a reading keeps it for questions later."""

    super_users: Annotated[tuple[str, ...], Says("Who was stated to be a super user.", default=REQUIRED)] = ()
    super_users_by: Annotated[FactSource, Says("Who stated that.", "operator", default=REQUIRED)] = FactSource.NOBODY
    default_allow: Annotated[
        bool | None, Says("The stated allow.everyone.if.no.acl.found; null: nobody stated it.", False, default=REQUIRED)
    ] = None
    default_allow_by: Annotated[FactSource, Says("Who stated that.", "operator", default=REQUIRED)] = FactSource.NOBODY


# What brokers say of their own configs, and the cluster of its features: looked at, never changed.


class ConfigOrigin(StrEnum):
    """Where the value that a broker uses comes from (``org.apache.kafka.clients.admin.ConfigEntry.ConfigSource``)."""

    BROKER = "set on this broker"
    CLUSTER = "set for all brokers"
    FILE = "from its file"
    DEFAULT = "Kafka's default"
    UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """The value that a broker uses now, ``None`` where it has none; ``hidden``: it has one and does not tell it."""

    value: str | None
    origin: ConfigOrigin = ConfigOrigin.UNKNOWN
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The configs that were asked for, by broker and name, and the finalized features of the cluster.

    A broker that told has only the configs that it has; why another one did not is in ``silent``. ``features`` is
    ``None`` where they could not be read, or nobody asked; why is in ``features_gap``. ``gap`` says why no broker could
    be asked at all.
    """

    configs: Mapping[int, Mapping[str, BrokerConfig]] = field(default_factory=dict)
    silent: Mapping[int, str] = field(default_factory=dict)
    features: Mapping[str, int] | None = None
    features_gap: str = ""
    gap: str = ""


# Delegation tokens: secrets by which somebody logs in as their owner. No change is about one.


class DelegationToken(NamedTuple):
    """A token that logs in as its ``owner`` until it ends (KIP-48); its secret is in no value of this program.

    ``requester`` is who asked for it (KIP-373), ``None`` where the brokers do not tell. A renewer may put off ``ends``
    up to ``latest_end``. Kafka shows the secret to the owner, the requester and ``renewers``, and asks for no ACL
    (``TokenInformation.ownerOrRenewer``).
    """

    id: str
    owner: str
    requester: str | None
    renewers: frozenset[str]
    ends: datetime.datetime
    latest_end: datetime.datetime

    @property
    def holders(self) -> frozenset[str]:
        """Who besides the owner may read the secret without an ACL, and so log in as the owner."""
        return frozenset({*self.renewers, *filter(None, [self.requester])} - {self.owner})


class DelegationTokens(NamedTuple):
    """All tokens of a cluster that were seen; ``gap``: why there may be others, or why none could be read."""

    items: tuple[DelegationToken, ...] = ()
    gap: str = ""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The ACLs and topics of one cluster at one moment, as seen by one broker.

    What is missing is said, never left out: ``opaque`` are entries that cannot be named, ``unreadable_topics``
    are names whose state was refused (name to reason), and the two ``…_gap`` texts say why a listing may not be
    whole (``None`` where it is known to be). ``broker_defaults`` are what a broker chooses where nobody says: topic
    settings, ``num.partitions``, ``default.replication.factor``, ``auto.create.topics.enable``, as far as it told.
    ``groups`` are the names of existing groups, ``None`` where nobody asked or they could not all be listed.
    ``topic_names`` are those of topics that we may see, where names alone were asked for: there may be others.
    ``may_alter_acls``: whether we may change ACLs, ``None`` where nobody told. ``listings`` are those of listed kinds,
    by ``KIND``, as far as anybody asked: :meth:`listing` gives one with its type.
    ``kafka_version`` is the release, (major, minor), whose rules the brokers follow; ``None`` where it is not known.
    ``broker_hosts`` are the host names under which the brokers are advertised, empty where nobody asked them.
    ``broker_configs`` are configs of one broker that tell its make or its authorizer (the value is ``None`` where the
    broker hides it), empty where it refused. ``own_operations`` are what brokers let us do on the cluster (KIP-430).
    ``notes`` say how it was read otherwise than usual, for whoever hears of it from a store only.
    ``under_replicated`` are topics with replicas out of sync, where brokers told.
    ``layout`` is where replicas are, ``None`` where nobody asked, or why it could not be read is in ``layout_gap``.
    ``metadata_version`` is the finalized level of that feature, which decides what may be created; ``None``: not told.
    ``share_version`` is that of share groups, 0 where they have none.
    ``kafka_version_gap`` says why what the cluster told leaves it open: then nobody else's word settles it.
    ``tokens`` are delegation tokens, ``None`` where nobody asked. ``stated`` is what somebody states beside it all.
    """

    cluster_id: str
    bindings: frozenset[AclBinding] = frozenset()
    topics: Mapping[str, Topic] = field(default_factory=FrozenMap)
    opaque: tuple[OpaqueBinding, ...] = ()
    unreadable_topics: Mapping[str, str] = field(default_factory=FrozenMap)
    acl_gap: str | None = None
    topic_gap: str | None = None
    broker_defaults: Mapping[str, str] = field(default_factory=FrozenMap)
    groups: frozenset[str] | None = None
    topic_names: frozenset[str] = frozenset()
    may_alter_acls: bool | None = None
    listings: Mapping[str, Listing[Any]] = field(default_factory=FrozenMap)
    kafka_version: tuple[int, int] | None = None
    broker_hosts: frozenset[str] = field(default=frozenset(), compare=False)
    kafka_version_gap: str | None = None
    broker_configs: Mapping[str, str | None] = field(default_factory=FrozenMap, compare=False)
    own_operations: frozenset[AclOperation] | None = field(default=None, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    under_replicated: frozenset[str] = field(default=frozenset(), compare=False)
    layout: Layout | None = field(default=None, compare=False)
    layout_gap: str | None = field(default=None, compare=False)
    metadata_version: int | None = None
    share_version: int | None = field(default=None, compare=False)
    tokens: DelegationTokens | None = field(default=None, compare=False)
    stated: StatedFacts | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Takes any mappings and keeps them sorted and read-only."""
        object.__setattr__(self, "topics", FrozenMap(self.topics))
        object.__setattr__(self, "unreadable_topics", FrozenMap(self.unreadable_topics))
        object.__setattr__(self, "broker_defaults", FrozenMap(self.broker_defaults))
        # A listing that tells nothing is the same as none: states that tell the same are equal.
        listings = {kind: listing for kind, listing in self.listings.items() if listing != NOT_READ}
        object.__setattr__(self, "listings", FrozenMap(listings))
        # By their text, because a code that the client lost is None, which has no order.
        object.__setattr__(self, "opaque", tuple(sorted(self.opaque, key=repr)))

    def listing(self, kind: type[Item]) -> Listing[Item]:
        """What is known of one listed kind."""
        return self.listings.get(kind.KIND, NOT_READ)

    def with_listing(self, kind: type[Item], listing: Listing[Item]) -> "ClusterState":
        """The same state but for one listed kind."""
        return replace(self, listings={**self.listings, kind.KIND: listing})

    @property
    def gaps(self) -> tuple[str, ...]:
        """Why a listing may not be whole, for each that may not: ACLs, topics, then the listed kinds."""
        reasons = (self.acl_gap, self.topic_gap, *(listing.gap for listing in self.listings.values()))
        return tuple(gap for gap in reasons if gap)
