"""``reconciler reassignments``: what is moving on a cluster, and cancelling it."""

import sys

import click

from reconciler.app.options import ConnectionOptions
from reconciler.app.reassignments import Cancelled, Unfinished, reassignments
from reconciler.app.records import RecordOptions
from reconciler.cli import options
from reconciler.cli.change_options import record_options, yes_option
from reconciler.cli.console import CommandError, Exit, ask, error, info, info_lines, out, out_json, settings, style_for
from reconciler.cli.notes import info_note
from reconciler.model.characters import counted, safe
from reconciler.results import OutputKind
from reconciler.show.result import end_lines, ends_document, move_lines, moves_document


@click.group("reassignments", short_help="List and cancel moves of replicas that are unfinished")
def command() -> None:
    """Reassignments that are unfinished: replicas that brokers are moving, whoever told them to."""


@command.command("list", short_help="List the reassignments that are unfinished")
@options.optional_path_argument
@options.cluster_option()
@options.connection_options
@options.listing_option(
    "reassignments.partitions",
    columns={
        "TOPIC": "topic",
        "PARTITION": "partition",
        "REPLICAS": "replicas",
        "ADDING": "adding",
        "REMOVING": "removing",
        "BYTES LEFT": "bytesLeft",
    },
)
def list_(*, path: str | None, cluster: str | None, connection: ConnectionOptions, output: str) -> None:
    """List the topics of which brokers are moving replicas, with what is left to copy."""
    with reassignments(path, cluster, connection, tell=info_note) as unfinished:
        moves = sorted((*unfinished.chosen, *unfinished.others), key=lambda move: move.topic)
        if output == "json":
            out_json(
                OutputKind.REASSIGNMENTS_LIST,
                {"cluster": unfinished.target.name, "reassignments": moves_document(moves, unfinished.outside)},
            )
        elif moves:
            out(move_lines(moves, style_for(sys.stdout), expand=settings.expand))
        else:
            out(["Nothing is moving."])


@command.command("cancel", short_help="Cancel reassignments: brokers go back to the replicas before")
@click.argument("topics", metavar="[TOPIC]...", nargs=-1)
@click.option("--all", "all_of_them", is_flag=True, help="Every topic in scope of which anything is moving.")
@click.option(
    "--break-lease",
    metavar="HOLDER",
    multiple=True,
    help="Cancel although HOLDER holds the lease. Use it only if that run is dead; repeatable.",
)
@options.path_option
@options.cluster_option()
@yes_option
@record_options
@options.connection_options
@options.output_option
def cancel(
    *,
    topics: tuple[str, ...],
    all_of_them: bool,
    break_lease: tuple[str, ...],
    path: str | None,
    cluster: str | None,
    yes: bool,
    records: RecordOptions,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Cancel the reassignments of each TOPIC, whoever began them: brokers go back to the replicas before.

    You see what goes back and are asked first. Partitions that have finished moving stay where they are. A throttle of
    the move goes too, also where it was left behind and nothing moves. Stop an apply that waits for the move first: it
    would tell that somebody cancelled it. Holds the cluster's lease meanwhile. Exit 1 if anything of it is still moving
    or throttled at the end.
    """
    if bool(topics) == all_of_them:
        raise CommandError("say which: TOPIC, one or more, or --all", status=Exit.USAGE)
    named = None if all_of_them else topics
    with reassignments(path, cluster, connection, topics=named, breaks=break_lease, tell=info_note) as unfinished:
        for name in sorted(unfinished.outside) if all_of_them else ():
            info(f"left alone: topic {safe(name)} is outside the scope of these manifests")
        if not unfinished.is_nothing:
            info_lines(move_lines(unfinished.chosen, style_for(sys.stderr), expand=settings.expand))
            ask(_question(unfinished), yes=yes)
        ended = Cancelled(()) if unfinished.is_nothing else unfinished.cancel(records)
        if output == "json":
            chosen = moves_document(unfinished.chosen, unfinished.outside)
            document = {
                "cluster": unfinished.target.name,
                "reassignments": chosen,
                "partitions": ends_document(ended.ends),
            }
            out_json(
                OutputKind.REASSIGNMENTS_CANCEL,
                {**document, "throttles": list(ended.throttles), "auditHead": ended.audit_head or None},
            )
        elif unfinished.is_nothing:
            out(["Nothing is moving."])
        else:
            out(end_lines(ended.ends, ended.throttles, style_for(sys.stdout)))
            if ended.audit_head:
                out([f"Audit log: head {ended.audit_head}"])
        if ended.unrecorded:
            error(f"the end could not be written down: {ended.unrecorded}")
    return Exit.OK if ended.succeeded else Exit.ERROR


def _question(unfinished: Unfinished) -> str:
    number = sum(len(move.moving) for move in unfinished.chosen)
    what = f"Cancel the reassignment of {counted(number, 'partition')}" if number else "Remove the throttle"
    return f"{what} on cluster {safe(unfinished.target.name)}?"
