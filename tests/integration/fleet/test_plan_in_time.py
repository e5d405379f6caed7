"""A cluster that never answers holds no fleet up: it is named, the others are read or planned, the command ends."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from reconciler.app.manifests import read_sources
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.app.members import MemberConnections
from reconciler.parts.fleet.app.plan import MemberPlan, PlanLimits, PlanTerms, plan_members
from reconciler.parts.fleet.tables import store_at
from reconciler.snapshot.document import snapshot_text

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
        terms = PlanTerms(texts, MemberConnections(ConnectionOptions()), PlanOptions(), None, PlanLimits(1, 1.5))
        sides = list(map(MemberPlan.parse, plan_members(["silent", "closed"], "0", terms=terms)))
    assert [(side.failure.cluster, side.failure.code, side.failure.message) for side in sides if side.failure] == [
        ("silent", "timed_out", "no plan in 1.5 s"),
        ("closed", "timed_out", "no plan in 1.5 s"),
    ]


def test_a_command_ends_though_what_it_waited_for_never_does(tmp_path: Path) -> None:
    """Nobody ever writes to the pipe that stands for one of two clusters."""
    for name in ("manifests", "live"):
        (tmp_path / name).mkdir()
    text = "".join(CLUSTER.format(name=name, port=1) for name in ("answers", "silent"))
    (tmp_path / "manifests" / "clusters.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "live" / "answers.json").write_text(snapshot_text(ClusterState("id")), encoding="utf-8")
    os.mkfifo(tmp_path / "live" / "silent.json")
    for what, *out in (["snapshot", "--store", "store"], ["plan", "--out", "plans"]):
        words = ["fleet", what, "manifests", *out, "--snapshots", "live", "--timeout", "1", "--engine", "local"]
        command = [sys.executable, "-m", "reconciler", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 1, done.stderr
        assert "timed_out" in done.stdout
    run = store_at(str(tmp_path / "store")).run()
    assert [reading.cluster for reading in run.readings] == ["answers"]
    assert [(failure.cluster, failure.code) for failure in run.failures] == [("silent", "timed_out")]
