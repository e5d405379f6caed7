"""Access as a table: resources down, principals across, a letter for each operation.

Besides the names that exist or that ACLs spell out there is one row for each prefix, and one for everything else: a
name nobody mentions yet stands for all such names, and the table is exact for them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from textwrap import wrap
from typing import Any, Final

from reconciler.access.effective import Access
from reconciler.access.hosts import Hosts
from reconciler.access.names import (
    ALL_NAMES,
    ASTERISK_NAMES,
    NameSet,
    ResourceSet,
    around,
    inside,
    literal,
    names_of,
    shortest_name,
)
from reconciler.dataclass import dataclass
from reconciler.model.acl import CLUSTER_NAME, IMPLICATIONS, SUPPORTED_OPERATIONS, AclOperation, ResourceType
from reconciler.model.characters import Style, plain, safe
from reconciler.model.scope import is_reserved
from reconciler.results import Made
from reconciler.results.access import AccessView
from reconciler.show.access import Holding, known_principals, own_holdings

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
        letters = "".join(
            letter if operation in self.everywhere - implied else letter.lower()
            for operation, letter in LETTERS.items()
            if operation in (self.everywhere - implied) | self.from_some_hosts
        )
        letters = ALL if self.whole else letters
        return f"{letters}?" if not self.certain else letters or "·"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows by label, each with the name that it was decided on, and a cell for each principal."""

    kind: ResourceType
    principals: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[AccessCell, ...]], ...]

    def distinct(self) -> Collection[AccessCell]:
        """The cells, of those that are one object one."""
        return {id(cell): cell for _, _, cells in self.rows for cell in cells}.values()


def matrix_of(view: AccessView, kind: ResourceType, principals: Sequence[str] = ()) -> Matrix:
    """The table of one state; without principals, everybody else and all that are known."""
    everybody, *named = own_holdings(view, principals or sorted(known_principals(view)), kind)
    shown = named if principals else [everybody, *named]
    usual, columns = _RowsByName([everybody], kind), _RowsByName(shown, kind)
    unmentioned = [_super_user_cell(kind) if item.super_user else AccessCell() for item in shown]
    alike = [number for number, item in enumerate(shown) if item.like_everybody]
    distinct: dict[AccessCell, AccessCell] = {}
    rows = []
    for label, name in _resources(view, kind):
        elsewhere = [row for own in usual.on(name).values() for row in own if row is not None]
        # What everybody may do there is one cell: most principals have no ACL that decides about the name.
        line, everybodys = unmentioned.copy(), _cell(elsewhere, kind)
        for number in alike:
            line[number] = everybodys
        for number, own in columns.on(name).items():
            like = shown[number].like_everybody and None not in own
            cell = _cell([row for row in (*own, *(elsewhere if like else ())) if row is not None], kind)
            line[number] = distinct.setdefault(cell, cell)
        rows.append((label, name, tuple(line)))
    return Matrix(kind, tuple(holding.name for holding in shown), tuple(rows))


class _RowsByName:
    """What principals hold, and the names on which their own ACLs decide, by set of names."""

    __slots__ = ("_near",)

    def __init__(self, holdings: Iterable[Holding], kind: ResourceType) -> None:
        self._near: dict[NameSet, list[tuple[int, frozenset[NameSet], Access | None]]] = {}
        for number, holding in enumerate(holdings):
            own: list[tuple[ResourceSet, Access | None]] = [(resources, None) for resources in holding.own]
            for resources, row in [*own, *((row.resources, row) for row in holding.rows)]:
                if resources.resource_type is kind:
                    self._near.setdefault(resources.names, []).append((number, frozenset(resources.cuts), row))

    def on(self, name: str) -> dict[int, list[Access | None]]:
        """By principal its rows on the name, and ``None`` where its own ACLs decide there."""
        by_principal: dict[int, list[Access | None]] = {}
        keys = {*around(literal(name))}
        for key in keys:
            for number, cuts, row in self._near.get(key, ()):
                if cuts.isdisjoint(keys):
                    by_principal.setdefault(number, []).append(row)
        return by_principal


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
    ordered = sorted(keys | literals)
    for key in sorted(keys - literals):
        if not key.literal:
            fresh = _fresh(kind, key, ordered)
            if fresh is not None:
                # Beside the names that go on after an asterisk, the prefix * holds the one name *.
                yield fresh if fresh == ASTERISK_NAMES.text and ASTERISK_NAMES in keys else f"{key.text}…", fresh
    fresh = _fresh(kind, ALL_NAMES, ordered)
    if fresh is not None:
        yield f"any other {kind.noun}", fresh


def _fresh(kind: ResourceType, key: NameSet, ordered: list[NameSet]) -> str | None:
    return shortest_name(kind, key, [other for other in inside(ordered, key) if other != key])


def _super_user_cell(kind: ResourceType) -> AccessCell:
    return AccessCell(SUPPORTED_OPERATIONS[kind], whole=True)


def _cell(rows: Iterable[Access], kind: ResourceType) -> AccessCell:
    """What these rows say together."""
    rows = tuple(rows)
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
    distinct = [cell for _, matrix in tables for cell in matrix.distinct()]
    used = {operation for cell in distinct for operation in _operations(cell)}
    keys = [f"{letter}={op.name}" for op, letter in LETTERS.items() if op in used]
    certain = all(cell.certain for cell in distinct)
    nothing = "nobody may do anything" if certain else "nobody may do anything for certain"
    yield from wrap("  ".join(keys) or nothing, _WIDTH, break_on_hyphens=False)
    yield style("dim", "READ, WRITE, DELETE and ALTER include DESCRIBE. Lower case: from some hosts only.")
    yield style("dim", "?: perhaps more, by what is unknown about the cluster.")
    for view, matrix in tables:
        yield style("dim", safe(view.words))
        yield from _table(matrix, style)


def _table(matrix: Matrix, style: Style) -> Iterator[str]:
    label_width = max((len(safe(label)) for label, _, _ in matrix.rows), default=0)
    letters = {id(cell): cell.letters for cell in matrix.distinct()}
    widths = [
        max([len(str(number)), *(len(letters[id(cells[number - 1])]) for _, _, cells in matrix.rows)])
        for number in range(1, len(matrix.principals) + 1)
    ]
    for block in _blocks(widths, max(20, _WIDTH - label_width)):
        yield ""
        yield from (f"  {number + 1:>3} {safe(matrix.principals[number])}" for number in block)
        heads = "  ".join(f"{number + 1:<{widths[number]}}" for number in block)
        yield style("title", f"{'':<{label_width}}  {heads}".rstrip())
        for label, _, cells in matrix.rows:
            values = "  ".join(f"{letters[id(cells[number])]:<{widths[number]}}" for number in block)
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
    words = {id(cell): _cell_words(cell) for cell in matrix.distinct()}
    rows = [[label, *(words[id(cell)] for cell in cells), view.condition] for label, _, cells in matrix.rows]
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
                "rows": Made(partial(_row_documents, matrix)),
            }
            for view, matrix in tables
        ]
    }


def _row_documents(matrix: Matrix) -> Iterator[dict[str, Any]]:
    written = {id(cell): _cell_document(cell) for cell in matrix.distinct()}
    for label, name, cells in matrix.rows:
        yield {"label": label, "decidedOn": name, "cells": [written[id(cell)] for cell in cells]}


def _cell_document(cell: AccessCell) -> dict[str, Any]:
    return {
        "operations": sorted(operation.name for operation in cell.everywhere),
        "fromSomeHosts": sorted(operation.name for operation in cell.from_some_hosts),
        "certain": cell.certain,
    }
