"""``reconciler fleet lock``: deny a principal everything on every cluster of a connections file."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import click

from reconciler.app.connections import read_connections
from reconciler.app.lock import Locked, LockTerms, lockable
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import WorkflowError
from reconciler.app.records import RecordOptions
from reconciler.cli.change_options import yes_option
from reconciler.cli.console import CommandError, Exit, ask, out, out_json
from reconciler.cli.lock import lock_terms, lock_terms_options, locked_document, locked_lines, other_lines
from reconciler.cli.options import connection_options, output_option
from reconciler.model.characters import counted, safe
from reconciler.results import OutputKind

#: Clusters that are locked at the same time.
_AT_ONCE: Final = 8


@click.command("lock", short_help="Deny a principal everything on every cluster")
@lock_terms_options
@yes_option
@click.option("--operator", metavar="NAME", help="Operator name in the marks of the locks.  [default: USER@HOST]")
@connection_options
@output_option
def command(*, yes: bool, operator: str | None, connection: ConnectionOptions, output: str, **terms: Any) -> int:
    """Lock PRINCIPAL on every cluster of the connections file, as `reconciler lock` does on one.

    A cluster that cannot be reached holds up no other: it is named, and the exit status is 1. Manifests are not read.
    """
    given = lock_terms(**terms)
    if connection.connections is None:
        raise CommandError("which clusters?", "give --connections FILE", Exit.USAGE)
    names = sorted(read_connections(connection.connections))
    ask(safe(f"Deny {given.principal} everything on {counted(len(names), 'cluster')}?"), yes=yes)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        lock = partial(_lock, given, RecordOptions(operator=operator), connection)
        results = dict(zip(names, pool.map(lock, names), strict=True))
    if output == "json":
        clusters = [
            locked_document(result) if isinstance(result, Locked) else {"cluster": name, "failure": str(result)}
            for name, result in results.items()
        ]
        out_json(OutputKind.FLEET_LOCK, {"principal": given.principal, "clusters": clusters})
    else:
        out([line for name, result in results.items() for line in _lines(name, result)])
    good = all(isinstance(result, Locked) and result.succeeded for result in results.values())
    return Exit.OK if good else Exit.ERROR


def _lock(given: LockTerms, records: RecordOptions, connection: ConnectionOptions, name: str) -> Locked | WorkflowError:
    try:
        with lockable(None, name, given, connection) as principal:
            return principal.lock(records)
    except WorkflowError as error:
        return error


def _lines(name: str, result: Locked | WorkflowError) -> Iterator[str]:
    if isinstance(result, WorkflowError):
        yield safe(f"{name}: not locked: {result}")
        return
    yield locked_lines(result)[0]
    yield from (f"  not denied: {safe(gap)}" for gap in result.gaps)
    yield from (f"  {safe(note)}" for note in result.notes if note.startswith("delegation tokens"))
    yield from map(safe, other_lines(result))
    if result.doubt:
        yield f"  {safe(result.doubt)}"
