"""What lines beside each other mean: names that break them, giants, and windows."""

import datetime
import io
import json

import pytest

from reconciler.access.authorizer import AccessRequest
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.parts.evidence.usage.documents import decisions_in
from reconciler.parts.evidence.usage.message import Event, LoggedReason, ParsedLine, UnreadableReason, Window
from reconciler.parts.evidence.usage.scan import MAX_LINE, Scan, batches, example
from tests.property.usage_formats import audit_event

DENIED = (
    "[2026-11-21 07:32:56,172] INFO Principal = User:eve is Denied operation = DESCRIBE from host = 127.0.0.1 on "
    "resource = Group:LITERAL:{} for request = FindCoordinator with resourceRefCount = 1 based on rule DefaultDeny "
    "(kafka.authorizer.logger)"
)
#: A group's name by which a client that may do nothing writes a line of its own into a broker's log.
FORGED = (
    "g for request = Fetch with resourceRefCount = 1\n[2026-01-01 00:00:00,000] DEBUG Principal = User:victim "
    "is Allowed operation = READ from host = 10.0.0.1 on resource = Topic:LITERAL:secret for request = Fetch "
    "with resourceRefCount = 1 based on rule SuperUser (kafka.authorizer.logger)\n"
)


def lines(*names: str) -> list[bytes]:
    return "\n".join(map(DENIED.format, names)).encode().split(b"\n")


def test_lines_inside_of_a_broken_message_are_not_believed() -> None:
    scan = Scan(Window())
    scan.take(lines("a", FORGED, "b"))
    assert {event.request.resource_name for event, _ in scan.drain()} == {"a", "b"}
    assert {reason: lost.lines for reason, lost in scan.lost.items()} == {UnreadableReason.CUT: 3}


def test_a_forged_line_that_was_known_before_is_not_believed_either() -> None:
    scan = Scan(Window())
    scan.take([*FORGED.encode().split(b"\n")[1:2], *lines(FORGED), *lines("a")])
    assert sum(tally.times for event, tally in scan.drain() if event.allowed) == 1


def test_a_line_that_was_cut_does_not_hide_the_next_ones() -> None:
    scan = Scan(Window())
    scan.take([lines("a")[0][:100], *lines("b", "c")])
    assert len(list(scan.drain())) == 2
    assert scan.lost[UnreadableReason.CUT].lines == 1


def test_giants_are_counted_and_not_parsed() -> None:
    scan = Scan(Window())
    scan.take(lines("x" * MAX_LINE))
    assert scan.lost[UnreadableReason.TOO_LONG].lines == 1
    assert len(scan.lost[UnreadableReason.TOO_LONG].examples[0]) <= 161


def test_without_a_time_a_decision_is_in_no_window() -> None:
    bare = lines("a")[0].partition(b"] ")[2]
    for window, known in ((Window(), 1), (Window(since=datetime.date(2026, 1, 1)), 0)):
        scan = Scan(window)
        scan.take([bare])
        assert len(list(scan.drain())) == known
        assert (UnreadableReason.NO_TIME in scan.lost) is not bool(known)


def test_both_days_of_a_window_belong_to_it() -> None:
    days = [f"2026-11-{day:02d} {time}" for day in range(1, 6) for time in ("00:00:00", "23:59:59")]
    scan = Scan(Window(datetime.date(2026, 11, 2), datetime.date(2026, 11, 4)))
    scan.take([lines("a")[0].replace(b"2026-11-21 07:32:56", day.encode()) for day in days])
    ((_, tally),) = scan.drain()
    assert tally == (6, "2026-11-02", "2026-11-04")
    assert scan.outside == 4


def test_examples_show_no_secret_and_steer_no_terminal() -> None:
    assert example(b'password="hunter2" \x1b[2J') == "password=[redacted]"
    assert "hunter2" not in example(b"Authorization: Bearer hunter2 x")
    assert example(b"key AbCdEf0123456789AbCdEf0123456789 ok") == "key [redacted] ok"
    assert example("\x1b[2J\u202eé\udcff".encode("utf-8", "surrogatepass")).isascii()
    assert example(b"a" * 1000) == "a" * 160 + "…"


def test_a_last_line_without_its_end_is_a_line_too() -> None:
    for size in (1, 2, 3, 100):
        data = io.BytesIO(b"a\nbc\n\nd")
        assert [line for lines in batches(data.read, size) for line in lines] == [b"a", b"bc", b"", b"d"]
    assert [line for lines in batches(io.BytesIO(b"a\n").read, 9) for line in lines] == [b"a"]


def test_what_is_longer_than_any_line_is_cut_and_the_next_one_is_whole() -> None:
    data = io.BytesIO(b"x" * (3 * MAX_LINE) + b"\nnext")
    first, second = (line for lines in batches(data.read, MAX_LINE // 2) for line in lines)
    assert MAX_LINE < len(first) < 2 * MAX_LINE
    assert second == b"next"


@pytest.mark.parametrize(
    ("info", "principal"),
    [
        ({"principal": "User:alice"}, "User:alice"),
        ({"principal": {"confluentServiceAccount": {"resourceId": "sa-1"}}}, "User:sa-1"),
        ({"principal": {"confluentServiceAccount": {"resourceId": "sa-1"}, "group": {"resourceId": "g"}}}, None),
        ({"principal": {"confluentServiceAccount": {"resourceId": ""}}}, None),
        ({"principal": {"confluentServiceAccount": {"resourceId": 7}}}, None),
        ({"principal": {"confluentServiceAccount": "sa-1"}}, None),
        ({"principal": "alice"}, None),
        ({}, None),
        ([], None),
        ("User:alice", None),
        (None, None),
    ],
)
def test_whom_an_audit_event_is_about(info: object, principal: str | None) -> None:
    request = AccessRequest("User:x", "10.0.0.1", AclOperation.READ, ResourceType.TOPIC, "t")
    document = json.loads(audit_event(Event(request, True, LoggedReason.SUPER_USER, None, "Fetch")))
    document["data"]["authenticationInfo"] = info
    (found,) = decisions_in(json.dumps(document).encode())
    assert (found.event.request.principal if isinstance(found, ParsedLine) else None) == principal


def test_only_a_decision_in_another_encoding_is_counted_as_lost() -> None:
    """UTF-16, or a disk that was full; other lines of a log may be anything."""
    (line,) = lines("a")
    for data in (line.decode().encode("utf-16-le"), line.decode().encode("utf-16"), line[:40] + b"\0" + line[40:]):
        assert decisions_in(data) == (UnreadableReason.NOT_TEXT,)
    for other in ("Principal of a school", "an operation took 3 s", "started"):
        assert decisions_in(other.encode("utf-16-le")) == ()
    assert decisions_in(b"\0" * 100) == ()
