"""Gained and lost access as a picture: principals down, groups of names across, a letter for each operation.

It shows where a plan reaches at a glance; the rows beside it say it exactly.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from reconciler.access.operations import IMPLICATIONS
from reconciler.dataclass import dataclass
from reconciler.model import AclOperation, ResourceType
from reconciler.model.naming import as_name
from reconciler.plan import EVERYBODY_ELSE, AccessChange, operations_words
from reconciler.report.access_lines import MOST_HARMLESS, gravity
from reconciler.report.matrix import ALL, LETTERS

#: So much fits a screen; what is beyond stands in the rows only, and is counted.
MOST_PRINCIPALS: Final = 40
MOST_GROUPS: Final = 18
CELL_HEIGHT: Final = 24
_NARROWEST: Final = 44
_CHARACTER: Final = 7.3
_LONGEST: Final = 34
#: Around the letters of a cell.
_PADDING: Final = 14
#: ``payments.`` of ``payments.orders``: what names that belong together begin with.
_BEGINNING: Final = re.compile(r"[^._-]+[._-]")

#: What somebody gains and loses in one group of names.
_Moved: TypeAlias = tuple[set[AclOperation], set[AclOperation]]


@dataclass(frozen=True, slots=True)
class ChangeCell:
    """What one principal gains and loses in one group of names; ``title`` says it in words."""

    column: int
    gained: str
    lost: str
    title: str

    @property
    def widths(self) -> tuple[int, int]:
        """What its gains and its losses need, in pixels."""
        return _wide(self.gained), _wide(self.lost)


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """A group of names; as wide as its widest cell, so that nothing of a cell is ever cut."""

    label: str
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class Changes:
    """The picture: columns by label, rows with their cells, what was left out, and its measures in pixels."""

    columns: tuple[ChangeColumn, ...]
    rows: tuple[tuple[str, tuple[ChangeCell, ...]], ...]
    more_principals: int
    more_groups: int
    letters: tuple[tuple[str, str], ...]
    left: int
    top: int

    @property
    def width(self) -> int:
        """All of it; the last label leans out to the right."""
        return self.right + int(self.top * 0.8)

    @property
    def right(self) -> int:
        """Where the last column ends."""
        return self.columns[-1].x + self.columns[-1].width

    @property
    def height(self) -> int:
        """All of it."""
        return self.top + CELL_HEIGHT * len(self.rows) + 4


def changes_of(rows: Iterable[AccessChange]) -> Changes | None:
    """The picture of a review's rows, or ``None`` where nothing is gained or lost."""
    rows = tuple(rows)
    cells: dict[tuple[str, str], _Moved] = defaultdict(lambda: (set(), set()))
    kinds: dict[str, ResourceType] = {}
    said: dict[str, str] = {}
    for row in rows:
        gained, lost = cells[_who(row), _group(row)]
        kinds[_group(row)], said[_group(row)] = row.region.resource_type, _group(row, as_name)
        gained.update(row.gained)
        lost.update(row.lost)
    if not cells:
        return None
    principals = Counter(who for who, _ in cells)
    groups = Counter(group for _, group in cells)
    # A crowd of harmless rows must not take the place of one that is not.
    who_first, group_first = _gravest(rows, _who), _gravest(rows, _group)
    order = sorted(principals, key=lambda who: (who != EVERYBODY_ELSE, who_first[who], -principals[who], who))
    shown = sorted(order[:MOST_PRINCIPALS], key=_everybody_first)
    names = sorted(sorted(groups, key=lambda group: (group_first[group], -groups[group], group))[:MOST_GROUPS])
    found = [(shortened(who), tuple(_cells(who, names, cells, said, kinds))) for who in shown]
    left = 30 + int(_CHARACTER * max(len(who) for who, _ in found))
    used = {operation for pair in cells.values() for side in pair for operation in side}
    return Changes(
        tuple(_columns(names, [cell for _, some in found for cell in some], left)),
        tuple(found),
        len(principals) - len(shown),
        len(groups) - len(names),
        tuple((letter, operation.name) for operation, letter in LETTERS.items() if operation in used),
        left,
        30 + int(_CHARACTER * 0.72 * max(len(shortened(group)) for group in names)),
    )


def _columns(names: Sequence[str], cells: Sequence[ChangeCell], x: int) -> Iterator[ChangeColumn]:
    for number, name in enumerate(names):
        width = max((sum(cell.widths) for cell in cells if cell.column == number), default=0) + 4
        width = max(width, _NARROWEST)
        yield ChangeColumn(shortened(name), x, width)
        x += width


def _wide(letters: str) -> int:
    return int(_CHARACTER * (len(letters) + 1)) + _PADDING if letters else 0


def _gravest(rows: Iterable[AccessChange], of: Callable[[AccessChange], str]) -> dict[str, int]:
    """The gravest that there is to show of each principal, or of each group of names."""
    found: dict[str, int] = {}
    for row in rows:
        sides = [gravity(row, sign) for sign, moved in (("+", row.gained), ("-", row.lost)) if moved]
        found[of(row)] = min([*sides, found.get(of(row), MOST_HARMLESS)])
    return found


def _who(row: AccessChange) -> str:
    return row.principal or EVERYBODY_ELSE


def shortened(text: str) -> str:
    """A label that is not too long; the whole text stands in the rows."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _everybody_first(who: str) -> tuple[bool, str]:
    return who != EVERYBODY_ELSE, who


def _cells(
    who: str,
    columns: Sequence[str],
    cells: dict[tuple[str, str], _Moved],
    words: dict[str, str],
    kinds: dict[str, ResourceType],
) -> Iterable[ChangeCell]:
    for number, group in enumerate(columns):
        if (who, group) not in cells:
            continue
        gained, lost = cells[who, group]
        said = [f"{verb} {_names(side)}" for verb, side in (("gains", gained), ("loses", lost)) if side]
        subject = who if who == EVERYBODY_ELSE else as_name(who)
        title = f"{subject} {' and '.join(said)} on {words[group]}"
        kind = kinds[group]
        yield ChangeCell(number, _letters(gained, kind), _letters(lost, kind), title)


def _group(row: AccessChange, name: Callable[[str], str] = str) -> str:
    """The group of names that a row belongs to: for a label, or with ``name`` for a sentence."""
    kind, text = row.region.resource_type, row.region.names.text
    if kind is ResourceType.CLUSTER:
        return "the cluster"
    if not text:
        return f"every {kind.noun}"
    beginning = _BEGINNING.match(text)
    prefix = "" if kind is ResourceType.TOPIC else f"{kind.noun} "
    if beginning is not None:
        return f"{prefix}{name(beginning.group())}…"
    return f"{prefix}{name(text)}" if row.region.names.literal else f"{prefix}{name(text)}…"


def _letters(operations: set[AclOperation], kind: ResourceType) -> str:
    """What is in the words of a row, in letters: without what is implied, and all of them."""
    if operations and operations_words(sorted(operations), kind) == "everything":
        return ALL
    implied = {IMPLICATIONS[operation] for operation in operations if operation in IMPLICATIONS}
    return "".join(letter for operation, letter in LETTERS.items() if operation in operations - implied)


def _names(operations: set[AclOperation]) -> str:
    return ", ".join(operation.name for operation in sorted(operations))
