"""What is printed is read back, whatever the names; half of it never lies; no bytes make it fail; counts add up."""

import datetime
import json
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.parts.evidence.usage.counts import EventCount
from reconciler.parts.evidence.usage.documents import decisions_in
from reconciler.parts.evidence.usage.message import Event, LoggedReason, ParsedLine, UnreadableReason, Window
from reconciler.parts.evidence.usage.scan import Scan, example
from tests.property.usage_formats import (
    LAYOUTS,
    acl_authorizer,
    audit_event,
    before_2_4,
    events,
    hostile_events,
    parse_line,
    read_message,
    standard,
    standard_record,
    times,
)

Printer = Callable[[Event], str]
WITH_REASON = [standard, standard_record]
layouts = st.sampled_from(sorted(LAYOUTS))


def unreasoned(event: Event) -> Event:
    return event._replace(ground=LoggedReason.UNSAID, acl=None)


@given(events, times, layouts, st.sampled_from(WITH_REASON))
def test_a_decision_of_the_standard_authorizer_is_read_back(
    event: Event, time: str, layout: str, printer: Printer
) -> None:
    assert parse_line(LAYOUTS[layout](printer(event), time).encode()) == ParsedLine(time[:10], event)


@given(events, times, layouts)
def test_a_decision_of_the_acl_authorizer_is_read_back(event: Event, time: str, layout: str) -> None:
    line = LAYOUTS[layout](acl_authorizer(event), time)
    assert parse_line(line.encode()) == ParsedLine(time[:10], unreasoned(event))


@given(events, times)
def test_a_decision_from_before_2_4_is_read_back_where_its_end_is_marked(event: Event, time: str) -> None:
    line = LAYOUTS["kafka"](before_2_4(event), time).encode()
    assert parse_line(line) == ParsedLine(time[:10], unreasoned(event)._replace(api=""))
    assert parse_line(line.removesuffix(b" (kafka.authorizer.logger)")) is UnreadableReason.CUT


@given(events, st.sampled_from(["lkc-1", "8caBa-0_Tu-2k3rKSxY64Q"]))
def test_an_audit_event_is_read_back(event: Event, cluster_id: str) -> None:
    ground: LoggedReason = event.ground if event.ground is LoggedReason.SUPER_USER else LoggedReason.UNSAID
    if not event.allowed:
        ground = LoggedReason.DEFAULT_DENY
    event = event._replace(cluster_id=cluster_id, acl=None, ground=ground)
    assert parse_line(audit_event(event).encode()) == ParsedLine("2026-11-02", event)


@given(hostile_events, st.sampled_from([*WITH_REASON, acl_authorizer]))
def test_names_like_separators_are_read_right_or_not_at_all(event: Event, printer: Printer) -> None:
    found = read_message(printer(event))
    if isinstance(found, Event):
        assert (found.request, found.allowed, found.api) == (event.request, event.allowed, event.api)
        assert found.acl in (None, event.acl)
    else:
        assert found in (UnreadableReason.AMBIGUOUS, UnreadableReason.CUT)


@given(events, st.sampled_from([*WITH_REASON, acl_authorizer, before_2_4]), st.data())
def test_half_a_line_never_tells_of_another_access(event: Event, printer: Printer, data: st.DataObject) -> None:
    line = LAYOUTS["kafka"](printer(event), "2026-11-02 03:04:05").encode()
    first, last = sorted(data.draw(st.integers(0, len(line))) for _ in range(2))
    for part in (line[:last], line[first:], line[first:last]):
        found = parse_line(part)
        if isinstance(found, ParsedLine):
            assert found.event.request == event.request
            assert found.event.allowed is event.allowed


@given(st.binary(max_size=400))
def test_no_bytes_make_reading_fail(line: bytes) -> None:
    assert parse_line(line) is None
    assert example(line).isascii() or example(line).endswith("…")


@given(events, times, layouts, st.sampled_from([*WITH_REASON, acl_authorizer]), st.data())
def test_damage_makes_no_reading_fail(
    event: Event, time: str, layout: str, printer: Printer, data: st.DataObject
) -> None:
    line = bytearray(LAYOUTS[layout](printer(event), time).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    found = parse_line(bytes(line))
    assert found is None or isinstance(found, ParsedLine | UnreadableReason)
    shown = example(bytes(line))
    assert shown.isprintable()
    assert len(shown) <= 161


@pytest.mark.parametrize("document", [b"[" * 100_000, b'{"Principal":' * 100_000, b'{"Principal": 1' + b"0" * 9_999])
def test_deep_and_large_json_is_no_decision(document: bytes) -> None:
    assert parse_line(document) in (None, UnreadableReason.CUT)


lines = st.one_of(
    st.tuples(layouts, st.sampled_from([*WITH_REASON, acl_authorizer]), events, times).map(
        lambda made: LAYOUTS[made[0]](made[1](made[2]), made[3]).encode()
    ),
    st.sampled_from([b"", b"[2026-11-01 00:00:00,000] INFO Initialized with 3 acl(s).", b"\tat a.b.C(D.java:1)", b"{"]),
    st.binary(max_size=30).filter(lambda data: b"\n" not in data),
)


@given(st.lists(lines, max_size=12), st.integers(1, 3), st.booleans())
def test_a_scan_counts_every_line_once_and_as_it_reads_alone(found: list[bytes], times: int, limited: bool) -> None:
    window = Window(datetime.date(2026, 11, 8), datetime.date(2026, 11, 20)) if limited else Window()
    scan = Scan(window)
    for _ in range(times):
        scan.take(found)
    naive: Counter[object] = Counter()
    for line in found * times:
        read = parse_line(line)
        if isinstance(read, ParsedLine) and not window.contains(read.time):
            naive["outside" if read.time else UnreadableReason.NO_TIME] += 1
        else:
            naive[read.event if isinstance(read, ParsedLine) else read] += 1
    counted: Counter[object] = Counter({event: tally.times for event, tally in scan.drain()})
    counted.update({reason: lost.lines for reason, lost in scan.lost.items()})
    counted.update({None: scan.other, "outside": scan.outside})
    assert +counted == +naive
    assert scan.lines == sum(counted.values())


stamps = st.one_of(times, st.sampled_from(["2026-13-01 00:00:00", "2026-11-31 00:00:00", "202\u0666-11-01 00:00:00"]))


@given(st.lists(events, min_size=1, max_size=3), st.lists(stamps, min_size=1, max_size=8), st.booleans())
def test_what_is_known_is_counted_at_once_as_line_by_line(found: list[Event], seen: list[str], limited: bool) -> None:
    window = Window(datetime.date(2026, 11, 8), datetime.date(2026, 11, 20)) if limited else Window()
    lines = [LAYOUTS["kafka"](standard(event), time).encode() for time in seen for event in found]
    scan, naive = Scan(window), Counter[Event]()
    for _ in range(3):
        scan.take(lines)
        reads = [read for line in lines if isinstance(read := parse_line(line), ParsedLine)]
        naive.update(read.event for read in reads if window.contains(read.time))
    counted = {event: tally.times for event, tally in scan.drain()}
    assert counted == dict(naive)
    lost = sum(item.lines for item in scan.lost.values())
    assert scan.lines == 3 * len(lines) == sum(counted.values()) + scan.outside + lost


@given(events, st.lists(times, min_size=1, max_size=8), layouts)
def test_a_scan_knows_the_first_and_the_last_day_and_all_others(event: Event, seen: list[str], layout: str) -> None:
    scan = Scan(Window())
    scan.take([LAYOUTS[layout](standard(event), time).encode() for time in seen])
    assert list(scan.drain()) == [(event, EventCount(len(seen), min(seen)[:10], max(seen)[:10]))]
    assert scan.days == {"": {(time[:10], event.allowed) for time in seen}}


_pieces = st.sampled_from(
    [
        "[T] ",
        "T ",
        "[T] INFO ",
        "DEBUG ",
        "[INFO] ",
        "[data-plane-kafka-request-handler-3] ",
        "(main) ",
        "12345 --- ",
        "{} ",
    ]
)
_loggers = st.sampled_from(["kafka.authorizer.logger - ", "[kafka.authorizer.logger] ", "logger: ", ""])
_heads = st.sampled_from(
    ["", "kafka-1  | ", "T stdout F ", "<134>1 T broker-1 kafka 7 - - ", "[pod/kafka-0/kafka] [T] "]
)
_tails = st.sampled_from(
    ["", " (kafka.authorizer.logger)", " (kafka.authorizer.logger) [request-handler-1]", " [T]", " {}"]
)


@given(events, times, st.tuples(_heads, st.lists(_pieces, max_size=4), _loggers, _tails), st.booleans())
def test_a_decision_is_read_back_from_any_layout(
    event: Event, time: str, layout: tuple[str, list[str], str, str], wrapped: bool
) -> None:
    head, pieces, logger, tail = layout
    before, after = ("".join((head, *pieces, logger)).replace("T ", f"{time},123 "), tail.replace("[T]", f"[{time}]"))
    before = before.replace("[T]", f"[{time},123]")
    text = f"{before}{standard(event)}{after}"
    line = json.dumps({"anything": {"at": ["all", text]}}) if wrapped else text
    found = parse_line(line.encode())
    assert isinstance(found, ParsedLine), found
    assert found.event == event
    assert found.time == (time[:10] if time in text.replace(standard(event), "") else "")


_words = st.sampled_from(
    [
        "[GroupCoordinator id=1 topic=__consumer_offsets partition=3] Preparing to rebalance group ",
        "[GroupCoordinator 1]: Group ",
        "Member ",
        "[KafkaApi-1] Error when handling request with client id ",
        'Completed request:{"clientId": "',
        "Created log for partition ",
    ]
)
_forging = st.lists(
    st.sampled_from(
        [
            "x ",
            "DEBUG ",
            "[2026-01-01 00:00:00,000] DEBUG ",
            "2026-01-01 00:00:00,000 ",
            "\t",
            "| ",
            " - ",
            "] ",
            '", "',
            '{"message": "',
            "kafka.authorizer.logger - ",
            "(kafka.authorizer.logger) ",
            "broker-1 kafka[7]: ",
        ]
    ),
    max_size=5,
).map("".join)
_rest = st.sampled_from(
    [
        "",
        " in state PreparingRebalance",
        ' ("',
        "x",
        " (kafka.authorizer.logger)",
        " (kafka.authorizer.logger) [main]",
        '"}',
    ]
)
_other_loggers = st.sampled_from(
    ["", " (org.apache.kafka.coordinator.group.GroupMetadataManager)", " (kafka.server.KafkaApis)"]
)


@given(
    hostile_events,
    times,
    st.tuples(_words, _forging, _rest, _other_loggers),
    st.sampled_from(sorted(set(LAYOUTS) - {"iso"})),
)
def test_no_name_in_another_message_makes_a_decision(
    event: Event, time: str, parts: tuple[str, str, str, str], layout: str
) -> None:
    words, forging, rest, logger = parts
    printed = LAYOUTS[layout](f"{words}{forging}{standard(event)}{rest}{logger}", time)
    # This layout says whose message it is at its end.
    line = printed.replace(" (kafka.authorizer.logger)", "") if layout in ("kafka", "compose") else printed
    found = decisions_in(line.encode())
    assert not any(isinstance(one, ParsedLine) for one in found)
    if not logger:
        assert found
