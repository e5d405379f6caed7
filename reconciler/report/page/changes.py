"""Gained and lost access as a picture: principals down, groups of names across, a letter for each operation.

It shows where a plan reaches at a glance; the rows beside it say it exactly.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.model import AclOperation, ResourceType
from reconciler.plan import EVERYBODY_ELSE, AccessChange
from reconciler.report.matrix import LETTERS

#: So much fits a screen; what is beyond stands in the rows only, and is counted.
MOST_PRINCIPALS: Final = 40
MOST_GROUPS: Final = 18
CELL_WIDTH: Final = 58
CELL_HEIGHT: Final = 24
_CHARACTER: Final = 7.3
_LONGEST: Final = 34
_MOST_LETTERS: Final = 4
#: ``payments.`` of ``payments.orders``: what names that belong together begin with.
_BEGINNING: Final = re.compile(r"[^._-]+[._-]")


@dataclass(frozen=True, slots=True)
class ChangeCell:
    """What one principal gains and loses in one group of names; ``title`` says it in words."""

    column: int
    gained: str
    lost: str
    title: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The picture: columns by label, rows with their cells, what was left out, and its measures in pixels."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[ChangeCell, ...]], ...]
    more_principals: int
    more_groups: int
    letters: tuple[tuple[str, str], ...]
    left: int
    top: int

    @property
    def width(self) -> int:
        """All of it; the last label leans out to the right."""
        return self.left + CELL_WIDTH * len(self.columns) + int(self.top * 0.8)

    @property
    def height(self) -> int:
        """All of it."""
        return self.top + CELL_HEIGHT * len(self.rows) + 4


def changes_of(rows: Iterable[AccessChange]) -> Changes | None:
    """The picture of a review's rows, or ``None`` where nothing is gained or lost."""
    cells: dict[tuple[str, str], tuple[set[AclOperation], set[AclOperation]]] = defaultdict(lambda: (set(), set()))
    for row in rows:
        gained, lost = cells[row.principal or EVERYBODY_ELSE, _group(row)]
        gained.update(row.gained)
        lost.update(row.lost)
    if not cells:
        return None
    principals = Counter(who for who, _ in cells)
    groups = Counter(group for _, group in cells)
    shown = sorted(principals, key=lambda who: (who != EVERYBODY_ELSE, -principals[who], who))[:MOST_PRINCIPALS]
    columns = sorted(sorted(groups, key=lambda group: (-groups[group], group))[:MOST_GROUPS])
    used = {operation for pair in cells.values() for side in pair for operation in side}
    return Changes(
        tuple(shortened(group) for group in columns),
        tuple((shortened(who), tuple(_cells(who, columns, cells))) for who in sorted(shown, key=_everybody_first)),
        len(principals) - len(shown),
        len(groups) - len(columns),
        tuple((letter, operation.name) for operation, letter in LETTERS.items() if operation in used),
        30 + int(_CHARACTER * max(len(shortened(who)) for who in shown)),
        30 + int(_CHARACTER * 0.72 * max(len(shortened(group)) for group in columns)),
    )


def shortened(text: str) -> str:
    """A label that is not too long; the whole text stands in the rows."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _everybody_first(who: str) -> tuple[bool, str]:
    return who != EVERYBODY_ELSE, who


def _cells(
    who: str,
    columns: Sequence[str],
    cells: dict[tuple[str, str], tuple[set[AclOperation], set[AclOperation]]],
) -> Iterable[ChangeCell]:
    for number, group in enumerate(columns):
        if (who, group) not in cells:
            continue
        gained, lost = cells[who, group]
        said = [f"{verb} {_names(side)}" for verb, side in (("gains", gained), ("loses", lost)) if side]
        yield ChangeCell(number, _letters(gained), _letters(lost), f"{who} {' and '.join(said)} on {group}")


def _group(row: AccessChange) -> str:
    kind, text = row.region.resource_type, row.region.names.text
    if kind is ResourceType.CLUSTER:
        return "the cluster"
    if not text:
        return f"every {kind.noun}"
    beginning = _BEGINNING.match(text)
    prefix = "" if kind is ResourceType.TOPIC else f"{kind.noun} "
    if beginning is not None:
        return f"{prefix}{beginning.group()}…"
    return f"{prefix}{text}" if row.region.names.literal else f"{prefix}{text}…"


def _letters(operations: set[AclOperation]) -> str:
    letters = [letter for operation, letter in LETTERS.items() if operation in operations]
    return "".join(letters) if len(letters) <= _MOST_LETTERS else f"{''.join(letters[: _MOST_LETTERS - 1])}…"


def _names(operations: set[AclOperation]) -> str:
    return ", ".join(operation.name for operation in sorted(operations))
