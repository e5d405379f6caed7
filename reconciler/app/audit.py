"""Check an audit log: as a chain, against heads that runs printed, and against its copy in a topic."""

from pathlib import Path

from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import NoAuditTopicError, RequestError, WorkflowError
from reconciler.app.records import audit_place
from reconciler.app.session import open_any
from reconciler.apply.audit import AuditCheck, TopicCopy, verify
from reconciler.ports import ClusterError
from reconciler.system.journal import read_locked


def verify_audit(
    file: str,
    heads: tuple[str, ...] = (),
    *,
    cluster: str | None = None,
    topic: str | None = None,
    path: str | None = None,
    connection: ConnectionOptions = ConnectionOptions(),
) -> AuditCheck:
    """What is wrong with the log ``file``; with ``topic``, also compared with its copy on ``cluster``.

    ``path`` is the directory of manifests that declare the cluster. Raises a :class:`WorkflowError` for a log or a
    topic that cannot be read: neither looks like an empty one. A log that is not there is a problem, not an error: the
    topic may have its lines.
    """
    if (cluster is None) is not (topic is None):
        raise RequestError("the copy of an audit log is in a topic of a cluster: name both")
    place = audit_place(file)
    try:
        # A run that goes on meanwhile waits: else the topic would have lines that the file had not when it was read.
        with read_locked(file) as lines:
            copy = None if cluster is None or topic is None else _copy(cluster, topic, path, connection)
    except FileNotFoundError:
        copy = None if cluster is None or topic is None else _copy(cluster, topic, path, connection)
        return verify(Path(file).name, None, heads, copy, place)
    except OSError as error:
        raise WorkflowError(f"{file} cannot be read: {error.strerror}") from error
    return verify(Path(file).name, lines, heads, copy, place)


def _copy(cluster: str, topic: str, path: str | None, connection: ConnectionOptions) -> TopicCopy:
    with open_any(path, cluster, connection) as (_, target):
        if target.settings is None:
            raise NoAuditTopicError("a snapshot has no topic that could keep audit records")
        from reconciler.kafka.audit_topic import read_copy

        try:
            return read_copy(target.settings, topic)
        except ClusterError as error:
            raise WorkflowError(str(error), error.advice) from error
