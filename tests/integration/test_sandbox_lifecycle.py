"""Starting and ending sandboxes: side by side, crashed, interrupted, refused; and never anything left."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml
from confluent_kafka.admin import AdminClient

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.parts.local.sandbox import state
from reconciler.parts.local.sandbox.layout import SandboxError, SandboxSpec
from reconciler.parts.local.sandbox.lifecycle import down, find, running, status, up
from reconciler.parts.local.sandbox.state import Sandbox, reserved

pytestmark = pytest.mark.broker


@pytest.mark.long
def test_several_are_up_side_by_side_and_leave_nothing(tmp_path: Path) -> None:
    with (
        running(SandboxSpec(name="one"), root=tmp_path) as one,
        running(SandboxSpec(name="two", kafka_version="3.9"), root=tmp_path) as two,
    ):
        assert status(tmp_path) == [one, two]
        assert [sandbox.condition() for sandbox in status(tmp_path)] == ["up", "up"]
        assert (two.kafka_version, find("two", tmp_path)) == ("3.9.2", two)
        assert _cluster_id(one) != _cluster_id(two)
        with pytest.raises(SandboxError, match="one is already up"):
            up(SandboxSpec(name="one"), root=tmp_path)
        down("one", tmp_path)
        assert [sandbox.name for sandbox in status(tmp_path)] == ["two"]
        assert [node.is_running() for node in (*one.nodes, *two.nodes)] == [False, True]
    _assert_nothing_left(tmp_path)


def test_only_the_owner_reads_it_and_its_connections_file_works(broker: Sandbox) -> None:
    password = broker.directory / "password"
    private = [broker.directory, broker.connections, password, *broker.directory.glob("*.properties")]
    assert {path.stat().st_mode & 0o077 for path in private} == {0}
    cluster = yaml.safe_load(broker.connections.read_text(encoding="utf-8"))
    assert (cluster["kind"], cluster["metadata"]) == ("Cluster", {"name": broker.name})
    spec = cluster["spec"]
    assert spec["client"]["sasl.password"] == f"${{dir:{broker.directory}:password}}"
    client = {**spec["client"], "sasl.password": password.read_text(encoding="utf-8").rstrip("\n")}
    assert _cluster_id(broker) == _cluster_id_of({**client, "bootstrap.servers": spec["bootstrapServers"][0]})


def test_no_password_is_on_a_command_line(broker: Sandbox) -> None:
    commands = _processes_of(broker.directory)
    assert len(commands) == 1
    assert not [password for password in broker.users.values() if password in commands[0]]


def test_what_a_crash_left_is_cleared_by_up_and_by_down(tmp_path: Path) -> None:
    starting = _start_elsewhere(tmp_path)
    starting.kill()
    starting.communicate()
    _kill_all(find(root=tmp_path))
    assert find(root=tmp_path).condition() == "crashed"
    again = up(SandboxSpec(), root=tmp_path)
    assert find(root=tmp_path) == again
    _kill_all(again)
    down(root=tmp_path)
    _assert_nothing_left(tmp_path)


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    starting = _start_elsewhere(tmp_path)
    with pytest.raises(SandboxError, match="just being started"):
        up(SandboxSpec(), root=tmp_path)
    with pytest.raises(SandboxError, match="just being started"):
        down(root=tmp_path)
    starting.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in starting.communicate()[0]
    _assert_nothing_left(tmp_path)


def test_a_starter_that_was_killed_leaves_what_down_clears(tmp_path: Path) -> None:
    starting = _start_elsewhere(tmp_path)
    starting.kill()
    starting.communicate()
    assert find(root=tmp_path).condition() == "crashed"
    assert _processes_of(tmp_path)
    down(root=tmp_path)
    _assert_nothing_left(tmp_path)


@pytest.mark.long
def test_a_killed_process_takes_the_sandbox_along_that_it_holds(tmp_path: Path) -> None:
    starting = _start_elsewhere(tmp_path, "with running(SandboxSpec(), root=root): pass")
    starting.kill()
    starting.communicate()
    until = time.monotonic() + 60
    while list(tmp_path.iterdir()):
        assert time.monotonic() < until, "the sandbox stays"
        time.sleep(0.1)
    _assert_nothing_left(tmp_path)


def test_a_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    spec = SandboxSpec(overrides={"authorizer.class.name": "no.such.Authorizer"})
    with pytest.raises(SandboxError, match="Node 1 of sandbox default ended") as refused:
        up(spec, root=tmp_path)
    assert "no.such.Authorizer" in refused.value.advice
    _assert_nothing_left(tmp_path)


def test_properties_that_kafka_refuses_are_said_before_it_starts(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="storage of node 1 cannot be formatted") as refused:
        up(SandboxSpec(overrides={"num.io.threads": "none"}), root=tmp_path)
    assert "num.io.threads" in refused.value.advice
    _assert_nothing_left(tmp_path)


def test_a_taken_port_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(SandboxError, match=rf"^Port {port} on 127.0.0.1 is taken\."):
            up(SandboxSpec(port=port), root=tmp_path)
    _assert_nothing_left(tmp_path)


def test_ports_that_somebody_else_was_faster_to_bind_are_chosen_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reserved(5) as free:
        first, second = free[:2], free[2:]
    with socket.create_server(("127.0.0.1", 0)) as holder:
        choices = iter([[*first, holder.getsockname()[1]], second])
        monkeypatch.setattr(state, "reserved", lambda *_: nullcontext(next(choices)))
        with running(SandboxSpec(), root=tmp_path) as sandbox:
            assert list(sandbox.nodes[0].ports.values()) == second
    _assert_nothing_left(tmp_path)


def test_the_command_line_starts_shows_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def sandbox_command(*arguments: str) -> str:
        assert run(["sandbox", *arguments]) == Exit.OK
        return capsys.readouterr().out

    started = json.loads(sandbox_command("up", "--name", "cli", "--with", "default-allow", "--output", "json"))
    assert started.pop("kind") == "SandboxUp"
    sandbox = find("cli")
    assert (started["name"], started["version"], started["condition"]) == ("cli", "4.4.0", "up")
    assert (started["bootstrap"], started["connections"]) == (sandbox.bootstrap, str(sandbox.connections))
    assert [node["pid"] for node in started["nodes"]] == [node.pid for node in sandbox.nodes]
    assert "allow.everyone.if.no.acl.found=true" in sandbox.files(sandbox.nodes[0]).properties.read_text("utf-8")
    assert json.loads(sandbox_command("status", "--output", "json")) == {
        "kind": "SandboxStatus",
        "sandboxes": [started],
    }
    assert f"Sandbox cli is up: Kafka 4.4.0 at {sandbox.bootstrap}" in sandbox_command("status", "--name", "cli")
    assert json.loads(sandbox_command("down", "--all", "--output", "json")) == {"kind": "SandboxDown", "ended": ["cli"]}
    assert sandbox_command("status") == "No sandbox is up.\n"
    assert run(["sandbox", "down", "--name", "cli"]) == Exit.ERROR
    refused = capsys.readouterr()
    assert refused.out == ""
    assert refused.err.startswith("error: Sandbox cli is not up.\n")
    _assert_nothing_left(tmp_path / "reconciler" / "sandbox")


def _start_elsewhere(root: Path, how: str = "up(SandboxSpec(), root=root)") -> "subprocess.Popen[str]":
    """Another process that starts a sandbox, as soon as Kafka's process is on its way."""
    # Tests in the background of a shell ignore Ctrl-C, and so would a child of theirs.
    hearing = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    home = "from reconciler.parts.local.sandbox"
    names = f"{home}.layout import SandboxSpec; {home}.lifecycle import *; from pathlib import *; root = {root!r}"
    code = f"{hearing}; {names}\n{how}"
    starting = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    while not [node for sandbox in status(root) for node in sandbox.nodes if node.is_running()]:
        assert starting.poll() is None, starting.communicate()[0]
        time.sleep(0.02)
    return starting


def _kill_all(sandbox: Sandbox) -> None:
    for node in sandbox.nodes:
        assert node.pid is not None
        os.kill(node.pid, signal.SIGKILL)
        while node.is_running():
            time.sleep(0.02)


def _cluster_id(sandbox: Sandbox) -> str:
    return _cluster_id_of(sandbox.settings("alice"))


def _cluster_id_of(settings: dict[str, str]) -> str:
    with AdminClient({**settings, "log_level": 0}) as admin:
        return str(admin.describe_cluster(request_timeout=20).result().cluster_id)


def _processes_of(directory: Path) -> list[str]:
    """The command lines of Java processes that have this directory in them."""
    ps = shutil.which("ps")
    assert ps
    listing = subprocess.run([ps, "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if str(directory) in line and "java" in line.split()[0]]


def _assert_nothing_left(root: Path) -> None:
    assert list(root.iterdir()) == []
    assert _processes_of(root) == []
