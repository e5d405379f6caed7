"""The members of a fleet as tasks meet them: picklable ways to read a cluster, by connection or snapshot file."""

import datetime
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reconciler.app.connections import cure, password_prefixes, read_connections, told, unstated
from reconciler.app.options import ConnectionOptions, Tell, ignore
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.app.session import Target, live, refuse_another_time
from reconciler.codec.kinds import LISTED
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.acls import AclsDeclaration
from reconciler.manifest.documents.topics import TopicsDeclaration
from reconciler.manifest.manifests import Manifests, declared_acls, desired_state
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.desired import Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Change
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.spark.readings import SnapshotSource
from reconciler.parts.fleet.spark.session import Session, starting_session
from reconciler.parts.fleet.spark.views import changes_of
from reconciler.parts.fleet.store import FleetStore
from reconciler.plan.kinds.acl import touched_binding
from reconciler.ports import ClusterError, ReadRequest
from reconciler.results.fleet_drift import FleetDrift
from reconciler.snapshot.document import SnapshotError
from reconciler.snapshot.file import SnapshotCluster
from reconciler.system.process import secret_environment, store_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class MemberConnections:
    """How clusters are reached: as ``connection`` says, or where the directory ``snapshots`` is given, by its files.

    Paths are made absolute: they mean the same wherever a task runs.
    """

    connection: ConnectionOptions
    snapshots: str | None = None

    def __post_init__(self) -> None:
        """Make paths absolute."""
        object.__setattr__(self, "connection", everywhere(self.connection))
        if self.snapshots is not None:
            object.__setattr__(self, "snapshots", str(Path(self.snapshots).resolve()))

    def file_of(self, cluster: str) -> str | None:
        """The snapshot file that stands for a cluster."""
        return None if self.snapshots is None else str(Path(self.snapshots, f"{cluster}.json"))

    def refuse_past(self, at: datetime.date | None) -> None:
        """Raise :class:`PastTimeError` where clusters would have to be read as they were then."""
        if self.snapshots is None:
            refuse_another_time(None, at)


def live_readers(
    manifests: Manifests, clusters: Iterable[str], members: MemberConnections, as_of: datetime.date
) -> list[SnapshotSource]:
    """One way to read for each cluster."""
    return [
        SnapshotSource(
            name, cluster.scope, partial(read_live, cluster, members, topic_names(manifests, cluster, as_of))
        )
        for name in clusters
        for cluster in [manifests.clusters[name]]
    ]


def file_readers(manifests: Manifests | None, files: Iterable[str]) -> list[SnapshotSource]:
    """Snapshot files as clusters: ``NAME=FILE``, or ``FILE`` for the cluster of its stem."""
    found: dict[str, SnapshotSource] = {}
    for text in files:
        name, equals, file = text.partition("=")
        if not equals or "/" in name:
            name, file = Path(text).stem, text
        if name in found:
            raise RequestError(f"two files are given for cluster {name}")
        declaration = manifests.clusters.get(name) if manifests else None
        scope = declaration.scope if declaration else Scope()
        found[name] = SnapshotSource(name, scope, partial(read_file, str(Path(file).resolve())))
    return list(found.values())


def topic_names(manifests: Manifests, cluster: ClusterDeclaration, as_of: datetime.date) -> tuple[str, ...]:
    """The declared topics: where a listing is partial, each is asked for by name."""
    if any(item.heading.kind == "Topics" for item in manifests.chosen_templates(cluster.labels)):
        try:
            return tuple(desired_state(manifests, cluster.name, as_of).topics)
        except ManifestError:
            return ()  # drift and plan say so; what was read is none the worse
    return tuple(
        topic.topic.name
        for declared in manifests.chosen(cluster.labels)
        if isinstance(declared, TopicsDeclaration)
        for topic in declared.topics
    )


def everywhere(connection: ConnectionOptions) -> ConnectionOptions:
    """Paths that mean the same wherever a task runs."""
    connections = None if connection.connections is None else str(Path(connection.connections).resolve())
    places = tuple(str(Path(place).resolve()) for place in connection.secrets_dirs)
    return replace(connection, connections=connections, secrets_dirs=places)


@contextmanager
def opened_member(declaration: ClusterDeclaration, members: MemberConnections, tell: Tell = ignore) -> Iterator[Target]:
    """One cluster, ready to be asked."""
    file = members.file_of(declaration.name)
    if file is not None:
        yield Target(declaration.name, SnapshotCluster(Path(file)), declaration)
        return
    with live(declaration.name, declaration, members.connection, tell) as target:
        yield target


def read_live(declaration: ClusterDeclaration, members: MemberConnections, names: tuple[str, ...]) -> ClusterState:
    """Everything of one cluster, also what runs have there for their own use; raises :class:`ClusterError`."""
    request = ReadRequest(
        topic_names=names, principal=declaration.principal, super_users=declaration.super_users, listings=LISTED
    )
    try:
        with opened_member(declaration, members) as target:
            state = target.cluster.read(request)
            if target.settings is not None and (news := target.settings.first_contact.news()):
                state = replace(state, notes=(news,))
    except WorkflowError as error:
        raise ClusterError("connection_unusable", error.message, error.advice) from error
    # What the store keeps, nobody looks at with the cluster at hand: names that mean others must not get into it.
    if (shown := unstated(declaration, state)) is not None:
        raise ClusterError("flavor_unstated", told(shown), cure(shown))
    return state


def read_file(file: str) -> ClusterState:
    """The state in a snapshot file; raises :class:`ClusterError`."""
    try:
        return SnapshotCluster(Path(file)).read(ReadRequest(listings=LISTED))
    except SnapshotError as error:
        raise ClusterError("invalid_snapshot", f"{Path(file).name}: {error}") from error


# A Spark session for a use case; what fails in it is a reason like any other.

#: The SASL mechanism whose signer reads AWS credentials from the environment.
_SIGNED: Final = "AWS_MSK_IAM"


def task_secrets(
    places: Iterable[str] = (), connection: ConnectionOptions | None = None, *, passwords: bool = False
) -> dict[str, str]:
    """The variables of our environment that tasks need to log in: to the stores at ``places``, and to clusters.

    ``connection`` is ``None`` where tasks connect to no cluster. With ``passwords``, also those of the passwords that
    tasks set.
    """
    found = store_environment() if any("://" in place for place in places) else {}
    if connection is not None:
        of_aws = _signs_for_aws(connection)
        prefixes = password_prefixes(connection) if passwords else ()
        secret = secret_environment(connection.allow_env, prefixes)
        given = {name for name in secret if name in connection.allow_env or any(map(name.startswith, prefixes))}
        found |= {name: value for name, value in secret.items() if of_aws or name in given}
    return found


def _signs_for_aws(connection: ConnectionOptions) -> bool:
    """Whether some cluster takes AWS credentials; of clusters that only manifests describe, nothing is known here."""
    if connection.connections is None:
        return connection.trust_manifests
    known = read_connections(connection.connections).values()
    return any(_SIGNED in (*item.client.values(), *item.barrier_client.values()) for item in known)


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
    master: str | None = None,
    *,
    ui: bool = False,
    secrets: Mapping[str, str] = FrozenMap(),
    workers: bool = False,
    once: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Session]:
    """As :func:`spark`, but it starts while the block does something else, and is waited for where it is called.

    ``workers`` says that there will be tasks for Python workers, which then start too. With ``once``, tasks change
    clusters, so many at a time: Spark begins none of them twice. ``tell`` gets each setting of the operator that does
    not count.
    """
    try:
        with starting_session(master, ui=ui, secrets=secrets, workers=workers, once=once, tell=tell) as session:
            yield session
    except Exception as error:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if not isinstance(error, PySparkException | Py4JError):
            raise
        raise WorkflowError(f"Spark failed: {(why := cause(error))}", _cure(why)) from error


#: Where a worker's own error begins in what Spark says of it.
_TRACEBACK: Final = "Traceback (most recent call last):"


def cause(error: Exception) -> str:
    """One line: the error of the worker if it is in a worker, else what Spark says first.

    py4j puts what was called before it, which tells nobody anything.
    """
    text = str(error)
    if _TRACEBACK in text:
        # Places are indented, and the error is not.
        after = (line for line in text.rpartition(_TRACEBACK)[2].splitlines() if line.strip())
        if (found := next((line for line in after if not line[0].isspace()), None)) is not None:
            return found.strip()
    lines = [line.strip(": ") for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    return lines[0] if lines else type(error).__name__


def _cure(why: str) -> str:
    """What helps against a cause."""
    module = re.match(r"ModuleNotFoundError: No module named '(\w+)", why)
    if module is None:
        return "nothing was kept of the run; correct the cause, then start again"
    if module[1] == "reconciler":
        return "the Python of the executors does not find this package: hand it over with --py-files"
    return "the Python of the executors needs the packages of the extra fleet: say by PYSPARK_PYTHON which one has them"


# Whose differences they are: the ``team`` label of the manifests that declare a principal or a topic.

NOBODY: Final = "(nobody)"


def differences_by_team(drift: FleetDrift, store: FleetStore, manifests: Manifests) -> dict[str, Mapping[str, int]]:
    """Differences of each cluster by team; what no manifest with a team speaks of is nobody's."""
    files = _teams(manifests)
    found: dict[str, Mapping[str, int]] = {}
    for item in drift.differing:
        principals = _principals(manifests, item.cluster)
        changes = changes_of(store.files, item.files, item.cluster)[0]
        found[item.cluster] = Counter(_team(change.change, change.origin, files, principals) for change in changes)
    return found


def _teams(manifests: Manifests) -> dict[str, str]:
    """Teams by file."""
    files: dict[str, str] = {}
    acls, topics = manifests.of(AclsDeclaration), manifests.of(TopicsDeclaration)
    headings = [*(item.heading for item in acls), *(item.heading for item in topics)]
    for heading in (*headings, *(item.heading for item in manifests.templates)):
        if team := heading.labels.get("team"):
            files.setdefault(heading.origin.file, team)
    return files


def _principals(manifests: Manifests, cluster: str) -> dict[str, str]:
    """Teams by principal, whose names may come from the cluster's variables."""
    declaration = manifests.clusters.get(cluster)
    principals: dict[str, str] = {}
    for item in manifests.of(AclsDeclaration) if declaration is None else declared_acls(manifests, declaration):
        if team := item.heading.labels.get("team"):
            principals |= {name: team for rule in item.rules for name in rule.principals}
    return principals


def _team(change: Change, origin: Origin | None, files: Mapping[str, str], principals: Mapping[str, str]) -> str:
    if origin is not None and origin.file in files:
        return files[origin.file]
    if (binding := touched_binding(change)) is not None:
        return principals.get(binding.entry.principal, NOBODY)
    return NOBODY
