"""What principals may do, and who may do something: rows of operations, names and hosts; before and after a plan."""

from collections.abc import Iterable, Iterator, Sequence, Set
from textwrap import wrap
from typing import Any, Final, NamedTuple, TypeVar

from reconciler.access.authorizer import AccessRequest, Decision, DecisionRule
from reconciler.access.effective import Access, Holders, access_of
from reconciler.access.hosts import ANY_HOST, Hosts
from reconciler.access.interpretation import unnamed_principal
from reconciler.access.names import ALL_NAMES, ASTERISK_NAMES, NameSet, literal, names_of, shortest_name
from reconciler.access.operations import IMPLICATIONS
from reconciler.access.questions import instead
from reconciler.codec.values import PATTERN
from reconciler.dataclass import dataclass
from reconciler.manifest.write.text import scalar
from reconciler.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import Style, as_name, counted, plain, safe
from reconciler.model.desired import Declaration, Origin
from reconciler.model.scope import RESOURCE_FIELDS, is_reserved
from reconciler.results.access import AccessView, times
from reconciler.results.words import access_document, names_words, note_document, note_words, pattern_words
from reconciler.show.fleet_report import columns_of

_EVERYBODY: Final = "everybody else"
_SUPER_USER: Final = "super user"
_EVERYTHING: Final = "everything"
_NOTHING: Final = "nothing"
_COLUMNS: Final = ("PRINCIPAL", "ON", "BY", "DECLARED")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Holding:
    """Everything that one principal may do; ``principal=None`` is everybody whom no ACL names."""

    principal: str | None
    rows: tuple[Access, ...]
    super_user: bool = False

    @property
    def name(self) -> str:
        """How it is called in a report."""
        return self.principal or _EVERYBODY


def holdings(view: AccessView, principals: Sequence[str] = (), kind: ResourceType | None = None) -> tuple[Holding, ...]:
    """What each principal may do; without any, everybody else and every principal that is known."""
    if principals:
        return tuple(_holding(view, principal, kind) for principal in principals)
    return tuple(_holding(view, principal, kind) for principal in (None, *known_principals(view)))


def known_principals(view: AccessView) -> list[str]:
    """The principals that ACLs name, and super users; sorted."""
    named = {binding.entry.principal for binding in view.authorizer.bindings}
    return sorted((named | view.authorizer.super_users) - {WILDCARD_PRINCIPAL})


def _holding(view: AccessView, principal: str | None, kind: ResourceType | None) -> Holding:
    authorizer = view.authorizer
    if principal in authorizer.super_users:
        return Holding(principal, (), super_user=True)
    worlds = [world.index for world in authorizer.interpretations.both]
    asked = principal or unnamed_principal(worlds, authorizer.super_users)
    rows = access_of(authorizer, asked)
    return Holding(principal, tuple(row for row in rows if kind is None or row.region.resource_type is kind))


def access_lines(found: Sequence[tuple[AccessView, tuple[Holding, ...]]], style: Style = plain) -> Iterator[str]:
    """A section for each principal; before and after a plan, what goes is marked ``-`` and what comes ``+``."""
    after = {holding.principal: holding for holding in found[-1][1]}
    before = {holding.principal: holding for holding in found[0][1]}
    for principal in sorted(before.keys() | after.keys(), key=lambda name: (name is not None, name or "")):
        old, new = (held.get(principal, Holding(principal, ())) for held in (before, after))
        beside = found[0][0].beside_lines(principal), found[-1][0].beside_lines(principal)
        several = len(found) > 1
        yield from _section(old, new, style, several=several)
        yield from _compared(*beside, style, several=several)
        yield from _compared(_letters(found[0][0], old), _letters(found[-1][0], new), style, several=several)
        given, last = (list(map(safe, view.emergency_lines(principal))) for view in (found[0][0], found[-1][0]))
        yield from _compared(given, last, style, several=several)
        yield ""
    for view, _ in found:
        yield from (style("warn", note) for note in (view.beside.notes() if view.beside else ()))
    yield from _basis([view for view, _ in found], style)


def _letters(view: AccessView, held: Holding) -> list[str]:
    """Whose records dead letter queues show to it, or its own to whom."""
    rows = [row for row in held.rows if AclOperation.READ in row.operations] if view.dead_letters else []
    found = view.letter_lines(
        lambda kind, name: any(row.region.resource_type is kind and row.region.contains(name) for row in rows)
    )
    return list(map(safe, found))


def _basis(views: Sequence[AccessView], style: Style) -> Iterator[str]:
    """What was looked at, and under which conditions the answer holds."""
    for view, when in zip(views, times(views), strict=True):
        yield style("warn" if view.condition else "dim", f"{when}{safe(view.words)}")


def _section(before: Holding, after: Holding, style: Style, *, several: bool) -> Iterator[str]:
    yield style("title", safe(after.name))
    if after.super_user:
        yield f"    can do anything: it is a {_SUPER_USER}"
        return
    if not before.rows and not after.rows:
        yield "    can do nothing"
        return
    yield from _compared(
        [row_words(row) for row in before.rows], [row_words(row) for row in after.rows], style, several=several
    )


def _compared(before: Sequence[str], after: Sequence[str], style: Style, *, several: bool) -> Iterator[str]:
    """The lines of one state, or those of both with what goes and what comes marked."""
    for sign, line in _signed(before, after, several=several):
        role = {"+": "add", "-": "remove"}.get(sign, "")
        shown = f"  {sign or ' '} {line}"
        yield style(role, shown) if role else shown


def _signed(before: Iterable[_T], after: Iterable[_T], *, several: bool) -> Iterator[tuple[str, _T]]:
    """What is in either state, in order: what goes, what comes, what stays."""
    old, new = dict.fromkeys(before), dict.fromkeys(after)
    if several:
        yield from (("-", one) for one in old if one not in new)
        yield from (("+", one) for one in new if one not in old)
    yield from (("", one) for one in new if not several or one in old)


def row_words(row: Access, *, who: bool = False) -> str:
    """``READ on topics starting with `pii.` from 10.0.0.1``; with ``who`` the principal instead of the operations."""
    operations = ", ".join(operation.name for operation in sorted(row.operations))
    hosts = "" if row.hosts == ANY_HOST else f" from {row.hosts}"
    doubt = "" if row.certain else "  (perhaps: depends on what is unknown about the cluster)"
    subject = f"{row.principal or _EVERYBODY}: " if who else f"{operations} on "
    return safe(f"{subject}{row.region.describe()}{hosts}{doubt}")


def holders_lines(
    operation: AclOperation,
    pattern: ResourcePattern,
    found: Sequence[tuple[AccessView, Holders]],
    style: Style = plain,
) -> Iterator[str]:
    """How many can, and a table of them; who cannot although everybody else can; who could grant it to itself."""
    several = len(found) > 1
    for (_, held), when in zip(found, times(found), strict=True):
        yield style("title", safe(f"{when}{_holders(held)} {operation.name} {_names(pattern, held)}"))
    rows = [_holder_rows(view, operation, held) for view, held in found]
    signed = list(_signed(rows[0], rows[-1], several=several))
    marks = {sign: f"{sign or ' '} " if several else "" for sign in ("", "+", "-")}
    cells = [(f"{marks[sign]}{row.principal}", row.on, *by) for sign, row in signed for by in row.by or (("", ""),)]
    styles = [{"+": "add", "-": "remove"}.get(sign, "") for sign, row in signed for _ in row.by or ("",)]
    if cells:
        heading, *lines = columns_of(_COLUMNS, _said_once(cells))
        yield style("title", heading)
        yield from (style(role, line) if role else line for role, line in zip(styles, lines, strict=True))
    before, after = found[0][1], found[-1][1]
    alter, configs = (_admins(found, right) for right in (AclOperation.ALTER, AclOperation.ALTER_CONFIGS))
    for title, (old, new) in (
        ("Cannot, although everybody else can", (before.lacking, after.lacking)),
        ("Can ALTER the cluster, and so grant it to itself", alter),
        ("Can ALTER_CONFIGS on the cluster, and so log in as anybody", configs),
    ):
        if old or new:
            yield style("title", title)
            gone, left = ([row_words(row, who=True) for row in state] for state in (old, new))
            yield from _compared(gone, left, style, several=several)
    if operation is AclOperation.READ:
        letters, last = (
            view.letter_lines(lambda kind, name: kind is pattern.resource_type and pattern.matches(name))
            for view in (found[0][0], found[-1][0])
        )
        yield from _compared(list(map(safe, letters)), list(map(safe, last)), style, several=several)
    if any(not row.certain for _, held in found for row in held.rows):
        yield style("warn", "perhaps: it depends on what is not known about the cluster")
    yield from _basis([view for view, _ in found], style)


def _holders(held: Holders) -> str:
    """``3 principals can``, ``1 principal and everybody else can``, ``Nobody can``."""
    sure = {row.principal for row in held.rows if row.certain} | held.super_users
    perhaps = {row.principal for row in held.rows} - sure
    if not sure and not perhaps:
        return "Nobody can"
    parts = [f"{_many(sure)} can"] if sure else []
    parts += [f"perhaps {_many(perhaps)} can"] if perhaps else []
    text = ", and ".join(parts)
    return text[:1].upper() + text[1:]


def _many(principals: Set[str | None]) -> str:
    named = len(principals - {None})
    parts = [counted(named, "principal")] if named else []
    return " and ".join([*parts, *(["everybody else" if named else "everybody"] if None in principals else [])])


def _names(pattern: ResourcePattern, held: Holders) -> str:
    return names_words(pattern, "some" if held.rows or held.super_users else "any")


class _HolderRow(NamedTuple):
    """Somebody who holds it: on which names and from where, and the ACLs that decide, each with its place."""

    principal: str
    on: str
    by: tuple[tuple[str, str], ...]


def _holder_rows(view: AccessView, operation: AclOperation, held: Holders) -> list[_HolderRow]:
    rows = []
    for row in held.rows:
        hosts = "" if row.hosts == ANY_HOST else f" from {row.hosts}"
        perhaps = "" if row.certain else " (perhaps)"
        by = tuple(_by(view, operation, row))
        rows.append(_HolderRow(row.principal or _EVERYBODY, f"{row.region.describe()}{hosts}{perhaps}", by))
    rows += [_HolderRow(one, _EVERYTHING, ((_SUPER_USER, ""),)) for one in sorted(held.super_users)]
    return rows


def _by(view: AccessView, operation: AclOperation, row: Access) -> Iterator[tuple[str, str]]:
    """The ACLs that let somebody, or the rule that does without one."""
    for binding in _deciding(view, operation, row):
        pattern, entry = binding
        host = "" if entry.host == WILDCARD else f" from {entry.host}"
        whose = "" if entry.principal == row.principal else f"{as_name(entry.principal)} "
        note = view.authorizer.sources.notes.get(binding)
        said = f"{whose}{entry.permission_type.name} {entry.operation.name} on {pattern_words(pattern)}{host}"
        given = view.break_glass.get(binding)
        yield said, given.words if given is not None else "" if note is None else note_words(note)


def _said_once(rows: Sequence[tuple[str, str, str, str]]) -> Iterator[tuple[str, str, str, str]]:
    """Of several ACLs that let the same principal on the same names, who and where stand in the first row."""
    last: tuple[str, ...] = ()
    for row in rows:
        yield ("", "", *row[2:]) if row[:2] == last else row
        last = row[:2]


def holders_table(
    operation: AclOperation, pattern: ResourcePattern, found: Sequence[tuple[AccessView, Holders]]
) -> dict[str, Any]:
    """Columns for people: who can, who cannot although everybody else can, and who could grant it to itself."""
    rows = []
    for (view, held), when in zip(found, times(found), strict=True):
        start, end = [view.cluster, when.strip(" :")], view.condition
        for row in _holder_rows(view, operation, held):
            for by, place in row.by or (("", ""),):
                rows.append([*start, row.principal, f"can {operation.name}", row.on, by, place, end])
        for access in (*held.lacking, *held.cluster_admins):
            can = " and ".join(f"can {one.name}" for one in sorted(access.operations)) or f"cannot {operation.name}"
            hosts = "" if access.hosts == ANY_HOST else f" from {access.hosts}"
            who, where = access.principal or _EVERYBODY, f"{access.region.describe()}{hosts}"
            rows.append([*start, who, can, where, "", "", end])
        if not held.rows and not held.super_users:
            rows.append([*start, "nobody", f"can {operation.name}", _names(pattern, held), "", "", end])
    return {
        "columns": ["CLUSTER", "STATE", "PRINCIPAL", "ACCESS", "ON", "BY", "DECLARED AT", "CONDITION"],
        "rows": rows,
    }


def _admins(
    found: Sequence[tuple[AccessView, Holders]], right: AclOperation
) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    """Before and after: those whom this right on the cluster lets do anything."""
    before, after = (
        tuple(row for row in held.cluster_admins if right in row.operations) for held in (found[0][1], found[-1][1])
    )
    return before, after


def _deciding(view: AccessView, operation: AclOperation, row: Access) -> tuple[AclBinding, ...]:
    """The ACLs that decide for a holder at its example; of everybody else, for a principal that no ACL names.

    Where the API accepts a right on another resource in place of this one, the ACLs are those of that right.
    """
    authorizer = view.authorizer
    worlds = [world.index for world in authorizer.interpretations.both]
    who = row.principal or unnamed_principal(worlds, authorizer.super_users)
    request = AccessRequest(who, row.host, operation, row.region.resource_type, row.name)
    decision, other = authorizer.authorize(*request), instead(authorizer, request)
    return other.bindings if decision.allowed is not True and other is not None else decision.bindings


def declared_for(view: AccessView, operation: AclOperation, held: Holders) -> dict[AclBinding, Declaration | Origin]:
    """The ACLs that decide for each holder at its witness, with where and why they are declared; sorted."""
    found: dict[AclBinding, Declaration | Origin] = {}
    for row in held.rows:
        if row.principal is not None and row.certain:
            for binding in _deciding(view, operation, row):
                note = view.authorizer.sources.notes.get(binding)
                if note is not None:
                    found[binding] = note
    return dict(sorted(found.items(), key=lambda item: item[0]))


def access_table(found: Sequence[tuple[AccessView, tuple[Holding, ...]]]) -> dict[str, Any]:
    """Columns for people: a row for each principal and region; who can do nothing has one, too."""
    rows = []
    for (view, held), when in zip(found, times(found), strict=True):
        for one in held:
            start = [view.cluster, when.strip(" :"), one.name]
            if one.super_user or not one.rows:
                all_of_it = (_EVERYTHING, _EVERYTHING) if one.super_user else (_NOTHING, "")
                rows.append([*start, *all_of_it, "", view.condition])
            for row in one.rows:
                operations = ", ".join(operation.name for operation in sorted(row.operations))
                perhaps = "" if row.certain else "perhaps "
                rows.append([*start, perhaps + operations, row.region.describe(), str(row.hosts), view.condition])
    return {"columns": ["CLUSTER", "STATE", "PRINCIPAL", "OPERATION", "RESOURCE", "HOST", "CONDITION"], "rows": rows}


def access_documents(found: Sequence[tuple[AccessView, tuple[Holding, ...]]]) -> dict[str, Any]:
    """For programs: one entry a state; ``principal`` null is everybody else."""
    return {
        "states": [
            {
                **view.document(),
                "principals": [
                    {
                        "principal": holding.principal,
                        "superUser": holding.super_user,
                        "access": [access_document(row) for row in holding.rows],
                        **view.beside_document(holding.principal),
                    }
                    for holding in held
                ],
            }
            for view, held in found
        ]
    }


def holders_document(
    operation: AclOperation, pattern: ResourcePattern, found: Sequence[tuple[AccessView, Holders]]
) -> dict[str, Any]:
    """For programs."""
    return {
        "operation": operation.name,
        "on": PATTERN.write(pattern),
        "states": [
            {
                **view.document(),
                "holders": [access_document(row) for row in held.rows],
                "lacking": [access_document(row) for row in held.lacking],
                "clusterAdmins": [access_document(row) for row in held.cluster_admins],
                "superUsers": sorted(held.super_users),
                "declared": [note_document(*item) for item in declared_for(view, operation, held).items()],
            }
            for view, held in found
        ],
    }


# The rule to write where nothing allows a request, as a person would paste it into a manifest.


def allowing_rule(decision: Decision) -> Iterator[str]:
    """What to do about a request that is denied; nothing where no rule helps, or too little is known."""
    if decision.rule is DecisionRule.DENY:
        yield "no ALLOW helps while this DENY is there: remove it, or narrow it"
    elif decision.rule is DecisionRule.DEFAULT_DENY:
        yield "to allow it, write:"
        yield from (f"  {line}" for line in _rule(decision.request))


def _rule(request: AccessRequest) -> Iterator[str]:
    fields = {kind: field for field, kind in RESOURCE_FIELDS.items()}
    kind, name = request.resource_type, request.resource_name
    on = "cluster: true" if kind is ResourceType.CLUSTER else f"{fields[kind]}: [{scalar(name, flow=True)}]"
    yield safe(f"principal: {scalar(request.principal)}")
    yield safe(f"rules: [{{allow: {request.operation.name}, {on}}}]")


# Access as a table: resources down, principals across, a letter for each operation.
#
# Besides the names that exist or that ACLs spell out there is one row for each prefix, and one for everything else: a
# name nobody mentions yet stands for all such names, and the table is exact for them.

_O = AclOperation
#: The first letter, or the first letters of both words; lower case: from some hosts only.
LETTERS: Final = {
    _O.READ: "R",
    _O.WRITE: "W",
    _O.CREATE: "C",
    _O.DELETE: "D",
    _O.ALTER: "A",
    _O.ALTER_CONFIGS: "Ac",
    _O.DESCRIBE: "Ds",
    _O.DESCRIBE_CONFIGS: "Dc",
    _O.CLUSTER_ACTION: "Ca",
    _O.IDEMPOTENT_WRITE: "Iw",
    _O.CREATE_TOKENS: "Ct",
    _O.DESCRIBE_TOKENS: "Dt",
    _O.TWO_PHASE_COMMIT: "Tc",
}
#: What a cell says of somebody who may do everything.
ALL: Final = "all"
#: A terminal of the usual width.
_WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class AccessCell:
    """What one principal may do on one name."""

    everywhere: frozenset[AclOperation] = frozenset()
    from_some_hosts: frozenset[AclOperation] = frozenset()
    certain: bool = True

    whole: bool = False

    @property
    def letters(self) -> str:
        """``RWds``; ``?`` at the end where what is unknown about the cluster could change it, ``·`` for nothing.

        What another operation implies is left out: everybody who may READ may DESCRIBE.
        """
        implied = {IMPLICATIONS[operation] for operation in self.everywhere if operation in IMPLICATIONS}
        found = "".join(
            letter if operation in self.everywhere - implied else letter.lower()
            for operation, letter in LETTERS.items()
            if operation in (self.everywhere - implied) | self.from_some_hosts
        )
        found = ALL if self.whole else found
        return f"{found}?" if not self.certain else found or "·"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows by label, each with the name that it was decided on, and a cell for each principal."""

    kind: ResourceType
    principals: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[AccessCell, ...]], ...]


def matrix_of(view: AccessView, kind: ResourceType, principals: Sequence[str] = ()) -> Matrix:
    """The table of one state; without principals, everybody else and all that are known."""
    held = holdings(view, principals, kind)
    rows = tuple((label, name, tuple(_cell(one, kind, name) for one in held)) for label, name in _resources(view, kind))
    return Matrix(kind, tuple(one.name for one in held), rows)


def _resources(view: AccessView, kind: ResourceType) -> Iterator[tuple[str, str]]:
    """Labels and names: what exists or is spelled out, then new names under each prefix, then any other."""
    if kind is ResourceType.CLUSTER:
        yield "the cluster", CLUSTER_NAME
        return
    keys = {names_of(b.pattern) for b in view.authorizer.bindings if b.pattern.resource_type is kind}
    if ALL_NAMES in keys:  # LITERAL * leaves out names such as *x
        keys = keys - {ALL_NAMES} | {ASTERISK_NAMES}
    existing = view.topics or () if kind is ResourceType.TOPIC else ()
    names = {key.text for key in keys if key.literal} | {name for name in existing if not is_reserved(name)}
    yield from ((name, name) for name in sorted(names))
    literals = {literal(name) for name in names}
    for key in sorted(keys - literals):
        if not key.literal:
            fresh = _fresh(kind, key, keys | literals)
            if fresh is not None:
                # Beside the names that go on after an asterisk, the prefix * holds the one name *.
                yield fresh if fresh == ASTERISK_NAMES.text and ASTERISK_NAMES in keys else f"{key.text}…", fresh
    fresh = _fresh(kind, ALL_NAMES, keys | literals)
    if fresh is not None:
        yield f"any other {kind.noun}", fresh


def _fresh(kind: ResourceType, key: NameSet, keys: set[NameSet]) -> str | None:
    return shortest_name(kind, key, [other for other in sorted(keys) if other != key and key.contains(other)])


def _cell(holding: Holding, kind: ResourceType, name: str) -> AccessCell:
    if holding.super_user:
        return AccessCell(SUPPORTED_OPERATIONS[kind], whole=True)
    rows = [row for row in holding.rows if row.region.contains(name)]
    hosts: dict[AclOperation, list[Hosts]] = {}
    for row in rows:
        for operation in row.operations if row.certain else ():
            hosts.setdefault(operation, []).append(row.hosts)
    everywhere = frozenset(operation for operation, parts in hosts.items() if _together_any(parts))
    certain, whole = all(row.certain for row in rows), everywhere >= SUPPORTED_OPERATIONS[kind]
    return AccessCell(everywhere, frozenset(hosts) - everywhere, certain, whole)


def _together_any(parts: Sequence[Hosts]) -> bool:
    """Whether the sets of hosts are every host together: one row may leave out an address that another one has."""
    listed = {label for part in parts for label in part.listed}
    return any(part.any_host and listed.issuperset(part.but) for part in parts)


def matrix_lines(tables: Sequence[tuple[AccessView, Matrix]], style: Style = plain) -> Iterator[str]:
    """The meaning of the letters, then each state's table, with as many principals across as fit."""
    used = {op for _, matrix in tables for _, _, cells in matrix.rows for c in cells for op in _operations(c)}
    keys = [f"{letter}={op.name}" for op, letter in LETTERS.items() if op in used]
    yield from wrap("  ".join(keys) or "nobody may do anything", _WIDTH, break_on_hyphens=False)
    yield style("dim", "READ, WRITE, DELETE and ALTER include DESCRIBE. Lower case: from some hosts only.")
    yield style("dim", "?: depends on what is unknown about the cluster.")
    for view, matrix in tables:
        yield style("dim", safe(view.words))
        yield from _table(matrix, style)


def _table(matrix: Matrix, style: Style) -> Iterator[str]:
    label_width = max((len(safe(label)) for label, _, _ in matrix.rows), default=0)
    widths = [
        max([len(str(number)), *(len(cells[number - 1].letters) for _, _, cells in matrix.rows)])
        for number in range(1, len(matrix.principals) + 1)
    ]
    for block in _blocks(widths, max(20, _WIDTH - label_width)):
        yield ""
        yield from (f"  {number + 1:>3} {safe(matrix.principals[number])}" for number in block)
        heads = "  ".join(f"{number + 1:<{widths[number]}}" for number in block)
        yield style("title", f"{'':<{label_width}}  {heads}".rstrip())
        for label, _, cells in matrix.rows:
            values = "  ".join(f"{cells[number].letters:<{widths[number]}}" for number in block)
            yield f"{safe(label):<{label_width}}  {values}".rstrip()


def _blocks(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Columns that fit beside one another."""
    block: list[int] = []
    for number, width in enumerate(widths):
        if block and sum(widths[other] + 2 for other in block) + width > room:
            yield block
            block = []
        block.append(number)
    if block:
        yield block


def _operations(cell: AccessCell) -> frozenset[AclOperation]:
    return cell.everywhere | cell.from_some_hosts


def matrix_table(tables: Sequence[tuple[AccessView, Matrix]]) -> dict[str, Any]:
    """Columns for people: resources down, principals across; of one state, or of the last."""
    view, matrix = tables[-1]
    rows = [[label, *map(_cell_words, cells), view.condition] for label, _, cells in matrix.rows]
    return {"columns": ["RESOURCE", *matrix.principals, "CONDITION"], "rows": rows}


def _cell_words(cell: AccessCell) -> str:
    everywhere = [operation.name for operation in sorted(cell.everywhere)]
    some = [f"{operation.name} from some hosts" for operation in sorted(cell.from_some_hosts)]
    return ", ".join([*everywhere, *some]) + ("" if cell.certain else " (perhaps)")


def matrix_document(tables: Sequence[tuple[AccessView, Matrix]]) -> dict[str, Any]:
    """For programs: cells in the order of ``principals``."""
    return {
        "states": [
            {
                **view.document(),
                "resourceType": matrix.kind.name,
                "principals": list(matrix.principals),
                "rows": [
                    {"label": label, "decidedOn": name, "cells": [_cell_document(cell) for cell in cells]}
                    for label, name, cells in matrix.rows
                ],
            }
            for view, matrix in tables
        ]
    }


def _cell_document(cell: AccessCell) -> dict[str, Any]:
    return {
        "operations": sorted(operation.name for operation in cell.everywhere),
        "fromSomeHosts": sorted(operation.name for operation in cell.from_some_hosts),
        "certain": cell.certain,
    }
