"""The part of a state that a reader asks for."""

from dataclasses import replace

from reconciler.adapters.snapshot.broker import Snapshot
from reconciler.model import ClusterState
from reconciler.ports import ReadRequest


def requested(snapshot: Snapshot, request: ReadRequest) -> ClusterState:
    """What ``request`` asks for. A gap is said of what was asked for only: named topics have none."""
    state = snapshot.state
    if request.broker_defaults:
        broker = snapshot.broker
        defaults = {
            "auto.create.topics.enable": "false",
            "default.replication.factor": str(broker.default_replication_factor),
            "num.partitions": str(broker.default_partitions),
        }
        state = replace(state, broker_defaults=defaults)
    if not request.groups:
        state = replace(state, groups=None)
    if not request.acls:
        state = replace(state, bindings=frozenset(), opaque=(), acl_gap=None)
    if not request.all_topics:
        names = frozenset(request.topic_names)
        listed = frozenset({*state.topics, *state.unreadable_topics}) if request.topic_listing else frozenset()
        state = replace(
            state,
            topics={name: topic for name, topic in state.topics.items() if name in names},
            unreadable_topics={name: why for name, why in state.unreadable_topics.items() if name in names},
            topic_gap=None,
            topic_names=listed,
        )
    return state
