"""From a name to a cluster that can be asked: over the network, or a snapshot file that stands for it.

A cluster is named as ``NAME``, ``snapshot:FILE`` or ``NAME=snapshot:FILE``.
"""

import datetime
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from reconciler.app import options, reasons
from reconciler.app.connections import (
    address_of,
    cure,
    flavor_words,
    is_properties,
    manifests_below,
    read_connections,
    refuse_contradicted,
    refuse_proposed_secrets,
    settings_of,
    unstated,
    version_doubt,
    version_of,
)
from reconciler.app.manifests import held
from reconciler.apply.cleanup import Leftover, going_on, leftovers, without_live_bridges
from reconciler.apply.lease import lease_time, time_of
from reconciler.dataclass import dataclass
from reconciler.kafka.bindings import needs_messages, unsupported_by_client
from reconciler.kafka.flavored import FlavoredCluster, flavored
from reconciler.kafka.settings import ClientSettings
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.acl import AclBinding
from reconciler.model.desired import moment_text
from reconciler.model.scope import on_reserved_names
from reconciler.model.state import ClusterState, FactSource
from reconciler.ports import NO_AUTHORIZER, ClusterError, InspectableCluster, ReadRequest
from reconciler.snapshot.document import SnapshotError
from reconciler.snapshot.file import SnapshotCluster
from reconciler.system.files import texts_below
from reconciler.system.process import SystemClock, broken_link

#: Of so many runs each is told of that left something.
MOST_REPORTED: Final = 20


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster that is open, and its declaration if there is one.

    ``prepare`` says that it will be read again soon, ``unsupported`` why its client cannot carry a binding.
    ``operator`` is what the connections file states of a cluster that no manifest declares.
    """

    name: str
    cluster: InspectableCluster
    declaration: ClusterDeclaration | None
    bootstrap_servers: tuple[str, ...] = ()
    settings: ClientSettings | None = None
    prepare: Callable[[], None] = lambda: None
    tell: options.Tell = options.ignore
    unsupported: Callable[[AclBinding], str | None] = lambda _: None
    operator: ClusterDeclaration | None = None

    @property
    def facts(self) -> ClusterDeclaration | None:
        """Who states facts about the cluster: its declaration, else the operator's file alone."""
        return self.declaration or self.operator

    @property
    def login(self) -> str | None:
        """The principal of a connection that logs in with a user name; ``None`` for any other, and for a snapshot."""
        name = None if self.settings is None else self.settings.config.get("sasl.username")
        return f"User:{name}" if name else None

    @property
    def send_seconds(self) -> float:
        """The longest that one write may be under way before its client gives it up."""
        return 0.0 if self.settings is None else self.settings.send_seconds

    def read(self, request: ReadRequest) -> ClusterState:
        """The state without the bridges of runs that are going on; ``tell`` is told of those runs.

        What other runs left is in the state: nobody takes it away again.
        """
        live = self.read_whole(request)
        at = self._time(live)
        runs = going_on(live, at)
        for leftover in runs:
            self.tell(options.LeftoverNote(leftover, at, counted=False))
        default_allow = self.declaration.allow_everyone_if_no_acl_found if self.declaration else None
        return without_live_bridges(live, runs, default_allow=default_allow)

    def read_counted(self, request: ReadRequest) -> ClusterState:
        """The state with everything that grants somebody something now, bridges too; ``tell`` is told of each run."""
        live = self.read_whole(request)
        at = self._time(live)
        # Those with a bridge first: it is what opens something.
        remains = sorted(leftovers(live, at), key=lambda leftover: not leftover.bridges)
        for leftover in remains[:MOST_REPORTED]:
            self.tell(options.LeftoverNote(leftover, at, counted=True, over=not leftover.going_on(at)))
        if len(remains) > MOST_REPORTED:
            self.tell(options.MoreLeftovers(len(remains) - MOST_REPORTED))
        return live

    def going_on(self, live: ClusterState) -> tuple[Leftover, ...]:
        """What runs have there that may be going on now."""
        return going_on(live, self._time(live))

    def _time(self, live: ClusterState) -> datetime.datetime:
        """The time by which runs write leases, the controller's; asked for only where a run has something there."""
        return lease_time(self.cluster, SystemClock()) if on_reserved_names(live.bindings) else time_of(SystemClock())

    def read_whole(self, request: ReadRequest) -> ClusterState:
        """The state with everything that the cluster shows; raises a :class:`WorkflowError`.

        It is a :class:`NoAuthorizerError` where ACLs are asked for and the cluster cannot have any.
        """
        try:
            state = self.cluster.read(request)
        except ClusterError as error:
            kind = reasons.NoAuthorizerError if error.code == NO_AUTHORIZER else reasons.WorkflowError
            raise kind(str(error), error.advice) from error
        except (SnapshotError, OSError) as error:
            raise reasons.WorkflowError(f"the snapshot cannot be read: {error}") from error
        finally:
            if self.settings is not None and (news := self.settings.first_contact.news()):
                self.tell(options.ClientNote(news))
        refuse_contradicted(self.declaration, state)
        stated = isinstance(self.cluster, FlavoredCluster)
        if request.acls and not stated and (shown := unstated(self.declaration, state)) is not None:
            self.tell(options.UnstatedFlavor(flavor_words(shown), cure(shown)))
        if (doubt := version_doubt(state.kafka_version, state.kafka_version_gap)) is not None and request.acls:
            self.tell(options.VersionNote(self.name, doubt))
        return replace(state, kafka_version=version_of(state.kafka_version, state.kafka_version_gap, self.declaration))

    def declared_as(self, declaration: ClusterDeclaration | None) -> "Target":
        """The same with its declaration, asked as the flavor that is stated there needs it."""
        if declaration is None or declaration.sources.flavor is FactSource.NOBODY or self.settings is None:
            return replace(self, declaration=declaration)
        return replace(self, declaration=declaration, cluster=flavored(self.cluster, declaration.flavor))


def whole(state: ClusterState) -> ClusterState:
    """A state of which all ACLs were seen; raises a :class:`WorkflowError` where some may not have been."""
    if state.acl_gap:
        raise reasons.WorkflowError(
            f"the ACL listing may not be whole: {state.acl_gap}", "what is missing could change every answer"
        )
    return state


def refuse_another_time(cluster: str | None, at: datetime.date | None, *, ahead: bool = False) -> None:
    """Raise :class:`PastTimeError` where a cluster would have to be read as it was then.

    A snapshot is of the time when it was made. With ``ahead``, :class:`FutureTimeError` for a time to come.
    """
    if at is None or split_cluster(cluster)[1] is not None or (way := options.against_now(at)) == 0:
        return
    text = moment_text(at)
    if way < 0:
        raise reasons.PastTimeError(f"{text} is past, and a cluster is read as it is now")
    if ahead:
        raise reasons.FutureTimeError(f"{text} is yet to come, and a cluster is read as it is now")


def time_words(at: datetime.date) -> str:
    """The time that decides what has ended, to be said with an answer: nothing for this very moment."""
    this_moment = isinstance(at, datetime.datetime) and options.against_now(at) == 0
    return "" if this_moment else moment_text(at)


def split_cluster(wanted: str | None) -> tuple[str | None, str | None]:
    """``NAME``, ``snapshot:FILE`` or ``NAME=snapshot:FILE``, as name and file; without any, neither."""
    if wanted is None:
        return None, None
    if wanted.startswith(options.SNAPSHOT):
        return None, wanted.removeprefix(options.SNAPSHOT)
    name, equals, file = wanted.partition(f"={options.SNAPSHOT}")
    return name, file if equals else None


def declared(manifests: Manifests, wanted: str | None) -> tuple[ClusterDeclaration, str | None]:
    """The declaration of the cluster that is named, or of the only one, and the snapshot file if one is named."""
    name, snapshot = split_cluster(wanted)
    clusters = manifests.clusters
    if name is None and len(clusters) == 1:
        return next(iter(clusters.values())), snapshot
    if name is None:
        raise reasons.AmbiguousClusterError(tuple(clusters), snapshot=snapshot is not None)
    if name not in clusters:
        raise reasons.UndeclaredClusterError(name, tuple(clusters))
    return clusters[name], snapshot


@contextmanager
def open_declared(
    path: str,
    cluster: str | None,
    connection: options.ConnectionOptions,
    tell: options.Tell = options.ignore,
    guardrails: str | None = None,
    *,
    lists: bool = False,
) -> Iterator[tuple[Manifests, Target]]:
    """The manifests below ``path``, and the cluster of theirs that is named, or the only one, ready to be asked.

    ``guardrails`` is a second directory of manifests, which holds the first.

    Where the connections file says how to reach it, the process that lists its ACLs starts while the manifests are
    read; with ``lists``, where all of them are read first in any case, it lists them meanwhile.
    """
    name, snapshot = split_cluster(cluster)
    if snapshot is None:
        refuse_proposed_secrets(path, connection)
    if name is not None and snapshot is None and _reaches(connection, name):
        with live(name, None, connection, tell, lists=lists) as target:
            manifests = held(manifests_below(path, connection), path, guardrails)
            yield manifests, target.declared_as(declared(manifests, cluster)[0])
        return
    manifests = held(manifests_below(path, connection), path, guardrails)
    declaration, snapshot = declared(manifests, cluster)
    if snapshot is not None:
        yield manifests, Target(declaration.name, snapshot_cluster(snapshot), declaration, tell=tell)
        return
    with live(declaration.name, declaration, connection, tell, lists=lists) as target:
        yield manifests, target


def snapshot_cluster(file: str) -> SnapshotCluster:
    """The cluster whose state is in ``file``; raises :class:`RequestError` where that is a link to nothing."""
    if (link := broken_link(file)) is not None:
        raise reasons.RequestError(f"{file}: {link}", "mend the link, or name the snapshot itself")
    return SnapshotCluster(Path(file))


@contextmanager
def open_any(
    path: str | None,
    cluster: str | None,
    connection: options.ConnectionOptions,
    tell: options.Tell = options.ignore,
    guardrails: str | None = None,
) -> Iterator[tuple[Manifests | None, Target]]:
    """The cluster that is named, perhaps one that nobody declared yet, and the manifests where they were read.

    Manifests are read where ``path`` is given, or where nothing else says what the name means: for a snapshot, where
    they declare its name. Without a name it is the only cluster of the connections file that somebody passed, else the
    only one that the manifests declare.
    """
    if path is None and cluster is None and connection.connections is not None and not connection.implied:
        names = list(read_connections(connection.connections))
        cluster = names[0] if len(names) == 1 else None
    name, snapshot = split_cluster(cluster)
    if path is None and snapshot is not None and not (name and _is_declared_below(connection.default_path, name)):
        stand_in = snapshot_cluster(snapshot)
        if not stand_in.path.is_file():
            raise reasons.RequestError(f"there is no snapshot {snapshot}")
        yield None, Target(name or Path(snapshot).stem, stand_in, None, tell=tell)
        return
    # The operator's file knows the cluster, so manifests in the working directory are not asked who it is.
    if path is None and cluster is not None and _reaches(connection, cluster):
        with live(cluster, None, connection, tell) as target:
            yield None, target
        return
    with open_declared(path or connection.default_path, cluster, connection, tell, guardrails) as opened:
        yield opened


#: At the beginning of a line: manifests within texts of other files declare nothing.
_CLUSTER: Final = re.compile(r"""^["']?kind["']?\s*:\s*["']?Cluster\b""", re.M)


def _is_declared_below(path: str, name: str) -> bool:
    """Whether a file seems to declare the cluster: if not, a snapshot needs no manifest of this directory.

    By the text, so that what is wrong with files of other programs does not matter. Without the manifests' facts an
    answer is at most less certain.
    """
    says = re.compile(rf"""\bname["']?\s*:\s*["']?{re.escape(name)}(?![\w.-])""")
    return any(map(says.search, _clusters_below(path)))


def _clusters_below(path: str) -> Iterator[str]:
    """The documents that seem to declare a cluster, as text."""
    documents = (document for text in texts_below(Path(path)) for document in re.split(r"^---", text, flags=re.M))
    return filter(_CLUSTER.search, documents)


_NAME: Final = re.compile(r"""\bname["']?\s*:\s*["']?([\w.-]+)""")


def cluster_names(path: str, connections: str | None) -> set[str]:
    """The clusters that a connections file and files below a directory seem to name, for whoever types one."""
    names = {match[1] for match in map(_NAME.search, _clusters_below(path)) if match}
    with suppress(reasons.WorkflowError, OSError):
        names |= read_connections(connections).keys() if connections else set()
    return names


def _reaches(connection: options.ConnectionOptions, cluster: str) -> bool:
    """Whether the connections file says how to reach a cluster of that name; Java properties do for any."""
    file = connection.connections
    return file is not None and (is_properties(file) or cluster in read_connections(file))


@contextmanager
def live(
    name: str,
    declaration: ClusterDeclaration | None,
    connection: options.ConnectionOptions,
    tell: options.Tell = options.ignore,
    *,
    lists: bool = False,
) -> Iterator[Target]:
    """A cluster reached over the network: by the connections file, or by its own declaration.

    ``lists``: begin to list all ACLs, which the first reading asks for.
    """
    # The client takes a tenth of a second to load, and most use cases can do without: a snapshot needs none.
    from reconciler.kafka.cluster import connect
    from reconciler.kafka.listing import no_messages

    address = address_of(name, declaration, connection)
    settings = settings_of(name, address, connection)
    if address.ignored:
        tell(options.ClientNote(f"{address.origin}: of no effect here: {', '.join(address.ignored)}"))
    try:
        cluster = connect(settings)
    except ClusterError as error:
        raise reasons.WorkflowError(
            f"the connection of cluster {name} cannot be used: {error}", error.advice
        ) from error
    with cluster:
        ready = cluster.prepare_listing
        (cluster.begin_listing if lists else ready)()

        def unsupported(binding: AclBinding) -> str | None:
            # Asked each time: by then a reading may have learned more.
            return unsupported_by_client(binding, no_messages(settings) if needs_messages(binding) else None)

        target = Target(name, cluster, None, address.servers, settings, ready, tell, unsupported)
        # Also of a cluster that nobody declares: the operator may state its flavor all the same.
        entry = read_connections(connection.connections).get(name) if connection.connections is not None else None
        if declaration is None and entry is not None:
            target = replace(target.declared_as(entry.facts), declaration=None, operator=entry.facts)
        yield target if declaration is None else target.declared_as(declaration)
