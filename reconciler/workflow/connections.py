"""How a cluster is reached: by the operator's connections file, else as its Cluster document says."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reconciler.adapters.manifest_files import read_manifest_files
from reconciler.dataclass import dataclass
from reconciler.manifest import (
    ClusterDeclaration,
    Connection,
    Manifests,
    as_proposed,
    connections,
    referring_settings,
    with_operator,
)
from reconciler.model.secret_settings import has_reference
from reconciler.workflow.manifests import checked, read_sources, sound
from reconciler.workflow.options import ConnectionOptions
from reconciler.workflow.reasons import InvalidManifestsError, NoConnectionError, OperatorConnectionError, WorkflowError

if TYPE_CHECKING:
    from reconciler.adapters.kafka.settings import ClientSettings


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
        known = read_connections(options.connections)
        found = known.get(name)
        if found is not None and found.bootstrap_servers:
            return ClusterAddress(found.bootstrap_servers, found.client, found.barrier_client, options.connections)
        # A file that somebody passed has the last word. One that was only found leaves the manifests theirs.
        if not options.implied:
            raise WorkflowError(
                f"{options.connections} has no connection for cluster {name!r}", f"it has: {_reachable(known)}"
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
    from reconciler.adapters.kafka.allowed_settings import is_of_another_client  # noqa: PLC0415 - as in settings_of
    from reconciler.adapters.properties_file import read_properties  # noqa: PLC0415

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


def _reachable(known: Mapping[str, Connection]) -> str:
    return ", ".join(name for name, found in known.items() if found.bootstrap_servers) or "none"


def read_connections(file: str) -> dict[str, Connection]:
    """The connections of a connections file, by cluster name; a file of Java properties names none."""
    if is_properties(file):
        return {}
    with sound():
        return dict(connections(list(read_manifest_files(Path(file)))))


def password_prefixes(options: ConnectionOptions) -> tuple[str, ...]:
    """The prefixes of the variables from which manifests may take passwords, of all clusters of the operator's file."""
    if options.connections is None or options.proposed:
        return ()
    known = read_connections(options.connections).values()
    return tuple(sorted({prefix for one in known for prefix in one.facts.secret_permit.env_prefixes}))


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
            manifests, known = checked(others, below=path), read_connections(options.connections)
            if known.keys() <= manifests.clusters.keys():
                return with_operator(manifests, {name: as_proposed(found) for name, found in known.items()})
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
    for name, found in read_connections(options.connections).items():
        if any(map(has_reference, [*found.client.values(), *found.barrier_client.values()])):
            raise WorkflowError(
                f"{options.connections} lies inside the manifests, so their editors could redirect the secrets of "
                f"cluster {name}",
                "move it out of that directory, or pass the directory that has manifests only as PATH",
            )


def _is_below(file: Path, path: Path) -> bool:
    directory = path if path.is_dir() else path.parent
    return file.resolve().is_relative_to(directory.resolve())


def settings_of(name: str, address: ClusterAddress, options: ConnectionOptions) -> "ClientSettings":
    """Client settings with secrets resolved; raises a :class:`WorkflowError` that names every problem."""
    # The client libraries take a tenth of a second, and most use cases can do without: a snapshot needs none.
    from reconciler.adapters.kafka.secret_source import SecretSource, private_directory  # noqa: PLC0415
    from reconciler.adapters.kafka.settings import SettingsError, client_settings  # noqa: PLC0415

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
