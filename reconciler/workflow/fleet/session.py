"""A Spark session for a use case; what fails in it is a reason like any other."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from reconciler.adapters.child_environment import secret_environment, store_environment
from reconciler.adapters.spark.session import Session, starting_session
from reconciler.model.frozen import FrozenMap
from reconciler.workflow.reasons import WorkflowError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reconciler.workflow.options import ConnectionOptions

#: The SASL mechanism whose signer reads AWS credentials from the environment.
_SIGNED: Final = "AWS_MSK_IAM"


def task_secrets(
    places: Iterable[str] = (), connection: "ConnectionOptions | None" = None, *, passwords: bool = False
) -> dict[str, str]:
    """The variables of our environment that tasks need to log in: to the stores at ``places``, and to clusters.

    ``connection`` is ``None`` where tasks connect to no cluster. With ``passwords``, also those of the passwords that
    tasks set.
    """
    found = store_environment() if any("://" in place for place in places) else {}
    if connection is not None:
        from reconciler.workflow.connections import password_prefixes

        of_aws = _signs_for_aws(connection)
        prefixes = password_prefixes(connection) if passwords else ()
        secret = secret_environment(connection.allow_env, prefixes)
        given = {name for name in secret if name in connection.allow_env or any(map(name.startswith, prefixes))}
        found |= {name: value for name, value in secret.items() if of_aws or name in given}
    return found


def _signs_for_aws(connection: "ConnectionOptions") -> bool:
    """Whether some cluster takes AWS credentials; of clusters that only manifests describe, nothing is known here."""
    if connection.connections is None:
        return connection.trust_manifests
    from reconciler.workflow.connections import read_connections

    known = read_connections(connection.connections).values()
    return any(_SIGNED in (*one.client.values(), *one.barrier_client.values()) for one in known)


@contextmanager
def spark(
    master: str | None = None, *, ui: bool = False, secrets: Mapping[str, str] = FrozenMap()
) -> "Iterator[SparkSession]":
    """A session on ``master``, as spark-submit says, or on all cores; with ``ui``, with Spark's own web page.

    Spark's processes inherit no secret: what tasks have to log in with is in ``secrets``, see :func:`task_secrets`.
    """
    with starting_spark(master, ui=ui, secrets=secrets) as session:
        yield session()


@contextmanager
def starting_spark(
    master: str | None = None, *, ui: bool = False, secrets: Mapping[str, str] = FrozenMap(), workers: bool = False
) -> Iterator[Session]:
    """As :func:`spark`, but it starts while the block does something else, and is waited for where it is called.

    ``workers`` says that there will be tasks for Python workers, which then start too.
    """
    try:
        with starting_session(master, ui=ui, secrets=secrets, workers=workers) as session:
            yield session
    except Exception as error:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if not isinstance(error, PySparkException | Py4JError):
            raise
        raise WorkflowError(
            f"Spark failed: {_cause(error)}", "a run that is not complete is not there; start again"
        ) from error


def _cause(error: Exception) -> str:
    """One line; py4j puts what was called before it, which tells nobody anything."""
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    return lines[0] if lines else type(error).__name__
