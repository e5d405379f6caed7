"""``plan`` and ``apply`` as whole processes on a real broker, against the bare client with the same reads and writes.

Run: ``python -m benchmarks.cluster``. A principal has ten bindings: three topics × three operations, and a group.
"""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bare_client import await_count, client_of, create, empty
from benchmarks.bindings import EACH
from benchmarks.manifests import principals
from benchmarks.paired import Command, pairs, row, title
from benchmarks.startup import RECONCILER
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox

_RUNS = 7
_CLUSTER = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: bench}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """A broker, manifests of so many principals, and the bare client's settings; all below one directory."""

    sandbox: Sandbox
    directory: Path
    settings: Path

    def ours(self, command: str, *options: str, expected: str) -> Command:
        """A command of ours on the manifests."""
        connection = ("--cluster", "bench", "--connections", str(self.sandbox.connections))
        return Command((RECONCILER, command, str(self.directory), *connection, *options), expected)

    def bare(self, *arguments: str) -> Command:
        """The bare client."""
        return Command((sys.executable, "-m", "benchmarks.bare_client", str(self.settings), *arguments))


def bench(root: Path, sandbox: Sandbox, count: int) -> Bench:
    """Writes manifests of ``count`` principals."""
    directory = root / f"manifests-{count}"
    directory.mkdir()
    (directory / "cluster.yaml").write_text(_CLUSTER, encoding="utf-8")
    (directory / "acls.yaml").write_text(principals(count), encoding="utf-8")
    settings = root / "settings.json"
    settings.write_text(json.dumps(sandbox.settings("reconciler")), encoding="utf-8")
    return Bench(sandbox, directory, settings)


def small(found: Bench, count: int) -> None:
    """Nothing to do, and everything to create. Leaves the cluster empty."""
    client = client_of(found.settings)
    empty(client)
    created = f"Applied and verified: {count * EACH:,} steps."
    apply = pairs(
        found.ours("apply", "--yes", expected=created),
        found.bare("create", "0", str(count)),
        _RUNS,
        prepare=lambda: empty(client),
    )
    empty(client)
    create(client, 0, count)
    await_count(client, count * EACH)
    plan = pairs(found.ours("plan", expected="Nothing to do."), found.bare("read"), _RUNS)
    empty(client)
    row(f"plan, {count * EACH:,}, nothing to do", plan)
    row(f"apply, {count * EACH:,} creates", apply)


def large(found: Bench, count: int) -> None:
    """One binding in a hundred differs: half of them are not there yet, half should not be there."""
    client = client_of(found.settings)
    shift = count // 200
    create(client, shift, count + shift)
    await_count(client, count * EACH)
    summary = f"{shift * EACH:,} ACLs to create, {shift * EACH:,} ACLs to delete"
    plan = pairs(found.ours("plan", "--allow-deletes", expected=summary), found.bare("read"), _RUNS)
    row(f"plan, {count * EACH:,}, 1 % differs", plan)


def main(few: int = 1_000, many: int = 10_000) -> None:
    """Prints three rows, for so many principals; ``many`` is a multiple of 200."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        spec = SandboxSpec(name="bench", users=generated_users("admin", "reconciler"), heap="1g")
        with running(spec, root=root / "sandboxes") as sandbox:
            title(f"Kafka {sandbox.kafka_version}, whole process", "reconciler", "bare client")
            small(bench(root, sandbox, few), few)
            large(bench(root, sandbox, many), many)


if __name__ == "__main__":
    main()
