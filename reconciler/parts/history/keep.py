"""Keeps readings of a cluster in the store: a new one where something differs, else that the newest one still holds."""

import datetime
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from reconciler.app.options import now
from reconciler.app.reasons import WorkflowError
from reconciler.app.session import Target
from reconciler.app.terms import stated_facts
from reconciler.codec.document import compact
from reconciler.codec.kinds import LISTED
from reconciler.dataclass import dataclass
from reconciler.model.desired import moment_text
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.readings import Place, read_live, write_live
from reconciler.parts.fleet.store import FleetStore, NoRunError, thinned
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.history.evidence import facts_of
from reconciler.parts.history.table import TableError
from reconciler.parts.history.update import CONFIRMED, NoReadingError, confirmed_until, mark_thinned
from reconciler.ports import ClusterError, ReadRequest
from reconciler.results.fleet_drift import FleetRun, HeaderError, Reading


@dataclass(frozen=True, slots=True)
class FreshReading:
    """What was just read of a cluster, and when the reading began and ended."""

    cluster: str
    state: ClusterState
    scope: Scope
    began: datetime.datetime
    ended: datetime.datetime


def keep_reading(store: FleetStore, fresh: FreshReading) -> str | None:
    """Keep a reading as a new run of the store; its id, or ``None`` where the newest one has the same.

    Then the store says that the newest one held until this one began. Raises ``HeaderError`` and ``OSError``.
    """
    before = _newest(store)
    known = before.reading(fresh.cluster) if before is not None else None
    began, ended = moment_text(fresh.began.replace(microsecond=0)), moment_text(fresh.ended.replace(microsecond=0))
    if known is not None and _same(store, known, fresh.state):
        said = compact({"taken": known.taken, "began": began, "ended": ended})
        store.files.write(f"{CONFIRMED}/cluster={fresh.cluster}.json", said.encode())
        return None
    run_id = f"{fresh.began:%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(2)}"
    place = Place(store.files, f"taken={run_id}", fresh.cluster, secrets.token_hex(4))
    confirmed = confirmed_until(store, fresh.cluster)
    held = known is not None and confirmed is not None and confirmed[0] == known.taken
    until = moment_text(datetime.datetime.fromtimestamp(confirmed[1], datetime.UTC)) if held and confirmed else ""
    reading = replace(write_live(fresh.state, fresh.scope, place, began), ended=ended, unchanged_until=until)
    others = () if before is None else tuple(one for one in before.readings if one.cluster != fresh.cluster)
    failures = () if before is None else tuple(one for one in before.failures if one.cluster != fresh.cluster)
    readings = tuple(sorted((*others, reading), key=lambda one: one.cluster))
    store.commit(FleetRun(run_id, began, readings, failures))
    return run_id


def _newest(store: FleetStore) -> FleetRun | None:
    try:
        return store.run()
    except NoRunError:
        return None


def _same(store: FleetStore, known: Reading, state: ClusterState) -> bool:
    return known.cluster_id == state.cluster_id and facts_of(read_live(store.files, known)) == facts_of(state)


def thin_out(store: FleetStore, days: int, at: datetime.datetime) -> list[str]:
    """Remove older runs of the store, once what is to be derived of them is derived; returns those that went.

    All runs of the last ``days`` stay, then one a day and one a week. Raises ``HeaderError`` and ``OSError``.
    """
    known = store.run_ids()
    kept = thinned(known, at, days)
    if len(kept) == len(known):
        return []
    for cluster in {reading.cluster for run in known for reading in store.run(run).readings}:
        mark_thinned(store, cluster, int(at.timestamp()), int((at - datetime.timedelta(days=days)).timestamp()))
    return store.retain(kept)


#: A server thins out once in so many seconds.
_THINNED_EVERY: Final = 86_400


def keeper(place: str, days: int = 30) -> Callable[[Target], None]:
    """Keeps what a server reads in each round; older readings are thinned out once a day."""
    store = store_at(place)
    last = 0.0

    def keep(target: Target) -> None:
        nonlocal last
        facts = target.facts
        request = ReadRequest(
            principal=facts.principal if facts else None,
            super_users=facts.super_users if facts else (),
            listings=LISTED,
        )
        began = now()
        try:
            state = replace(target.cluster.read(request), stated=stated_facts(facts) if facts else None)
            keep_reading(store, FreshReading(target.name, state, facts.scope if facts else Scope(), began, now()))
            if began.timestamp() - last > _THINNED_EVERY:
                last = began.timestamp()
                thin_out(store, days, began)
        except ClusterError as error:
            raise WorkflowError(f"no reading was kept: {error}", error.advice) from error
        except (HeaderError, NoReadingError, TableError, OSError) as error:
            raise WorkflowError(f"no reading was kept in {place}: {error}") from error

    return keep
