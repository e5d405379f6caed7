"""How a cluster is reached: by the operator's connections file, else as its Cluster document says."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.adapters.manifest_files import read_manifest_files
from reconciler.manifest import ClusterDeclaration, Connection, connections
from reconciler.workflow.manifests import sound
from reconciler.workflow.options import ConnectionOptions
from reconciler.workflow.reasons import NoConnectionError, OperatorConnectionError, WorkflowError

if TYPE_CHECKING:
    from reconciler.adapters.kafka.settings import ClientSettings


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """How a cluster is reached, as written in ``origin``; ``barrier_client`` is what differs for the probe."""

    servers: tuple[str, ...]
    client: Mapping[str, str]
    barrier_client: Mapping[str, str]
    origin: str


def address_of(name: str, declaration: ClusterDeclaration | None, options: ConnectionOptions) -> ClusterAddress:
    """What says how to reach the cluster; raises a :class:`WorkflowError` where nothing may, or does."""
    if options.connections is not None:
        known = read_connections(options.connections)
        found = known.get(name)
        if found is None:
            raise WorkflowError(
                f"{options.connections} has no connection for cluster {name!r}", f"it has: {', '.join(known) or 'none'}"
            )
        return ClusterAddress(found.bootstrap_servers, found.client, found.barrier_client, options.connections)
    if "CI" in os.environ:
        raise OperatorConnectionError(
            "in CI the connection has to come from the operator, not from the manifests under review"
        )
    if declaration is None or not declaration.bootstrap_servers:
        raise NoConnectionError(name)
    probe = declaration.probe
    barrier_client = probe.client if probe else {}
    return ClusterAddress(declaration.bootstrap_servers, declaration.client, barrier_client, declaration.origin.file)


def read_connections(file: str) -> dict[str, Connection]:
    """The connections of a connections file, by cluster name."""
    with sound():
        return dict(connections(list(read_manifest_files(Path(file)))))


def settings_of(name: str, address: ClusterAddress, options: ConnectionOptions) -> "ClientSettings":
    """Client settings with secrets resolved; raises a :class:`WorkflowError` that names every problem."""
    # The client libraries take a tenth of a second, and most use cases can do without: a snapshot needs none.
    from reconciler.adapters.kafka.secret_source import SecretSource  # noqa: PLC0415
    from reconciler.adapters.kafka.settings import SettingsError, client_settings  # noqa: PLC0415

    secrets = SecretSource(frozenset(options.allow_env), tuple(map(Path, options.secrets_dirs)))
    try:
        return client_settings(",".join(address.servers), address.client, secrets)
    except SettingsError as error:
        lines = [f"{problem.key}: {problem.message}. {problem.advice}".rstrip() for problem in error.problems]
        raise WorkflowError(
            f"the connection of cluster {name} ({address.origin}) cannot be used:\n  " + "\n  ".join(lines)
        ) from error
