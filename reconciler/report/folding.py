"""Many rows that are alike as few lines: the gravest first, each shape with its exact number.

Whoever proposes a change chooses how many rows it has. So rows share a line only with rows of their own shape, grave
ones only where even they are a crowd, and no number of harmless rows takes the place of a grave one.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeVar

from reconciler.report.kinds import Alike
from reconciler.report.style import safe

T = TypeVar("T")

#: So many rows are always shown one by one, in their own order,
FEW: Final = 20
#: and so many harmless ones that are alike.
_ALIKE: Final = 5
#: From here on rows of one shape share a line as soon as they are more than that.
_HARMLESS: Final = 5
#: Lines of one phase, or of one reason why something stays, whatever their shapes.
MOST_LINES: Final = 30
_ROOM_OF_NAMES: Final = 150
#: Of what is gravest, such as topics that go with their records, a reader can check very many names.
_GRAVEST: Final = 1
_ROOM_OF_GRAVEST_NAMES: Final = 1500


def arranged(rows: Sequence[T], alike: Callable[[T], Alike], *, fold: bool, few: int = FEW) -> list[list[T]]:
    """Rows as lines. Few keep their order; of many, shapes come by gravity, and with ``fold`` share a line each."""
    if len(rows) <= few:
        return [[row] for row in rows]
    shapes: dict[tuple[int, Hashable], list[T]] = {}
    for row in rows:
        gravity, shape = alike(row)
        shapes.setdefault((gravity, shape), []).append(row)
    lines: list[list[T]] = []
    for (gravity, _), same in sorted(shapes.items(), key=lambda item: item[0][0]):
        crowd = _ALIKE if gravity >= _HARMLESS else FEW
        lines += [same] if fold and len(same) > crowd else [[row] for row in same]
    return lines


def first_lines(lines: Sequence[str], *, expand: bool, most: int = FEW, indent: str = "  ") -> Iterator[str]:
    """The first lines of a list that has no order of its own, and how many there are besides."""
    if len(lines) == (shown := lines_shown(len(lines), expand=expand, most=most)):
        yield from lines
        return
    yield from lines[:shown]
    yield f"{indent}and {len(lines) - most:,} more; --expand shows each"


def lines_shown(lines: int, *, expand: bool, most: int = FEW) -> int:
    """How many lines of a list :func:`first_lines` shows."""
    return lines if expand or lines <= most + 1 else most


def first_names(names: Iterable[str], gravity: int) -> tuple[str, ...]:
    """The first names that there is room for; at least one."""
    room = _ROOM_OF_GRAVEST_NAMES if gravity <= _GRAVEST else _ROOM_OF_NAMES
    kept: list[str] = []
    for name in islice(names, room):
        room -= len(safe(name)) + 2
        if room < 0 and kept:
            break
        kept.append(name)
    return tuple(kept)
