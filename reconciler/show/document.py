"""What a report says to a person: an answer, sections of rows, and what closes it. Made once, written by each format.

Which sections there are, their order, the words of a row and what is cut are decided by whoever makes a document. A
format only writes it down: it escapes, colours, and says in its own words where the other rows are.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from reconciler.dataclass import dataclass
from reconciler.model.characters import Style, plain, safe


class Detail(NamedTuple):
    """A line below a step; ``role`` is the style in which a terminal shows it."""

    role: str
    text: str


class Words(NamedTuple):
    """Changes in words. ``about`` is a principal or the name of a resource, ``text`` does not begin with a sign.

    ``notes`` hold for every change of this sort, whatever its name.
    """

    about: str
    text: str
    details: tuple[Detail, ...] = ()
    notes: tuple[str, ...] = ()


class Alike(NamedTuple):
    """``gravity`` is 0 for what a reviewer must see first; ``shape`` is equal where changes differ in names only."""

    gravity: int
    shape: Hashable


# Many rows that are alike as few lines: the gravest first, each shape with its exact number.
#
# Whoever proposes a change chooses how many rows it has. So rows share a line only with rows of their own shape,
# grave ones only where even they are a crowd, and no number of harmless rows takes the place of a grave one.

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


class SectionName(StrEnum):
    """What a section is about, for formats that fold one section and not another."""

    GUARDRAILS = "guardrails"
    ACCESS = "access"
    STEPS = "steps"
    NOTES = "notes"
    SKIPPED = "skipped"
    WARNINGS = "warnings"
    ACCEPTED = "accepted"
    SETTINGS = "settings"
    REFUSED = "refused"
    DIFFERENCES = "differences"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is said; nothing of it is escaped.

    ``sign`` stands before ``text``: ``+``, ``-``, ``~``, ``!`` or ``?``. ``role`` is the style of a terminal. ``label``
    is one word about it (an effect, a rule), ``until`` its end, ``place`` where it is declared, ``why`` the proposer's
    own words, ``notes`` what else is known of it. ``below`` belongs to it, and is about ``count`` things.
    ``names`` are the first of many that share the row, and ``unnamed`` of them are only counted; a row of nothing else
    counts rows that are not shown.
    """

    text: str
    sign: str = ""
    role: str = ""
    label: str = ""
    until: str = ""
    place: str = ""
    why: str = ""
    notes: tuple[str, ...] = ()
    below: tuple["Row", ...] = ()
    count: int = 0
    names: tuple[str, ...] = ()
    unnamed: int = 0

    @property
    def only_counts(self) -> bool:
        """Whether it stands for rows that are not shown."""
        return not self.text and self.unnamed > 0

    @property
    def sentence(self) -> str:
        """The row as one text, for formats that have no lines below a line."""
        if self.only_counts:
            return f"and {self.unnamed:,} more"
        more = f"{self.text}: {_named(self)}" if self.names else self.text
        return "; ".join((more, *(row.sentence for row in self.below)))


@dataclass(frozen=True, slots=True)
class Section:
    """Rows below a ``title``; ``count`` is what the title counts, if anything. ``closing`` ends it, as a rule does.

    ``number`` is that of a phase among all that are sent. ``remarks`` hold for so many of the things in the rows.
    """

    part: SectionName
    title: str
    rows: tuple[Row, ...] = ()
    count: int = 0
    role: str = "title"
    closing: str = ""
    number: int = 0
    remarks: tuple[tuple[int, str], ...] = ()

    @property
    def title_count(self) -> int:
        """What stands behind the title: of a phase only where its rows do not show it."""
        return 0 if self.number and not any(row.unnamed for row in self.rows) else self.count


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """The ``answer`` comes first, its first row in one line; ``closing`` comes last, with what only proves or dates."""

    answer: tuple[Row, ...]
    sections: tuple[Section, ...] = ()
    closing: tuple[Row, ...] = field(default=())

    def of(self, *parts: SectionName) -> tuple[Section, ...]:
        """The sections about these."""
        return tuple(section for section in self.sections if section.part in parts)


def first_rows(rows: Iterable[Row], *, expand: bool, most: int = FEW) -> tuple[Row, ...]:
    """The first rows of a list that has no order of its own, and one that counts the others."""
    rows = tuple(rows)
    shown = lines_shown(len(rows), expand=expand, most=most)
    return rows if shown == len(rows) else (*rows[:shown], Row("", unnamed=len(rows) - shown))


def listed(
    part: SectionName, title: str, texts: Iterable[str], *, expand: bool, most: int = FEW, role: str = ""
) -> Section:
    """A section of plain rows, of which the first are shown; its title counts them."""
    rows = [Row(text, role=role) for text in texts]
    return Section(part, title, first_rows(rows, expand=expand, most=most), len(rows))


def document_lines(document: ReportDocument, style: Style = plain, before_closing: Iterable[str] = ()) -> Iterator[str]:
    """The document as lines for a terminal or a job's log; ``before_closing`` are lines of its caller."""
    yield from (_answer(row, style) for row in document.answer)
    for section in document.sections:
        yield ""
        yield from section_lines(section, style)
    lines = list(before_closing)
    yield from ["", *lines] if lines else []
    if document.closing:
        yield ""
    yield from (_coloured(row.role, safe(row.text), style) for row in document.closing)


def section_lines(section: Section, style: Style = plain) -> Iterator[str]:
    """A section's title, its rows, and what ends it."""
    if section.title:
        number = f"{section.number}. " if section.number else ""
        count = f" ({section.title_count:,})" if section.title_count else ""
        yield style(section.role, f"{number}{safe(section.title)}{count}")
    for row in section.rows:
        yield from _row_lines(row, style, "  ")
    for about, remark in section.remarks:
        yield style("dim", f"  note{'' if about == 1 else f' on these {about:,}'}: {safe(remark)}")
    if section.closing:
        yield style("dim", f"── {safe(section.closing)} ──")


def _answer(row: Row, style: Style) -> str:
    return _coloured(row.role, f"{row.sign}{safe(row.text)}", style)


def _row_lines(row: Row, style: Style, indent: str) -> Iterator[str]:
    if row.only_counts:
        yield f"{indent}and {row.unnamed:,} more; --expand shows each"
        return
    label = style("dim", f"  [{safe(row.label)}]") if row.label else ""
    notes = "".join(f"  {safe(note)}" for note in (row.until, row.place, row.why, *row.notes) if note)
    text = f"{indent}{row.sign}{' ' if row.sign else ''}{safe(row.text)}"
    yield _coloured(row.role, text, style) + label + (style("dim", notes) if notes else "")
    deeper = indent + ("    " if row.sign else "  ")
    for below in row.below:
        yield from _row_lines(below, style, deeper)
    if row.names:
        hint = "; --expand shows each" if row.unnamed else ""
        yield style("dim", f"{deeper}{safe(_named(row))}{hint}")


def _named(row: Row) -> str:
    return ", ".join(row.names) + (f" and {row.unnamed:,} more" if row.unnamed else "")


def _coloured(role: str, text: str, style: Style) -> str:
    return style(role, text) if role else text


def without(document: ReportDocument, *parts: SectionName) -> ReportDocument:
    """The same without the sections about these, which another place says."""
    return replace(document, sections=tuple(section for section in document.sections if section.part not in parts))
