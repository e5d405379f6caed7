"""Names that try to steer a terminal, hide, turn text around, pass for markup or for a line of our own."""

import re
from pathlib import Path
from typing import Final

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import snapshot_text

FAKE_LINE: Final = "ok: nothing to do"
HOSTILE: Final = (
    "\x1b[2J\x1b[31m",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202egnp.exe",
    "\u2066x\u2069",
    "\u200b",
    "\ufeff",
    "\u3164",
    "\U000e0041",
    "a\u2028b",
    f"a\n{FAKE_LINE}",
    f"a\r{FAKE_LINE}",
    "t\tb",
    "\x00",
    "[red]x[/red]",
    "[link=file:///etc/passwd]x[/link]",
    "<script>alert(1)</script>",
)
#: What may be on a terminal or in a file: what can be seen, and the end of a line.
_STEERS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


def hostile_state() -> ClusterState:
    """Every name on patterns of every kind, on principals, hosts, topics, settings, reserved names, and the cluster."""
    topics = {"orders": Topic("orders", 1, 1, {"retention.ms": "1"})}
    topics |= {f"t{text}": Topic(f"t{text}", 1, 1, {f"c{text}": f"v{text}"}) for text in HOSTILE}
    return ClusterState(
        f"id{HOSTILE[0]}", frozenset(binding for text in HOSTILE for binding in _bindings(text)), topics
    )


def _bindings(text: str) -> list[AclBinding]:
    read, allow, deny = AclOperation.READ, AclPermissionType.ALLOW, AclPermissionType.DENY
    mine = AccessControlEntry(f"User:u{text}", "*", read, allow)
    kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    found = [
        AclBinding(ResourcePattern(kind, f"p{text}", pattern_type), mine)
        for kind in kinds
        for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
    ]
    orders, probe_acl = (
        ResourcePattern(ResourceType.TOPIC, "orders"),
        ResourcePattern(ResourceType.TOPIC, f"__kr.{text}.1"),
    )
    found.append(AclBinding(orders, AccessControlEntry(f"User:u{text}", f"h{text}", read, deny)))
    found.append(AclBinding(orders, AccessControlEntry("User:svc", "*", read, allow)))
    found.append(AclBinding(probe_acl, mine))
    return found


def write_snapshot(path: Path) -> None:
    """The state as a snapshot file."""
    path.write_text(snapshot_text(hostile_state()), encoding="utf-8")


def assert_harmless(text: str, where: str) -> None:
    """Nothing steers, hides or turns around, and no name made a line of its own."""
    found = _STEERS.search(text)
    near = "" if found is None else repr(text[max(0, found.start() - 60) : found.end() + 20])
    assert found is None, f"{where}: {near}"
    assert not any(line.startswith(FAKE_LINE) for line in text.splitlines()), where
