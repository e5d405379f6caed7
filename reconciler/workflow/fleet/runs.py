"""Runs of a fleet in a store: taken, found again, compared with the manifests."""

import datetime
import re
import secrets
from collections.abc import Sequence
from typing import Final

from pyspark.sql import SparkSession

from reconciler.adapters.clock import SystemClock
from reconciler.adapters.spark.collecting import CollectionLimits, SnapshotSource, carried, collect
from reconciler.adapters.spark.comparing import Rules, compare_fleet
from reconciler.adapters.spark.compiling import compile_desired
from reconciler.dataclass import dataclass
from reconciler.fleet import (
    Fleet,
    FleetDrift,
    FleetRun,
    HeaderError,
    Reading,
    UnknownFleetError,
    fleet_of,
    told_apart,
)
from reconciler.fleet.store import FleetStore, NoRunError
from reconciler.manifest import Manifests, Source
from reconciler.workflow.connections import as_operator_says
from reconciler.workflow.guardrails import held
from reconciler.workflow.manifests import checked, read_sources
from reconciler.workflow.options import ConnectionOptions, moment, today
from reconciler.workflow.reasons import NoStoredRunError, UnknownFleetNameError, WorkflowError
from reconciler.workflow.terms import terms

#: ``expires`` with a day, written out.
_LAST_DAY: Final = re.compile(r"expires[\"']?:[ ]+[\"']?[0-9]{4}-[0-9]{2}-[0-9]{2}[\"']?[ ]*(?=[,}\]#\r\n]|$)")
#: A text in double quotes that could spell ``expires`` so that it is not found.
_ESCAPED: Final = re.compile(r"\\[xuU\r\n]")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the manifests say, of which clusters, at which time."""

    sources: Sequence[Source]
    manifests: Manifests
    fleet: Fleet
    as_of: datetime.date


def wanted(
    path: str,
    name: str | None = None,
    as_of: datetime.date | None = None,
    connection: ConnectionOptions = ConnectionOptions(),
    guardrails: str | None = None,
) -> Wanted:
    """The fleet that the manifests below ``path`` declare, or the one called ``name`` where there are several.

    The facts of the connections file count, and a manifest that contradicts them is a problem. Guardrails hold the
    fleet too: its waves, gates and limits.
    """
    sources = read_sources(path)
    manifests = as_operator_says(checked(sources, below=path), path, connection)
    default = today() if all(_only_days(source.text) for source in sources) else moment()
    fleet = fleet_in(held(manifests, path, guardrails), name)
    return Wanted(sources, manifests, fleet, as_of or default)


def _only_days(text: str) -> bool:
    """Whether a manifest declares nothing that ends within a day; what may be spelled otherwise counts as if it did.

    Then the day is as good as the instant, and what the store keeps of one comparison serves the next one too.
    """
    return _ESCAPED.search(text) is None and text.count("expires") == len(_LAST_DAY.findall(text))


def fleet_in(manifests: Manifests, name: str | None) -> Fleet:
    """The fleet that is meant; it has clusters."""
    try:
        fleet = fleet_of(manifests, name)
    except UnknownFleetError as error:
        raise UnknownFleetNameError(str(error)) from error
    if not fleet.clusters:
        raise WorkflowError(f"no declared cluster belongs to fleet {fleet.name}", "declare Cluster documents")
    return fleet


def stored_run(store: FleetStore, run_id: str | None = None) -> FleetRun:
    """A run of the store, the newest by default."""
    try:
        return store.run(run_id)
    except NoRunError as error:
        raise NoStoredRunError(str(error)) from error
    except (HeaderError, OSError) as error:
        raise WorkflowError(f"the snapshot cannot be read: {error}") from error


def take(
    session: SparkSession,
    store: FleetStore,
    readers: Sequence[SnapshotSource],
    patience: CollectionLimits = CollectionLimits(),
    *,
    carry: bool = False,
) -> FleetRun:
    """Read clusters into the store as a new run; one that cannot be read is in ``failures`` with the reason.

    With ``carry``, the other clusters of the run before are taken over. Nothing is written to a cluster.
    """
    before: tuple[Reading, ...] = ()
    if carry:
        try:
            before = carried(store, [reader.cluster for reader in readers])
        except (HeaderError, OSError) as error:
            raise WorkflowError(f"the run before cannot be read: {error}", "read the whole fleet") from error
    run = FleetRun(_new_run_id(), SystemClock().now(), before)
    return collect(session, store, readers, run, patience)


def drift_fleet(session: SparkSession, store: FleetStore, run: FleetRun, given: Wanted) -> FleetDrift:
    """How the clusters of a run differ from what is wanted, as the store keeps it too; nothing is asked of any cluster.

    What runs left counts as it does in a single drift, by the time at which the cluster was read. A cluster of which
    nothing is known is in ``failed`` with the reason, one that was not seen whole in ``doubtful``.
    """
    rules = {
        name: Rules(cluster.scope, terms(cluster).diff_rules, cluster.allow_everyone_if_no_acl_found)
        for name, cluster in given.manifests.clusters.items()
    }
    desired = compile_desired(session, store, given.sources, given.fleet.clusters, given.as_of)
    name = f"{run.id}-{desired.id[:12]}"
    drift = compare_fleet(session, store, desired, told_apart(run), rules, name)
    store.keep_drift(name, drift)
    return drift


def _new_run_id() -> str:
    """Sorts by time, to the microsecond, and is unique all the same."""
    return f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(2)}"
