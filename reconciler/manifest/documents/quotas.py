"""The kind ``Quotas``: how much clients may send, fetch and ask for, by user, client id or address."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Final

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Declared, DesiredBuilder, Kind
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import PatternTable, right_form
from reconciler.manifest.parts.rules import checked_texts, checked_users, other_type
from reconciler.manifest.read.findings import Findings, MappingNode, Node, Trouble, paired, quoted
from reconciler.manifest.read.problem import Code
from reconciler.model.desired import Declaration, DesiredItem
from reconciler.model.kinds.quota import CLIENT_ID, DEFAULT_NAME, IP, QUOTA_KEYS, USER, ClientQuota, QuotaEntity

if TYPE_CHECKING:
    from reconciler.manifest.models.quotas import QuotaItem, QuotasDocument

#: The field of an item for each part of an entity.
_FIELDS: Final = {USER: "user", CLIENT_ID: "clientId", IP: "ip"}
_NOBODY = Trouble(Code.ITEM_FORM, "the quota names no entity", "add user, clientId, both, or ip")
_NOTHING = Trouble(Code.ITEM_FORM, "the quota limits nothing", "add limits, or absent: true")
_ABSENT = Trouble(Code.ITEM_FORM, "an absent quota has no limits and no end", "remove limits and expires, or absent")
_WITH_IP = Trouble(Code.ITEM_FORM, "Kafka does not combine ip with user or clientId", "make two items of it")
_TRUE = Trouble(Code.ITEM_FORM, "only true makes sense here", "remove the field")


@dataclass(frozen=True, slots=True)
class QuotasDeclaration:
    """A document's heading and quotas."""

    heading: Heading
    quotas: tuple[DesiredItem[ClientQuota], ...]


class QuotasKind(Kind["QuotasDocument"]):
    """Client quotas."""

    name = "Quotas"

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        model = document.validated(QuotasKind.model())
        quotas: list[DesiredItem[ClientQuota]] = []
        for node, item in paired(document.spec.get("quotas"), model.spec.quotas if model else None):
            quotas += _quotas(node, item, document.findings)
        return QuotasDeclaration(document.heading, tuple(quotas)) if model else None

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds every quota."""
        for document in builder.of(QuotasDeclaration):
            for wish in document.quotas:
                builder.want(wish)


def _quotas(node: MappingNode, item: "QuotaItem | None", findings: Findings) -> Iterator[DesiredItem[ClientQuota]]:
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
    wanted = item.limits.model_dump(exclude_none=True, by_alias=True) if item.limits else {}
    place = node.values[given[0]] if given else node
    declaration = Declaration(findings.origin(place), item.reason, item.ticket, item.expires)
    for user, client_id, ip in product(*(names[kind] or (None,) for kind in (USER, CLIENT_ID, IP))):
        entity = QuotaEntity.of(user, client_id, ip)
        yield DesiredItem(ClientQuota(entity, wanted), declaration, item.absent)


def _check_limits(node: MappingNode, findings: Findings, *, of_ip: bool) -> None:
    limits = node.get("limits")
    if node.text("absent") == "true":
        for field in ("limits", "expires"):
            if field in node.keys:
                findings.add(_ABSENT, node.keys[field])
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


def quota_name_problem(kind: str, name: str) -> str | None:
    """Why no manifest can declare a quota of that user, client id or address; ``None`` if one can."""
    trouble = _name_problem(kind, name)
    return trouble and trouble.message
