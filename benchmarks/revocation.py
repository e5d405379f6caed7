"""How long after its end a grant is gone from three real brokers, while the server that revokes it is killed at random.

Run: ``python -m benchmarks.revocation [GRANTS [SECONDS]]``: so many grants end within so many seconds, at random. The
server (``serve --act --interval 10s``) is killed as ``kill -9`` does, every half minute on average, and started again a
second later. A grant counts as gone once a listing of the cluster lacks it; a listing begins every tenth of a second.
"""

import datetime
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AclBinding, AclOperation, AdminClient

from benchmarks.bare_client import everything
from benchmarks.startup import RECONCILER
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox

#: Seconds between two kills on average, until a server that was killed is started again, and before the first end.
_KILLED_AFTER, _AGAIN_AFTER, _LEAD = 30.0, 1.0, 30.0
#: Seconds after the last end by which everything has to be gone.
_PATIENCE: Final = 300.0
_TOPIC, _READ, _DESCRIBE, _ALLOW, _LITERAL = 2, 3, 8, 3, 3
_HEAD: Final = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: revocation}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  deleteLimits: {maxDeletePercent: 100}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: ending}
spec:
  principal: User:svc
  rules:
"""


@dataclass(slots=True)
class Server:
    """A server on a sandbox that is killed, and started again; ``kills`` are how often."""

    sandbox: Sandbox
    manifests: Path
    log: Path
    kills: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _next: float = field(default_factory=time.monotonic)

    def tick(self, kill: bool) -> None:
        """Kill it, or start it again, if the time for that has come."""
        if time.monotonic() < self._next:
            return
        if self._process is None:
            options = ("--act", "--interval", "10s", "--listen", "127.0.0.1:0")
            reach = ("--cluster", "revocation", "--connections", str(self.sandbox.connections))
            with self.log.open("ab") as log:
                command = [RECONCILER, "serve", str(self.manifests), *reach, *options]
                self._process = subprocess.Popen(command, stdout=log, stderr=log)
            self._next = time.monotonic() + random.expovariate(1 / _KILLED_AFTER)
        elif kill:
            self.end()
            self.kills += 1
            self._next = time.monotonic() + _AGAIN_AFTER

    def end(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None


@contextmanager
def _three() -> Iterator[tuple[Sandbox, Path]]:
    with tempfile.TemporaryDirectory(prefix="revocation-") as directory:
        spec = SandboxSpec(name="revocation", nodes=3, users=generated_users("admin", "reconciler"))
        with running(spec, root=Path(directory, "sandboxes")) as sandbox:
            yield sandbox, Path(directory)


def _binding(topic: str, operation: int) -> AclBinding:
    return AclBinding(_TOPIC, topic, _LITERAL, "User:svc", "*", operation, _ALLOW)


def _prepared(client: AdminClient, manifests: Path, ends: dict[str, float]) -> None:
    """The grants with their ends in manifests and on the cluster; what stays on each topic is for nobody to end."""
    manifests.mkdir()
    rules = []
    for topic, end in ends.items():
        at = f"{datetime.datetime.fromtimestamp(end, datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"
        rules.append(f'    - {{allow: READ, topics: [{topic}], expires: "{at}"}}\n')
        rules.append(f"    - {{allow: DESCRIBE, topics: [{topic}]}}\n")
    (manifests / "all.yaml").write_text(_HEAD + "".join(rules), encoding="utf-8")
    bindings = [_binding(topic, operation) for topic in ends for operation in (_READ, _DESCRIBE)]
    for future in client.create_acls(bindings).values():
        future.result()


def measured(grants: int, seconds: int) -> tuple[list[float], int, int]:
    """Seconds from each grant's end until it was gone, how often the server was killed, how many grants are left."""
    with _three() as (sandbox, directory):
        client = AdminClient({**sandbox.settings("admin")})
        start = int(time.time() + _LEAD)
        ends = {f"t{number}": float(start + random.randrange(seconds)) for number in range(grants)}  # noqa: S311
        _prepared(client, directory / "manifests", ends)
        server, gone = Server(sandbox, directory / "manifests", directory / "log.txt"), dict[str, float]()
        try:
            while len(gone) < grants and time.time() < start + seconds + _PATIENCE:
                server.tick(kill=time.time() < start + seconds)
                live = {one.name for one in everything(client) if one.operation == AclOperation.READ}
                now = time.time()
                gone.update({topic: now for topic in ends if topic not in live and topic not in gone})
                time.sleep(0.1)
        finally:
            server.end()
            print((directory / "log.txt").read_text(encoding="utf-8")[-3_000:], file=sys.stderr)
        return [gone[topic] - ends[topic] for topic in gone], server.kills, grants - len(gone)


def main(grants: int = 100, seconds: int = 300) -> None:
    """Prints the figures."""
    late, kills, left = measured(grants, seconds)
    assert min(late) >= 0, "a grant went before its end"
    twentieths = statistics.quantiles(late, n=20)
    print(f"\nRevocation: {grants} grants over {seconds} s, three brokers, server killed {kills} times")
    print(f"median {statistics.median(late):.1f} s, 95th percentile {twentieths[-1]:.1f} s, longest {max(late):.1f} s")
    print(f"left: {left}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]))
