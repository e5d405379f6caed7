"""A cluster that never answers does not hold a fleet's plan up: it is named, and the others are planned."""

import json
import socket
from pathlib import Path

from reconciler.app.manifests import read_sources
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.parts.fleet.app.members import MemberConnections
from reconciler.parts.fleet.app.plan import PlanTerms, plan_members

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: {name}}}
spec: {{bootstrapServers: ['127.0.0.1:{port}'], principal: User:us}}
---
"""


def test_one_that_is_silent_is_named_in_time(tmp_path: Path) -> None:
    with socket.socket() as silent, socket.socket() as closed:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        closed.bind(("127.0.0.1", 0))
        ports = {"silent": silent.getsockname()[1], "closed": closed.getsockname()[1]}
        text = "".join(CLUSTER.format(name=name, port=port) for name, port in ports.items())
        (tmp_path / "clusters.yaml").write_text(text, encoding="utf-8")
        texts = tuple(read_sources(str(tmp_path)))
        terms = PlanTerms(texts, MemberConnections(ConnectionOptions()), PlanOptions(), None, at_once=1, timeout=1.5)
        sides = [json.loads(line) for line in plan_members(["silent", "closed"], "0", terms=terms)]
    assert [(side["cluster"], side["reason"], side["message"]) for side in sides] == [
        ("silent", "timed_out", "no plan in 1.5 s"),
        ("closed", "timed_out", "no plan in 1.5 s"),
    ]
