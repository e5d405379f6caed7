"""Open Policy Agent's authorizer in a real broker: it keeps no ACLs and decides by what it asks over HTTP."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from reconciler.kafka.cluster import connect
from reconciler.kafka.listing import AclReader
from reconciler.parts.local.sandbox.launch import fetched_jars, find_java, jar_directory
from reconciler.parts.local.sandbox.layout import Artifact, SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ClusterError, ReadRequest
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import job

pytestmark = pytest.mark.broker

#: 1.5.1 is the only one on Maven Central; its Scala is that of Kafka 3.9.
_OPA = Artifact("org.openpolicyagent.kafka", "opa-authorizer", "1.5.1")
#: Operations that the policy refuses.
REFUSED = {"CREATE"}
TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules: [{allow: READ, topics: ["@orders"]}]
"""


@contextmanager
def policy() -> Iterator[str]:
    """The URL of a decision: everything is permitted but to create something by a right on the cluster."""

    class Decision(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps({"result": asked["input"]["action"]["operation"] not in REFUSED}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Decision) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/data/kafka/allow"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def opa(sandbox_root: Path) -> Iterator[Sandbox]:
    """A broker whose authorizer is Open Policy Agent's."""
    directory = fetched_jars("OPA's authorizer", (_OPA,), jar_directory() / "opa-authorizer-1.5.1", find_java())
    with policy() as url:
        spec = SandboxSpec(
            name="opa",
            kafka_version="3.9",
            users=generated_users("admin", "other"),
            class_path=tuple(sorted(directory.glob("*.jar"))),
            overrides={
                "authorizer.class.name": "org.openpolicyagent.kafka.OpaAuthorizer",
                "opa.authorizer.url": url,
                "opa.authorizer.cache.maximum.size": "0",
            },
        )
        with running(spec, root=sandbox_root) as sandbox:
            yield sandbox


@pytest.mark.parametrize("reader", list(AclReader))
@pytest.mark.parametrize(("user", "refused"), [("admin", []), ("other", ["CREATE"]), ("other", ["CREATE", "ALTER"])])
def test_no_reader_takes_an_authorizer_without_acls_for_an_empty_cluster(
    opa: Sandbox, reader: AclReader, user: str, refused: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "REFUSED", set(refused))
    with connect(settings_of(opa.settings(user)), readers=(reader,)) as cluster, pytest.raises(ClusterError):
        cluster.read(ReadRequest(all_topics=False))


def test_nothing_is_planned_applied_or_exported(
    opa: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team = job(tmp_path, opa, "opa.", capsys)
    team.write("team.yaml", TEAM)
    for command in (["plan"], ["drift"], ["apply", "--yes"], ["export"]):
        ran = team.run(*command)
        assert (ran.status, ran.out) == (1, ""), ran.err
        assert "an authorizer of another make" in ran.err
    checked = team.run("doctor")
    assert checked.status == 1
    assert "the cluster cannot be read" in checked.out
    assert "authorizer.class.name=org.openpolicyagent.kafka.OpaAuthorizer, which is Open Policy Agent's" in checked.out
