"""Runs of a fleet in a store: taken, found again, compared with the manifests."""

import datetime
import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from reconciler.app.connections import as_operator_says
from reconciler.app.manifests import checked, held, read_sources
from reconciler.app.options import ConnectionOptions, moment, now, today
from reconciler.app.reasons import (
    HeldError,
    NoStoredRunError,
    RequestError,
    StaleError,
    UnknownFleetNameError,
    WorkflowError,
)
from reconciler.app.records import saved_plan
from reconciler.app.terms import terms
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.read.findings import Source
from reconciler.model.desired import moment_text
from reconciler.parts.fleet import proposal
from reconciler.parts.fleet.app.plan import PlannedFleet, member_of
from reconciler.parts.fleet.engine import Engine
from reconciler.parts.fleet.membership import Fleet, UnknownFleetError, fleet_of, same_cluster, without_duplicates
from reconciler.parts.fleet.readings import CollectionLimits, SnapshotSource, collect
from reconciler.parts.fleet.store import FleetStore, NoRunError, run_name
from reconciler.parts.fleet.tasks.comparing import Rules, compare_fleet, compile_desired, compiled_key, loaded
from reconciler.plan.file import file_digest
from reconciler.results.fleet_drift import FleetDrift, FleetRun, HeaderError, Reading
from reconciler.system.files import write_atomically

#: ``expires`` with a day, written out.
_LAST_DAY: Final = re.compile(r"expires[\"']?:[ ]+[\"']?[0-9]{4}-[0-9]{2}-[0-9]{2}[\"']?[ ]*(?=[,}\]#\r\n]|$)")
#: A text in double quotes that could spell ``expires`` so that it is not found.
_ESCAPED: Final = re.compile(r"\\[xuU\r\n]")
#: So many plans are written at a time.
_WRITERS: Final = 16


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
    # As tasks of this process get them, which read none again.
    manifests = as_operator_says(checked(sources, below=path, read=loaded), path, connection)
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
    engine: Engine,
    store: FleetStore,
    readers: Sequence[SnapshotSource],
    patience: CollectionLimits = CollectionLimits(),
    *,
    carries: Callable[[str], bool] | None = None,
    resume: bool = False,
) -> FleetRun:
    """Read clusters into the store as a new run; one that cannot be read is in ``failures`` with the reason.

    Of the other clusters, those that it ``carries`` are taken over from the newest run. With ``resume``, what runs that
    did not end have read of these clusters since it, with its times. Nothing is written to a cluster.
    """
    begun: Mapping[str, tuple[str, Reading]] = {}
    try:
        if carries is not None and store.run_ids():
            store.run()  # what it carries has to be there before clusters are asked
    except (HeaderError, OSError) as error:
        raise WorkflowError(f"the run before cannot be read: {error}", "read the whole fleet") from error
    if resume:
        wanted = {reader.cluster for reader in readers}
        try:
            begun = {cluster: entry for cluster, entry in store.begun().items() if cluster in wanted}
        except (HeaderError, OSError) as error:
            raise WorkflowError(f"what was read before cannot be read: {error}", "do not resume") from error
        readers = [reader for reader in readers if reader.cluster not in begun]
    try:
        began = store.next_time(now())
        read_by = {name: tuple(cluster for cluster in begun if begun[cluster][0] == name) for name, _ in begun.values()}
        readings = tuple(reading for _, reading in begun.values())
        run = FleetRun(run_name(began), moment_text(began), readings, read_by=read_by)
        return collect(engine, store, readers, run, patience, carries)
    except (HeaderError, OSError) as error:
        raise WorkflowError(f"no run can be added to {store.files.root}: {error}") from error


def drift_fleet(engine: Engine, store: FleetStore, run: FleetRun, given: Wanted) -> FleetDrift:
    """How the clusters of a run differ from what is wanted, as the store keeps it too; nothing is asked of any cluster.

    What runs left counts as it does in a single drift, by the time at which the cluster was read. A cluster of which
    nothing is known is in ``failed`` with the reason, one that was not seen whole in ``doubtful``.
    """
    rules = {
        name: Rules(cluster.scope, terms(cluster).diff_rules, cluster.allow_everyone_if_no_acl_found)
        for name, cluster in given.manifests.clusters.items()
    }
    desired = compile_desired(engine, store, given.sources, given.fleet.clusters, given.as_of)
    name = f"{run.id}-{desired.id[:12]}"
    drift = compare_fleet(engine, store, desired, without_duplicates(run), rules, name)
    store.keep_drift(name, drift)
    return drift


def is_compiled(store: FleetStore, given: Wanted) -> bool:
    """Whether these manifests were compiled before, at this time and for these clusters."""
    return store.compiled(compiled_key(given.sources, given.fleet.clusters, given.as_of)) is not None


# A fleet's plan, its clusters' plans and its record, as they stand in the directory of plans.

#: How the fleet's own plan is called.
FLEET_FILE: Final = "fleet.json"
#: How the record of finished clusters is called.
RECORD_FILE: Final = "record.jsonl"


def check_new(directory: Path) -> None:
    """Refuse a directory that holds something already: it could be mistaken for part of the plan."""
    if directory.exists() and any(directory.iterdir()):
        raise RequestError(f"{directory} is not empty: nothing was planned", "give a new directory")


def save_fleet_plan(planned: PlannedFleet, directory: Path) -> None:
    """Write the plans first: without fleet.json there is no plan of the fleet."""
    members = planned.plan.members
    try:
        (directory / "plans").mkdir(parents=True, exist_ok=True)
        # Side by side: each waits for the disk, which takes many files in the time of one.
        with ThreadPoolExecutor(_WRITERS) as pool:
            files = (str(directory / item.file) for item in members)
            list(pool.map(write_atomically, (planned.texts[item.cluster] for item in members), files))
        write_atomically(proposal.fleet_plan_text(planned.plan), str(directory / FLEET_FILE))
    except OSError as error:
        raise WorkflowError(f"the plans cannot be saved: {error}") from error


@dataclass(frozen=True, slots=True)
class SavedPlans:
    """A fleet's plan, the digest of its file (``file-…``), and the texts of its clusters' plans by cluster."""

    plan: proposal.FleetPlan
    digest: str
    texts: dict[str, str]


def read_fleet_plan(directory: Path) -> SavedPlans:
    """The plans of a directory, each of a cluster byte by byte the one that the fleet's plan names."""
    try:
        own = (directory / FLEET_FILE).read_text(encoding="utf-8")
        plan = proposal.parse_fleet_plan(own)
    except proposal.FleetPlanError as error:
        raise StaleError(f"{directory / FLEET_FILE}: {error}", "plan again") from error
    except (OSError, UnicodeDecodeError) as error:
        raise WorkflowError(f"{directory / FLEET_FILE} cannot be read: {error}") from error
    texts, answered = {}, {}
    for member in plan.members:
        file = directory / member.file
        saved, digest = saved_plan(str(file))
        texts[member.cluster] = file.read_text(encoding="utf-8")
        # All that the fleet's plan says of it: what people agree to is shown by that, and no id covers the counts.
        named = replace(member_of(saved.terms.cluster, saved, texts[member.cluster]), file=member.file)
        if named != member:
            message = f"{member.file} is not the plan that {FLEET_FILE} names for cluster {member.cluster}"
            raise StaleError(message, "plan again")
        if not saved.options.declared:
            # The id that a member is performed by stands beside it: that vouches for nothing.
            raise StaleError(f"{member.file} does more than manifests ask for: no plan of a fleet does", "plan again")
        if file_digest(texts[member.cluster]) != digest:
            raise StaleError(f"{member.file} was changed while it was read", "apply again")
        answered[member.cluster] = saved.cluster_id
    if same := same_cluster(answered):
        first = min(same.values())
        raise StaleError(f"{first.cluster} {first.message}", first.advice)
    return SavedPlans(plan, file_digest(own), texts)


@contextmanager
def plan_lock(directory: Path) -> Iterator[None]:
    """Perform a fleet's plans alone for the time of the block; raises :class:`HeldError` where somebody else does."""
    try:
        descriptor = os.open(directory / RECORD_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise WorkflowError(f"{directory / RECORD_FILE} cannot be written: {error}: nothing was sent") from error
    try:
        _lock(descriptor, directory)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, directory: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise HeldError(f"another process is performing the plans in {directory}: nothing was sent") from error
    except OSError as error:
        raise WorkflowError(f"{directory / RECORD_FILE} cannot be locked: {error}: nothing was sent") from error


def add_to_record(directory: Path, lines: Iterable[str]) -> None:
    """Append records, flushed to disk; a line that a crash has cut off goes, so that it damages none behind it.

    Raises :class:`WorkflowError` where they cannot be written: what was done to their clusters is done.
    """
    try:
        with (directory / RECORD_FILE).open("a+b") as record:
            record.seek(0)
            record.truncate(record.read().rfind(b"\n") + 1)
            record.writelines(f"{line}\n".encode() for line in lines)
            record.flush()
            os.fsync(record.fileno())
    except OSError as error:
        message = f"{directory / RECORD_FILE} cannot be written: {error}: clusters were changed that it does not name"
        raise WorkflowError(
            message, "correct the cause, then run the same command: it recognises what is done"
        ) from error


def read_record(directory: Path, plan: proposal.FleetPlan) -> list[proposal.ApplyRecord]:
    """What earlier runs noted of this plan; a line that a crash has cut off counts for nothing, even if it reads well.

    The next record takes the place of such a line (:func:`add_to_record`), so nothing may rest on it.
    """
    try:
        content = (directory / RECORD_FILE).read_bytes()
        return proposal.parse_apply_records(content[: content.rfind(b"\n") + 1].decode(), plan)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise WorkflowError(f"{directory / RECORD_FILE} cannot be read: {error}") from error
