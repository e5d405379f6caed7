"""What it costs to open a certification of 100,000 ACLs, and how many commands a first one takes.

Run: ``python -m benchmarks.certify [COUNT]``: the cluster of ``benchmarks.access``, whose topics 500 teams own, in
processor seconds; then 285 ACLs of 12 teams, of which nothing is declared, to a pack that is checked. Every line of the
second is one that somebody types, as docs/how-to.md has it.
"""

import os
import subprocess
import sys
import tempfile
import time
from itertools import islice, product
from pathlib import Path

from benchmarks.access import Cluster
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text
from tests.worlds import bindings

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


_TEAMS = (
    *("billing", "cards", "crm", "data", "fraud", "ledger"),
    *("mobile", "orders", "payments", "risk", "search", "tools"),
)
_ACLS = 285
#: What the platform types: before the owners answer, for each of them, and after it.
_BEFORE = (
    "reconciler export --layout team --cluster bank=snapshot:bank.json --out manifests",
    "sed -i '4,$s/^# \\?//' manifests/ownership-draft.yaml",
    "sed -i 's/^spec:$/spec:\\n  allowEveryoneIfNoAclFound: false/' manifests/cluster.yaml",
    "reconciler certify open --path manifests --cluster bank=snapshot:bank.json --due 2w --out certify/2026Q4",
)
_FOR_EACH = (
    'echo {0}@example.com namespaces=\\"kafka-reconciler-certify/{0}\\" $(cut -d" " -f1,2 {0}.pub) >> signers',
)
_AFTER = (
    "reconciler certify status certify/2026Q4 --allowed-signers signers",
    "reconciler certify close certify/2026Q4 --path manifests --cluster bank=snapshot:bank.json "
    "--allowed-signers signers --out 2026Q4.tar --write",
    "reconciler certify verify 2026Q4.tar --allowed-signers signers",
)
#: What an owner types, who keeps everything.
_OWNER = (
    "ssh-keygen -q -t ed25519 -N '' -f {0}",
    "sed -i 's/decision: each/decision: keep/' certify/2026Q4/{0}.yaml",
    "reconciler certify sign certify/2026Q4/{0}.yaml --key {0}",
)


def _bank() -> ClusterState:
    """A cluster made by hand: services with prefixes, readers of others' topics, a person and wide ACLs of no team."""
    topics = [f"{team}.topic{number}" for team in _TEAMS for number in range(4)]
    lines = [
        "TOPIC:L:* User:old-etl@* ALLOW READ",
        "GROUP:L:* User:old-etl@* ALLOW READ",
        "TOPIC:L:* User:monitor@* ALLOW DESCRIBE",
        "TOPIC:L:cards.topic1 User:*@* DENY DELETE",
        "TOPIC:L:risk.topic1 User:alice@* ALLOW READ",
        "CLUSTER:L:kafka-cluster User:admin@* ALLOW ALTER",
    ]
    for team in _TEAMS:
        lines += [f"TOPIC:P:{team}. User:svc-{team}@* ALLOW ALL", f"GROUP:P:{team}- User:svc-{team}@* ALLOW READ"]
        lines += [f"TOPIC:L:{topic} User:svc-{team}-api@* ALLOW WRITE" for topic in topics if topic.startswith(team)]
    readers = product(topics, (f"User:svc-{team}-{job}" for job in ("job", "bi") for team in _TEAMS))
    others = (f"TOPIC:L:{topic} {who}@* ALLOW READ" for topic, who in islice(readers, 0, None, 5))
    lines += islice(others, _ACLS - len(lines))
    return ClusterState("bank", frozenset(bindings(*lines)), kafka_version=(4, 4))


def first_campaign(place: Path) -> tuple[int, int, float]:
    """Commands of the platform, commands of each owner, and seconds; an error if one fails."""
    state = _bank()
    assert len(state.bindings) == _ACLS
    (place / "bank.json").write_text(snapshot_text(state), encoding="utf-8")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    begun, said = time.monotonic(), ""

    def typed(lines: tuple[str, ...], who: str = "") -> None:
        nonlocal said
        for line in lines:
            ended = subprocess.run(
                ("/bin/bash", "-c", line.format(who)),
                cwd=place,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ended.returncode == 0, (line, ended.stderr)
            said = ended.stdout

    typed(_BEFORE)
    owners = sorted(file.stem for file in (place / "certify" / "2026Q4").glob("*.yaml"))
    for owner in owners:
        typed(_OWNER, owner)
        typed(_FOR_EACH, owner)
    typed(_AFTER)
    assert "intact, by your signers" in said, said
    assert all(f"{owner} by {owner}@example.com" in said for owner in owners), said
    assert {*_TEAMS} < {*owners}, owners
    return len(_BEFORE) + len(_FOR_EACH) * len(owners) + len(_AFTER), len(_OWNER), time.monotonic() - begun


def main(count: int) -> None:
    """Write manifests and a snapshot, and open a campaign; then a whole first one."""
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
    with tempfile.TemporaryDirectory() as directory:
        own, each, seconds = first_campaign(Path(directory))
    print(
        f"{_ACLS} ACLs of {len(_TEAMS)} teams, of which nothing is declared, to a pack that is checked: "
        f"{own} commands of the platform, {each} of each owner, {seconds:.0f} s"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
