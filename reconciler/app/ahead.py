"""What a use case will need in any case, begun before its modules are loaded. Light: a command line starts with it."""

from collections.abc import Iterator
from contextlib import contextmanager

from reconciler.app.options import SNAPSHOT
from reconciler.kafka.reader_process import started_early


@contextmanager
def reader_ahead(cluster: str | None) -> Iterator[None]:
    """Start the process that will list the ACLs of ``cluster``, unless that is a snapshot file.

    It loads its libraries on another processor, while this process loads its own. Nothing is sent, and it knows no
    secret yet; if the use case fails before it reads a cluster, the process ends with it.
    """
    if cluster is not None and SNAPSHOT in cluster:
        yield
        return
    with started_early():
        yield
