"""Connections: the operator's file or the manifest's, and what a cluster shows of its vendor and release.

How a cluster is reached: by the operator's connections file, else as its Cluster document says.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from reconciler.app.manifests import checked, read_sources, sound
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import (
    InvalidManifestsError,
    NoConnectionError,
    OperatorConnectionError,
    PlanRefusedError,
    WorkflowError,
)
from reconciler.dataclass import dataclass
from reconciler.kafka.errors import SettingsError
from reconciler.kafka.secret_source import SecretSource, private_directory
from reconciler.kafka.settings import ClientSettings, client_settings, is_of_another_client
from reconciler.manifest.connections import Connection, as_proposed, connections, with_operator
from reconciler.manifest.documents.cluster import referring_settings
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.findings import Source
from reconciler.model import flavor
from reconciler.model.addresses import RANGES_SINCE
from reconciler.model.flavor import NEWEST_RELEASE, KafkaVersion, ShownFlavor
from reconciler.model.secrets import has_reference
from reconciler.model.state import ClusterState, FactSource
from reconciler.plan.proposal import Plan
from reconciler.system.files import read_manifest_files, read_properties

_SERVERS: Final = "bootstrap.servers"


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """How a cluster is reached, as written in ``origin``; ``barrier_client`` is what differs for the probe.

    ``ignored`` are settings of other clients in a file of Java properties, which people take from one.
    """

    servers: tuple[str, ...]
    client: Mapping[str, str]
    barrier_client: Mapping[str, str]
    origin: str
    ignored: tuple[str, ...] = ()


def address_of(name: str, declaration: ClusterDeclaration | None, options: ConnectionOptions) -> ClusterAddress:
    """What says how to reach the cluster; raises a :class:`WorkflowError` where nothing may, or does."""
    if options.connections is not None:
        if is_properties(options.connections):
            return _of_properties(options.connections)
        by_cluster = read_connections(options.connections)
        connection = by_cluster.get(name)
        if connection is not None and connection.bootstrap_servers:
            return ClusterAddress(
                connection.bootstrap_servers, connection.client, connection.barrier_client, options.connections
            )
        # A file that somebody passed has the last word. One that was only found leaves the manifests theirs.
        if not options.implied:
            raise WorkflowError(
                f"{options.connections} has no connection for cluster {name!r}", f"it has: {_reachable(by_cluster)}"
            )
    if "CI" in os.environ and not options.trust_manifests:
        raise OperatorConnectionError(
            "in CI the connection has to come from the operator, not from the manifests under review"
        )
    if declaration is None or not declaration.bootstrap_servers:
        raise NoConnectionError(name)
    # A reference is resolved on the operator's machine: a proposal could send the operator's secrets to its own server.
    if not options.trust_manifests and (problems := referring_settings(declaration)):
        raise InvalidManifestsError(problems)
    probe = declaration.probe
    barrier_client = probe.client if probe else {}
    return ClusterAddress(declaration.bootstrap_servers, declaration.client, barrier_client, declaration.origin.file)


def is_properties(file: str) -> bool:
    """Whether a connections file is one of Java properties, as Kafka's own tools take with ``--command-config``."""
    return file.endswith(".properties")


def _of_properties(file: str) -> ClusterAddress:
    """The connection that Java's clients would make, whatever the cluster is called. It states no facts."""
    try:
        settings = read_properties(Path(file))
    except ValueError as error:
        raise WorkflowError(f"{file}: {error}") from error
    ignored = tuple(sorted(filter(is_of_another_client, settings)))
    client = {key: value for key, value in settings.items() if key not in (*ignored, _SERVERS)}
    servers = tuple(filter(None, (part.strip() for part in settings.get(_SERVERS, "").split(","))))
    if not servers:
        raise WorkflowError(f"{file} has no {_SERVERS}", f"add {_SERVERS}=HOST:PORT")
    return ClusterAddress(servers, client, {}, file, ignored)


def _reachable(by_cluster: Mapping[str, Connection]) -> str:
    return ", ".join(name for name, connection in by_cluster.items() if connection.bootstrap_servers) or "none"


def read_connections(file: str) -> dict[str, Connection]:
    """The connections of a connections file, by cluster name; a file of Java properties names none."""
    if is_properties(file):
        return {}
    with sound():
        return dict(_connections(tuple(read_manifest_files(Path(file)))))


@lru_cache(maxsize=1)
def _connections(sources: tuple[Source, ...]) -> Mapping[str, Connection]:
    """By the text: of a fleet's file each cluster and each task asks again, and it names all clusters."""
    return connections(sources)


def password_prefixes(options: ConnectionOptions) -> tuple[str, ...]:
    """The prefixes of the variables from which manifests may take passwords, of all clusters of the operator's file."""
    if options.connections is None or options.proposed:
        return ()
    entries = read_connections(options.connections).values()
    return tuple(sorted({prefix for entry in entries for prefix in entry.facts.secret_permit.env_prefixes}))


def as_operator_says(manifests: Manifests, path: str | None, options: ConnectionOptions) -> Manifests:
    """The manifests below ``path`` with the facts of the connections file, which is the operator's word.

    ``path`` is ``None`` where the manifests were copied from elsewhere: see :func:`for_copies`.

    A file inside ``path`` is a manifest among others: whoever proposes a change can write it, so only its connection
    counts. Raises :class:`InvalidManifestsError` where a manifest contradicts the operator.
    """
    if options.connections is None or options.proposed or (path and _is_below(Path(options.connections), Path(path))):
        return manifests
    with sound():
        return with_operator(manifests, read_connections(options.connections))


def manifests_below(path: str, options: ConnectionOptions) -> Manifests:
    """The manifests below ``path`` with the facts of the connections file, as :func:`as_operator_says`.

    A connections file inside ``path`` is no manifest if others declare all of its clusters: so it can lie next to a
    directory of manifests, and ``path`` be the parent of both. What it states counts as a manifest's word.
    """
    sources = read_sources(path)
    others = [source for source in sources if source.path != _name_below(path, options)]
    if len(others) < len(sources) and options.connections is not None:
        with suppress(InvalidManifestsError), sound():
            manifests, by_cluster = checked(others, below=path), read_connections(options.connections)
            if by_cluster.keys() <= manifests.clusters.keys():
                return with_operator(
                    manifests, {name: as_proposed(connection) for name, connection in by_cluster.items()}
                )
    return as_operator_says(checked(sources, below=path), path, options)


def _name_below(path: str, options: ConnectionOptions) -> str | None:
    """How the connections file is called among the manifests; ``None`` if it is not below ``path``."""
    if options.connections is None or not Path(path).is_dir() or not _is_below(Path(options.connections), Path(path)):
        return None
    return Path(options.connections).resolve().relative_to(Path(path).resolve()).as_posix()


def for_copies(path: str, options: ConnectionOptions) -> ConnectionOptions:
    """The options as they hold for copies of the manifests below ``path``, which Spark's tasks have.

    From a copy nobody sees that the connections file lies inside ``path`` and thus is a manifest among others.
    """
    inside = options.connections is not None and _is_below(Path(options.connections), Path(path))
    return replace(options, proposed=inside)


def refuse_proposed_secrets(path: str, options: ConnectionOptions) -> None:
    """Refuse a connections file inside ``path`` that refers to secrets: whoever proposes a change can write it."""
    if options.connections is None or options.trust_manifests or not _is_below(Path(options.connections), Path(path)):
        return
    if is_properties(options.connections):
        raise WorkflowError(
            f"{options.connections} lies inside the manifests, so their editors could redirect the login in it",
            "move it out of that directory",
        )
    for name, connection in read_connections(options.connections).items():
        if any(map(has_reference, [*connection.client.values(), *connection.barrier_client.values()])):
            raise WorkflowError(
                f"{options.connections} lies inside the manifests, so their editors could redirect the secrets of "
                f"cluster {name}",
                "move it out of that directory, or pass the directory that has manifests only as PATH",
            )


def _is_below(file: Path, path: Path) -> bool:
    directory = path if path.is_dir() else path.parent
    return file.resolve().is_relative_to(directory.resolve())


def settings_of(name: str, address: ClusterAddress, options: ConnectionOptions) -> ClientSettings:
    """Client settings with secrets resolved; raises a :class:`WorkflowError` that names every problem."""
    beside = () if options.connections is None else private_directory(Path(options.connections))
    secrets = SecretSource(frozenset(options.allow_env), (*map(Path, options.secrets_dirs), *beside))
    try:
        return client_settings(
            ",".join(address.servers), address.client, secrets, cleartext_login=options.cleartext_login
        )
    except SettingsError as error:
        lines = [f"{problem.key}: {problem.message}. {problem.advice}".rstrip() for problem in error.problems]
        raise WorkflowError(
            f"the connection of cluster {name} ({address.origin}) cannot be used:\n  " + "\n  ".join(lines)
        ) from error


# What a cluster shows itself to be, against what is stated: refused where ACLs would be misread.


def unstated(declaration: ClusterDeclaration | None, live: ClusterState) -> ShownFlavor | None:
    """The flavor that a cluster shows and nobody states, if its ACLs are not what a listing without it says."""
    if declaration is not None and declaration.sources.flavor is not FactSource.NOBODY:
        return None
    # Where signs disagree, the one by which ACLs would be misread counts.
    misread = (
        shown
        for shown in flavor.shown_flavors(flavor.signs_of(live))
        if shown.flavor.acl_principals or shown.flavor.no_acls
    )
    return next(misread, None) or flavor.mixed_names(live.bindings)


def refuse_contradicted(declaration: ClusterDeclaration | None, live: ClusterState) -> None:
    """Raise a :class:`WorkflowError` where the stated flavor cannot be that of the cluster that was read."""
    if declaration is None or declaration.sources.flavor is FactSource.NOBODY:
        return
    problem = flavor.flavor_contradiction(declaration.flavor, flavor.signs_of(live))
    if problem is not None:
        raise WorkflowError(problem, "correct spec.flavor of the cluster, or connect to the one that is meant")


def refuse_unstated(declaration: ClusterDeclaration, live: ClusterState, plan: Plan) -> None:
    """Raise :class:`PlanRefusedError` for a plan on ACLs that were listed without the flavor that they need."""
    shown = unstated(declaration, live)
    if shown is not None and plan.moves_access:
        raise PlanRefusedError(
            f"{flavor_words(shown)}: a plan of them could delete what the manifests declare", cure(shown)
        )


def flavor_words(shown: ShownFlavor) -> str:
    """What the cluster shows, and why it matters."""
    why = (
        shown.flavor.no_acls or "it lists ACLs by other names than they were created with unless it is asked otherwise"
    )
    return f"{proposal(shown)}; {why}"


def proposal(shown: ShownFlavor) -> str:
    """Which make it is, by which sign."""
    return f"this is {shown.flavor.title} ({shown.sign}), and no vendor is stated"


def disagreement(shown: Sequence[ShownFlavor]) -> str:
    """Signs of several makes, each with its own: nothing is proposed, for one of the two is wrong."""
    each = " and ".join(f"{shown_flavor.sign}, which is {shown_flavor.flavor.title}'s" for shown_flavor in shown)
    return f"{each}: they disagree, so no vendor is proposed; state the right one in the operator's connections file"


def cure(shown: ShownFlavor) -> str:
    """What to write, and where."""
    return f"write “flavor: {shown.flavor.name}” into the operator's connections file, below spec of this cluster"


# Whose word on the Kafka version of a cluster counts: its own, then the operator's; never the manifests' alone.

#: The release by whose rules declarations are judged where no cluster is asked. It differs from those before it in
#: ranges of hosts alone, and a plan creates none of them where the cluster is older.
DECLARED_VERSION: Final[KafkaVersion] = RANGES_SINCE


def version_of(
    reported: tuple[int, int] | None, gap: str | None, declaration: ClusterDeclaration | None
) -> tuple[int, int] | None:
    """The release whose rules a cluster or a snapshot follows; ``None`` where it is not known.

    ``reported`` is what it says itself, ``gap`` why that leaves it open. Only where it says nothing does the operator's
    word count. The manifests' does not settle it, for whoever proposes a change would choose the rules that judge it:
    unknown means judged both ways. Raises :class:`WorkflowError` where somebody states another release than it says.
    """
    stated = declaration.kafka_version if declaration else None
    if declaration is None or stated is None:
        return reported
    # Where guardrails state another one than the manifests, it is nobody's word: it judges declarations alone.
    if reported is not None and reported != stated and declaration.sources.kafka_version is not FactSource.NOBODY:
        place = declaration.fact_origins.get("kafkaVersion")
        who = (
            "the operator's file says"
            if declaration.sources.kafka_version is FactSource.OPERATOR
            else "the manifests say"
        )
        raise WorkflowError(
            f"{who} that cluster {declaration.name} runs Kafka {flavor.release_text(stated)}, and it tells that "
            f"it runs {flavor.release_text(reported)}",
            f"correct or remove kafkaVersion{f' at {place}' if place else ''}",
        )
    settles = reported is None and gap is None and declaration.sources.kafka_version is FactSource.OPERATOR
    return stated if settles else reported


def declared_version(declaration: ClusterDeclaration | None) -> KafkaVersion:
    """The release by whose rules what is only declared for a cluster is judged: its stated one, whoever states it."""
    stated = declaration.kafka_version if declaration else None
    return DECLARED_VERSION if stated is None else stated


def version_doubt(reported: tuple[int, int] | None, gap: str | None) -> str | None:
    """Why the rules of a cluster that tells its version are not known all the same; ``None`` if they are."""
    if gap is None and reported is not None and flavor.known_release(reported) is None:
        return f"it runs {flavor.release_text(reported)}, and {flavor.release_text(NEWEST_RELEASE)} is the newest known"
    return gap
