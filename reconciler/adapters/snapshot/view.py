"""The part of a state that a reader asks for."""

from dataclasses import replace
from typing import Final

from reconciler.model import ClusterState
from reconciler.ports import ReadRequest

NOT_ASKED: Final = "not asked for"


def requested(state: ClusterState, request: ReadRequest) -> ClusterState:
    """What ``request`` asks for; a part that it leaves out is a gap, never empty."""
    if not request.acls:
        state = replace(state, bindings=frozenset(), opaque=(), acl_gap=NOT_ASKED)
    if not request.all_topics:
        names = frozenset(request.topic_names)
        state = replace(
            state,
            topics={name: topic for name, topic in state.topics.items() if name in names},
            unreadable_topics={name: why for name, why in state.unreadable_topics.items() if name in names},
            topic_gap="only some topics were asked for" if names else NOT_ASKED,
        )
    return state
