"""What it costs to open a certification of 100,000 ACLs, in processor seconds.

Run: ``python -m benchmarks.certify [COUNT]``: the cluster of ``benchmarks.access``, whose topics 500 teams own.
"""

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.access import Cluster
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: big}
spec: {allowEveryoneIfNoAclFound: false, superUsers: ["User:admin"]}
---
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
"""


def main(count: int) -> None:
    """Write manifests and a snapshot, and open a campaign."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        owners = "".join(f"    - {{team: team-{n}, topics: {{prefix: team-{n}.}}}}\n" for n in range(500))
        (place / "manifests").mkdir()
        (place / "manifests" / "all.yaml").write_text(_CLUSTER + owners, encoding="utf-8")
        state = ClusterState("big", frozenset(Cluster(count).bindings), kafka_version=(4, 4))
        (place / "big.json").write_text(snapshot_text(state), encoding="utf-8")
        where = ["--path", str(place / "manifests"), "-c", f"big=snapshot:{place / 'big.json'}"]
        begun = time.process_time()
        status = run(["certify", "open", *where, "--due", "2w", "--out", str(place / "q"), "-q"])
        print(f"{count:,} ACLs: status {status}, {time.process_time() - begun:.1f} s of processor time, aim 60")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
