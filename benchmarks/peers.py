"""Other tools on the same broker: 10,000 ACLs created on an empty cluster, then a plan with nothing to do.

Run: ``python -m benchmarks.peers [PRINCIPALS [ROUNDS]] TOOL=PROGRAM …``, a program as its users install it: the
binary of ``kdef`` or of ``terraform-provider-kafka`` (with ``terraform`` on the path), or the command line, without
its arguments, that starts ``jikkou`` or ``kafka-gitops``. Kafka's own ``kafka-acls`` comes with a broker. Each tool
gets the bindings of ``benchmarks.bindings`` in files of its own form and connects without a login; ours logs in with
SCRAM. Seconds by the clock and of processor time of the whole command, its children included: the least of the
rounds, in each of which the tools run in turn. After each creation the broker has to show every ACL. A command that
takes more than five minutes is ended, and not run again.
"""

import itertools
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.bare_client import await_count, client_of, create, empty
from benchmarks.bindings import EACH, TOPIC, Row, rows
from benchmarks.cluster import Bench, bench
from benchmarks.paired import Command, Cost, cost
from reconciler.model.acl import AclOperation
from reconciler.parts.local.sandbox.launch import broker_jars, find_java
from reconciler.parts.local.sandbox.layout import Listener, SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running

#: The last version of Kafka whose broker has the class of ``kafka-acls``.
_ACL_COMMAND: Final = "3.9.2"
_CLUSTER: Final = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: bench}\nspec: {}\n"
_SUPER: Final = ("User:admin", "User:reconciler", "User:ANONYMOUS")


class Peer(NamedTuple):
    """A tool whose files are written: the commands that create what they say, and that compare them with the cluster.

    ``forget`` removes what the tool remembers of the cluster.
    """

    name: str
    create: Command
    plan: Command
    forget: Callable[[], None] = lambda: None


class Subject(NamedTuple):
    """Where a tool's files go, how it connects, its program, and what it is to declare."""

    directory: Path
    servers: str
    program: str
    bindings: Sequence[Row]

    def write(self, name: str, text: str) -> str:
        """A file; its path."""
        self.directory.mkdir(exist_ok=True)
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def command(self, *words: str, expected: str = "", **environment: str) -> Command:
        """The program with these words, in the directory of its files."""
        settings = [f"{name}={value}" for name, value in environment.items()]
        return Command(("env", "-C", str(self.directory), *settings, *shlex.split(self.program), *words), expected)


def _by(bindings: Sequence[Row], *columns: int) -> Iterator[tuple[tuple[object, ...], list[Row]]]:
    """Rows that agree in these columns, and stand together."""
    for key, group in itertools.groupby(bindings, key=lambda row: tuple(row[column] for column in columns)):
        yield key, list(group)


def _operations(group: Sequence[Row]) -> str:
    return ", ".join(AclOperation(row[5]).name for row in group)


def _type(code: object) -> str:
    return "topic" if code == TOPIC else "group"


def kdef(subject: Subject) -> Peer:
    """A definition for each topic and group; it sees no other one."""
    text = "---\n".join(
        f"apiVersion: v1\nkind: acl\nmetadata: {{name: {name}, type: {_type(code)}}}\n"
        f"spec:\n  deleteUndefinedAcls: true\n"
        f'  acls: [{{principals: ["{group[0][3]}"], hosts: ["*"], operations: [{_operations(group)}],'
        " permissionType: ALLOW}]\n"
        for (code, name), group in _by(subject.bindings, 0, 1)
    )
    file = subject.write("acls.yml", text)
    server = ("-X", f"seedBrokers={subject.servers}")
    create = subject.command("apply", file, *server)
    return Peer("kdef", create, subject.command("apply", file, "--dry-run", *server, expected="No changes to apply"))


def jikkou(subject: Subject) -> Peer:
    """A resource for each principal."""
    text = "---\n".join(
        "apiVersion: kafka.jikkou.io/v1\nkind: KafkaPrincipalAuthorization\n"
        f'metadata: {{name: "{principal}"}}\nspec:\n  acls:\n'
        + "".join(
            f"    - {{resource: {{type: {_type(code)}, pattern: {name}, patternType: LITERAL}}, type: ALLOW,"
            f' operations: [{_operations(rights)}], host: "*"}}\n'
            for (code, name), rights in _by(group, 0, 1)
        )
        for (principal,), group in _by(subject.bindings, 3)
    )
    file = subject.write("acls.yaml", text)
    servers = {"JIKKOU_DEFAULT_KAFKA_BOOTSTRAP_SERVERS": subject.servers}
    create = subject.command("apply", "--files", file, **servers)
    return Peer("jikkou", create, subject.command("diff", "--files", file, expected='op: "NONE"', **servers))


def kafka_gitops(subject: Subject) -> Peer:
    """A user for each principal, and each of its ACLs by name."""
    users, acls = ["users:\n"], ["customUserAcls:\n"]
    for (principal,), group in _by(subject.bindings, 3):
        user = str(principal).removeprefix("User:")
        users.append(f"  {user}: {{principal: {principal}, roles: []}}\n")
        acls.append(f"  {user}:\n")
        acls += [
            f"    acl-{number}: {{name: {row[1]}, type: {_type(row[0]).upper()}, pattern: LITERAL,"
            f' host: "*", operation: {AclOperation(row[5]).name}, permission: ALLOW}}\n'
            for number, row in enumerate(group)
        ]
    file = subject.write("state.yaml", "".join(users + acls))
    client = subject.write("client.properties", f"bootstrap.servers={subject.servers}\n")
    options = ("--command-config", client, "--file", file)
    # It wants the file, and connects to localhost:9092 without the variable.
    servers = {"KAFKA_BOOTSTRAP_SERVERS": subject.servers}
    create = subject.command(*options, "apply", **servers)
    return Peer("kafka-gitops", create, subject.command(*options, "plan", expected="no necessary changes", **servers))


def terraform(subject: Subject) -> Peer:
    """A resource for each ACL, as the provider wants it; a plan asks the cluster for what the state file has."""
    provider = f'provider "kafka" {{\n  bootstrap_servers = ["{subject.servers}"]\n  tls_enabled = false\n}}\n'
    needs = 'terraform {\n  required_providers {\n    kafka = { source = "Mongey/kafka" }\n  }\n}\n'
    resources = (
        f'resource "kafka_acl" "acl-{number}" {{\n'
        f'  resource_name = "{row[1]}"\n  resource_type = "{_type(row[0]).title()}"\n'
        f'  acl_principal = "{row[3]}"\n  acl_host = "*"\n  acl_operation = "{AclOperation(row[5]).name.title()}"\n'
        '  acl_permission_type = "Allow"\n}\n'
        for number, row in enumerate(subject.bindings)
    )
    subject.write("main.tf", needs + provider + "".join(resources))
    # The binary that was given takes the place of one from a registry, so that `terraform init` is not needed.
    override = (
        f'provider_installation {{\n  dev_overrides {{ "Mongey/kafka" = "{Path(subject.program).parent}" }}\n}}\n'
    )
    settings = {"TF_CLI_CONFIG_FILE": subject.write("terraform.rc", override)}
    tool = subject._replace(program="terraform")
    create = tool.command("apply", "-auto-approve", "-no-color", **settings)

    def forget() -> None:
        (subject.directory / "terraform.tfstate").unlink(missing_ok=True)

    return Peer("terraform", create, tool.command("plan", "-no-color", expected="No changes.", **settings), forget)


PEERS: Final = {
    "kdef": kdef,
    "jikkou": jikkou,
    "kafka-gitops": kafka_gitops,
    "terraform-provider-kafka": terraform,
}


def kafka_acls(servers: str, bindings: Sequence[Row]) -> Iterator[tuple[str, Command]]:
    """Kafka's own command for one principal's nine ACLs on topics, and to list all; it compares nothing."""
    java = find_java()
    jars = broker_jars(_ACL_COMMAND, java, print)
    command = (str(java.executable), "-cp", f"{jars}{os.sep}*", "kafka.admin.AclCommand")
    words = (*command, "--bootstrap-server", servers)
    yield "kafka-acls --list", Command((*words, "--list"))
    topics = [word for name in dict.fromkeys(row[1] for row in bindings[: EACH - 1]) for word in ("--topic", name)]
    rights = [word for name in ("Read", "Write", "Describe") for word in ("--operation", name)]
    add = (*words, "--add", "--allow-principal", bindings[0][3], *rights, *topics)
    yield "kafka-acls --add, one principal", Command(add)


def measured(found: Bench, peers: Sequence[Peer], count: int, rounds: int) -> Mapping[str, list[Cost]]:
    """What each tool's commands cost in each round; one that fails or takes too long is not asked again.

    A tool that could not create the ACLs plans with those of the bare client.
    """
    client = client_of(found.settings)
    costs: dict[str, list[Cost]] = {f"{peer.name}, {what}": [] for peer in peers for what in ("create", "plan")}
    failed: set[str] = set()

    def measure(name: str, command: Command) -> bool:
        if name not in failed:
            try:
                costs[name].append(cost(command))
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{name}: {str(error)[:2000]}", file=sys.stderr, flush=True)
                failed.add(name)
        return name not in failed

    for peer in itertools.chain.from_iterable([peers] * rounds):
        empty(client)
        peer.forget()
        if not measure(f"{peer.name}, create", peer.create):
            create(client, 0, count // EACH)
        await_count(client, count)
        measure(f"{peer.name}, plan", peer.plan)
    return costs


def row(name: str, costs: Sequence[Cost]) -> None:
    """Prints the least of each, or that there is none."""
    least = [f"{min(each):8.2f}" for each in zip(*costs, strict=True)] or ["  failed, or took too long"]
    print(f"{name:36}{''.join(least)}", flush=True)


def main(*words: str) -> None:
    """Print a row for each command."""
    numbers = [int(word) for word in words if word.isdigit()]
    count, rounds = (*numbers, *(1_000, 3)[len(numbers) :])
    programs = dict(word.split("=", 1) for word in words if "=" in word)
    bindings = list(rows(0, count))
    spec = SandboxSpec(
        name="bench", users=generated_users("admin", "reconciler"), super_users=_SUPER, plaintext=True, heap="1g"
    )
    with tempfile.TemporaryDirectory() as place, running(spec, root=Path(place, "sandboxes")) as sandbox:
        root, servers = Path(place), sandbox.addresses(Listener.CLIENT_PLAINTEXT)
        found = bench(root, sandbox, count)
        # The connections file of the sandbox states who the super users are.
        (found.directory / "cluster.yaml").write_text(_CLUSTER, encoding="utf-8")
        apply, plan = found.ours("apply", "--yes", expected="Applied"), found.ours("plan", expected="Nothing to do.")
        peers = [
            Peer("reconciler", apply, plan),
            Peer("bare client", found.bare("create", "0", str(count)), found.bare("read")),
            *(PEERS[name](Subject(root / name, servers, program, bindings)) for name, program in programs.items()),
        ]
        costs = measured(found, peers, len(bindings), rounds)
        print(f"Kafka {sandbox.kafka_version}, {len(bindings):,} ACLs: seconds by the clock, processor seconds")
        for name, each in costs.items():
            row(name, each)
        for name, command in kafka_acls(servers, bindings):
            row(name, [cost(command)])


if __name__ == "__main__":
    main(*sys.argv[1:])
