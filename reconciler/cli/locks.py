"""``reconciler locks``: who is locked on a cluster."""

import click

from reconciler.app.lock import list_locks
from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import Exit, out, out_json
from reconciler.cli.lock import lock_document
from reconciler.cli.options import cluster_option, connection_options, optional_path_argument, output_option
from reconciler.model.characters import as_name, safe
from reconciler.results.output import OutputKind


@click.command("locks", short_help="List locked principals")
@optional_path_argument
@cluster_option()
@connection_options
@output_option
def command(*, path: str | None, cluster: str | None, connection: ConnectionOptions, output: str) -> int:
    """List the principals that are denied everything until `reconciler unlock`, with since when and why.

    Exit 1 if a lock denies only a part, or one that the operator's file demands is not on the cluster.
    """
    found = list_locks(path, cluster, connection)
    if output == "json":
        locks = [lock_document(one) for one in found.locks]
        out_json(OutputKind.LOCKS, {"cluster": found.cluster, "locks": locks, "demanded": list(found.demanded)})
        return Exit.OK if found.whole else Exit.ERROR
    lines = [] if found.locks else [f"No principal is locked on {found.cluster}."]
    for lock in found.locks:
        missing = ", ".join(one.pattern.resource_type.name for one in lock.missing)
        lines.append(f"{as_name(lock.principal)} {lock.marks[-1].words}{f'; not denied: {missing}' if missing else ''}")
    lines += [
        f"{as_name(name)} is to be locked by the operator's file, and is not: reconciler lock {name}"
        for name in found.demanded
    ]
    out([safe(line) for line in lines])
    return Exit.OK if found.whole else Exit.ERROR
