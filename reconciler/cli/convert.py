"""``reconciler convert``: manifests from what another tool keeps, proven against it."""

import dataclasses
import sys
from typing import TYPE_CHECKING, Final

import click

from reconciler.cli.console import info, out, out_json
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.export import write_files
from reconciler.cli.options import output_option

if TYPE_CHECKING:
    from reconciler.adapters.converters import ConversionResult, Remark
    from reconciler.model import ClusterState
    from reconciler.report.export import Export

#: Kept beside ``FORMATS``, which is expensive to import; a test holds the two together.
_FORMATS: Final = ("kafka-gitops", "julie", "jikkou", "strimzi", "terraform", "kafka-acls", "confluent")
_LEFT_FILE: Final = "not-converted.yaml"


@click.command("convert", short_help="Convert another tool's files to manifests")
@click.argument("path", default=".", metavar="[PATH]", type=click.Path(allow_dash=True))
@click.option("--from", "source_format", required=True, type=click.Choice(_FORMATS), help="Source format.")
@click.option(
    "--out",
    "directory",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Write files to this directory, which must be empty.",
)
@click.option(
    "--name", default="my-cluster", show_default=True, metavar="NAME", help="Name of the cluster in the manifests."
)
@click.option(
    "--source-cluster",
    metavar="CLUSTER",
    help="Source cluster, if there are several: a Strimzi label, a Terraform provider, a Confluent id.",
)
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="JulieOps' properties file, which defines how topics are named.",
)
@click.option("--no-roles", is_flag=True, help="Write every rule out, even if a built-in role is equivalent.")
@output_option
def command(
    *,
    path: str,
    source_format: str,
    directory: str | None,
    name: str,
    source_cluster: str | None,
    config: str | None,
    no_roles: bool,
    output: str,
) -> int:
    """Write manifests that declare exactly the ACLs and topics that another tool would create from PATH.

    PATH is a file, a directory, or - for stdin. No cluster is contacted. The manifests are read back and compared with
    the source before they are written. Exit 2 if something could not be converted; it is listed on stderr and in
    not-converted.yaml.
    """
    from reconciler.model import ClusterState

    _refuse(source_format, source_cluster, config)
    converted = _converted(path, source_format, source_cluster, config)
    state = ClusterState(name, converted.bindings, converted.topics)
    export, remarks = _proven(state, converted, name, heading=f"Converted from {source_format}.", roles=not no_roles)
    if directory is not None:
        write_files(export.files, directory)
    if output == "json":
        out_json(_document(export, remarks, converted, state))
    elif directory is None:
        out(text for file, text in export.files.items() for text in (f"---\n# {file}", text.rstrip("\n")))
    for remark in converted.unmanaged:
        info(f"not managed here: {_shown(remark)}")
    for remark in remarks:
        info(f"not converted: {_shown(remark)}")
    bindings, topics = _counts(export, state)
    info(
        f"read back from the manifests: {bindings:,} bindings, {topics:,} topics, as {source_format} would create them"
    )
    if remarks:
        info(f"not in the manifests: {len(remarks):,}")
    return Exit.DIFFERENT if remarks else Exit.OK


def _refuse(source_format: str, source_cluster: str | None, config: str | None) -> None:
    if config is not None and source_format != "julie":
        raise CommandError(f"--config is for julie, not for {source_format}", status=Exit.USAGE)
    if source_cluster is not None and source_format not in ("strimzi", "terraform", "confluent"):
        raise CommandError(f"{source_format} speaks of one cluster: --source-cluster says nothing", status=Exit.USAGE)


def _converted(path: str, source_format: str, cluster: str | None, config: str | None) -> "ConversionResult":
    from reconciler.adapters.converters import SourceError, convert, source_files

    try:
        stdin = sys.stdin.read() if path == "-" else ""
        return convert(source_format, source_files(path, config=config, cluster=cluster, stdin=stdin))
    except SourceError as error:
        raise CommandError(str(error)) from error
    except UnicodeDecodeError as error:
        raise CommandError("-: the text is not UTF-8") from error


def _proven(
    state: "ClusterState", converted: "ConversionResult", name: str, *, heading: str, roles: bool
) -> "tuple[Export, list[Remark]]":
    """The manifests with their cluster, and everything that is not in them; fails if they say anything else."""
    from reconciler.adapters.converters import Remark
    from reconciler.report.export import cluster_document, differences, export_manifests
    from reconciler.report.export.yaml_text import comment
    from reconciler.workflow.exporting import NO_BROKER

    export = export_manifests(state, heading=heading, roles=roles)
    try:
        cluster = {"cluster.yaml": cluster_document(name, [NO_BROKER], {})}
        wrong = differences(export, state, cluster, name)
    except ValueError as error:
        raise CommandError(f"--name: {error}", status=Exit.USAGE) from error
    if wrong:
        raise CommandError(
            "\n".join(["the manifests do not declare what the source creates: this is a bug", *wrong[:20]])
        )
    remarks = [
        *converted.skipped,
        *(Remark("the source", item.subject, item.reason) for item in export.left),
    ]
    files = {"cluster.yaml": _STUB + cluster["cluster.yaml"], **export.files}
    if remarks:
        lines = [heading, "The source says this, and no manifest here does:", *(f"  {item}" for item in remarks)]
        files[_LEFT_FILE] = "".join(f"{comment(line)}\n" for line in lines)
    return dataclasses.replace(export, files=files), remarks


_STUB: Final = """\
# Say how to reach the cluster, here or in a connections file, and add below spec (docs/manifests.md, Cluster):
#   principal: User:…                    the principal that this tool logs in as
#   superUsers: [User:…]                 the brokers' super.users
#   allowEveryoneIfNoAclFound: false     the brokers' allow.everyone.if.no.acl.found
"""


def _document(
    export: "Export", remarks: "list[Remark]", converted: "ConversionResult", state: "ClusterState"
) -> dict[str, object]:
    bindings, topics = _counts(export, state)
    return {
        "files": dict(export.files),
        "bindings": bindings,
        "topics": topics,
        "skipped": [remark._asdict() for remark in remarks],
        "unmanaged": [remark._asdict() for remark in converted.unmanaged],
    }


def _counts(export: "Export", state: "ClusterState") -> tuple[int, int]:
    from reconciler.model import Topic

    topics = sum(isinstance(item.item, Topic) for item in export.left)
    return len(state.bindings) - len(export.left) + topics, len(state.topics) - topics


def _shown(remark: "Remark") -> str:
    text = str(remark)
    return text if text.isprintable() else ascii(text)[1:-1]
