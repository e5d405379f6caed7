"""A tour of the fleet commands that needs no broker: ``examples/fleet`` against snapshots of clusters that drifted."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from reconciler.adapters.snapshot import snapshot_text
from reconciler.cli.wiring import load, today
from reconciler.manifest import desired_state
from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ClusterState,
    ResourcePattern,
    ResourceType,
)

#: What nobody declared, on one cluster only.
_FORGOTTEN: Final = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "orders.placed"),
    AccessControlEntry("User:intern", "*", AclOperation.ALL, AclPermissionType.ALLOW),
)


def prepare(manifests: Path, live: Path) -> None:
    """Write a snapshot of each cluster that the manifests declare: as declared, but for three things that happened.

    The first lost a grant, the second has one that nobody declared, the third cannot be read.
    """
    live.mkdir(parents=True, exist_ok=True)
    loaded = load(str(manifests))
    for number, name in enumerate(loaded.clusters):
        wanted = desired_state(loaded, name, today())
        topics = {item.topic.name: item.topic for item in wanted.topics.values() if not item.absent}
        state = ClusterState(f"tour-{name}", frozenset(wanted.bindings), topics)
        if number == 0:
            state = replace(state, bindings=state.bindings - {min(state.bindings)})
        elif number == 1:
            state = replace(state, bindings=state.bindings | {_FORGOTTEN})
        else:
            continue
        (live / f"{name}.json").write_text(snapshot_text(state), encoding="utf-8")


def tour(manifests: Path, directory: Path) -> Iterator[tuple[str, list[str]]]:
    """What to say, and the command line to run; ``directory`` holds what :func:`prepare` wrote into ``live``."""
    live, store, plans = (str(directory / name) for name in ("live", "store", "plans"))
    where = [str(manifests), "--store", store]
    yield (
        "Read every cluster; one cannot be read, and is said to be.",
        ["fleet", "snapshot", *where, "--snapshots", live],
    )
    yield "Compare all of them with the manifests.", ["fleet", "drift", *where]
    yield "Who may write to a topic, anywhere?", ["fleet", "query", *where, "--who-can", "WRITE topic orders.placed"]
    yield "Which access did nobody declare?", ["fleet", "query", *where, "--undeclared"]
    yield (
        "Plan for all, canary first; the fleet's id approves every plan at once.",
        ["fleet", "plan", str(manifests), "--snapshots", live, "--allow-deletes", "--out", plans],
    )
