"""Client quotas: ALTER_CONFIGS on the cluster (KIP-546). One that slows our own login down stops the tool."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Annotated, Any, Final, cast

from pydantic import Discriminator, Field, Tag, create_model

from reconciler.kafka.sent_kind import MessageKind
from reconciler.kinds.listed import ListedKind, declaration_at, refuse_fields
from reconciler.manifest.documents.kind import DocumentWords
from reconciler.manifest.parts import fields
from reconciler.manifest.parts.resources import right_form
from reconciler.manifest.parts.rules import checked_texts, checked_users, other_type
from reconciler.manifest.read.findings import Findings, MappingNode, Node, Trouble, quoted
from reconciler.manifest.read.problem import Code
from reconciler.manifest.write.spans import flow
from reconciler.manifest.write.text import scalar, text_problem
from reconciler.model.acl import AclOperation
from reconciler.model.characters import as_name
from reconciler.model.desired import DesiredItem
from reconciler.model.kinds.quota import (
    CLIENT_ID,
    DEFAULT_NAME,
    IP,
    QUOTA_KEYS,
    UNNAMED_ID,
    USER,
    ClientQuota,
    QuotaEntity,
    client_ids,
    levels,
    levels_of_ip,
    limit_text,
    tighter,
)
from reconciler.model.listing import Change, Delete, items_after, resource_of, values_of
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.interface import LoginAtRisk, NewPassword, PhaseContext
from reconciler.plan.phase import Phase
from reconciler.policy import laws

#: Whose addresses nobody knows.
_OURS: Final = "of our login, the super users and the brokers"
#: The field of an item for each part of an entity.
_FIELDS: Final = {USER: "user", CLIENT_ID: "clientId", IP: "ip"}
_NOBODY = Trouble(Code.ITEM_FORM, "the quota names no entity", "add user, clientId, both, or ip")
_NOTHING = Trouble(Code.ITEM_FORM, "the quota limits nothing", "add limits, or absent: true")
_ABSENT = Trouble(Code.ITEM_FORM, "an absent quota has no limits and no end", "remove limits and expires, or absent")
_WITH_IP = Trouble(Code.ITEM_FORM, "Kafka does not combine ip with user or clientId", "make two items of it")
_TRUE = Trouble(Code.ITEM_FORM, "only true makes sense here", "remove the field")
#: How people write a limit in each unit.
_RATES: Final[Mapping[str, Any]] = {
    "bytes/s": fields.ByteRate,
    "%": fields.Percentage,
    "partitions/s": fields.MutationRate,
    "connections/s": fields.ConnectionRate,
}
PrincipalLimits = create_model(
    "PrincipalLimits",
    __base__=fields.ManifestModel,
    __doc__="The limits of one entity, each for every broker on its own; what is left out is removed.",
    **cast(
        "Any",
        {
            key: (_RATES[of.unit] | None, Field(None, alias=key, description=of.about, examples=[of.example]))
            for key, of in QUOTA_KEYS.items()
        },
    ),
)


class DefaultForm(fields.ManifestModel):
    """Every one that has no quota of its own."""

    default: fields.Boolean = Field(description="With true, all that have no quota of their own.", examples=[True])


EntityNames = Annotated[
    Annotated[fields.Text, Tag(fields.TEXT_TAG)]
    | Annotated[list[fields.Text], Field(min_length=1), Tag(fields.LIST_TAG)]
    | Annotated[DefaultForm, Tag(fields.MAPPING_TAG)],
    Discriminator(fields.shape),
]


class QuotaItem(fields.ManifestModel):
    """The quota of one entity, or of several with the same limits."""

    user: EntityNames | None = Field(
        None,
        description="A user, as svc-payments or User:svc-payments; a list of users; or {default: true}.",
        examples=["svc-payments", {"default": True}],
    )
    client_id: EntityNames | None = Field(
        None, description="A client id, alone or of the user, in the same forms.", examples=["billing"]
    )
    ip: EntityNames | None = Field(
        None, description="An address that clients connect from, in the same forms.", examples=["10.0.0.7"]
    )
    limits: PrincipalLimits | None = Field(  # type: ignore[valid-type]  # a class made here
        None, description="What it may take.", examples=[{"producer_byte_rate": "10MiB/s"}]
    )
    absent: fields.Boolean = Field(False, description="With true, the entity must have no quota.", examples=[True])
    expires: fields.Ends | None = fields.ends("The quota holds")
    reason: fields.Text | None = Field(None, description="Why the quota exists.", examples=["backfill until January"])
    ticket: fields.Text | None = Field(None, description="Where the quota was agreed.", examples=["OPS-7"])


class Quotas(ListedKind, MessageKind):
    """Client quotas."""

    resource = ClientQuota
    operation = AclOperation.ALTER_CONFIGS
    answers = laws.Law(
        kind="quotas",
        words="client quota",
        declared_by=laws.DeclaredBy.PRINCIPAL,
        unowned=laws.Unowned.NO_TEAM,
        ends=laws.Ends.JUDGED,
        goes=laws.Goes.ABSENT,
        lockout=laws.Lockout.GUARD,
        new_access=laws.NewAccess.NONE,
        lost=laws.Lost.NOTHING,
        undeclared=laws.Undeclared.IF_KIND_DECLARED,
        undo=laws.Undo.RESTORES,
        audit=laws.Audit.BOTH_SIDES,
    )
    noun = "quota"
    at_end = "its limits go"
    items_key = "quotas"
    document_words = DocumentWords(
        "Client quotas, by user, client id or address.",
        "entity",
        {"user": "svc-payments", "limits": {"producer_byte_rate": "10MiB/s"}},
        {"user": {"default": True}, "limits": {"request_percentage": "200%"}},
    )
    item_model = QuotaItem
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
        clients = client_ids((*before, *after))
        for principal, role in sorted(logins.items()):
            name = principal.partition(":")[2]
            ways = (tuple(levels(name, client_id)) for client_id in sorted({"", UNNAMED_ID, *clients.get(name, ())}))
            if tightened := sorted({limit for way in ways for limit in tighter(before, after, way)}):
                texts = ", ".join(dict.fromkeys(limit.text for limit in tightened))
                by = _by(changes, {limit.by for limit in tightened})
                yield LoginAtRisk(principal, f"{as_name(principal)}, which is {role}, is limited to {texts}", by)
        yield from _of_addresses(before, after, changes) if logins else ()

    def declared(
        self, node: MappingNode, item: QuotaItem | None, findings: Findings
    ) -> Iterator[DesiredItem[ClientQuota]]:
        """One for each of its entities."""
        # Kafka takes any text that resolves, and one that is there already has to be named to go.
        goes = node.text("absent") == "true"
        names = {kind: _names(kind, node.get(field), findings, goes=goes) for kind, field in _FIELDS.items()}
        given = [field for field in _FIELDS.values() if field in node.values]
        if not given:
            findings.add(_NOBODY, node)
        elif "ip" in given and len(given) > 1:
            findings.add(_WITH_IP, node.keys["ip"])
        _check_limits(node, findings, of_ip="ip" in given)
        if item is None:
            return
        wanted: Mapping[str, float] = item.limits.model_dump(exclude_none=True, by_alias=True) if item.limits else {}
        place = node.values[given[0]] if given else node
        declaration = declaration_at(place, item, findings)
        for user, client_id, ip in product(*(names[kind] or (None,) for kind in (USER, CLIENT_ID, IP))):
            entity = QuotaEntity.of(user, client_id, ip)
            yield DesiredItem(ClientQuota(entity, wanted), declaration, item.absent)

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
            if name and (trouble := _name_problem(kind, name)):
                return trouble.message
        for key, value in item.values.items():
            if key not in QUOTA_KEYS or QUOTA_KEYS[key].of_ip is not (IP in named):
                return f"no manifest has {key} for it"
            if not 0 < value <= fields.MAX_LIMIT or (QUOTA_KEYS[key].whole and value != int(value)):
                return f"{key} is {value:g}, which Kafka does not take from a client"
            if float(_number(value)) != value:
                return f"{key} has more decimals than a manifest"
        return None if item.values else "it limits nothing"

    def problems(self, items: Iterable[ClientQuota]) -> Iterator[str | None]:
        """Also that an earlier one is of the same address, which no manifest declares twice."""
        addresses = set[str]()
        for item in items:
            address = _address(item)
            spelt = "another quota is of the same address in another spelling" if address in addresses else None
            yield self.problem(item) or spelt
            addresses.update(filter(None, (address,)))

    def lines(self, item: ClientQuota) -> Iterator[str]:
        """One line."""
        yield f"    - {flow({**self.about(item), **self.content(item)})}"

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

    def request(self, alterations: Sequence[Any], *, only_validate: bool) -> Mapping[str, Any]:
        """An entry an entity."""
        return {"entries": alterations, "validate_only": only_validate}

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


def _check_limits(node: MappingNode, findings: Findings, *, of_ip: bool) -> None:
    limits = node.get("limits")
    if node.text("absent") == "true":
        refuse_fields(("limits", "expires"), _ABSENT, node, findings)
        return
    if limits is None or (isinstance(limits, MappingNode) and not limits.values):
        findings.add(_NOTHING, node)
    for key, place in limits.keys.items() if isinstance(limits, MappingNode) else ():
        if key in QUOTA_KEYS and QUOTA_KEYS[key].of_ip != of_ip:
            message = f"Kafka has no {key} for {'an address' if of_ip else 'users and client ids'}"
            fitting = ", ".join(name for name, about in QUOTA_KEYS.items() if about.of_ip == of_ip)
            findings.add(Trouble(Code.ITEM_FORM, message, f"it takes {fitting}"), place)


def _names(kind: str, node: Node | None, findings: Findings, *, goes: bool) -> tuple[str, ...]:
    if not isinstance(node, MappingNode):
        checked = checked_users if kind == USER else checked_texts
        return checked(node, partial(_name_problem, kind, goes=goes), findings)
    if node.text("default") == "false":
        findings.add(_TRUE, node.values["default"])
    return (DEFAULT_NAME,)


def _name_problem(kind: str, text: str, *, goes: bool = False) -> Trouble | None:
    """Why no client can have that name (``ClientQuotaControlManager.validateEntity``); ``None`` if one can."""
    if not text:
        return Trouble(Code.ITEM_FORM, f"Kafka takes no empty {kind}", "write a name, or {default: true}")
    if text == "*":
        message = "Kafka knows no wildcard in quotas: this is a quota of somebody called *"
        return Trouble(Code.ITEM_FORM, message, "write {default: true}")
    if kind == USER and text.lower().startswith("user:"):
        return other_type(text)
    if kind == IP and not goes and right_form(text) is None:
        return Trouble(Code.ITEM_FORM, f"{quoted(text)} is not an IP address", "write the address of one host")
    return None


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.9f}".rstrip("0")


def _address(item: ClientQuota) -> str | None:
    return right_form(dict(item.entity.parts).get(IP, "")) or None


def _by(changes: Iterable[Change], entities: Collection[QuotaEntity]) -> tuple[Change, ...]:
    return tuple(change for change in changes if _entity(change) in entities)


def _entity(change: Change) -> QuotaEntity | None:
    quota = resource_of(change)
    return quota.entity if isinstance(quota, ClientQuota) else None


def _of_addresses(
    before: Mapping[QuotaEntity, ClientQuota], after: Mapping[QuotaEntity, ClientQuota], changes: Sequence[Change]
) -> Iterator[LoginAtRisk]:
    """An address may be one of ours, the default is that of every address without a quota of its own."""
    for entity in sorted(filter(None, {*map(_entity, changes)})):
        if (address := dict(entity.parts).get(IP)) is None:
            continue
        # Gone, an address is under the default.
        way = tuple(levels_of_ip(address, before.values()))
        texts = ", ".join(limit.text for limit in tighter(before, after, way))
        every = "every address without a quota of its own" if address == DEFAULT_NAME else as_name(address)
        if texts:
            text = f"connections from {every} are limited to {texts}: nobody knows the addresses {_OURS}"
            yield LoginAtRisk(str(entity), text, _by(changes, {entity}), certain=address == DEFAULT_NAME)


KIND: Final = Quotas()
