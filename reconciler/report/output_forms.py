"""A command's JSON document in another form: as YAML, as a table, or as CSV.

YAML is the same document. Table and CSV show the lists of a document as rows, with what their owners say about
themselves (the cluster, the condition); what has an empty list is a row of its own. Warnings are in neither.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import yaml

from reconciler.model.characters import is_visible
from reconciler.report.fleet_table import table_lines
from reconciler.report.formats.escaping import unformulaic
from reconciler.report.style import safe

Row: TypeAlias = dict[str, Any]
#: Which fields of a document are lists of rows, ``{"states": {"findings": "value"}}``, and the column of items that are
#: single values.
Lists: TypeAlias = "Mapping[str, Lists | str]"
#: So many rows are written at once.
_PIECE: Final = 1_000


def lists_at(*paths: str) -> Lists:
    """``states.holders`` and ``states.superUsers=principal`` as one tree."""
    tree: dict[str, Any] = {}
    for path in paths:
        *parts, last = path.partition("=")[0].split(".")
        below = tree
        for part in parts:
            below = below.setdefault(part, {})
        below[last] = path.partition("=")[2] or "value"
    return tree


class Made:
    """A list of a document whose items are made each time that somebody goes through it: there may be millions.

    The items are plain: objects of texts, numbers and truth values.
    """

    def __init__(self, items: Callable[[], Iterator[Row]]) -> None:
        """``items`` gives the same each time."""
        self._items = items

    def __iter__(self) -> Iterator[Row]:
        """Makes them."""
        return self._items()


def plain(document: Any) -> Any:
    """The document as JSON has it: no types of ours, no tuples. Its own lists that are :class:`Made` stay so."""
    if not isinstance(document, dict):
        return json.loads(json.dumps(document))
    made = {name: value for name, value in document.items() if isinstance(value, Made)}
    return json.loads(json.dumps({name: value for name, value in document.items() if name not in made})) | made


def yaml_text(document: Any) -> str:
    """The document as YAML; characters that nobody sees are escaped, and then all that are not ASCII."""
    text: str = yaml.safe_dump(document, allow_unicode=True, sort_keys=True, width=120)
    return text if all(map(is_visible, text.split("\n"))) else yaml.safe_dump(document, sort_keys=True, width=120)


def csv_text(document: Any, lists: Lists) -> str:
    """Rows with a heading; no cell is a formula for a spreadsheet."""
    return "".join(csv_pieces(document, lists))


def csv_pieces(document: Any, lists: Lists) -> Iterator[str]:
    """The same in pieces, of which one is in memory at a time."""
    columns, rows = _table(document, lists)
    lines: list[str] = []
    writer = csv.writer(_Lines(lines.append), lineterminator="\n")
    writer.writerow([unformulaic(name) for name in columns])
    for row in rows:
        writer.writerow([unformulaic(text) for text in row])
        if len(lines) >= _PIECE:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)


class _Lines(NamedTuple):
    """What the writer of the standard library takes for a file."""

    write: Callable[[str], object]


def table_text(document: Any, lists: Lists) -> str:
    """Rows in columns; a column that says the same in each of several rows is said once, above them."""
    columns, found = _table(document, lists)
    rows = list(found)
    same = [len(rows) > 1 and len({row[number] for row in rows}) == 1 for number in range(len(columns))]
    above = [(name, rows[0][number]) for number, name in enumerate(columns) if same[number]]
    kept = [number for number in range(len(columns)) if not same[number]]
    table = table_lines([columns[number] for number in kept], [[row[number] for number in kept] for row in rows])
    said = [f"{safe(name)}: {safe(text)}" for name, text in above if text]
    return "".join(f"{line}\n" for line in (*said, *table))


def _table(document: Any, lists: Lists) -> tuple[list[str], Iterator[list[str]]]:
    """The columns, and the rows one after the other."""
    if "columns" in document:  # a table already
        columns = document["columns"]
        return columns, ([_text(value) for value in row] for row in document["rows"])
    # Twice through the rows rather than all of them at once.
    names: dict[str, None] = {}
    for row in _rows(document, lists, {}):
        if not row.keys() <= names.keys():
            names.update(dict.fromkeys(row))
    return list(names), ([_cell(name, row) for name in names] for row in _rows(document, lists, {}))


def _rows(item: Any, lists: Lists, above: Row) -> Iterator[Row]:
    """The rows of one item and of its lists; the document itself is above all rows and in none."""
    found = False
    for name, below in lists.items():
        for child in item.get(name) or ():
            found = True
            listed = {"list": name} if len(lists) > 1 else {}
            if not isinstance(child, dict):
                yield {**above, **listed, str(below): child}
            elif not isinstance(below, str):
                own = {key: value for key, value in _flat(child).items() if not isinstance(value, list)}
                yield from _rows(child, below, {**above, **listed, **own})
            else:
                yield {**above, **listed, **_flat(child)}
    if not found and above:
        yield above


def _flat(item: Mapping[str, Any], before: str = "") -> Row:
    """Mappings in mappings as ``after.principal``."""
    row: Row = {}
    for key, value in item.items():
        row |= _flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return row


def _cell(name: str, row: Row) -> str:
    """One cell; where a document names no principal, whatever it says is true of everybody else."""
    return "everybody else" if name == "principal" and row.get(name, "") is None else _text(row.get(name))


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return "; ".join(_text(item) for item in value)
        case dict():
            return ", ".join(f"{key}={_text(item)}" for key, item in value.items())
    return str(value)
