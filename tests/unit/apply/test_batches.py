"""What goes into one request."""

from dataclasses import replace

from reconciler.apply.kinds.acl import DELETE_BUDGET, KIND, MAX_BINDINGS, SECONDS_PER_SCAN, delete_batch
from reconciler.apply.sending import batches
from reconciler.model.listing import Change, Create, Delete, Update
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions, TopicReplicas
from reconciler.plan.kinds.topic import created_topics
from reconciler.plan.phase import Phase
from reconciler.plan.step import Step
from tests.worlds import acl


def test_deletes_shrink_as_the_cluster_grows() -> None:
    assert delete_batch(0) == MAX_BINDINGS
    for live in (1_000, 20_000, 130_000, 10_000_000):
        size = delete_batch(live)
        assert size == 1 or size * live * SECONDS_PER_SCAN <= DELETE_BUDGET
    assert delete_batch(20_000) == 71
    assert delete_batch(10**9) == 1


def test_deletes_leave_the_controller_alone_as_long_as_they_kept_it_busy() -> None:
    assert KIND.pause_after(Delete(acl("x", "User:a")), 0.4) == 0.4
    assert KIND.pause_after(Delete(acl("x", "User:a")), 60) == 2 * DELETE_BUDGET
    assert KIND.pause_after(Create(acl("x", "User:a")), 0.4) == 0


def test_requests_that_delete_grow_as_the_cluster_shrinks_and_none_is_lost() -> None:
    bindings = sorted(acl(f"t{number}", "User:a") for number in range(3_000))
    steps = [Step(Phase.DELETE_ALLOW, Delete(binding)) for binding in bindings]
    found = list(batches(Phase.DELETE_ALLOW, steps, ClusterState("c", frozenset(bindings))))
    assert [step for batch in found for step in batch] == steps
    assert all(found), "no request is empty"
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


def sizes(*changes: Change) -> list[int]:
    steps = [Step(Phase.CREATE_TOPIC, change) for change in changes]
    return [len(batch) for batch in batches(Phase.CREATE_TOPIC, steps, ClusterState("c"))]


def test_a_request_makes_as_many_records_as_it_may_and_no_more() -> None:
    """5,000: a topic makes a record of its own and one for each partition and config; other steps what they change."""
    two, default = Topic("t", 2_490, 1, {"a": "1", "b": "2"}), Topic("u")
    assert sizes(Create(two), Create(default), Create(Topic("v", 2_504, 1))) == [3]
    assert sizes(Create(two), Create(default), Create(Topic("v", 2_505, 1))) == [2, 1]
    assert sizes(Create(Topic("v", 9_000, 1)), Create(two), Create(default)) == [1, 2]
    for more, found in ((2_510, [2]), (2_511, [1, 1])):
        grown = [
            Update(TopicPartitions(name, 10), TopicPartitions(name, count))
            for name, count in (("t", 2_510), ("u", more))
        ]
        assert sizes(*grown) == found
    for count, found in ((2_500, [2]), (2_501, [1, 1])):
        new: list[dict[str, str | None]] = [dict.fromkeys(map(str, range(one)), "1") for one in (2_500, count)]
        set_to = [TopicConfigs(f"t{number}", configs) for number, configs in enumerate(new)]
        assert sizes(*(Update(replace(one, configs=dict.fromkeys(one.configs)), one) for one in set_to)) == found
    assert sizes(*(Delete(Topic(f"t{number}", 9_000, 1)) for number in range(101))) == [100, 1]


def test_each_move_of_replicas_is_a_request_of_its_own() -> None:
    assert sizes(*(Update(TopicReplicas(name, ((1,),)), TopicReplicas(name, ((2,),))) for name in "abc")) == [1, 1, 1]
