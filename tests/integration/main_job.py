"""A directory of manifests for one test on a shared broker, and the command line run on it."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.parts.local.sandbox.state import Sandbox

FACTS = """\
  principal: User:{user}
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
  barrier: {{wait: 100ms}}
"""


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


@dataclass
class Job:
    """Manifests in ``directory`` whose scope is the names that begin with ``prefix``; cluster ``it``."""

    directory: Path
    connections: Path
    prefix: str
    capsys: pytest.CaptureFixture[str]

    def write(self, name: str, text: str) -> None:
        """Write a manifest; ``@`` in it stands for the prefix."""
        (self.directory / name).write_text(text.replace("@", self.prefix), encoding="utf-8")

    def run(self, command: str, *arguments: str, cluster: bool = True) -> Ran:
        """Run a command on the manifests."""
        where = [str(self.directory), "--cluster", "it"] if cluster else []
        return self.bare(command, *where, *arguments, "--connections", str(self.connections))

    def bare(self, *arguments: str) -> Ran:
        """Run a command line as it is."""
        self.capsys.readouterr()
        status = run(list(arguments))
        shown = self.capsys.readouterr()
        return Ran(status, shown.out, shown.err)


def connections_file(path: Path, sandbox: Sandbox, user: str, mechanism: str = "PLAIN", name: str = "it") -> Path:
    """Write a connections file that logs in as ``user``, with the password in a file of its own.

    PLAIN, as SCRAM hashes a password thousands of times for each connection.
    """
    settings = sandbox.settings(user, mechanism)
    if "sasl.password" in settings:
        settings["sasl.password"] = password_file(path.parent, user, settings["sasl.password"])
    client = "".join(f"    {key}: {value!r}\n" for key, value in settings.items() if key != "bootstrap.servers")
    servers = settings["bootstrap.servers"].split(",")
    path.write_text(
        f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: {name}}}\nspec:\n"
        f"  bootstrapServers: {servers}\n  client:\n{client}"
    )
    return path


def password_file(directory: Path, user: str, password: str) -> str:
    """Write a password beside the connections file, which only we can reach, and return the reference to it."""
    directory.chmod(0o700)
    secrets = directory / "secrets"
    secrets.mkdir(exist_ok=True)
    (secrets / user).write_text(password)
    return f"${{dir:{secrets}:{user}}}"


def add_probe(connections: Path, sandbox: Sandbox, user: str = "acl-probe") -> None:
    """Let the barrier's probe log in as ``user``."""
    password = password_file(connections.parent, user, sandbox.users[user])
    login = json.dumps({"sasl.username": user, "sasl.password": password})
    with connections.open("a") as file:
        file.write(f"  barrier: {{client: {login}}}\n")


def job(tmp_path: Path, sandbox: Sandbox, prefix: str, capsys: pytest.CaptureFixture[str], user: str = "admin") -> Job:
    """Manifests whose scope keeps tests that share a broker apart."""
    directory = tmp_path / "manifests"
    directory.mkdir(exist_ok=True)
    found = Job(directory, connections_file(tmp_path / "connections.yaml", sandbox, user), prefix, capsys)
    found.write(
        "cluster.yaml",
        "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: it}\nspec:\n"
        + FACTS.format(user=user)
        + "  scope: {include: [{topics: {prefix: '@'}}, {groups: {prefix: '@'}}, {transactionalIds: {prefix: '@'}}, "
        "{delegationTokens: {prefix: '@'}}, {users: {prefix: 'User:@'}}]}\n",
    )
    return found
