"""A snapshot file as a cluster: each write replaces the file whole, or not at all."""

import fcntl
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from reconciler.adapters.snapshot.answers import failed
from reconciler.adapters.snapshot.broker import Snapshot
from reconciler.adapters.snapshot.document import parse_document, snapshot_text
from reconciler.adapters.snapshot.memory import MemoryCluster
from reconciler.adapters.snapshot.view import requested
from reconciler.model import AclBinding, ClusterState, Topic, TopicConfigs, TopicPartitions, TopicUse, Update
from reconciler.ports import Answer, AnswerStatus, ClusterError, ReadRequest


class SnapshotCluster:
    """The cluster in the file at ``path``, which must exist; other processes may write to it between two calls."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet. A symbolic link is followed, so that a write does not replace it."""
        self.path = Path(path).resolve()

    def read(self, request: ReadRequest) -> ClusterState:
        """What ``request`` asks for; raises :class:`ClusterError` where the file cannot be read or believed."""
        return requested(_load(self.path), request)

    def brokers(self) -> frozenset[int]:
        """The ids of the brokers; empty where the snapshot does not say. Raises :class:`ClusterError`."""
        return frozenset(_load(self.path).broker.broker_ids or ())

    def create_acls(self, bindings: Sequence[AclBinding]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        return self._write(len(bindings), lambda cluster: cluster.create_acls(bindings))

    def delete_acls(self, bindings: Sequence[AclBinding]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        return self._write(len(bindings), lambda cluster: cluster.delete_acls(bindings))

    def create_topics(self, topics: Sequence[Topic]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        return self._write(len(topics), lambda cluster: cluster.create_topics(topics))

    def delete_topics(self, names: Sequence[str]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        return self._write(len(names), lambda cluster: cluster.delete_topics(names))

    def create_partitions(self, changes: Sequence[Update[TopicPartitions]]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        return self._write(len(changes), lambda cluster: cluster.create_partitions(changes))

    def alter_configs(self, changes: Sequence[Update[TopicConfigs]]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        return self._write(len(changes), lambda cluster: cluster.alter_configs(changes))

    def validate_topics(self, topics: Sequence[Topic]) -> list[Answer]:
        """See :class:`reconciler.ports.TopicValidator`."""
        return self._ask(len(topics), lambda cluster: cluster.validate_topics(topics))

    def validate_partitions(self, changes: Sequence[Update[TopicPartitions]]) -> list[Answer]:
        """See :class:`reconciler.ports.TopicValidator`."""
        return self._ask(len(changes), lambda cluster: cluster.validate_partitions(changes))

    def validate_configs(self, changes: Sequence[Update[TopicConfigs]]) -> list[Answer]:
        """See :class:`reconciler.ports.TopicValidator`."""
        return self._ask(len(changes), lambda cluster: cluster.validate_configs(changes))

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """See :class:`reconciler.ports.TopicInspector`; a snapshot holds no records."""
        return MemoryCluster(ClusterState("")).topic_uses(names)

    def _ask(self, items: int, ask: Callable[[MemoryCluster], list[Answer]]) -> list[Answer]:
        """A file that cannot be read answers nothing, of no item."""
        try:
            now = _load(self.path)
            return ask(MemoryCluster(now.state, now.broker))
        except ClusterError as error:
            return [Answer(AnswerStatus.UNKNOWN, error.code, error.message)] * items

    def _write(self, items: int, change: Callable[[MemoryCluster], list[Answer]]) -> list[Answer]:
        """A file that cannot be read or replaced refuses every item."""
        try:
            with _locked(self.path.parent) as directory:
                before = _load(self.path)
                cluster = MemoryCluster(before.state, before.broker)
                answers = change(cluster)
                if cluster.snapshot != before:
                    _replace(self.path, cluster.snapshot)
                    return _flushed(directory, answers)
                return answers
        except ClusterError as error:
            return [failed(error.code, error.message)] * items
        except (OSError, ValueError) as error:
            return [failed("snapshot_unwritable", str(error))] * items


@contextmanager
def _locked(directory: Path) -> Iterator[int]:
    """Keeps other writers of this directory's snapshots out; the file itself cannot be locked, it is replaced."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _load(path: Path) -> Snapshot:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ClusterError("snapshot_unreadable", f"{path.name}: {error.strerror}", "Check the path.") from error
    except UnicodeDecodeError as error:
        raise ClusterError("invalid_snapshot", f"{path.name}: byte {error.start}: not UTF-8") from error
    return parse_document(text)


def _replace(path: Path, snapshot: Snapshot) -> None:
    text = snapshot_text(snapshot.state, snapshot.broker)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            file.write(text)
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
