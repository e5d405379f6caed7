"""What goes into one request."""

from reconciler.apply.batches import DELETE_BUDGET, MAX_BINDINGS, SECONDS_PER_SCAN, batches, delete_batch, pause_after
from reconciler.model import Create, Topic
from reconciler.plan import Phase, Step, created_topics


def test_deletes_shrink_as_the_cluster_grows() -> None:
    assert delete_batch(0) == MAX_BINDINGS
    for live in (1_000, 20_000, 130_000, 10_000_000):
        size = delete_batch(live)
        assert size == 1 or size * live * SECONDS_PER_SCAN <= DELETE_BUDGET
    assert delete_batch(20_000) == 71
    assert delete_batch(10**9) == 1


def test_deletes_leave_the_controller_alone_as_long_as_they_kept_it_busy() -> None:
    assert pause_after(Phase.DELETE_ALLOW, 0.4) == 0.4
    assert pause_after(Phase.DELETE_DENY, 60) == 2 * DELETE_BUDGET
    assert pause_after(Phase.CREATE_ALLOW, 0.4) == 0


def test_topics_are_cut_by_the_records_they_make_and_none_is_lost() -> None:
    steps = [Step(Phase.CREATE_TOPIC, Create(Topic(f"t{number}", 3_000, 1))) for number in range(5)]
    steps += [Step(Phase.CREATE_TOPIC, Create(Topic(f"u{number}", 1, 1))) for number in range(250)]
    found = list(batches(Phase.CREATE_TOPIC, steps, 0))
    assert [step for batch in found for step in batch] == steps
    assert max(map(len, found)) <= 100
    for batch in found:
        topics = created_topics(step.change for step in batch)
        assert sum(1 + (topic.num_partitions or 1) for topic in topics) <= 5_000
