"""Reads clusters in tasks into a store."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState, StatedFacts
from reconciler.parts.fleet.engine import Engine, in_time, reason
from reconciler.parts.fleet.membership import partition, told_apart
from reconciler.parts.fleet.readings import Place, write_live
from reconciler.parts.fleet.store import FleetStore, NoRunError
from reconciler.ports import ClusterError
from reconciler.results.fleet_drift import (
    Failure,
    FleetRun,
    Reading,
    failure_text,
    parse_failure,
    parse_reading,
    reading_text,
)

# Bounded, timed, repeated, and every failure a row that says why.

#: Told apart from the header of a reading by its first letter.
_FAILED: Final = "!"
#: Asking again does not help against these.
_LASTING: Final = frozenset(
    {
        "CLUSTER_AUTHORIZATION_FAILED",
        "SASL_AUTHENTICATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "SECURITY_DISABLED",
        "_AUTHENTICATION",
        "connection_unusable",
        "invalid_snapshot",
        "snapshot_unreadable",
    }
)


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """A cluster to read: its name, its scope, and a picklable way to its state that raises :class:`ClusterError`.

    ``stated`` is what somebody states of it beside that.
    """

    cluster: str
    scope: Scope
    read: Callable[[], ClusterState]
    stated: StatedFacts | None = None


@dataclass(frozen=True, slots=True)
class CollectionLimits:
    """How many clusters one task reads at once, how long it waits for one, how often it asks."""

    at_once: int = 4
    timeout: float = 120.0
    attempts: int = 3
    pause: float = 1.0


def collect(
    engine: Engine,
    store: FleetStore,
    sources: Sequence[SnapshotSource],
    run: FleetRun,
    patience: CollectionLimits,
) -> FleetRun:
    """Read ``sources`` into ``store`` and commit the run; ``run`` names it and holds what is carried over."""
    lists = partition(sources, [1] * len(sources), engine.task_count(len(sources), patience.at_once))
    work = partial(_read_all, store=store, side=f"taken={run.id}", taken=run.taken, patience=patience)
    readings, failures = list(run.readings), list(run.failures)
    for line in engine.run(lists, work, "read clusters", tally=_tally):
        if line.startswith(_FAILED):
            failures.append(parse_failure(line.removeprefix(_FAILED)))
        else:
            readings.append(parse_reading(line))
    done = told_apart(
        replace(
            run,
            readings=tuple(sorted(readings, key=lambda item: item.cluster)),
            failures=tuple(sorted(failures)),
        )
    )
    store.commit(done)
    return done


def carried(store: FleetStore, but: Sequence[str]) -> tuple[Reading, ...]:
    """The readings of the newest run, but for these clusters: what a run over a part of the fleet takes over."""
    try:
        newest = store.run()
    except NoRunError:
        return ()
    return tuple(reading for reading in newest.readings if reading.cluster not in but)


def _read_all(
    sources: Sequence[SnapshotSource],
    attempt: str,
    *,
    store: FleetStore,
    side: str,
    taken: str,
    patience: CollectionLimits,
) -> Iterator[str]:
    for source, state in in_time(sources, partial(_read, patience=patience), patience.at_once, patience.timeout):
        if state is None:
            message = f"no answer in {patience.timeout:g} s"
            yield _failure(Failure(source.cluster, "timed_out", message, "Is it reachable from here?"))
        elif isinstance(state, Failure):
            yield _failure(state)
        else:
            place = Place(store.files, side, source.cluster, attempt)
            reading = write_live(replace(state, stated=source.stated), source.scope, place, taken)
            store.note(side.removeprefix("taken="), reading)
            yield reading_text(reading)


def _read(source: SnapshotSource, patience: CollectionLimits) -> ClusterState | Failure:
    for attempt in range(1, patience.attempts + 1):
        try:
            return source.read()
        except ClusterError as error:
            failure = Failure(source.cluster, error.code, error.message, error.advice, attempt)
            if error.code in _LASTING:
                break
        except Exception as error:  # one cluster's trouble, whatever it is, must not end the others
            return Failure(source.cluster, "unexpected", reason(error), attempts=attempt)
        if attempt < patience.attempts:
            time.sleep(patience.pause * 2 ** (attempt - 1))
    return failure


def _tally(line: str) -> Mapping[str, int]:
    return {"not read": int(line.startswith(_FAILED))}


def _failure(failure: Failure) -> str:
    return _FAILED + failure_text(failure)
