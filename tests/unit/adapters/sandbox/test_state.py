"""The record of a sandbox: written whole, read back equal, worthless when damaged."""

from pathlib import Path

import javaproperties
import pytest

from reconciler.parts.local.sandbox.layout import Listener, SandboxError
from reconciler.parts.local.sandbox.properties import write_client_files, write_connections
from reconciler.parts.local.sandbox.state import Node, Process, Sandbox, load, save, this_process

_GONE = Process(2**22 + 1, "never")


def _sandbox(directory: Path, *processes: Process | None) -> Sandbox:
    return Sandbox(
        name="try",
        kafka_version="4.3.1",
        directory=directory,
        nodes=(
            Node(101, ("controller",), {Listener.CONTROLLER: 20_009}, ("java",), _GONE),
            *(
                Node(1 + index, ("broker",), {Listener.CLIENT: 20_000 + index}, ("java",), process)
                for index, process in enumerate(processes)
            ),
        ),
        users={"alice": "secret-a", "reconciler": "secret-r"},
        super_users=("User:admin",),
        store_password="secret-s",
        starter=None,
        holder=this_process(),
    )


def test_a_record_reads_back_equal(tmp_path: Path) -> None:
    sandbox = _sandbox(tmp_path, this_process(), None)
    save(sandbox)
    assert load(tmp_path) == sandbox
    assert [path.name for path in tmp_path.iterdir()] == ["sandbox.json"]
    assert (tmp_path / "sandbox.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"name": "try"}', "null", "\x00"])
def test_a_damaged_record_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "sandbox.json").write_text(text, encoding="utf-8")
    assert load(tmp_path) is None


def test_no_directory_is_no_sandbox(tmp_path: Path) -> None:
    assert load(tmp_path / "absent") is None


def test_only_brokers_are_bootstrap_servers(tmp_path: Path) -> None:
    assert _sandbox(tmp_path, None, None).bootstrap == "127.0.0.1:20000,127.0.0.1:20001"


def test_conditions(tmp_path: Path) -> None:
    assert _sandbox(tmp_path, _GONE).condition() == "crashed"
    assert _sandbox(tmp_path, this_process()).condition() == "partly up"


def test_no_password_is_in_its_text(tmp_path: Path) -> None:
    assert "secret" not in repr(_sandbox(tmp_path))


def test_a_node_that_it_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"has no node 7: it has 101, 1\."):
        _sandbox(tmp_path, None).node(7)


def test_the_files_for_clients(tmp_path: Path) -> None:
    sandbox = _sandbox(tmp_path, None)
    write_connections(sandbox, default_allow=False)
    write_client_files(sandbox)
    connections = sandbox.connections.read_text(encoding="utf-8")
    assert '    sasl.username: "reconciler"\n' in connections
    assert not [password for password in sandbox.users.values() if password in connections]
    assert (sandbox.directory / "password").read_text(encoding="utf-8") == sandbox.users["reconciler"] + "\n"
    assert (sandbox.directory / "password").stat().st_mode & 0o077 == 0
    alice = javaproperties.loads((sandbox.client_directory / "alice.properties").read_text(encoding="utf-8"))
    assert 'username="alice" password="secret-a";' in alice["sasl.jaas.config"]
    assert {path.stat().st_mode & 0o077 for path in sandbox.client_directory.iterdir()} == {0}
