"""Client quotas: ALTER_CONFIGS on the cluster (KIP-546). One that slows our own login down stops the tool."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reconciler.kafka.sent_kind import MessageKind
from reconciler.kinds.listed import ListedKind
from reconciler.manifest.documents.quotas import quota_name_problem
from reconciler.manifest.parts.resources import right_form
from reconciler.manifest.write.kinds.interface import EditedKind
from reconciler.manifest.write.text import scalar, text_problem
from reconciler.model.acl import AclOperation
from reconciler.model.characters import as_name
from reconciler.model.kinds.quota import (
    CLIENT_ID,
    DEFAULT_NAME,
    IP,
    MAX_LIMIT,
    QUOTA_KEYS,
    UNNAMED_ID,
    USER,
    ClientQuota,
    QuotaEntity,
    levels,
    levels_of_ip,
    limit_text,
    limits,
)
from reconciler.model.listing import Change, Delete, resource_of, values_of
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.interface import LoginAtRisk, NewPassword, PhaseContext, items_after
from reconciler.plan.phase import Phase
from reconciler.policy.laws import (
    Audit,
    DeclaredBy,
    Ends,
    Goes,
    Law,
    Lockout,
    Lost,
    NewAccess,
    Undeclared,
    Undo,
    Unowned,
)

if TYPE_CHECKING:
    from reconciler.kafka.handshake import Handshake

#: Whose addresses nobody knows.
_OURS: Final = "of our login, the super users and the brokers"
#: The field of an item for each part of an entity.
_FIELDS: Final = {USER: "user", CLIENT_ID: "clientId", IP: "ip"}


class Quotas(ListedKind, MessageKind, EditedKind):
    """Client quotas."""

    resource = ClientQuota
    operation = AclOperation.ALTER_CONFIGS
    answers = Law(
        kind="quotas",
        words="client quota",
        declared_by=DeclaredBy.PRINCIPAL,
        unowned=Unowned.NO_TEAM,
        ends=Ends.JUDGED,
        goes=Goes.ABSENT,
        lockout=Lockout.GUARD,
        new_access=NewAccess.NONE,
        lost=Lost.NOTHING,
        undeclared=Undeclared.IF_KIND_DECLARED,
        undo=Undo.RESTORES,
        audit=Audit.BOTH_SIDES,
    )
    noun = "quota"
    at_end = "its limits go"
    document = "Quotas"
    items_key = "quotas"
    values_key = "limits"
    reads, everything = "DescribeClientQuotasRequest", MappingProxyType({"components": [], "strict": False})
    alters = "AlterClientQuotasRequest"
    entries = "entries"
    reading_right = "DESCRIBE_CONFIGS on the cluster"

    def phase(self, change: Change, context: PhaseContext) -> Phase:
        """Late: one that is tightened throttles this run too, where it is ours."""
        return Phase.ALTER_QUOTAS

    def key(self, change: Change) -> tuple[str, Any]:
        """What goes is first: an address in another spelling takes its limit along (``ClientQuota.enforced``)."""
        return "quota", (not isinstance(change, Delete), resource_of(change).key)

    def irreversible(self, change: Change) -> None:
        """Nothing."""

    def passwords(self, change: Change) -> Iterator[NewPassword]:
        """None."""
        yield from ()

    def risks(self, changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
        """Each login that gets a limit, or a lower one, by a quota of its own or by a default that it is under.

        A client can choose its client id, so a named one counts only together with the login's own name.
        """
        items = live.listing(ClientQuota).items or frozenset()
        before = {item.entity: item for item in items}
        after = {item.entity: item for item in items_after(ClientQuota, items, changes)}
        clients = _client_ids((*before, *after))
        for principal, role in sorted(logins.items()):
            name = principal.partition(":")[2]
            ways = (tuple(levels(name, client_id)) for client_id in sorted({"", UNNAMED_ID, *clients.get(name, ())}))
            if found := sorted({limit for way in ways for limit in _tighter(before, after, way)}):
                said = ", ".join(dict.fromkeys(limit.text for limit in found))
                by = _by(changes, {limit.by for limit in found})
                yield LoginAtRisk(principal, f"{as_name(principal)}, which is {role}, is limited to {said}", by)
        yield from _of_addresses(before, after, changes) if logins else ()

    def shown(self, name: str, value: float) -> str:
        """``10485760 (10MiB/s)``: as Kafka has it, and as a person writes it."""
        return limit_text(name, value)

    def problem(self, item: ClientQuota) -> str | None:
        """An entity, a name or a number that no manifest has."""
        named = dict(item.entity.parts)
        if named.keys() - _FIELDS.keys() or (IP in named and len(named) > 1):
            return "no manifest has such an entity"
        if problem := next(filter(None, map(text_problem, named.values())), None):
            return problem
        for kind, name in item.entity.parts:
            if name and (problem := quota_name_problem(kind, name)):
                return problem
        for key, value in item.values.items():
            if key not in QUOTA_KEYS or QUOTA_KEYS[key].of_ip is not (IP in named):
                return f"no manifest has {key} for it"
            if not 0 < value <= MAX_LIMIT or (QUOTA_KEYS[key].whole and value != int(value)):
                return f"{key} is {value:g}, which Kafka does not take from a client"
            if float(_number(value)) != value:
                return f"{key} has more decimals than a manifest"
        return None if item.values else "it limits nothing"

    def problem_among(self, item: ClientQuota, items: Sequence[ClientQuota]) -> str | None:
        """Also that an earlier one is of the same address, which no manifest declares twice."""
        address = _address(item)
        earlier = items[: items.index(item)] if address else ()
        spelt = any(_address(other) == address for other in earlier)
        return self.problem(item) or ("another quota is of the same address in another spelling" if spelt else None)

    def lines(self, item: ClientQuota) -> Iterator[str]:
        """One line."""
        named = dict(item.entity.parts)
        sides = (f"{field}: {_name(named[kind])}" for kind, field in _FIELDS.items() if kind in named)
        values = ", ".join(f"{key}: {_number(value)}" for key, value in item.values.items())
        yield f"    - {{{', '.join(sides)}, limits: {{{values}}}}}"

    def item(self, entry: Mapping[str, Any]) -> ClientQuota:
        """Of the parts of an entity and its limits."""
        return ClientQuota(self.outcome_key(entry), {limit["key"]: limit["value"] for limit in entry["values"]})

    def outcome_key(self, entry: Mapping[str, Any]) -> QuotaEntity:
        """The entity of its parts; one without a name is a default."""
        parts = ((part["entity_type"], part["entity_name"] or DEFAULT_NAME) for part in entry["entity"])
        return QuotaEntity(tuple(sorted(parts)))

    def alteration(self, change: Change, secrets: Mapping[str, str]) -> Mapping[str, Any]:
        """The entity's parts, and its keys; keys without a value are removed. Other keys of the entity stay."""
        parts = resource_of(change).entity.parts
        after = {key: float(value) for key, value in values_of(change.after).items()}
        values = {**dict.fromkeys(values_of(change.before)), **after}
        return {
            "entity": [{"entity_type": kind, "entity_name": name or None} for kind, name in parts],
            "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in values.items()],
        }

    def fields(self, alterations: Sequence[Any], *, only_validate: bool) -> Mapping[str, Any]:
        """An entry an entity."""
        return {"entries": alterations, "validate_only": only_validate}

    def may_alter(self, handshake: "Handshake") -> bool | None:
        """ALTER_CONFIGS on the cluster."""
        return handshake.may_alter_configs

    def about(self, item: ClientQuota) -> Mapping[str, str | Mapping[str, str]]:
        """The parts of its entity."""
        named = dict(item.entity.parts)
        return {
            field: scalar(named[kind], flow=True) if named[kind] else {"default": "true"}
            for kind, field in _FIELDS.items()
            if kind in named
        }

    def settings(self, item: ClientQuota) -> Mapping[str, str]:
        """Its limits."""
        return {key: _number(value) for key, value in item.values.items()}

    def renamed(self, item: ClientQuota, old: str, new: str) -> ClientQuota | None:
        """A quota names its user without the type; Kafka keeps none for principals of other types."""
        named = dict(item.entity.parts)
        if item.principal != old or not named.get(USER) or not new.startswith("User:"):
            return None
        return ClientQuota(QuotaEntity.of(new.removeprefix("User:"), named.get(CLIENT_ID)), item.values)


def _name(name: str) -> str:
    return scalar(name, flow=True) if name else "{default: true}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.9f}".rstrip("0")


def _address(item: ClientQuota) -> str | None:
    return right_form(dict(item.entity.parts).get(IP, "")) or None


def _client_ids(entities: Iterable[QuotaEntity]) -> Mapping[str, set[str]]:
    """The client ids that quotas name together with a user, by the user."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for entity in entities:
        parts = dict(entity.parts)
        found[parts.get(USER, "")].add(parts.get(CLIENT_ID, ""))
    return found


class _Limit(NamedTuple):
    """A limit in words, and the quota whose change makes it hold."""

    text: str
    by: QuotaEntity


def _tighter(
    before: Mapping[QuotaEntity, ClientQuota], after: Mapping[QuotaEntity, ClientQuota], way: Sequence[QuotaEntity]
) -> Iterator[_Limit]:
    """The limits that are new or lower, in words: ``producer_byte_rate 1 by default user``.

    ``way`` are the entities whose quota can hold, the one that wins first.
    """
    old, new = (limits((quotas[item] for item in way if item in quotas), way) for quotas in (before, after))
    for key, (winner, *_) in new.items():
        value = winner.values[key]
        if key not in old or value < old[key][0].values[key]:
            # As it was before, it holds because the one that won goes.
            by = old[key][0] if key in old and before.get(winner.entity) == winner else winner
            yield _Limit(f"{key} {value} by {winner.entity}", by.entity)


def _by(changes: Iterable[Change], entities: Collection[QuotaEntity]) -> tuple[Change, ...]:
    return tuple(
        change
        for change in changes
        if isinstance(quota := resource_of(change), ClientQuota) and quota.entity in entities
    )


def _of_addresses(
    before: Mapping[QuotaEntity, ClientQuota], after: Mapping[QuotaEntity, ClientQuota], changes: Sequence[Change]
) -> Iterator[LoginAtRisk]:
    """An address may be one of ours, the default is that of every address without a quota of its own."""
    touched = {quota.entity for change in changes if isinstance(quota := resource_of(change), ClientQuota)}
    for entity in sorted(touched):
        address = dict(entity.parts).get(IP)
        if address is None:
            continue
        # Gone, an address is under the default.
        way = tuple(levels_of_ip(address, before.values()))
        found = ", ".join(limit.text for limit in _tighter(before, after, way))
        every = "every address without a quota of its own" if address == DEFAULT_NAME else as_name(address)
        if found:
            text = f"connections from {every} are limited to {found}: nobody knows the addresses {_OURS}"
            yield LoginAtRisk(str(entity), text, _by(changes, {entity}), certain=address == DEFAULT_NAME)


KIND: Final = Quotas()
