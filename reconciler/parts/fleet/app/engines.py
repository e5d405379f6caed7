"""The engine of a use case: Spark, or this process where the work is done there before Spark has started.

The group of fleet commands imports this: nothing here needs a package of the extra.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from reconciler.app.connections import password_prefixes, read_connections
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import RequestError
from reconciler.dataclass import dataclass
from reconciler.model.frozen import FrozenMap
from reconciler.parts.fleet.engine import Engine, ForkingEngine, LocalEngine, Watch, is_small
from reconciler.parts.fleet.spark.session import Session, is_running, remote_of, starting_session
from reconciler.system.process import secret_environment, store_environment

if TYPE_CHECKING:
    from reconciler.parts.fleet.spark.engine import SparkEngine


class EngineName(StrEnum):
    """What an operator may ask for."""

    AUTO = "auto"
    SPARK = "spark"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Which engine, and where Spark runs: ``master`` ``None`` is what spark-submit says, or all cores of this machine.

    ``secrets`` are the variables that tasks log in with, see :func:`task_secrets`. ``workers`` says that tasks run in
    Python workers, which then start with Spark. With ``once``, tasks change clusters, so many at a time: Spark begins
    none of them twice.
    """

    name: EngineName = EngineName.AUTO
    master: str | None = None
    secrets: Mapping[str, str] = FrozenMap()
    workers: bool = False
    once: int = 0


class EngineChoice:
    """The engine that a command gets, decided by the work; Spark starts while the command does something else."""

    def __init__(self, asked: EngineName, start: Callable[[], Session], watch: Watch | None = None) -> None:
        """``start`` begins to start Spark; ``watch`` hears how far tasks are."""
        self._asked, self._start, self._watch = asked, start, watch
        self._session: Session | None = None
        self._sized = self._forks = False

    def begin(self) -> None:
        """Start Spark now: nothing decides otherwise any more."""
        if self._session is None:
            self._session = self._start()

    def sized(self, size: int, in_a_task: int) -> None:
        """There is so much work, ``in_a_task`` of it worth a task; asked of each kind of work that there is."""
        self._sized = True
        if self._asked is EngineName.AUTO and not is_small(size, in_a_task):
            self.begin()

    def computes(self) -> None:
        """The work is computed in Python: processes of this machine do it, however much, where Spark was not named."""
        self._sized = self._forks = True

    def needs_sql(self) -> None:
        """Only Spark answers; raises :class:`RequestError` where another engine was asked for."""
        if self._asked is EngineName.LOCAL:
            raise RequestError("this question is asked in SQL, which needs Spark", "leave out --engine local")
        self.begin()

    @property
    def is_local(self) -> bool:
        """Whether the work is done in this process."""
        return self._session is None and (self._sized or self._asked is EngineName.LOCAL)

    def __call__(self) -> Engine:
        """The engine, as soon as it is there."""
        if self.is_local:
            return ForkingEngine(self._watch) if self._forks else LocalEngine(self._watch)
        return self.on_spark()

    def on_spark(self) -> "SparkEngine":
        """Spark, whatever the size."""
        from reconciler.parts.fleet.spark.engine import SparkEngine

        self.begin()
        assert self._session is not None  # noqa: S101 - it has begun
        return SparkEngine(self._session(), watch=self._watch)


@contextmanager
def chosen_engine(
    options: EngineOptions, tell: Callable[[str], None] = lambda _: None, watch: Watch | None = None
) -> Iterator[EngineChoice]:
    """The choice, for the time of the block; ``tell`` gets each setting of the operator for Spark that does not count.

    A session that is there, or a master, decides for Spark. What fails in Spark is a
    :class:`WorkflowError`.
    """
    with ExitStack() as stack:

        def start() -> Session:
            return stack.enter_context(
                starting_session(
                    options.master,
                    secrets=options.secrets,
                    workers=options.workers,
                    once=options.once,
                    tell=tell,
                )
            )

        choice = EngineChoice(options.name, start, watch)
        submitted = "PYSPARK_GATEWAY_PORT" in os.environ
        there = submitted or is_running() or remote_of(options.master)
        on_spark = options.name is EngineName.SPARK or options.master or there
        if options.name is not EngineName.LOCAL and on_spark:
            choice.begin()
        try:
            yield choice
        except Exception as error:
            if "pyspark.errors" in sys.modules:
                from reconciler.parts.fleet.spark.engine import FAILURES, failed

                if isinstance(error, FAILURES):
                    raise failed(error) from error
            raise


@contextmanager
def spark(master: str | None = None, *, secrets: Mapping[str, str] = FrozenMap()) -> "Iterator[SparkEngine]":
    """Spark on ``master``, as spark-submit says, or on all cores.

    Spark's processes inherit no secret: what tasks have to log in with is in ``secrets``, see :func:`task_secrets`.
    """
    with chosen_engine(EngineOptions(EngineName.SPARK, master, secrets)) as choice:
        yield choice.on_spark()


#: The SASL mechanism whose signer reads AWS credentials from the environment.
_SIGNED: Final = "AWS_MSK_IAM"


def task_secrets(
    places: Iterable[str] = (), connection: ConnectionOptions | None = None, *, passwords: bool = False
) -> dict[str, str]:
    """The variables of our environment that tasks need to log in: to the stores at ``places``, and to clusters.

    ``connection`` is ``None`` where tasks connect to no cluster. With ``passwords``, also those of the passwords that
    tasks set.
    """
    environment = store_environment() if any("://" in place for place in places) else {}
    if connection is not None:
        of_aws = _signs_for_aws(connection)
        prefixes = password_prefixes(connection) if passwords else ()
        secret = secret_environment(connection.allow_env, prefixes)
        given = {name for name in secret if name in connection.allow_env or any(map(name.startswith, prefixes))}
        environment |= {name: value for name, value in secret.items() if of_aws or name in given}
    return environment


def _signs_for_aws(connection: ConnectionOptions) -> bool:
    """Whether some cluster takes AWS credentials; of clusters that only manifests describe, nothing is known here."""
    if connection.connections is None:
        return connection.trust_manifests
    connections = read_connections(connection.connections).values()
    return any(_SIGNED in (*item.client.values(), *item.barrier_client.values()) for item in connections)
