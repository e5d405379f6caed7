"""Check an audit log: as a chain, against heads that runs printed, and against its copy in a topic. Ask it."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import NoAuditTopicError, RequestError, WorkflowError
from reconciler.app.records import audit_place, signature_file
from reconciler.app.session import open_any
from reconciler.apply.audit import AUDIT, AuditCheck, TopicCopy, verify
from reconciler.apply.records import RunRecord
from reconciler.codec.codec import SchemaError
from reconciler.codec.document import load
from reconciler.ports import ClusterError
from reconciler.results.audit import EVERYTHING, AuditEntry, AuditQuestion, LogsError, broken_at, entries, log_lines
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
    return _with_signatures(verify(Path(file).name, lines, heads, copy, place), file, lines)


def _with_signatures(check: AuditCheck, file: str, lines: Sequence[bytes]) -> AuditCheck:
    """The same, and what is wrong with the signatures that are kept beside the log."""
    problems, notes = list(check.problems), list(check.notes)
    for run, person, digest in _signatures(lines):
        try:
            kept = hashlib.sha256(signature_file(file, digest).read_bytes()).hexdigest()
        except OSError:
            notes.append(f"the signature of {person} for run {run} is not beside the log")
            continue
        if digest != f"sha256:{kept}":
            problems.append(f"the signature of {person} for run {run} was changed")
    return replace(check, problems=tuple(problems), notes=tuple(notes))


def _signatures(lines: Sequence[bytes]) -> Iterator[tuple[str, str, str]]:
    """The run, the person and the digest of each signature that a log names."""
    for line in lines:
        if line.startswith(b'{"record":"run"'):
            try:
                content = AUDIT.read(load(line.decode("utf-8", "surrogatepass"))).content
            except (SchemaError, ValueError):
                continue
            if isinstance(content, RunRecord) and content.approvals is not None:
                for approver in content.approvals.approvers:
                    yield content.about.run, approver.name, approver.signature


def read_logs(files: Sequence[str]) -> dict[str, Sequence[bytes]]:
    """The lines of audit logs, by file; raises :class:`WorkflowError` for one that cannot be read."""
    logs: dict[str, Sequence[bytes]] = {}
    for file in files:
        try:
            with read_locked(file) as lines:
                logs[file] = lines
        except OSError as error:
            raise WorkflowError(f"{file} cannot be read: {error.strerror}") from error
    return logs


def list_audit(
    files: Sequence[str], question: AuditQuestion = EVERYTHING
) -> tuple[tuple[AuditEntry, ...], tuple[str, ...]]:
    """What audit logs say was done, the oldest first, as far as it is meant; and what is wrong with their chains.

    Raises :class:`WorkflowError` for a file that is no log, and for two that continue one log differently.
    """
    logs = read_logs(files)
    try:
        listed = sorted(entries(log_lines(logs), question), key=lambda entry: entry.time)
    except LogsError as error:
        raise WorkflowError(str(error)) from error
    broken = {file: broken_at(lines) for file, lines in logs.items()}
    wrong = (f"{file}: line {at} does not follow the one before it" for file, at in broken.items() if at is not None)
    return tuple(listed), tuple(wrong)


def _copy(cluster: str, topic: str, path: str | None, connection: ConnectionOptions) -> TopicCopy:
    with open_any(path, cluster, connection) as (_, target):
        if target.settings is None:
            raise NoAuditTopicError("a snapshot has no topic that could keep audit records")
        from reconciler.kafka.audit_topic import read_copy

        try:
            return read_copy(target.settings, topic)
        except ClusterError as error:
            raise WorkflowError(str(error), error.advice) from error
