"""What goes into one request."""

from reconciler.apply.batches import batches
from reconciler.apply.kinds.acl import DELETE_BUDGET, MAX_BINDINGS, SECONDS_PER_SCAN, delete_batch, pause_after
from reconciler.model import ClusterState, Create, Delete, Topic
from reconciler.plan import Phase, Step, created_topics
from tests.faults.scenario import acl


def test_deletes_shrink_as_the_cluster_grows() -> None:
    assert delete_batch(0) == MAX_BINDINGS
    for live in (1_000, 20_000, 130_000, 10_000_000):
        size = delete_batch(live)
        assert size == 1 or size * live * SECONDS_PER_SCAN <= DELETE_BUDGET
    assert delete_batch(20_000) == 71
    assert delete_batch(10**9) == 1


def test_deletes_leave_the_controller_alone_as_long_as_they_kept_it_busy() -> None:
    assert pause_after(Delete(acl("x", "User:a")), 0.4) == 0.4
    assert pause_after(Delete(acl("x", "User:a")), 60) == 2 * DELETE_BUDGET
    assert pause_after(Create(acl("x", "User:a")), 0.4) == 0


def test_requests_that_delete_grow_as_the_cluster_shrinks_and_none_is_lost() -> None:
    bindings = sorted(acl(f"t{number}", "User:a") for number in range(3_000))
    steps = [Step(Phase.DELETE_ALLOW, Delete(binding)) for binding in bindings]
    found = list(batches(Phase.DELETE_ALLOW, steps, ClusterState("c", frozenset(bindings))))
    assert [step for batch in found for step in batch] == steps
    sizes = [len(batch) for batch in found[:-1]]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_requests_are_as_small_as_asked_for_but_for_what_stands_first_and_last() -> None:
    steps = [Step(Phase.CREATE_ALLOW, Create(acl(f"t{number}", "User:a"))) for number in range(5)]
    live = ClusterState("c")
    assert [len(batch) for batch in batches(Phase.CREATE_ALLOW, steps, live, 2)] == [2, 2, 1]
    assert [len(batch) for batch in batches(Phase.CREATE_FIRST, steps, live, 2)] == [5]


def test_topics_are_cut_by_the_records_they_make_and_none_is_lost() -> None:
    steps = [Step(Phase.CREATE_TOPIC, Create(Topic(f"t{number}", 3_000, 1))) for number in range(5)]
    steps += [Step(Phase.CREATE_TOPIC, Create(Topic(f"u{number}", 1, 1))) for number in range(250)]
    found = list(batches(Phase.CREATE_TOPIC, steps, ClusterState("c")))
    assert [step for batch in found for step in batch] == steps
    assert max(map(len, found)) <= 100
    for batch in found:
        topics = created_topics(step.change for step in batch)
        assert sum(1 + (topic.num_partitions or 1) for topic in topics) <= 5_000
