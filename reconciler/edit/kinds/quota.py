"""Client quotas: items of ``Quotas`` documents, their limits changed in place."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.edit import homes
from reconciler.edit.homes import NewDocument
from reconciler.edit.kinds.interface import Changes, Wanted
from reconciler.edit.layout import TextSpan
from reconciler.edit.pages import Book, Page
from reconciler.edit.splices import Splice, without_entries, without_items
from reconciler.edit.writing import Item, Written, quoted, with_entry, with_items
from reconciler.model import Change, ClusterState, Create, Declaration, Delete, DesiredItem, DesiredState, Update
from reconciler.model.kinds.quota import CLIENT_ID, IP, USER, ClientQuota, QuotaEntity
from reconciler.report.export.kinds.quota import quota_problem

DOCUMENT: str = "Quotas"
CONTENT: tuple[str, ...] = ("quotas",)
WRITTEN: frozenset[str] = frozenset(CONTENT)
_FIELDS: Final = {USER: "user", CLIENT_ID: "clientId", IP: "ip"}
#: By cluster and entity: what is wanted instead, ``None`` where nothing is.
_Differing = dict[tuple[str, QuotaEntity], DesiredItem[ClientQuota] | None]


def said(wish: DesiredItem[Any]) -> tuple[object, ...]:
    """What is declared of a quota, wherever it is declared."""
    declaration = wish.declaration
    return wish.item, wish.absent, declaration.reason, declaration.ticket, declaration.expires


def told(state: DesiredState) -> dict[QuotaEntity, tuple[object, ...]]:
    """Every quota with what is declared of it."""
    return {entity: said(wish) for entity, wish in state.of(ClientQuota).items()}


def reduce(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Remove the items of quotas that are not wanted, and change the limits of those that are wanted otherwise."""
    differing: _Differing = {}
    for name in book.clusters:
        after = wanted[name].of(ClientQuota)
        for entity, wish in book.desired[name].of(ClientQuota).items():
            if entity not in after or said(after[entity]) != said(wish):
                differing[name, entity] = after.get(entity)
    for page in book.of("Quotas") if differing else ():
        _reduced(book, page, differing, changes)


def _reduced(book: Book, page: Page, differing: _Differing, changes: Changes) -> None:
    entry = (page.span.get("spec") or page.span).entry("quotas")
    where = sorted(book.where(page))
    items = entry[1].items if entry else []
    gone: list[int] = []
    for number, item in enumerate(items):
        places = {(one.line, one.column) for one in item.walk()}
        found = [
            (name, entity)
            for name in where
            for entity, wish in book.desired[name].of(ClientQuota).items()
            if wish.declaration.origin.file == page.path and _place(wish) in places
        ]
        concerned = [one for one in found if one in differing]
        if not concerned:
            continue
        target = differing[concerned[0]]
        if (
            target is not None
            and len({entity for _, entity in found}) == 1
            and _only_limits(book, concerned[0], target)
        ):
            changes.at(page, _with_limits(page.text, item, target.item))
        else:
            # Whatever else it declares is missing after this, and is written again.
            gone.append(number)
    if entry and gone:
        if len(gone) == len(items):
            changes.gone.append(page)  # a document without quotas is none
        else:
            changes.at(page, without_items(page.text, entry[1], gone))


def _place(wish: DesiredItem[ClientQuota]) -> tuple[int, int]:
    return wish.declaration.origin.line - 1, wish.declaration.origin.column - 1


def _only_limits(book: Book, place: tuple[str, QuotaEntity], target: DesiredItem[ClientQuota]) -> bool:
    before = book.desired[place[0]].of(ClientQuota)[place[1]]
    return not before.absent and not target.absent and said(before)[2:] == said(target)[2:]


def _with_limits(text: str, item: TextSpan, quota: ClientQuota) -> list[Splice]:
    limits = item.get("limits")
    if limits is None:
        return with_entry(text, item, "limits", _limits(quota))
    own = {key.plain for key, _ in limits.entries}
    gone = own - quota.values.keys()
    if gone == own:
        return with_entry(text, item, "limits", _limits(quota))
    splices = without_entries(text, limits, gone) if gone else []
    for key, number in _limits(quota).items():
        splices += with_entry(text, limits, key, number)
    return splices


def extend(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Write items for quotas that are missing."""
    missing: dict[tuple[QuotaEntity, tuple[object, ...]], set[str]] = defaultdict(set)
    for name in book.clusters:
        for entity, wish in _missing(book.desired[name], wanted[name]).items():
            missing[entity, said(wish)].add(name)
    items: dict[frozenset[str], list[Item]] = defaultdict(list)
    for (entity, _), where in sorted(missing.items(), key=lambda item: item[0][0]):
        items[frozenset(where)].append(_item(wanted[min(where)].of(ClientQuota)[entity]))
    for clusters, found in items.items():
        owners = book.owners(clusters)
        pages = [page for page in book.of("Quotas") if book.where(page) == clusters]
        page = homes.best(pages, owners, frozenset())
        if page is not None:
            changes.at(page, with_items(page.text, page.span.get("spec") or page.span, "quotas", found))
            continue
        path = homes.new_path(book, "Quotas", "quotas", owners, frozenset())
        name = homes.new_name(book, "Quotas", "quotas", [one.name for one in changes.documents])
        head = homes.match_labels(book, clusters)
        changes.documents.append(NewDocument(path, "Quotas", name, dict(head), "quotas", found))


def _missing(before: DesiredState, wanted: DesiredState) -> Mapping[QuotaEntity, DesiredItem[ClientQuota]]:
    there = before.of(ClientQuota)
    return {entity: wish for entity, wish in wanted.of(ClientQuota).items() if entity not in there}


def _item(wish: DesiredItem[ClientQuota]) -> Item:
    named = dict(wish.item.entity.parts)
    item: dict[str, Written] = {
        field: quoted(named[kind]) if named[kind] else {"default": "true"}
        for kind, field in _FIELDS.items()
        if kind in named
    }
    item |= {"absent": "true"} if wish.absent else {"limits": _limits(wish.item)}
    declaration = wish.declaration
    item |= {"expires": str(declaration.expires)} if declaration.expires else {}
    texts = {"reason": declaration.reason, "ticket": declaration.ticket}
    return item | {key: quoted(text) for key, text in texts.items() if text}


def _limits(quota: ClientQuota) -> dict[str, str]:
    return {key: _number(value) for key, value in quota.values.items()}


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.9f}".rstrip("0")


def adopted(state: DesiredState, change: Change, live: ClusterState, said: Declaration) -> DesiredState | str | None:
    """What is declared with one quota as the cluster has it."""
    quotas = dict(state.of(ClientQuota))
    match change:
        case Create(ClientQuota() as quota):
            quotas.pop(quota.key, None)
        case Delete(ClientQuota() as quota) | Update(ClientQuota() as quota, _):
            problem = quota_problem(quota)
            if problem is not None:
                return problem
            there = quotas.get(quota.key)
            kept = there is not None and not there.goes
            quotas[quota.key] = DesiredItem(quota, there.declaration if there and kept else said)
        case _:
            return None
    return replace(state, listed={**state.listed, ClientQuota.KIND: quotas})
