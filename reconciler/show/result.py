"""The end of an apply, as text and as JSON values: outcomes counted, everything that is not good by name."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import yaml

from reconciler.apply.environment import GOOD, LoginCheck, Outcome, Result, StepOutcome
from reconciler.apply.moves import Ending, PartitionEnd, TopicMove
from reconciler.model.characters import Style, counted, is_visible, plain, safe
from reconciler.plan.file import ids, step_to_json
from reconciler.plan.file_codec import SKIPPED
from reconciler.plan.kinds import describe
from reconciler.results import Made
from reconciler.show.fleet_report import table_lines
from reconciler.show.formats.escaping import unformulaic

#: How many steps that were not attempted are named: a run that stops early leaves thousands of them.
_NAMED: Final = 10


def result_lines(result: Result, style: Style = plain) -> Iterator[str]:
    """Yield the lines: what is not good first, the verdict last."""
    unsent = 0
    for item in result.outcomes:
        unsent += item.outcome is Outcome.NOT_ATTEMPTED
        if item.outcome not in GOOD and (item.outcome is not Outcome.NOT_ATTEMPTED or unsent <= _NAMED):
            yield style("error", f"  {item.outcome}: {safe(describe(item.step.change))}") + _why(item)
    if unsent > _NAMED:
        yield style("error", f"  and {unsent - _NAMED:,} more not attempted")
    for text in result.differences:
        yield style("error", f"  {safe(text)}")
    for text in result.notes:
        yield style("warn", f"  {safe(text)}")
    yield from _logins(result, style)
    for refused in result.plan.refused:
        yield style("error", f"  refused: {safe(refused.subject)}  {safe(refused.detail)}")
    if result.stopped:
        yield style("error", f"stopped: {safe(result.stopped)}")
    yield _counts(result)
    yield _verdict(result, style)
    if result.audit_head:
        yield f"Audit log: head {result.audit_head}"


def result_document(result: Result) -> dict[str, Any]:
    """The result as JSON values."""
    change, whole = ids(result.plan)
    return {
        "changeId": change,
        "planId": whole,
        "cluster": {"id": result.plan.cluster_id, "name": result.plan.terms.cluster},
        "succeeded": result.succeeded,
        "verified": result.verified,
        "stopped": result.stopped,
        "interrupted": result.interrupted,
        "differences": list(result.differences),
        "notes": list(result.notes),
        **({"logins": [_login(login) for login in result.logins]} if result.logins else {}),
        "auditHead": result.audit_head or None,
        **({"enforcementDoubt": result.doubt} if result.doubt else {}),
        "counts": {str(outcome): result.count(outcome) for outcome in Outcome},
        "steps": [_step(item) for item in result.outcomes],
        "refused": [SKIPPED.write(refused) for refused in result.plan.refused],
    }


def _step(item: StepOutcome) -> dict[str, Any]:
    blocked_by = None if item.blocked_by is None else describe(item.blocked_by)
    return {
        **step_to_json(item.step),
        "outcome": str(item.outcome),
        "code": item.code,
        "message": item.message,
        "blockedBy": blocked_by,
    }


def _login(check: LoginCheck) -> dict[str, Any]:
    outcome = "not-tried" if check.works is None else "works" if check.works else "refused"
    return {
        "principal": check.principal,
        "mechanism": check.mechanism,
        "outcome": outcome,
        **({"detail": check.detail} if check.detail else {}),
    }


def _logins(result: Result, style: Style) -> Iterator[str]:
    """New passwords: those that work are counted, every other one is named."""
    for check in result.logins:
        words = f"login as {check.principal} with {check.mechanism}"
        if check.works is None:
            yield style("warn", f"  {safe(words)} could not be tried: {safe(check.detail)}")
        elif not check.works:
            yield style("error", f"  {safe(words)} is refused: {safe(check.detail)}")
    working = sum(check.works is True for check in result.logins)
    if working:
        yield f"  {counted(working, 'new password')} tried by a login, and accepted"


def _why(item: StepOutcome) -> str:
    words = ": ".join(part for part in (item.code, item.message) if part)
    return f"  {safe(words)}" if words else ""


def _counts(result: Result) -> str:
    counts = ((outcome, result.count(outcome)) for outcome in Outcome)
    return ", ".join(f"{number:,} {outcome}" for outcome, number in counts if number) or "no steps"


def _verdict(result: Result, style: Style) -> str:
    if result.succeeded:
        steps = counted(len(result.outcomes), "step")
        if refused := len(result.plan.refused):
            steps += f"; {counted(refused, 'change')} refused, and not performed"
        if result.doubt:
            return style("warn", f"Applied: {steps}, and the cluster lists what it should. {safe(result.doubt)}.")
        return style("add", f"Applied and verified: {steps}.")
    if not result.verified:
        return style("error", "The cluster could not be read at the end: nothing above is verified. Plan again.")
    return style("error", "Not everything is as planned. Plan again to see what is left; applying again is safe.")


# A command's JSON document in another form: as YAML, as a table, or as CSV.
#
# YAML is the same document. Table and CSV show the lists of a document as rows, with what their owners say about
# themselves (the cluster, the condition); what has an empty list is a row of its own. Warnings are in neither.

Row: TypeAlias = dict[str, Any]
#: Which fields of a document are lists of rows, ``{"states": {"findings": "value"}}``, and the column of items that are
#: single values.
Lists: TypeAlias = "Mapping[str, Lists | str]"
#: Of a table for people: the fields of a row below each heading, ``{"RESOURCE": "resourceType patternType name"}``.
Columns: TypeAlias = Mapping[str, str]
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


def plain_document(document: Any) -> Any:
    """The document as JSON has it: no types of ours, no tuples. Its own lists that are :class:`Made` stay so."""
    if not isinstance(document, dict):
        return json.loads(json.dumps(document))
    lists = {name: value for name, value in document.items() if isinstance(value, Made)}
    rest = {name: value for name, value in document.items() if name not in lists}
    return json.loads(json.dumps(rest, default=list)) | lists


def yaml_text(document: Any) -> str:
    """The document as YAML; characters that nobody sees are escaped, and then all that are not ASCII."""
    text: str = yaml.safe_dump(document, allow_unicode=True, sort_keys=True, width=120)
    return text if all(map(is_visible, text.split("\n"))) else yaml.safe_dump(document, sort_keys=True, width=120)


def csv_pieces(document: Any, lists: Lists) -> Iterator[str]:
    """CSV in pieces, of which one is in memory at a time: a heading and rows. No cell is a spreadsheet's formula."""
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


def table_text(document: Any, lists: Lists, wanted: Columns | None = None) -> str:
    """Rows in columns; a column that says the same in each of several rows is said once, above them."""
    columns, table_rows = _table(document, lists)
    rows = list(table_rows)
    if wanted is not None and "columns" not in document:
        place = {name: number for number, name in enumerate(columns)}
        fields = [[place[name] for name in names.split() if name in place] for names in wanted.values()]
        columns = list(wanted)
        rows = [[" ".join(filter(None, (row[number] for number in some))) for some in fields] for row in rows]
    same = [len(rows) > 1 and len({row[number] for row in rows}) == 1 for number in range(len(columns))]
    above = [(name, rows[0][number]) for number, name in enumerate(columns) if same[number]]
    kept = [number for number in range(len(columns)) if not same[number]]
    table = table_lines([columns[number] for number in kept], [[row[number] for number in kept] for row in rows])
    headings = [f"{safe(name)}: {safe(text)}" for name, text in above if text]
    return "".join(f"{line}\n" for line in (*headings, *table))


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
    has_rows = False
    for name, below in lists.items():
        for child in item.get(name) or ():
            has_rows = True
            listed = {"list": name} if len(lists) > 1 else {}
            if not isinstance(child, dict):
                yield {**above, **listed, str(below): child}
            elif not isinstance(below, str):
                own = {key: value for key, value in _flat(child).items() if not isinstance(value, list)}
                yield from _rows(child, below, {**above, **listed, **own})
            else:
                yield {**above, **listed, **_flat(child)}
    if not has_rows and above:
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


# Unfinished reassignments, and what became of those that were cancelled, as lines and for programs.

_SHOWN: Final = 5


def move_lines(moves: Iterable[TopicMove], style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """A line for each topic, and one for each of its partitions: where it is, where it goes, what cancelling gives."""
    for move in moves:
        moving = list(move.moving.items())
        if not moving:
            yield style("title", f"topic {safe(move.topic)}: nothing moves")
        else:
            words = f"{counted(len(moving), 'partition')} moving, {amount(move.bytes_left)} left to copy"
            yield style("title", f"topic {safe(move.topic)}: {words}")
        shown = moving if expand else moving[:_SHOWN]
        for number, partition in shown:
            goes, returns = _listed(partition.target), _listed(partition.reverted)
            yield f"  partition {number}: to {goes}; cancelling returns it to {returns}"
        if len(moving) > len(shown):
            yield style("dim", f"  and {len(moving) - len(shown):,} more partitions: --expand shows them")
        if move.throttle:
            yield f"  throttled on brokers {_listed(sorted(move.throttle))}"
        elif move.is_marked:
            yield "  throttled by somebody else"


def end_lines(ends: Sequence[PartitionEnd], stays: Sequence[str], style: Style = plain) -> Iterator[str]:
    """How many partitions ended how, each that was not cancelled, and what stays throttled."""
    for end in ends:
        if end.ending is not Ending.CANCELLED:
            where = "" if end.replicas is None else f", on {_listed(end.replicas)}"
            words = ": ".join(filter(None, (end.code, end.message)))
            kind = "dim" if end.ending is Ending.OVER else "error"
            subject = f"topic {safe(end.topic)} partition {end.partition}"
            yield style(kind, f"  {subject}: {end.ending}{where}: {safe(words)}")
    yield from (style("error", f"  {safe(text)}") for text in stays)
    counts = Counter(end.ending for end in ends)
    if ends:
        yield ", ".join(f"{counts[ending]:,} {ending}" for ending in Ending if counts[ending])
    elif not stays:
        yield "No longer throttled."


def moves_document(moves: Collection[TopicMove], outside: Collection[str]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "topic": move.topic,
            "inScope": move.topic not in outside,
            "bytesLeft": move.bytes_left,
            "throttledBrokers": sorted(move.throttle),
            "throttledByOthers": move.is_marked and not move.throttle,
            "partitions": [
                {
                    "partition": number,
                    "replicas": list(partition.replicas),
                    "adding": list(partition.adding),
                    "removing": list(partition.removing),
                    "cancelled": list(partition.reverted),
                    "bytesLeft": partition.bytes_left,
                }
                for number, partition in move.moving.items()
            ],
        }
        for move in moves
    ]


def ends_document(ends: Iterable[PartitionEnd]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "topic": end.topic,
            "partition": end.partition,
            "ending": str(end.ending),
            "replicas": None if end.replicas is None else list(end.replicas),
            "code": end.code,
            "message": end.message,
        }
        for end in ends
    ]


def _listed(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers)) or "no broker"


def amount(size: int) -> str:
    """``1.2 GiB``."""
    for unit, divisor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= divisor:
            return f"{size / divisor:.1f} {unit}"
    return counted(size, "byte")
