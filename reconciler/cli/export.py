"""``reconciler export``: manifests, or a snapshot, from a live cluster."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from reconciler.cli.console import say, say_json, tell
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import Reach, cluster_option, connection_options, output_option
from reconciler.cli.reading import reached
from reconciler.cli.state import read_cluster
from reconciler.cli.wiring import Target

if TYPE_CHECKING:
    from reconciler.model import ClusterState
    from reconciler.report.export import Export


@click.command("export", short_help="Write manifests, or a snapshot, from a cluster")
@click.argument("path", required=False, type=click.Path(exists=True), metavar="[PATH]")
@cluster_option()
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False), help="Write files there; it must be empty.")
@click.option("--snapshot", metavar="FILE", type=click.Path(dir_okay=False), help="Write a snapshot file instead.")
@click.option("--no-roles", is_flag=True, help="Write every rule out, also where a built-in role says the same.")
@connection_options
@output_option
def command(
    *,
    path: str | None,
    cluster: str,
    out: str | None,
    snapshot: str | None,
    no_roles: bool,
    reach: Reach,
    output: str,
) -> int:
    """Write the ACLs and topics of a cluster as manifests that plan to nothing against it.

    Where a built-in role says exactly what a principal has, the role is written. The cluster may be one that nobody
    described yet: then --connections says how to reach it. With neither --out nor --snapshot the manifests go to
    stdout.
    """
    from reconciler.ports import ReadRequest

    if snapshot is not None and out is not None:
        raise CommandError("--snapshot stands instead of --out", "give one of the two", Exit.USAGE)
    with reached(path, cluster, reach) as target:
        declaration = target.declaration
        request = ReadRequest(
            principal=declaration.principal if declaration else None,
            super_users=declaration.super_users if declaration else (),
        )
        state = in_scope(read_cluster(target.cluster, request), target)
    _tell_gaps(state)
    if snapshot is not None:
        _write_snapshot(state, snapshot)
        if output == "json":
            say_json({"snapshot": snapshot, "bindings": len(state.bindings), "topics": len(state.topics)})
        return Exit.OK
    export = _manifests(state, target, roles=not no_roles)
    if out is not None:
        write_files(export.files, out)
    if output == "json":
        say_json({"files": dict(export.files), "left": _left(export)})
    elif out is None:
        say(text for name, text in export.files.items() for text in (f"---\n# {name}", text.rstrip("\n")))
    for subject, reason in (*export.left_topics, *((str(binding), why) for binding, why in export.left)):
        tell(f"not exported: {subject!a}: {reason}")
    return Exit.OK


def in_scope(state: "ClusterState", target: Target) -> "ClusterState":
    """What the declaration answers for; for a cluster that nobody described, all but our own short-lived names."""
    from reconciler.model import INTERNAL_TOPICS, Scope

    scope = target.declaration.scope if target.declaration else Scope()
    names = (name for name in state.topics if name not in INTERNAL_TOPICS)
    return replace(
        state,
        bindings=frozenset(binding for binding in state.bindings if scope.owns(binding)),
        topics={name: state.topics[name] for name in names if scope.owns_topic(name, declared=True)},
    )


def _manifests(state: "ClusterState", target: Target, *, roles: bool) -> "Export":
    from reconciler.report.export import cluster_document, export_manifests
    from reconciler.report.export.file_names import document_name

    export = export_manifests(state, cluster=target.name, roles=roles)
    if target.declaration is not None:
        return export
    # A snapshot's file may be called what no document can be, and says nothing of brokers.
    name, servers = document_name(target.name), target.bootstrap_servers or [NO_BROKER]
    stub = _STUB + cluster_document(name, servers, {})
    return replace(export, files={"cluster.yaml": stub, **export.files})


#: Stands where brokers belong and nobody has said which; no such name is ever found.
NO_BROKER: Final = "your-broker.example:9093"
_STUB: Final = """\
# What no API tells, for you to add below spec (docs/manifests.md, Cluster):
#   principal: User:…                    the principal that this tool logs in as
#   superUsers: [User:…]                 the brokers' super.users
#   allowEveryoneIfNoAclFound: false     the brokers' allow.everyone.if.no.acl.found
"""


def _tell_gaps(state: "ClusterState") -> None:
    for gap in (state.acl_gap, state.topic_gap):
        if gap:
            tell(f"warning: {gap}")
    for name, reason in state.unreadable_topics.items():
        tell(f"warning: topic {name}: {reason}")
    if state.opaque:
        tell(f"warning: {len(state.opaque)} ACL entries are of a kind that this client cannot name")


def _left(export: "Export") -> list[dict[str, str]]:
    bindings = [{"subject": str(binding), "reason": reason} for binding, reason in export.left]
    return bindings + [{"subject": f"topic {name}", "reason": reason} for name, reason in export.left_topics]


def _write_snapshot(state: "ClusterState", file: str) -> None:
    from reconciler.adapters.snapshot import snapshot_text

    try:
        Path(file).write_text(snapshot_text(state), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"the snapshot cannot be written: {error}") from error
    tell(f"wrote {file}: {len(state.bindings):,} bindings, {len(state.topics):,} topics")


def write_files(files: Mapping[str, str], out: str) -> None:
    """Write texts by path into a new or empty directory."""
    directory = Path(out)
    if directory.exists() and any(directory.iterdir()):
        raise CommandError(f"{out} is not empty: nothing was written", "give a new directory", Exit.USAGE)
    try:
        for name, text in files.items():
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"the manifests cannot be written: {error}") from error
    tell(f"wrote {len(files)} files into {out}")
