"""One CreateAcls of a lock is a whole batch or none, whatever is killed while it is under way."""

import random
import threading
import time
from contextlib import suppress

import pytest

from reconciler.app.lock import Lockable, LockTerms
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import WorkflowError
from reconciler.app.session import Target
from reconciler.model.locks import lock_denials, locks
from reconciler.ports import ClusterError, ReadRequest
from tests.faults.cluster import Cluster

pytestmark = pytest.mark.broker
_ACLS = ReadRequest(all_topics=False)


def _lock(three: Cluster, name: str) -> None:
    with suppress(WorkflowError, ClusterError), three.connect() as admin:
        Lockable(Target("c", admin, None), admin.read(_ACLS), LockTerms(name, "key leaked"), ConnectionOptions()).lock()


@pytest.mark.long
def test_a_lock_is_whole_or_not_there_when_nodes_are_killed_under_it(three: Cluster) -> None:
    """Fifty locks, each with a broker or the active controller killed at some moment of it."""
    rng, seen = random.Random(31), set[int]()
    nodes = [node.id for node in three.sandbox.nodes]
    for turn in range(50):
        name = f"User:locked-{turn}"
        locking = threading.Thread(target=_lock, args=(three, name))
        locking.start()
        time.sleep(rng.uniform(0.0, 0.4))
        three.kill(rng.choice(nodes))
        locking.join(120)
        assert not locking.is_alive()
        three.heal()
        with three.connect() as admin:
            live = admin.read(_ACLS).bindings
        there = sum(one in live for one in lock_denials(name)) + (name in locks(live))
        seen.add(there)
        assert there in (0, len(lock_denials(name)) + 1)
    assert len(lock_denials("User:x")) + 1 in seen
