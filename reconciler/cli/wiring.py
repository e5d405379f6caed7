"""From a command line to manifests and a cluster: the only place that knows which adapter serves which name."""

import contextlib
import dataclasses
import datetime
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import Reach

if TYPE_CHECKING:
    from reconciler.adapters.kafka.settings import ClientSettings
    from reconciler.manifest import ClusterDeclaration, Connection, Manifests, Problem, Source
    from reconciler.model import DesiredState
    from reconciler.plan import Terms
    from reconciler.ports import InspectableCluster, ReadRequest

SNAPSHOT: Final = "snapshot:"


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """A cluster to talk to, and its declaration if there is one; ``prepare`` says that it will be read again soon."""

    name: str
    cluster: "InspectableCluster"
    declaration: "ClusterDeclaration | None"
    bootstrap_servers: tuple[str, ...] = ()
    settings: "ClientSettings | None" = None
    prepare: Callable[[], None] = lambda: None


def today() -> datetime.date:
    """Today in UTC; the one place that asks."""
    return now().date()


def now() -> datetime.datetime:
    """The moment of the call, in UTC."""
    return datetime.datetime.now(datetime.UTC)


def read_sources(path: str) -> "list[Source]":
    """The manifests' texts."""
    from reconciler.adapters.manifest_files import read_manifest_files

    return list(read_manifest_files(Path(path)))


def load(path: str) -> "Manifests":
    """Read and check a directory of manifests; every problem at once ends the command."""
    from reconciler.manifest import ManifestError, load

    try:
        return load(read_sources(path))
    except ManifestError as error:
        raise manifest_failure(error.problems) from error


def manifest_failure(problems: "tuple[Problem, ...]", status: Exit = Exit.ERROR) -> CommandError:
    """All problems, rendered, as the end of a command."""
    from reconciler.manifest import render_problem

    texts = [render_problem(problem) for problem in problems]
    many = f"{len(texts)} problem{'' if len(texts) == 1 else 's'} in the manifests"
    return CommandError("\n\n".join([many, *texts]), status=status)


def desired(manifests: "Manifests", name: str, as_of: datetime.date) -> "DesiredState":
    """What the manifests want of one cluster."""
    from reconciler.manifest import ManifestError, desired_state

    try:
        return desired_state(manifests, name, as_of)
    except ManifestError as error:
        raise manifest_failure(error.problems) from error


def declared(manifests: "Manifests", wanted: str) -> "tuple[ClusterDeclaration, str | None]":
    """The declaration that ``--cluster`` names, and the snapshot file if it names one."""
    name, snapshot = split_cluster(wanted)
    clusters = manifests.clusters
    if name is None and len(clusters) == 1:
        return next(iter(clusters.values())), snapshot
    if name is None:
        raise CommandError(
            f"the manifests declare {len(clusters)} clusters, so {SNAPSHOT} alone does not say which one is meant",
            f"write --cluster NAME={SNAPSHOT}FILE; declared are: {', '.join(clusters) or 'none'}",
            Exit.USAGE,
        )
    from reconciler.manifest import ManifestError, declared_cluster

    try:
        return declared_cluster(manifests, name), snapshot
    except ManifestError as error:
        raise manifest_failure(error.problems, Exit.USAGE) from error


def split_cluster(wanted: str) -> tuple[str | None, str | None]:
    """``NAME``, ``snapshot:FILE`` or ``NAME=snapshot:FILE``, as name and file."""
    if wanted.startswith(SNAPSHOT):
        return None, wanted.removeprefix(SNAPSHOT)
    name, equals, file = wanted.partition(f"={SNAPSHOT}")
    return name, file if equals else None


@contextlib.contextmanager
def opened(path: str, cluster: str, reach: Reach) -> "Iterator[tuple[Manifests, Target]]":
    """The manifests below ``path`` and the cluster that ``--cluster`` names, ready to be asked.

    A snapshot file stands for the cluster where one is named. Where the connections file says how to reach it, the
    process that lists its ACLs starts while the manifests are read.
    """
    name, snapshot = split_cluster(cluster)
    if name is not None and snapshot is None and reach.connections and name in read_connections(reach.connections):
        with live(name, None, reach) as target:
            manifests = load(path)
            yield manifests, dataclasses.replace(target, declaration=declared(manifests, cluster)[0])
        return
    manifests = load(path)
    declaration, snapshot = declared(manifests, cluster)
    if snapshot is not None:
        yield manifests, Target(declaration.name, _snapshot(snapshot), declaration)
        return
    with live(declaration.name, declaration, reach) as target:
        yield manifests, target


@contextlib.contextmanager
def live(name: str, declaration: "ClusterDeclaration | None", reach: Reach) -> Iterator[Target]:
    """A cluster reached over the network: by the connections file, or by its own declaration."""
    from reconciler.adapters.kafka.cluster import connect
    from reconciler.ports import ClusterError

    reached = connection(name, declaration, reach)
    settings = connection_settings(name, reached.servers, reached.client, reached.origin, reach)
    try:
        cluster = connect(settings)
    except ClusterError as error:
        raise CommandError(f"the connection of cluster {name} cannot be used: {error}", error.advice) from error
    with cluster:
        cluster.prepare_listing()
        yield Target(name, cluster, declaration, reached.servers, settings, cluster.prepare_listing)


def connection_settings(
    name: str, servers: tuple[str, ...], client: "Mapping[str, str]", origin: str, reach: Reach
) -> "ClientSettings":
    """Client settings with secrets resolved, or the end of the command with every problem."""
    from reconciler.adapters.kafka.secret_source import SecretSource
    from reconciler.adapters.kafka.settings import SettingsError, client_settings

    secrets = SecretSource(frozenset(reach.allow_env), tuple(Path(directory) for directory in reach.secrets_dirs))
    try:
        return client_settings(",".join(servers), client, secrets)
    except SettingsError as error:
        lines = [f"{problem.key}: {problem.message}. {problem.advice}".rstrip() for problem in error.problems]
        raise CommandError(
            f"the connection of cluster {name} ({origin}) cannot be used:\n  " + "\n  ".join(lines)
        ) from error


@dataclasses.dataclass(frozen=True, slots=True)
class Reached:
    """How a cluster is reached, as written in ``origin``; ``barrier_client`` is what differs for the probe."""

    servers: tuple[str, ...]
    client: "Mapping[str, str]"
    barrier_client: "Mapping[str, str]"
    origin: str


def connection(name: str, declaration: "ClusterDeclaration | None", reach: Reach) -> Reached:
    """What says how to reach the cluster: the operator's file, else the manifests."""
    if reach.connections is not None:
        found = read_connections(reach.connections).get(name)
        if found is None:
            known = ", ".join(read_connections(reach.connections)) or "none"
            raise CommandError(f"{reach.connections} has no connection for cluster {name!r}", f"it has: {known}")
        return Reached(found.bootstrap_servers, found.client, found.barrier_client, reach.connections)
    if "CI" in os.environ:
        raise CommandError(
            "in CI the connection has to come from the operator, not from the manifests under review",
            "give --connections FILE, from the base branch or the environment",
            Exit.USAGE,
        )
    if declaration is None or not declaration.bootstrap_servers:
        raise CommandError(
            f"nothing says how to reach cluster {name!r}",
            "declare bootstrapServers in its Cluster document, or give --connections FILE",
        )
    probe = declaration.probe
    barrier_client = probe.client if probe else {}
    return Reached(declaration.bootstrap_servers, declaration.client, barrier_client, declaration.origin.file)


def read_connections(file: str) -> "dict[str, Connection]":
    """The connections of a ``--connections`` file, by cluster name."""
    from reconciler.adapters.manifest_files import read_manifest_files
    from reconciler.manifest import ManifestError, connections

    try:
        return dict(connections(list(read_manifest_files(Path(file)))))
    except ManifestError as error:
        raise manifest_failure(error.problems) from error


def _snapshot(file: str) -> "InspectableCluster":
    from reconciler.adapters.snapshot import SnapshotCluster

    return SnapshotCluster(Path(file))


def terms(declaration: "ClusterDeclaration") -> "Terms":
    """A declaration as the planner takes it."""
    from reconciler.plan import Facts, Limits, Terms

    return Terms(
        cluster=declaration.name,
        scope=declaration.scope,
        default_allow=declaration.allow_everyone_if_no_acl_found,
        limits=Limits(declaration.limits.max_deletes, declaration.limits.max_delete_percent),
        prune_topics=declaration.prune_topics,
        ignore_configs=declaration.ignore_configs,
        facts=Facts(
            declaration.principal,
            declaration.inter_broker_principals,
            declaration.super_users,
            declaration.protect,
        ),
        barrier_wait=declaration.barrier_wait,
        probe=declaration.probe.principal if declaration.probe else None,
        barrier_seconds=declaration.probe.seconds if declaration.probe else 30.0,
        brokers=declaration.brokers,
    )


def read_request(declaration: "ClusterDeclaration", desired: "DesiredState") -> "ReadRequest":
    """What planning needs to see: all ACLs, and all topics where some may be pruned, collide or need a bridge.

    Otherwise the names of topics alone, for what access they are reached by.
    """
    from reconciler.ports import ReadRequest

    return ReadRequest(
        acls=True,
        all_topics=declaration.prune_topics
        or bool(desired.topics)
        or declaration.allow_everyone_if_no_acl_found is True,
        topic_names=tuple(desired.topics),
        principal=declaration.principal,
        super_users=declaration.super_users,
        broker_defaults=bool(desired.topics) or declaration.prune_topics,
        groups=declaration.allow_everyone_if_no_acl_found is True,
        topic_listing=True,
    )
