"""Results for reports to be made of: what commands print on the examples, and on a cluster full of hostile names."""

import contextlib
import io
import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from reconciler.cli.main import run
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
from reconciler.parts.local.tour import BINDINGS, TOPICS
from reconciler.snapshot.document import BrokerFacts, snapshot_text

_EXAMPLES: Final = Path(__file__).parents[3] / "examples"
_OPERATOR: Final = ("--connections", str(_EXAMPLES / "operator.yaml"))
_DAY: Final = ("--as-of", "2026-11-21", "--output", "json")
#: What somebody would try, in the name of a principal.
HOSTILE: Final = (
    "User:<img src=x onerror=alert(1)>",
    "User:</code></td></table><script>alert(1)</script>",
    "User:@org/team #123 GH-1 org/repo#7 deadbeefdeadbeef",
    "User:![x](https://evil.example/x.png) [y](javascript:alert(1)) www.evil.example",
    "User:a|b`c``d\\`e*f_g~h~$x$ :smile: &amp; <!-- -->",
    "User:\n::error file=x::owned\r\n##[error]owned ##vso[task.complete]",
    "User:%0A::add-mask::a \x1b[31mred\x1b[0m \x9b31m \x07",
    "User:\u202egnp.exe\u200b\u2066 \ufffe",
    '=HYPERLINK("https://evil.example";"x"):y',
    "@SUM(1+1)*cmd|' /C calc'!A0:z",
    "User:]]></failure><error/>&#10;{0} {{ 7*7 }} {% raw %}",
    "User:<!here> <@U123> <https://evil.example|click>",
)
_GUARDRAILS: Final = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: guardrails}
spec:
  tests:
    - name: "<b>nobody</b> | writes `payments` @org/team"
      principals: ["User:*"]
      mustNot: [WRITE]
      topics: {prefix: payments.}
    - {name: orders flow, principals: ["User:svc-orders"], must: [WRITE], topics: [orders.placed]}
    - name: reports stay out
      principals: ["User:svc-reports"]
      mustNot: [READ]
      topics: [orders.placed]
      severity: warning
"""


def example_documents(directory: Path) -> dict[str, Any]:
    """``plan``, ``drift``, ``lint``, ``test`` and ``validate`` of the first examples, outside of any repository."""
    shutil.copytree(_EXAMPLES / "acls", directory / "acls")
    shutil.copytree(_EXAMPLES / "access", directory / "access")
    live = _snapshot(directory / "live.json", BINDINGS)
    reach = (str(directory / "acls"), "--cluster", live, *_OPERATOR)
    return {
        "plan": printed("plan", *reach, "--allow-deletes"),
        "drift": printed("drift", *reach),
        "lint": printed("lint", *reach),
        "test": printed("test", str(directory / "access")),
        "validate": printed("validate", str(directory / "access")),
    }


def hostile_documents(directory: Path) -> dict[str, Any]:
    """A plan that a safety check refuses, findings and broken claims, with every name of ``HOSTILE`` in them."""
    shutil.copytree(_EXAMPLES / "acls", directory / "acls")
    acls = directory / "acls"
    cluster = acls / "cluster.yaml"
    text = cluster.read_text(encoding="utf-8")
    scope = "  scope: {include: [{topics: {any: true}}, {groups: {any: true}}, {principals: {any: true}}]}\n"
    text = re.sub(r"(?m)^  scope:.*\n(?:    .*\n)*", scope, text)
    cluster.write_text(text.replace("maxDeletes: 20", "maxDeletes: 1"), encoding="utf-8")
    (acls / "guardrails.yaml").write_text(_GUARDRAILS, encoding="utf-8")
    live = _snapshot(directory / "live.json", {*BINDINGS, *hostile_bindings()})
    reach = (str(acls), "--cluster", live, *_OPERATOR)
    return {
        "plan": printed("plan", *reach, "--allow-deletes"),
        "lint": printed("lint", *reach),
        "test": printed("test", *reach, "--as-is"),
    }


def hostile_bindings() -> list[AclBinding]:
    """READ on a topic for every hostile principal, the first of them on everything."""
    pattern = ResourcePattern(ResourceType.TOPIC, "payments.settled", PatternType.LITERAL)
    every = ResourcePattern(ResourceType.TOPIC, "*", PatternType.LITERAL)
    found = [
        AclBinding(pattern, AccessControlEntry(name, "*", AclOperation.WRITE, AclPermissionType.ALLOW))
        for name in HOSTILE
    ]
    return [*found, AclBinding(every, found[0].entry)]


def printed(*arguments: str) -> Any:
    """The JSON that a command prints, whatever its exit status."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        run([*arguments, *_DAY])
    return json.loads(out.getvalue())


def _snapshot(file: Path, bindings: Iterable[AclBinding]) -> str:
    state = ClusterState("demo", frozenset(bindings), {topic.name: topic for topic in TOPICS})
    file.write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    return f"snapshot:{file}"
