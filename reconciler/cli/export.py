"""``reconciler export`` and ``policy``: a live cluster as manifests or a snapshot, and a topic policy to begin with."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from reconciler.app.export import Exported, propose_topic_policy
from reconciler.app.export import export as run_export
from reconciler.app.options import ConnectionOptions
from reconciler.cli import options
from reconciler.cli.console import CommandError, Exit, info, out, out_json, progress, settings
from reconciler.cli.notes import info_note
from reconciler.codec.kinds import LISTED
from reconciler.manifest.parts.document import document_name_problem
from reconciler.manifest.write.manifests import Export, Layout
from reconciler.model.state import ClusterState
from reconciler.results import OutputKind
from reconciler.show.policy import DEFAULT_POLICY

#: What a cluster has, as rows; that something cannot be read or named is a row, too.
LISTS: Final = ("bindings", "topics", *LISTED, "opaque", "unreadableTopics")


directory_option = click.option(
    "--out",
    "directory",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Write files to this directory, which must be empty.",
)


@click.command("export", short_help="Export a cluster as manifests or as a snapshot")
@options.optional_path_argument
@options.cluster_option()
@directory_option
@click.option(
    "--snapshot", metavar="FILE", type=click.Path(dir_okay=False), help="Write a snapshot file instead of manifests."
)
@click.option(
    "--layout",
    type=click.Choice(("principal", "team", "single")),
    default="principal",
    show_default=True,
    help="One file for each principal or team, or a single one.",
)
@options.roles_option("exact", "none")
@options.connection_options
@options.listing_option(
    *LISTS,
    columns={
        "KIND": "list",
        "PRINCIPAL": "principal",
        "PERMISSION": "permissionType",
        "OPERATION": "operation",
        "RESOURCE": "resourceType patternType name entity.user entity.client-id entity.ip",
        "HOST": "host",
        "PARTITIONS": "partitions",
        "REPLICAS": "replicationFactor",
        "WHY NOT READ": "reason",
    },
)
def command(
    *,
    path: str | None,
    cluster: str | None,
    directory: str | None,
    snapshot: str | None,
    layout: Layout,
    roles: str,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Export the ACLs and topics of a cluster as manifests that plan to nothing against it.

    If a built-in role describes exactly what a principal has, the role is written. To export a cluster that no manifest
    describes yet, pass --connections. Without --out and --snapshot the manifests go to stdout; with -o table or -o csv,
    a list of the cluster's bindings, topics, quotas and group configs.
    """
    if snapshot is not None and directory is not None:
        raise CommandError("--snapshot and --out exclude each other", "give one of the two", Exit.USAGE)
    exported = run_export(path, cluster, connection, tell=info_note)
    state = exported.state
    info_gaps(state)
    if settings.rows:
        out_json(OutputKind.EXPORT, exported.listing())
        output = "printed"
        if snapshot is None and directory is None:
            return Exit.OK
    if snapshot is not None:
        _write_snapshot(exported, snapshot)
        if output == "json":
            out_json(
                OutputKind.EXPORT_SNAPSHOT,
                {"snapshot": snapshot, "bindings": len(state.bindings), "topics": len(state.topics)},
            )
        return Exit.OK
    export = exported.manifests(roles=roles != "none", layout=layout)
    if directory is not None:
        write_files(export.files, directory)
    if output == "json":
        out_json(OutputKind.EXPORT, {"files": dict(export.files), "left": _inexpressible(export)})
    elif directory is None and output == "text":
        texts = (text for name, text in export.files.items() for text in (f"---\n# {name}", text.rstrip("\n")))
        out(texts, whole=True)
    for item in export.inexpressible:
        info(f"not exported: {item.subject!a}: {item.reason}")
    return Exit.OK


def info_gaps(state: ClusterState) -> None:
    """Say what the listings may lack."""
    for gap in state.gaps:
        info(f"warning: {gap}")
    for name, reason in state.unreadable_topics.items():
        info(f"warning: topic {name}: {reason}")
    if state.opaque:
        info(f"warning: {len(state.opaque)} ACL entries are of a kind that this client cannot name")


def _inexpressible(export: Export) -> list[dict[str, str]]:
    return [{"subject": item.subject, "reason": item.reason} for item in export.inexpressible]


def _write_snapshot(exported: Exported, file: str) -> None:
    try:
        exported.save_snapshot(file)
    except OSError as error:
        raise CommandError(f"the snapshot cannot be written: {error}") from error
    state = exported.state
    progress(f"wrote {file}: {len(state.bindings):,} bindings, {len(state.topics):,} topics")


def write_files(files: Mapping[str, str], place: str) -> None:
    """Write texts by path into a new or empty directory."""
    directory = Path(place)
    if directory.exists() and any(directory.iterdir()):
        raise CommandError(f"{place} is not empty: nothing was written", "give a new directory", Exit.USAGE)
    try:
        for name, text in files.items():
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"the manifests cannot be written: {error}") from error
    progress(f"wrote {len(files)} files into {place}")


@click.group("policy", short_help="Propose a topic policy from a cluster")
def policy_command() -> None:
    """Topic policies: rules for declared topics. validate, plan and apply check them."""


@policy_command.command("init", short_help="Propose a topic policy from a cluster")
@options.optional_path_argument
@options.cluster_option(needed=False)
@click.option("--defaults", is_flag=True, help="Print a policy of good defaults, without a cluster.")
@click.option("--name", metavar="NAME", default=None, help="Name of the policy.  [default: the cluster's]")
@click.option(
    "--out", "file", metavar="FILE", type=click.Path(dir_okay=False), help="Write to this file, which must not exist."
)
@options.connection_options
@options.as_of_option
@options.output_option
def init(
    *,
    path: str | None,
    cluster: str | None,
    defaults: bool,
    name: str | None,
    file: str | None,
    connection: ConnectionOptions,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Propose a TopicPolicy from the topics of a cluster: names, ranges and configs that most of them have.

    Topics that do not fit are excepted by name for half a year, so the proposal passes on this cluster. It is checked
    before it is shown.
    """
    if defaults and cluster is not None:
        raise CommandError("a proposal comes from a cluster, or is --defaults", "give one of the two", Exit.USAGE)
    cluster = cluster if defaults else options.meant_cluster(cluster)
    if defaults and name is not None:
        raise CommandError("--defaults has a name of its own", "leave --name out", Exit.USAGE)
    if defaults:
        _write(DEFAULT_POLICY, {}, file, output)
        return Exit.OK
    if name is not None and (problem := document_name_problem(name)) is not None:
        raise CommandError(f"--name: {problem}", status=Exit.USAGE)
    exported = run_export(path, cluster, connection, acls=False, tell=info_note)
    info_gaps(exported.state)
    proposal = propose_topic_policy(exported, name=name, as_of=as_of)
    _write(proposal.text, proposal.excepted, file, output)
    return Exit.OK


def _write(text: str, excepted: Mapping[str, Sequence[str]], file: str | None, output: str) -> None:
    if output == "json":
        out_json(OutputKind.POLICY_INIT, {"policy": text, "excepted": excepted})
    elif file is None:
        out([text.rstrip("\n")], whole=True)
    if file is not None:
        try:
            with Path(file).open("x", encoding="utf-8") as new:
                new.write(text)
        except FileExistsError:
            raise CommandError(f"{file} exists: nothing was written", "give a new file", Exit.USAGE) from None
        except OSError as error:
            raise CommandError(f"the policy cannot be written: {error}") from error
        progress(f"wrote {file}")
    if excepted:
        info(f"{sum(map(len, excepted.values())):,} exceptions by name, in {len(excepted):,} rules")
