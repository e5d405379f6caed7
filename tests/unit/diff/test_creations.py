"""What no controller takes in a creation is told before anything is sent, and only where it is certain."""

import itertools

import pytest

from reconciler.model.desired import DesiredState, DesiredTopic, Origin
from reconciler.model.listing import Impossible
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import Assignments, Layout, Topic
from reconciler.plan.difference import DiffRules
from reconciler.plan.kinds import compare
from reconciler.ports import ClusterError
from reconciler.snapshot.document import BrokerFacts, Snapshot
from reconciler.snapshot.kinds import layout, placed

PLACE = Origin("t.yaml", 1, 1)
ASSIGNED: list[Assignments | None] = [None, ((1,),), ((1, 2), (2, 3)), ((4,),), ((1, 9),)]


def refused(new: Topic, brokers: int | None) -> str | None:
    """Why a topic is not created on a cluster with so many brokers, ``None`` if it is."""
    racks = None if brokers is None else Layout(dict.fromkeys(range(1, brokers + 1)))
    state = ClusterState("c", layout=racks)
    found = compare(DesiredState({}, {new.name: DesiredTopic(new, PLACE)}), state, Scope(), DiffRules())
    assert len(found.changes) + len(found.skipped) == 1
    for item in found.skipped:
        assert isinstance(item.change, Impossible)
        return item.change.reason
    return None


@pytest.mark.parametrize("brokers", [1, 2, 3, 4])
def test_replicas_are_refused_where_kafka_refuses_them(brokers: int) -> None:
    facts = BrokerFacts(broker_ids=tuple(range(1, brokers + 1)))
    for factor, assigned in itertools.product((None, 1, 2, 3, 4, 5), ASSIGNED):
        if factor is not None and assigned is not None:
            continue
        new = Topic("t", None if assigned is None else len(assigned), factor, replica_assignments=assigned)
        assert (refused(new, brokers) is None) is isinstance(placed(facts, new), Topic), new


def test_where_the_brokers_are_not_known_nothing_is_refused() -> None:
    assert refused(Topic("t", 1, 99), None) is None


@pytest.mark.parametrize(("partitions", "configs", "taken"), [(9_999, 0, True), (10_000, 0, False), (9_998, 2, False)])
def test_a_topic_of_more_records_than_one_batch_holds_is_refused(partitions: int, configs: int, taken: bool) -> None:
    names = ("retention.ms", "segment.ms")[:configs]
    why = refused(Topic("t", partitions, 1, dict.fromkeys(names, "1")), 1)
    assert (why is None) is taken
    assert taken or "10,000" in str(why)


def test_a_snapshot_that_names_its_brokers_judges_new_topics_and_no_others() -> None:
    snapshot = Snapshot(ClusterState("c", topics={"old": Topic("old", 1, 1)}), BrokerFacts(broker_ids=(1, 2)))
    assert layout(snapshot, ["new"]).racks == {1: None, 2: None}
    with pytest.raises(ClusterError, match="racks"):
        layout(snapshot, ["new", "old"])
