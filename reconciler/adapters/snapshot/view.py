"""The part of a state that a reader asks for."""

from dataclasses import replace

from reconciler.adapters.snapshot.broker import Snapshot
from reconciler.adapters.snapshot.kinds import KINDS
from reconciler.model import ClusterState
from reconciler.ports import ReadRequest


def requested(snapshot: Snapshot, request: ReadRequest) -> ClusterState:
    """What ``request`` asks for."""
    state = snapshot.state
    for kind in KINDS:
        state = kind.view(snapshot, request, state)
    return state if request.groups else replace(state, groups=None)
