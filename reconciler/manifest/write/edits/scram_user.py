"""SCRAM users: items of ``Users`` documents, their references, versions and ends changed in place."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.manifest.write.edits.interface import Changes, Wanted
from reconciler.manifest.write.pages import Book, NewDocument, Page, fits, match_labels, new_name, new_path, teams
from reconciler.manifest.write.spans import (
    Item,
    Splice,
    TextSpan,
    Written,
    quoted,
    with_entry,
    with_items,
    without_entries,
    without_items,
)
from reconciler.model.desired import Declaration, DesiredItem, DesiredState
from reconciler.model.kinds import listed_kind
from reconciler.model.kinds.scram_user import DEFAULT_ITERATIONS, PasswordSource, ScramUser
from reconciler.model.listing import Change, Create, Delete, Update
from reconciler.model.state import ClusterState

DOCUMENT: str = "Users"
CONTENT: tuple[str, ...] = ("users",)
WRITTEN: frozenset[str] = frozenset(CONTENT)
#: The references of a mechanism, as documents call them.
_FIELDS: Final = {"password": "password", "salt": "salt", "salted_password": "saltedPassword"}
_Wish = DesiredItem[ScramUser]


def said(wish: DesiredItem[Any]) -> tuple[object, ...]:
    """What is declared of a user, wherever it is declared."""
    declaration = wish.declaration
    return wish.item, wish.absent, declaration.reason, declaration.ticket, declaration.expires


def told(state: DesiredState) -> dict[str, tuple[object, ...]]:
    """Every user with what is declared of it."""
    return {name: said(wish) for name, wish in state.of(ScramUser).items()}


def reduce(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Remove the items of users that are not wanted, and change those that are wanted otherwise."""
    differing: dict[tuple[str, str], _Wish | None] = {}
    for cluster in book.clusters:
        after = wanted[cluster].of(ScramUser)
        for name, wish in book.desired[cluster].of(ScramUser).items():
            if name not in after or said(after[name]) != said(wish):
                differing[cluster, name] = after.get(name)
    for page in book.of(DOCUMENT) if differing else ():
        _reduced(book, page, differing, changes)


def _reduced(book: Book, page: Page, differing: Mapping[tuple[str, str], _Wish | None], changes: Changes) -> None:
    entry = (page.span.get("spec") or page.span).entry("users")
    items = entry[1].items if entry else []
    gone: list[int] = []
    altered: list[Splice] = []
    for number, item in enumerate(items):
        places = {(one.line, one.column) for one in item.walk()}
        found = [
            (cluster, name)
            for cluster in sorted(book.where(page))
            for name, wish in book.desired[cluster].of(ScramUser).items()
            if wish.declaration.origin.file == page.path and _place(wish) in places
        ]
        concerned = [one for one in found if one in differing]
        if not concerned:
            continue
        before, target = book.desired[concerned[0][0]].of(ScramUser)[concerned[0][1]], differing[concerned[0]]
        splices = _altered(page.text, item, before, target) if target and len({name for _, name in found}) == 1 else []
        altered += splices
        # Whatever else it declares is missing after this, and is written again.
        gone += [] if splices else [number]
    if not entry or not gone:
        changes.at(page, altered)
    elif len(gone) == len(items):
        changes.gone.append(page)  # a document without users is none
    else:
        # The others are altered when these are gone: the end of one may be the beginning of the next.
        changes.at(page, without_items(page.text, entry[1], gone))


def _place(wish: _Wish) -> tuple[int, int]:
    return wish.declaration.origin.line - 1, wish.declaration.origin.column - 1


def _altered(text: str, item: TextSpan, before: _Wish, target: _Wish) -> list[Splice]:
    """The item as it is wanted, or a step towards it; nothing where it has to be written anew."""
    old, new = before.item, target.item
    texts, stated = _texts(target.declaration), _texts(before.declaration)
    if before.absent or target.absent or stated.keys() - texts.keys():
        return []
    told = [
        one for key, value in texts.items() if stated.get(key) != value for one in with_entry(text, item, key, value)
    ]
    if told or old == new:
        return told  # the rest is looked at next
    if new.disabled:
        alike = old.values.keys() == new.values.keys() and not old.disabled
        return with_entry(text, item, "disabled", "true") if alike else []
    if old.disabled:
        return without_entries(text, item, {"disabled"})  # what it declares without is looked at next
    mechanisms = item.get("mechanisms")
    if mechanisms is None:
        return []
    gone = old.values.keys() - new.values.keys()
    if gone == old.values.keys():
        return with_entry(text, item, "mechanisms", _mechanisms(new))
    splices = without_entries(text, mechanisms, gone) if gone else []
    if gone and mechanisms.flow:
        return splices  # what comes would meet the last one that goes: it is looked at next
    for name in new.values:
        if (old.values.get(name), old.sources.get(name)) != (new.values[name], new.sources.get(name)):
            splices += _credential(text, mechanisms, name, new)
    return splices


def _credential(text: str, mechanisms: TextSpan, name: str, user: ScramUser) -> list[Splice]:
    """One mechanism: its version and references in place, all of it where that does not say it."""
    span, written = mechanisms.get(name), _written(user, name)
    if (
        span is None
        or not span.entries
        or {key.plain for key, _ in span.entries} & set(_FIELDS.values()) - written.keys()
    ):
        return with_entry(text, mechanisms, name, written)
    stated = span.get("iterations")
    iterations = DEFAULT_ITERATIONS if stated is None else _number(stated.plain)
    version = user.values[name] - iterations
    if version < 0 or "saltedPassword" in written:
        return with_entry(text, mechanisms, name, written)
    number = {"passwordVersion": str(version)} if version or span.get("passwordVersion") is not None else {}
    stands = {key.plain: quoted(value.plain) for key, value in span.entries}
    fields = {key: value for key, value in written.items() if key in _FIELDS.values() and stands.get(key) != value}
    return [one for key, value in {**number, **fields}.items() for one in with_entry(text, span, key, value)]


def _number(text: str) -> int:
    """A number as it stands there; with a variable none that any credential has."""
    return int(text) if text.isascii() and text.isdigit() else 1 << 20


def extend(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Write items for users that are missing, into a file of the team that owns the principal."""
    missing: dict[tuple[str, tuple[object, ...]], set[str]] = defaultdict(set)
    for cluster in book.clusters:
        there = book.desired[cluster].of(ScramUser)
        for name, wish in wanted[cluster].of(ScramUser).items():
            if name not in there:
                missing[name, said(wish)].add(cluster)
    items: dict[tuple[frozenset[str], frozenset[str]], list[Item]] = defaultdict(list)
    for (name, _), where in sorted(missing.items(), key=lambda one: one[0][0]):
        wish = wanted[min(where)].of(ScramUser)[name]
        clusters = frozenset(where)
        items[clusters, teams(book.owners(clusters), wish.item.principal, ())].append(_item(wish))
    for (clusters, belonging), found in items.items():
        owners = book.owners(clusters)
        pages = (page for page in book.of(DOCUMENT) if book.where(page) == clusters)
        page = next((one for one in pages if fits(owners, one.path, belonging)), None)
        if page is not None:
            changes.at(page, with_items(page.text, page.span.get("spec") or page.span, "users", found))
            continue
        path = new_path(book, DOCUMENT, "users", owners, belonging)
        name = new_name(book, DOCUMENT, "users", [document.name for document in changes.documents])
        head = match_labels(book, clusters)
        changes.documents.append(NewDocument(path, DOCUMENT, name, dict(head), "users", found))


def _item(wish: _Wish) -> Item:
    item: dict[str, Written] = {"name": quoted(wish.item.name)}
    item |= {"absent": "true"} if wish.absent else {"mechanisms": _mechanisms(wish.item)}
    item |= {"disabled": "true"} if wish.item.disabled else {}
    return item | _texts(wish.declaration)


def _texts(declaration: Declaration) -> dict[str, str]:
    """Until when, why, and where it was agreed."""
    expires = {"expires": str(declaration.expires)} if declaration.expires else {}
    texts = {"reason": declaration.reason, "ticket": declaration.ticket}
    return expires | {key: quoted(text) for key, text in texts.items() if text}


def _mechanisms(user: ScramUser) -> dict[str, Written]:
    return {name: {} if user.disabled else _written(user, name) for name in user.values}


def _written(user: ScramUser, mechanism: str) -> dict[str, Written]:
    """One mechanism as an item has it."""
    source = user.sources.get(mechanism, PasswordSource())
    references = {_FIELDS[field]: quoted(text) for field, text in source._asdict().items() if text}
    version = user.values[mechanism] - DEFAULT_ITERATIONS
    if version == 0:
        return dict(references)
    # Without a password to set, the number is only compared, and a version would promise one.
    if version < 0 or not source.password:
        return {"iterations": str(user.values[mechanism]), **references}
    return {**references, "passwordVersion": str(version)}


def second(state: DesiredState, old: str, new: str) -> DesiredState:
    """The same: another user has a password of its own, which is for people to set."""
    return state


def without(state: DesiredState, old: str) -> DesiredState:
    """The same: whether a user goes is for people to say."""
    return state


def adopted(state: DesiredState, change: Change, live: ClusterState, said: Declaration) -> DesiredState | str | None:
    """What is declared with one user as the cluster has it, and the references that are declared."""
    users = dict(state.of(ScramUser))
    match change:
        case Create(ScramUser() as user):
            users.pop(user.key, None)
        case Delete(ScramUser() as user) | Update(ScramUser() as user, _):
            problem: str | None = listed_kind(ScramUser).problem(user)
            if problem is not None:
                return problem
            there = users.get(user.key)
            kept = there is not None and not there.goes
            sources = dict(_kept(there, user)) if there is not None and kept and not user.disabled else {}
            declaration = there.declaration if there is not None and kept else said
            users[user.key] = DesiredItem(ScramUser(user.name, user.values, sources), declaration)
        case _:
            return None
    return replace(state, listed={**state.listed, ScramUser.KIND: users})


def _kept(there: _Wish, user: ScramUser) -> Iterator[tuple[str, PasswordSource]]:
    return ((name, source) for name, source in there.item.sources.items() if name in user.values)
