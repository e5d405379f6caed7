"""Client quotas in Kafka's words, and which of them holds for a client.

Sources: KIP-13, KIP-55, KIP-124, KIP-546, KIP-599, KIP-612; ``QuotaConfig``, ``ClientQuotaControlManager`` and
``ClientQuotaManager.DefaultQuotaCallback`` (3.9 to 4.4).
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, NamedTuple, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model import listing
from reconciler.model.acl import ResourceType
from reconciler.model.addresses import IpAddress, resolved
from reconciler.model.frozen import FrozenMap
from reconciler.model.says import REQUIRED, AnyNumber, As, Name, Says

#: Stands for "every one without an entity of its own". Kafka refuses an empty name; ``<default>`` is an ordinary name.
DEFAULT_NAME: Final = ""
#: Stands for a client id for which there is no quota of its own.
UNNAMED_ID: Final = "\0"
#: The types of which an entity consists, in the order in which people name them.
USER, CLIENT_ID, IP = "user", "client-id", "ip"
_SIZES: Final = (("TiB/s", 2**40), ("GiB/s", 2**30), ("MiB/s", 2**20), ("KiB/s", 2**10))


class QuotaKey(NamedTuple):
    """What one key limits. ``whole``: Kafka refuses fractions; ``of_ip``: for addresses only, else for all others."""

    unit: str
    about: str
    example: object
    whole: bool = True
    of_ip: bool = False


#: Every key that Kafka 3.9 to 4.4 knows.
QUOTA_KEYS: Final[Mapping[str, QuotaKey]] = MappingProxyType(
    {
        "producer_byte_rate": QuotaKey(
            "bytes/s", "Bytes that its clients may send to one broker each second.", "10MiB/s"
        ),
        "consumer_byte_rate": QuotaKey(
            "bytes/s", "Bytes that its clients may fetch from one broker each second.", "20MiB/s"
        ),
        "request_percentage": QuotaKey(
            "%",
            "The share of one network or I/O thread of a broker that its requests may take.",
            "200%",
            whole=False,
        ),
        "controller_mutation_rate": QuotaKey(
            "partitions/s", "Partitions that it may create or delete each second, in the whole cluster.", 5, whole=False
        ),
        "connection_creation_rate": QuotaKey(
            "connections/s",
            "Connections that an address may open to one broker each second; only with ip.",
            20,
            of_ip=True,
        ),
    }
)


@dataclass(frozen=True, slots=True, order=True)
class QuotaEntity:
    """Whom a quota is for: ``parts`` are (type, name) sorted by type; the name may be ``DEFAULT_NAME``."""

    parts: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, user: str | None = None, client_id: str | None = None, ip: str | None = None) -> "QuotaEntity":
        """An entity of the parts that are not ``None``."""
        named = {USER: user, CLIENT_ID: client_id, IP: ip}
        return cls(tuple(sorted((kind, name) for kind, name in named.items() if name is not None)))

    @property
    def principal(self) -> str | None:
        """The principal whose quota it is; ``None`` for a default, and where no user is named.

        Kafka looks at a principal's name only (``KafkaPrincipal.getName``), whatever its type.
        """
        name = dict(self.parts).get(USER)
        return f"User:{name}" if name else None

    @property
    def ip(self) -> str | None:
        """The text of an entity for an address alone; ``DEFAULT_NAME`` for every other address."""
        ((kind, name), *more) = self.parts or (("", ""),)
        return name if kind == IP and not more else None

    @property
    def address(self) -> IpAddress | None:
        """The address of an entity for one."""
        if not self.ip:
            return None
        return resolved(self.ip)

    def __str__(self) -> str:
        """``user alice, default client-id``."""
        named = dict(self.parts)
        order = (*(kind for kind in (USER, CLIENT_ID, IP) if kind in named), *(named.keys() - {USER, CLIENT_ID, IP}))
        return ", ".join(f"{kind} {named[kind]}" if named[kind] else f"default {kind}" for kind in order)


def _entity(parts: Mapping[str, str | None]) -> QuotaEntity:
    return QuotaEntity(tuple(sorted((kind, name or DEFAULT_NAME) for kind, name in parts.items())))


def _parts(entity: QuotaEntity) -> dict[str, str | None]:
    return {kind: name or None for kind, name in entity.parts}


_Entity: TypeAlias = Annotated[
    QuotaEntity,
    As(Mapping[str, Name | None], _entity, _parts),
    Says("Whom it is for: user, client-id, both, or ip; null: the default.", {"user": "svc-orders"}),
]
_Limits: TypeAlias = Annotated[
    Mapping[str, AnyNumber],
    Says("The limits by Kafka's keys.", {"producer_byte_rate": 1048576}, default=REQUIRED),
]


class _SetAgain(NamedTuple):
    """The JSON of ``ClientQuota.again``, which has none itself."""

    entity: _Entity
    values: _Limits


@dataclass(frozen=True, slots=True, order=True)
class ClientQuota(listing.ListedItem):
    """The limits of one entity by key; whole numbers are ``int``, so that equal quotas print alike."""

    KIND: ClassVar[str] = "quotas"
    NOUN: ClassVar[str] = "Quota"
    WORDS: ClassVar[str] = "client quotas"
    CAN_VALIDATE: ClassVar[bool] = True  # AlterClientQuotas has a field for it (KIP-546)
    ATOMIC: ClassVar[bool] = True  # one batch of records an entity (``ClientQuotaControlManager.alterClientQuotas``)
    LEVEL: ClassVar[listing.FeatureLevel] = listing.EVERY_LEVEL  # ``ClientQuotaControlManager`` asks for none
    PLACE: ClassVar[ResourceType | None] = None
    PERSONAL: ClassVar[bool] = True
    KEYS: ClassVar[Mapping[str, QuotaKey]] = QUOTA_KEYS
    entity: _Entity
    values: _Limits = field(default_factory=FrozenMap)
    #: The live quota of the same address in another spelling, which stays.
    again: Annotated[
        "ClientQuota | None",
        As(_SetAgain, lambda item: ClientQuota(*item), lambda item: _SetAgain(item.entity, item.values)),
        Says(
            "The live quota of the same address in another spelling, which stays and is set again once this is gone.",
            omit=True,
        ),
    ] = None

    def __post_init__(self) -> None:
        """Takes any mapping and keeps a sorted, immutable copy."""
        exact = {key: int(value) if value == int(value) else value for key, value in self.values.items()}
        object.__setattr__(self, "values", FrozenMap(exact))

    @property
    def key(self) -> QuotaEntity:
        """The entity: it has one quota."""
        return self.entity

    @property
    def enforced(self) -> Hashable:
        """The entity; of an address the address, however it is written (``ConnectionQuotas`` keeps one an address).

        ``None`` for the name of a host: only the brokers' resolver knows its addresses.
        """
        return self.entity.address if self.entity.ip else self.entity

    @property
    def subject(self) -> str:
        """``quota of user alice``."""
        return f"quota of {self.entity}"

    @property
    def principal(self) -> str | None:
        """The principal whose quota it is; see :attr:`QuotaEntity.principal`."""
        return self.entity.principal

    @property
    def place(self) -> None:
        """None: it is a principal's, or everybody's."""

    @property
    def is_disabled(self) -> bool:
        """Never: it keeps nobody from logging in."""
        return False

    @property
    def unmatched(self) -> listing.Unmatched | None:
        """Why no client of a kind has that client id; a user's name is not always one that a client sends."""
        return listing.unmatched_by_librdkafka(dict(self.entity.parts).get(CLIENT_ID) or "")

    def with_again(self, again: "ClientQuota") -> "ClientQuota":
        """The quota, which goes, and after which ``again`` is set again."""
        return ClientQuota(self.entity, self.values, ClientQuota(again.entity, again.values))

    def with_values(self, values: Mapping[str, float]) -> "ClientQuota":
        """Other limits for the same entity."""
        return ClientQuota(self.entity, values)

    def _refusals(self, release: tuple[int, int] | None) -> Iterator[listing.BrokerRefusal]:
        """By ``ClientQuotaControlManager``, the same in every release."""
        return (listing.BrokerRefusal("INVALID_REQUEST", message) for message in self._problems())

    def _problems(self) -> Iterator[str]:
        of_ip = any(kind == IP for kind, _ in self.entity.parts)
        if of_ip and len(self.entity.parts) > 1:
            yield "Invalid quota entity combination"
        for key, value in self.values.items():
            if key not in QUOTA_KEYS or QUOTA_KEYS[key].of_ip != of_ip:
                yield f"Invalid configuration key {key}"
            elif value <= 0:
                yield f"Quota {key} must be greater than 0"
            elif QUOTA_KEYS[key].whole and value != int(value):
                yield f"{key} cannot be a fractional value."


def levels(user: str, client_id: str) -> Iterator[QuotaEntity]:
    """The entities whose quota can hold for a client, the one that wins first (KIP-55).

    ``user`` is the name of the principal, ``ANONYMOUS`` without authentication. Without a client id no quota of client
    ids holds, not even a default (``DefaultQuotaCallback.quotaLimit``); ``UNNAMED_ID`` is one that no quota names.
    """
    for name in (user, DEFAULT_NAME):
        if client_id:
            yield QuotaEntity.of(name, client_id)
            yield QuotaEntity.of(name, DEFAULT_NAME)
        yield QuotaEntity.of(name)
    if client_id:
        yield QuotaEntity.of(client_id=client_id)
        yield QuotaEntity.of(client_id=DEFAULT_NAME)


def levels_of_ip(address: str, quotas: Iterable[ClientQuota] = ()) -> Iterator[QuotaEntity]:
    """The entities whose quota can hold for the connections from an address (KIP-612), however ``quotas`` spell it."""
    entity = QuotaEntity.of(ip=address)
    yield entity
    if entity.address is not None:
        yield from sorted({quota.entity for quota in quotas if quota.enforced == entity.address} - {entity})
    yield QuotaEntity.of(ip=DEFAULT_NAME)


def limits(quotas: Iterable[ClientQuota], candidates: Iterable[QuotaEntity]) -> dict[str, list[ClientQuota]]:
    """Which of ``quotas`` set each key, of ``candidates`` only: the one that limits first, then those it overrides.

    Kafka looks for each key by itself: one entity may limit bytes and another one requests. A key without any is
    unlimited.
    """
    by_entity = {quota.entity: quota for quota in quotas}
    by_key: dict[str, list[ClientQuota]] = {}
    for entity in candidates:
        if (quota := by_entity.get(entity)) is not None:
            for key in quota.values:
                by_key.setdefault(key, []).append(quota)
    return dict(sorted(by_key.items()))


def client_ids(entities: Iterable[QuotaEntity]) -> Mapping[str, set[str]]:
    """The client ids that quotas name together with a user, by the user."""
    by_user: defaultdict[str, set[str]] = defaultdict(set)
    for entity in entities:
        parts = dict(entity.parts)
        by_user[parts.get(USER, "")].add(parts.get(CLIENT_ID, ""))
    return by_user


class TighterLimit(NamedTuple):
    """A limit in words, and the quota whose change makes it hold."""

    text: str
    by: QuotaEntity


def tighter(
    before: Mapping[QuotaEntity, ClientQuota], after: Mapping[QuotaEntity, ClientQuota], way: Sequence[QuotaEntity]
) -> Iterator[TighterLimit]:
    """The limits that are new or lower, in words: ``producer_byte_rate 1 by default user``.

    ``way`` are the entities whose quota can hold, the one that wins first.
    """
    old, new = (limits((quotas[item] for item in way if item in quotas), way) for quotas in (before, after))
    for key, (winner, *_) in new.items():
        value = winner.values[key]
        if key not in old or value < old[key][0].values[key]:
            # As it was before, it holds because the one that won goes.
            by = old[key][0] if key in old and before.get(winner.entity) == winner else winner
            yield TighterLimit(f"{key} {value} by {winner.entity}", by.entity)


def limit_text(key: str, value: float) -> str:
    """``10485760 (10MiB/s)``: as Kafka has it, and as a person writes it."""
    unit = QUOTA_KEYS[key].unit if key in QUOTA_KEYS else ""
    if unit == "bytes/s":
        size = next(((name, number) for name, number in _SIZES if value >= number and value % number == 0), None)
        return f"{value:.0f} ({value / size[1]:.0f}{size[0]})" if size else f"{value:.0f} bytes/s"
    return f"{value:g}{unit if unit in ('', '%') else f' {unit}'}"
