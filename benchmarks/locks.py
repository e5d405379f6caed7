"""How long a ``lock`` takes from its start until each of three brokers denies the principal.

Run: ``python -m benchmarks.locks [LOCKS]``. Before each lock every broker lets the principal describe the configs of a
topic. From the command's start on, each is asked again and again as that principal; it is locked once all refuse.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AclBinding, AdminClient

from benchmarks.startup import RECONCILER
from reconciler.kafka.handshake import KafkaProbe
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ProbeAnswer, Visibility
from tests.integration.kafka.conftest import settings_of

_TOPIC, _DESCRIBE_CONFIGS, _ALLOW, _LITERAL = 2, 10, 3, 3
_ASKED: Final = "asked"
_BROKERS: Final = (1, 2, 3)
_CLUSTER: Final = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: locks}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
"""


def _until(probe: KafkaProbe, wanted: Visibility) -> float:
    """The moment at which the last broker answered so."""
    while True:
        answers: list[ProbeAnswer] = list(probe.ask(_ASKED, _BROKERS).values())
        if all(answer.visibility is wanted for answer in answers):
            return time.monotonic()
        time.sleep(0.02)


def _locked(sandbox: Sandbox, manifests: Path, probe: KafkaProbe) -> float:
    """Seconds from the start of one ``lock`` until every broker refuses; the lock is ended again."""
    reach = (str(manifests), "--cluster", "locks", "--connections", str(sandbox.connections), "--yes")

    def command(word: str) -> list[str]:
        return [RECONCILER, word, "User:svc", *reach, "--reason", "measured"]

    _until(probe, Visibility.PERMITTED)
    start = time.monotonic()
    with subprocess.Popen(command("lock"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        seconds = _until(probe, Visibility.REFUSED) - start
        said = process.communicate()[1]
    assert process.returncode == 0, said
    subprocess.run(command("unlock"), check=True, capture_output=True)
    return seconds


def main(count: int = 50) -> None:
    """Prints the figures."""
    with tempfile.TemporaryDirectory(prefix="locks-") as directory:
        spec = SandboxSpec(name="locks", nodes=3, users=generated_users("admin", "reconciler", "svc"))
        with running(spec, root=Path(directory, "sandboxes")) as sandbox:
            manifests = Path(directory, "manifests")
            manifests.mkdir()
            (manifests / "cluster.yaml").write_text(_CLUSTER, encoding="utf-8")
            allowed = AclBinding(_TOPIC, _ASKED, _LITERAL, "User:svc", "*", _DESCRIBE_CONFIGS, _ALLOW)
            admin = AdminClient({**sandbox.settings("admin")})
            admin.create_acls([allowed])[allowed].result()
            probe = KafkaProbe(settings_of(sandbox.settings("svc")))
            times = [_locked(sandbox, manifests, probe) for _ in range(count)]
            probe.close()
    print(f"{count} locks on three brokers, from the command's start until each broker refuses the principal:")
    print(f"median {statistics.median(times):.2f} s, p95 {statistics.quantiles(times, n=20)[-1]:.2f} s, "
          f"longest {max(times):.2f} s")  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
