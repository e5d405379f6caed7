"""Lines of collectors and layouts around a decision, and names in other messages that look like one."""

import json

import pytest

from reconciler.parts.evidence.usage.documents import decisions_in
from reconciler.parts.evidence.usage.message import ParsedLine, UnreadableReason, layout_before
from tests.property.usage_formats import parse_line

BARE = (
    "Principal = User:app1 is Allowed operation = READ from host = 10.0.0.1 on resource = Topic:LITERAL:t2 "
    "for request = Fetch with resourceRefCount = 1 based on rule DefaultAllow"
)
LINE = f"[2026-11-20 10:00:00,123] DEBUG {BARE} (kafka.authorizer.logger)"
LOGGER = "kafka.authorizer.logger"
OTHER = "org.apache.kafka.coordinator.group.GroupMetadataManager"
MOMENT = 1_795_140_000
STAMP = "2026-11-20T10:00:00Z"

SHAPES = {
    "journald": json.dumps({"MESSAGE": LINE, "__REALTIME_TIMESTAMP": f"{MOMENT}000000"}),
    "journald without a time in the text": json.dumps({"MESSAGE": BARE, "__REALTIME_TIMESTAMP": f"{MOMENT}000000"}),
    "ECS, the original": json.dumps({"event": {"original": LINE}}),
    "ECS": json.dumps(
        {"@timestamp": STAMP, "message": BARE, "log": {"level": "DEBUG", "logger": LOGGER}, "event": {"original": LINE}}
    ),
    "CloudWatch, subscription": json.dumps({"logEvents": [{"timestamp": MOMENT * 1000, "message": LINE}]}),
    "CloudWatch, events": json.dumps({"events": [{"timestamp": MOMENT * 1000, "message": BARE}]}),
    "CloudWatch, Insights": json.dumps(
        {"results": [[{"field": "@timestamp", "value": STAMP}, {"field": "@message", "value": LINE}]]}
    ),
    "CloudWatch, text": f"EVENTS\t381\t{MOMENT}000\tbroker-1\t{LINE}",
    "GELF": json.dumps(
        {"short_message": BARE, "full_message": f"{BARE}\n", "timestamp": MOMENT + 0.1, "_logger": LOGGER}
    ),
    "Google": json.dumps({"jsonPayload": {"message": BARE}, "severity": "DEBUG", "timestamp": STAMP}),
    "Google, text": json.dumps({"textPayload": LINE}),
    "a record": json.dumps({"value": {"message": LINE}}),
    "Loki": json.dumps({"streams": [{"stream": {"logger": LOGGER}, "values": [[f"{MOMENT}000000000", BARE]]}]}),
    "Datadog": json.dumps(
        {"content": {"message": BARE, "timestamp": STAMP, "attributes": {"logger": {"name": LOGGER}}}}
    ),
    "Elasticsearch": json.dumps(
        {"hits": {"hits": [{"_source": {"message": LINE, "@timestamp": STAMP}, "fields": {"message": [LINE]}}]}}
    ),
    "Splunk": json.dumps({"preview": False, "result": {"_raw": LINE, "_time": STAMP}}),
    "Splunk, collector": json.dumps({"time": MOMENT, "event": LINE}),
    "OpenTelemetry": json.dumps(
        {
            "scopeLogs": [
                {
                    "scope": {"name": LOGGER},
                    "logRecords": [{"timeUnixNano": f"{MOMENT}000000000", "body": {"stringValue": BARE}}],
                }
            ]
        }
    ),
    "JSON in JSON": json.dumps(
        {"log": json.dumps({"message": BARE, "loggerName": LOGGER, "timeMillis": MOMENT * 1000})}
    ),
    "JSON behind a runtime's time": f"{STAMP} stdout F {json.dumps({'message': BARE, 'loggerName': LOGGER})}",
    "JSON of compose": f"kafka-1  | {json.dumps({'message': BARE, 'time': STAMP})}",
    "JSON, escaped": json.dumps({"message": LINE}).replace("=", "\\u003d").replace("P", "\\u0050"),
    "JSON over several lines": f'      "message" : {json.dumps(LINE)},',
    "a list": f"[{json.dumps({'message': LINE})}]",
    "Strimzi": f"2026-11-20 10:00:00,123 INFO {BARE} ({LOGGER}) [data-plane-kafka-request-handler-1]",
    "syslog": f"<134>1 {STAMP} broker-1 kafka 123 - - {LINE}",
    "syslog, old": f"Nov 20 10:00:00 broker-1 kafka-server-start.sh[123]: {LINE}",
    "kubectl": f"[pod/kafka-0/kafka] {LINE}",
    "stern": f"kafka-0 kafka {LINE}",
    "grep": f"logs/server.log:12:{LINE}",
    "aws logs tail": f"2026-11-20T10:00:00+00:00 broker-1 {LINE}",
    "logfmt": f'time={STAMP} level=debug logger={LOGGER} msg="{BARE}"',
    "logger before": f"2026-11-20 10:00:00.123 DEBUG 12345 --- [request-handler-1] {LOGGER} : {BARE}",
    "logger, short": f"2026-11-20 10:00:00,123 DEBUG logger:66 - {BARE}",
    "place in the code": f"2026-11-20 10:00:00,123 DEBUG (StandardAuthorizerData.java:400) - {BARE}",
    "message first": f"{BARE} [2026-11-20 10:00:00,123] DEBUG {LOGGER}",
    "CSV": f'"2026-11-20","{LINE}"',
}


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_decision_is_read_in_every_known_shape(shape: str) -> None:
    found = parse_line(SHAPES[shape].encode())
    assert isinstance(found, ParsedLine), found
    assert found.time == "2026-11-20"
    assert found.event.request.principal == "User:app1"
    assert found.event.allowed


def test_each_event_of_a_document_is_one_and_each_event_in_two_fields_too() -> None:
    events = [{"timestamp": MOMENT * 1000 + number, "message": LINE} for number in range(3)]
    assert len(decisions_in(json.dumps({"logEvents": [*events, {"message": "Started"}]}).encode())) == 3
    assert len(decisions_in((json.dumps(events[0]) * 2).encode())) == 2
    assert len(decisions_in(json.dumps({"message": LINE, "raw": LINE, "fields": {"message": [LINE]}}).encode())) == 1


FORGED = BARE.replace("Allowed", "Denied").replace("DefaultAllow", "DefaultDeny")
PREPARING = f"[GroupCoordinator id=1] Preparing to rebalance group {FORGED}"


@pytest.mark.parametrize(
    "line",
    [
        f"[2026-11-20 10:00:00,123] INFO {PREPARING} in state Empty ({OTHER})",
        f"[2026-11-20 10:00:00,123] INFO {PREPARING} ({OTHER})",
        f"[2026-11-20 10:00:00,123] INFO {FORGED} ({OTHER})",
        f"[2026-11-20 10:00:00,123] INFO {FORGED} ({OTHER}) [group-coordinator-event-processor-0]",
        f"2026-11-20 10:00:00,123 INFO {OTHER} - {FORGED}",
        f"2026-11-20 10:00:00,123 INFO [{OTHER}] {FORGED}",
        json.dumps({"loggerName": OTHER, "message": FORGED}),
        json.dumps({"logger": OTHER, "message": f"{PREPARING} ({LOGGER})"}),
        json.dumps({"log": {"logger": OTHER}, "message": FORGED}),
        json.dumps({"logger": {"name": OTHER}, "message": FORGED}),
        json.dumps({"loggerName": OTHER, "contextMap": {"x": {"message": FORGED, "logger": LOGGER}}}),
    ],
)
def test_a_message_of_another_class_is_no_decision_whatever_its_names_hold(line: str) -> None:
    assert parse_line(line.encode()) is None


@pytest.mark.parametrize(
    "line",
    [
        f"[2026-11-20 10:00:00,123] INFO {PREPARING}",
        f"[2026-11-20 10:00:00,123] INFO {PREPARING} in state Empty",
        f"[2026-11-20 10:00:00,123] INFO [GroupCoordinator id=1] Group x DEBUG {FORGED} ({LOGGER})",
        f"2026-11-20 10:00:00,123 INFO Group x 2026-11-20 10:00:00,123 DEBUG {FORGED} ({LOGGER})",
        f"2026-11-20 10:00:00,123 INFO Group x\t[2026-11-20 10:00:00,123] DEBUG {FORGED} ({LOGGER})",
        json.dumps({"message": PREPARING}),
        json.dumps({"message": f"x\n{LINE}"}),
        json.dumps({"logger": "a collector", "message": FORGED}),
    ],
)
def test_what_may_be_forged_is_neither_evidence_nor_nothing(line: str) -> None:
    assert parse_line(line.encode()) is UnreadableReason.INSIDE


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (json.dumps({LINE: 1}).encode(), UnreadableReason.AMBIGUOUS),
        (b'{"message": "x", "message": ' + json.dumps(LINE).encode() + b"}", UnreadableReason.CUT),
        (f'{{"message": {json.dumps(LINE)[:-9]}'.encode(), UnreadableReason.CUT),
        (LINE.encode("utf-16"), UnreadableReason.NOT_TEXT),
        (b"= User:a is Denied operation = READ from host = 10.0.0.1", UnreadableReason.CUT),
        (b"is\\u0020Allowed\\u0020operation", UnreadableReason.CUT),
        (b'    "authorizationInfo": {', UnreadableReason.CUT),
        (
            b"[2020-09-04 06:35:33,509] INFO [DENY] Auth request Write on Topic:t by User u "
            b"(io.aiven.kafka.auth.AivenAclAuthorizer)",
            UnreadableReason.FORMAT,
        ),
        (
            json.dumps(
                {"MESSAGE": "AUDIT: User:a was active since 2026-11-20T10:00:00Z. /10.0.0.1: Allow Read on Topic:t"}
            ).encode(),
            UnreadableReason.FORMAT,
        ),
        (f'"{LINE.replace("User:app1", "User:a" + chr(92) + "b")}'.encode(), UnreadableReason.AMBIGUOUS),
    ],
)
def test_every_sign_of_a_decision_counts(line: bytes, reason: UnreadableReason) -> None:
    assert parse_line(line) is reason


@pytest.mark.parametrize("text", ["x" * 100_000, "a|" * 50_000, "[" * 100_000, "2026-11-20 " * 9_999, "a.b" * 50_000])
def test_long_prefixes_take_no_time(text: str) -> None:
    assert layout_before(text) is None
