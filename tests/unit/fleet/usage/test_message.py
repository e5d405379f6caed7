"""Messages as brokers of several versions wrote them, and lines that only look like one."""

import pytest

from reconciler.access.authorizer import AccessRequest
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.parts.evidence.usage.message import Event, LoggedReason, ParsedLine, UnreadableReason
from tests.property.usage_formats import parse_line, read_message

DN = "User:CN=a b,OU=(x), y"
WRITE = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "orders.", PatternType.PREFIXED),
    AccessControlEntry(DN, "*", AclOperation.WRITE, AclPermissionType.ALLOW),
)
HEAD = f"Principal = {DN} is Allowed operation = DESCRIBE from host = 127.0.0.1 on resource = Topic:LITERAL:orders.one"
BODY = f"resourceType=TOPIC, resourceName=orders., patternType=PREFIXED, principal={DN}, host=*, operation=WRITE"
REASON = f"MatchingAcl(acl=StandardAcl({BODY}, permissionType=ALLOW))"
V3 = f"{HEAD} for request = Metadata with resourceRefCount = 1 based on rule {REASON}"
V43 = V3.replace("StandardAcl(", "StandardAcl[").replace("ALLOW))", "ALLOW])")
REQUEST = AccessRequest(DN, "127.0.0.1", AclOperation.DESCRIBE, ResourceType.TOPIC, "orders.one")
OLD = "Principal = User:a is Denied Operation = DescribeConfigs from host = 10.0.0.1 on resource = "


@pytest.mark.parametrize("text", [V3, V43])
def test_the_deciding_binding_is_read_in_both_spellings(text: str) -> None:
    event = Event(REQUEST, True, LoggedReason.ACL, WRITE, "Metadata")
    assert read_message(text) == event
    line = f"[2026-11-21 07:32:56,033] DEBUG {text} (kafka.authorizer.logger)\r\n".encode()
    assert parse_line(line) == ParsedLine("2026-11-21", event)


@pytest.mark.parametrize(
    "suffix", [" for request = DescribeConfigs with resourceRefCount = 3", " (kafka.authorizer.logger)"]
)
@pytest.mark.parametrize("resource", ["Topic:LITERAL:t", "TransactionalId:LITERAL:t", "Cluster:LITERAL:kafka-cluster"])
def test_older_authorizers_give_no_reason(resource: str, suffix: str) -> None:
    found = read_message(OLD + resource + suffix)
    assert isinstance(found, Event)
    kind, _, name = resource.split(":")
    assert (found.request.resource_name, found.allowed, found.ground) == (name, False, LoggedReason.UNSAID)
    assert found.request.resource_type.name.replace("_", "").lower() == kind.lower()


def test_names_without_a_pattern_type_are_from_before_2_0() -> None:
    found = read_message(f"{OLD}Group:a:b (kafka.authorizer.logger)")
    assert isinstance(found, Event)
    assert found.request.resource_name == "a:b"
    assert read_message(f"{OLD}Group:a:b") is UnreadableReason.CUT


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("DESCRIBE from", "FROBNICATE from"), UnreadableReason.UNKNOWN_WORD),
        (("= Topic:", "= Frob:"), UnreadableReason.UNKNOWN_WORD),
        (("is Allowed", "is Denied"), UnreadableReason.CUT),
        (("Principal = User:CN", "Principal = CN"), UnreadableReason.CUT),
        (("permissionType=ALLOW))", "permissionType=ALL"), UnreadableReason.CUT),
        (("MatchingAcl", "SomethingElse"), UnreadableReason.CUT),
    ],
)
def test_what_does_not_fit_together_is_not_believed(change: tuple[str, str], reason: UnreadableReason) -> None:
    assert read_message(V3.replace(*change)) is reason


def test_a_binding_that_cannot_have_decided_is_left_open() -> None:
    found = read_message(V3.replace("resourceName=orders.,", "resourceName=payments.,"))
    assert found == Event(REQUEST, True, LoggedReason.ACL, None, "Metadata")


@pytest.mark.parametrize(
    "line",
    [
        b"[2026-11-21 07:32:52,000] INFO [StandardAuthorizer 1] Initialized with 3 acl(s). (x)",
        b"[2026-11-21 07:32:52,000] DEBUG principal = User:a is a super user, allowing operation without acls.",
        b"[2026-11-21 07:32:52,000] DEBUG operation = READ on resource = ResourcePattern(resourceType=TOPIC, name=t, "
        b"patternType=LITERAL) from host = 10.0.0.1 is ALLOW based on acl = (principal=User:a, host=*, operation=READ, "
        b"permissionType=ALLOW)",
        b'{"type": "io.confluent.kafka.server/authentication", "data": {}}',
        b'{"level": "INFO", "message": "Started"}',
        b"\tat org.apache.kafka.common.utils.Utils.x(Utils.java:1)",
    ],
)
def test_other_lines_are_no_decisions(line: bytes) -> None:
    assert parse_line(line) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (V3.replace("orders.one", "orders.\udcff").encode("utf-8", "surrogateescape"), UnreadableReason.NOT_TEXT),
        (V3.replace("orders.one", "orders.\0").encode(), UnreadableReason.NOT_TEXT),
        (V3.replace("orders.one", "orders.\ufffd").encode(), UnreadableReason.NOT_TEXT),
        (b'{"message": "Principal = \\ud800 is Allowed"}', UnreadableReason.NOT_TEXT),
        (b" with resourceRefCount = 1 based on rule DefaultDeny", UnreadableReason.CUT),
        (b'{"data": {"authorizationInfo": {"granted": tr', UnreadableReason.CUT),
    ],
)
def test_damage_is_named(line: bytes, reason: UnreadableReason) -> None:
    assert parse_line(line) is reason


def test_what_a_crash_leaves_before_a_line_is_no_part_of_it() -> None:
    found = parse_line(b"\0" * 4096 + f"[2026-11-21 07:32:56,033] DEBUG {V43}".encode())
    assert isinstance(found, ParsedLine)


@pytest.mark.parametrize("level", ["TRACE", "trace", "[TRACE]", "[trace-level]", "DEBUG"])
def test_rights_that_were_only_looked_up_are_marked(level: str) -> None:
    found = parse_line(f"[2026-11-21 07:32:56,033] {level} {V43}".encode())
    assert isinstance(found, ParsedLine)
    assert found.event.asked_only is (level in ("TRACE", "trace", "[TRACE]"))


def test_the_made_up_name_of_a_producers_start_is_known_by_its_count() -> None:
    text = V43.replace("orders.one", "hardcode").replace("orders.", "h")
    assert isinstance(found := read_message(text), Event)
    assert not found.on_some
    assert isinstance(found := read_message(text.replace("Count = 1 ", "Count = 0 ")), Event)
    assert found.on_some
