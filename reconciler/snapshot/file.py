"""A snapshot as a cluster: in a file, which each write replaces whole or not at all, and in memory."""

import datetime
import fcntl
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from reconciler.model.acl import AclBinding, ResourcePattern
from reconciler.model.listing import Change
from reconciler.model.state import BrokerSettings, ClusterState
from reconciler.model.topic import Layout, TopicUse
from reconciler.ports import NONE_KNOWN, NOT_VALIDATED, Answer, AnswerStatus, ClusterError, ReadRequest
from reconciler.snapshot.document import BrokerFacts, Snapshot, failed, read_document, snapshot_pieces
from reconciler.snapshot.kinds import KINDS, kind_of, layout


class _NoBrokers:
    """What a snapshot answers where only brokers would know."""

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """See :class:`reconciler.ports.InspectableCluster`; a snapshot holds no records."""
        return {name: TopicUse(gaps=("a snapshot does not say what a topic contains",)) for name in names}

    def broker_settings(self, configs: Collection[str], *, features: bool) -> BrokerSettings:
        """See :class:`reconciler.ports.InspectableCluster`; a snapshot holds neither."""
        return BrokerSettings(gap="a snapshot holds no configs of brokers and no features")

    def controller_time(self) -> datetime.datetime | None:
        """See :class:`reconciler.ports.Cluster`; a snapshot has no clock."""
        return None

    def set_replication_rates(self, brokers: Collection[int], rate: int | None) -> Mapping[int, str]:
        """See :class:`reconciler.ports.InspectableCluster`; nobody copies anything here."""
        return dict.fromkeys(brokers, "a snapshot has no brokers that copy replicas")

    def cancel_reassignments(self, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
        """See :class:`reconciler.ports.InspectableCluster`; there are none."""
        return [failed("NO_REASSIGNMENT_IN_PROGRESS", "No partition reassignment is in progress.")] * len(partitions)


class SnapshotCluster(_NoBrokers):
    """The cluster in the file at ``path``, which must exist; other processes may write to it between two calls."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet. A symbolic link is followed, so that a write does not replace it."""
        self.path = Path(path).resolve()

    def read(self, request: ReadRequest) -> ClusterState:
        """What ``request`` asks for; raises :class:`ClusterError` where the file cannot be read or believed."""
        return requested(_load(self.path, request.known), request)

    def brokers(self) -> frozenset[int]:
        """The ids of the brokers; empty where the snapshot does not say. Raises :class:`ClusterError`."""
        return frozenset(_load(self.path).broker.broker_ids or ())

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        """See :class:`reconciler.ports.Cluster`; a file that cannot be read or replaced refuses every item."""
        try:
            with _locked(self.path.parent) as directory:
                before = _load(self.path)
                cluster = MemoryCluster(before.state, before.broker)
                answers = cluster.send(changes)
                if cluster.snapshot != before:
                    _replace(self.path, cluster.snapshot)
                    return _flushed(directory, answers)
                return answers
        except ClusterError as error:
            return [failed(error.code, error.message)] * len(changes)
        except (OSError, ValueError) as error:
            return [failed("snapshot_unwritable", str(error))] * len(changes)

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        """See :class:`reconciler.ports.InspectableCluster`; a file that cannot be read answers nothing, of no item."""
        try:
            now = _load(self.path)
        except ClusterError as error:
            return [Answer(AnswerStatus.UNKNOWN, error.code, error.message)] * len(changes)
        return MemoryCluster(now.state, now.broker).validate(changes)

    def reassignments(self) -> Layout:
        """See :class:`reconciler.ports.InspectableCluster`; raises :class:`ClusterError`: no file tells what moves."""
        raise ClusterError("layout_unread", "a snapshot does not say which replicas are moving")


@contextmanager
def _locked(directory: Path) -> Iterator[int]:
    """Keeps other writers of this directory's snapshots out; the file itself cannot be locked, it is replaced."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _load(path: Path, patterns: Mapping[ResourcePattern, ResourcePattern] = NONE_KNOWN) -> Snapshot:
    try:
        with path.open(encoding="utf-8") as file:
            return read_document(file, patterns)
    except OSError as error:
        raise ClusterError(
            "snapshot_unreadable",
            f"{path.name}: {error.strerror}",
            "write snapshot:FILE with a file that reconciler export --snapshot wrote",
        ) from error
    except UnicodeDecodeError as error:
        raise ClusterError("invalid_snapshot", f"{path.name}: byte {error.start}: not UTF-8") from error


def _replace(path: Path, snapshot: Snapshot) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            file.writelines(snapshot_pieces(snapshot.state, snapshot.broker))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _flushed(directory: int, answers: list[Answer]) -> list[Answer]:
    """Once the file has its name, only a crash can undo the write: a directory that cannot be flushed is unknown."""
    try:
        os.fsync(directory)
    except OSError as error:
        return [Answer(AnswerStatus.UNKNOWN, "snapshot_unflushed", str(error))] * len(answers)
    return answers


# The part of a state that a reader asks for.


def requested(snapshot: Snapshot, request: ReadRequest) -> ClusterState:
    """What ``request`` asks for."""
    state = snapshot.state
    for kind in KINDS:
        state = kind.view(snapshot, request, state)
    if not request.tokens:
        state = replace(state, tokens=None)
    return state if request.groups else replace(state, groups=None)


_DEFAULTS = BrokerFacts()


class MemoryCluster(_NoBrokers):
    """A cluster that keeps Kafka's rules; ``snapshot`` is what it holds now."""

    def __init__(
        self, state: ClusterState, broker: BrokerFacts = _DEFAULTS, racks: Mapping[int, str | None] | None = None
    ) -> None:
        """Starts with ``state``; without ``racks`` of its brokers nobody can tell where replicas belong."""
        self.snapshot = Snapshot(state, broker, racks)

    @property
    def state(self) -> ClusterState:
        """Everything it holds, whatever a reader would ask for."""
        return self.snapshot.state

    def read(self, request: ReadRequest) -> ClusterState:
        """What ``request`` asks for."""
        state, patterns = requested(self.snapshot, request), request.known
        if not patterns:
            return state
        bindings = frozenset(AclBinding(patterns.get(pattern, pattern), entry) for pattern, entry in state.bindings)
        return replace(state, bindings=bindings)

    def brokers(self) -> frozenset[int]:
        """The ids of the brokers; empty where the snapshot does not say."""
        return frozenset(self.snapshot.broker.broker_ids or ())

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        """See :class:`reconciler.ports.Cluster`."""
        if not changes:
            return []
        self.snapshot, answers = kind_of(changes[0]).send(self.snapshot, changes)
        return answers

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        """See :class:`reconciler.ports.InspectableCluster`."""
        if changes and not kind_of(changes[0]).can_validate(changes[0]):
            return [NOT_VALIDATED] * len(changes)
        return MemoryCluster(self.state, self.snapshot.broker).send(changes)

    def reassignments(self) -> Layout:
        """See :class:`reconciler.ports.InspectableCluster`; every move is finished at once. Raises if unknown."""
        return layout(self.snapshot, ())
