"""``reconciler convert``: manifests from what another tool keeps, proven against it."""

import sys
from typing import Final

import click

from reconciler.cli.change_options import Keeping, edit_options
from reconciler.cli.console import CommandError, Exit, info, out, out_json, progress
from reconciler.cli.export import directory_option, write_files
from reconciler.cli.options import output_option, roles_option
from reconciler.cli.parts import Named
from reconciler.codec.kinds import PLURALS
from reconciler.manifest.write.manifests import Layout
from reconciler.model.characters import counted, is_visible
from reconciler.parts.convert.app import ConversionSource, ConversionStyle, Converted, convert_into, convert_source
from reconciler.parts.convert.conversion import Remark, Sign
from reconciler.parts.convert.recognition import AUTO, FORMATS, GROUP, OF_CLUSTERS, reader
from reconciler.parts.edit.cli.options import keep
from reconciler.results import OutputKind
from reconciler.system.plugins import PluginError

#: Kept here because its module is expensive to import; a test holds the two together.
LAYOUTS: Final = ("principal", "source", "team", "single")
_CLUSTERS: Final = ", ".join(form.clusters for form in FORMATS.values() if form.clusters is not None)


@click.command("convert", short_help="Convert another tool's files to manifests")
@click.argument("source", default=".", metavar="[SOURCE]", type=click.Path(allow_dash=True))
@click.option(
    "--from",
    "source_format",
    default=AUTO,
    show_default=True,
    type=Named((AUTO, *FORMATS), GROUP),
    help="Source format. With auto, whatever the files are recognised as.",
)
@directory_option
@click.option(
    "-f",
    "--path",
    "into",
    metavar="PATH",
    type=click.Path(exists=True),
    envvar=[],  # what other commands are about is nothing to write into
    help="Add what is missing to these manifests, and change nothing else of them.",
)
@edit_options
@click.option(
    "--name", default="my-cluster", show_default=True, metavar="NAME", help="Name of the cluster in the manifests."
)
@click.option(
    "--source-cluster",
    metavar="CLUSTER",
    help=f"Source cluster, if there are several: {_CLUSTERS}.",
)
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="JulieOps' properties file, which defines how topics are named.",
)
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    default="principal",
    show_default=True,
    help="One file for each principal, source file or module, or team, or a single one.",
)
@roles_option("exact", "implied", "none")
@output_option
def command(
    *,
    source: str,
    source_format: str,
    directory: str | None,
    into: str | None,
    keeping: Keeping,
    name: str,
    source_cluster: str | None,
    config: str | None,
    layout: Layout,
    roles: str,
    output: str,
) -> int:
    """Write manifests that declare exactly the ACLs, topics and quotas that another tool would create from SOURCE.

    SOURCE is a file, a directory, or - for stdin. Without --from, each file is recognised by what it holds, and the
    output says by what. No cluster is contacted. The manifests are read back and compared with
    the source before they are written. Exit 2 if something could not be converted; it is listed on stderr and in
    not-converted.yaml.
    """
    _refuse(source_format, source_cluster, config)
    if into is not None and directory is not None:
        raise CommandError("--path and --out exclude each other", "give one of the two", Exit.USAGE)
    if into is None and keeping != Keeping():
        raise CommandError("--write and --branch are for --path", status=Exit.USAGE)

    origin = ConversionSource(source_format, source, _stdin() if source == "-" else "", source_cluster, config)
    style = ConversionStyle(roles != "none", roles == "implied", layout)
    status = Exit.OK
    if into is not None:
        converted, status = _into(origin, into, style, keeping, output)
    else:
        converted = convert_source(origin, name, style)
        _hand_over(converted, directory, output)
    for sign in converted.signs:
        info(f"recognised as {_shown(sign)}")
    if source_format == AUTO and not converted.signs:
        info("if it is of one of these, name the format: --from FORMAT")
    if len(converted.signs) > 1:
        info("taken together as one cluster: to convert only one of these, name it with --from")
    for remark in converted.unmanaged:
        info(f"not managed here: {_shown(remark)}")
    for remark in converted.skipped:
        info(f"not converted: {_shown(remark)}")
    counts = [counted(converted.bindings, "ACL"), counted(converted.topics, "topic")]
    listed = {PLURALS[kind].removesuffix("s"): count for kind, count in converted.listed.items() if count}
    counts += [counted(count, noun) for noun, count in listed.items()]
    progress(
        f"read back from the manifests: {', '.join(counts)}, as {_source(converted, source_format)} would create them"
    )
    if converted.more_roles > 0:
        info(f"{converted.more_roles:,} more rules are roles with --roles implied, which adds DESCRIBE that is granted")
    if converted.skipped:
        info(f"not in the manifests: {len(converted.skipped):,}")
    return Exit.DIFFERENT if converted.skipped else status


def _hand_over(converted: Converted, directory: str | None, output: str) -> None:
    if directory is not None:
        write_files(converted.files, directory)
    if output == "json":
        out_json(OutputKind.CONVERT, _document(converted))
    elif directory is None:
        texts = (text for file, text in converted.files.items() for text in (f"---\n# {file}", text.rstrip("\n")))
        out(texts, whole=True)


def _into(
    source: ConversionSource, into: str, style: ConversionStyle, keeping: Keeping, output: str
) -> tuple[Converted, Exit]:
    """Add to manifests that are there; the cluster is the one that is named, else the only one."""
    context = click.get_current_context()
    named = context.get_parameter_source("name") is not click.ParameterSource.DEFAULT
    added = convert_into(source, into, context.params["name"] if named else None, style)
    for what in added.kept:
        info(f"declared otherwise, and left so: {what if is_visible(what) else ascii(what)[1:-1]}")
    status = keep(
        OutputKind.CONVERT_INTO,
        added.edit,
        keeping,
        message=f"Add what {_source(added.converted, source.format)} creates",
        output=output,
    )
    return added.converted, Exit(status)


def _refuse(source_format: str, source_cluster: str | None, config: str | None) -> None:
    if source_format not in (AUTO, *FORMATS):
        try:
            reader(source_format)
        except PluginError as error:
            raise CommandError(str(error)) from error
    if config is not None and source_format not in ("julie", AUTO):
        raise CommandError(f"--config is for julie, not for {source_format}", status=Exit.USAGE)
    if source_cluster is not None and source_format not in (*OF_CLUSTERS, AUTO):
        raise CommandError(f"{source_format} speaks of one cluster: --source-cluster says nothing", status=Exit.USAGE)


def _stdin() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise CommandError("-: the text is not UTF-8") from error


def _document(converted: Converted) -> dict[str, object]:
    return {
        "files": dict(converted.files),
        "recognised": [sign._asdict() for sign in converted.signs],
        "bindings": converted.bindings,
        "topics": converted.topics,
        **converted.listed,
        "skipped": [remark._asdict() for remark in converted.skipped],
        "unmanaged": [remark._asdict() for remark in converted.unmanaged],
    }


def _source(converted: Converted, source_format: str) -> str:
    return " and ".join(sign.format for sign in converted.signs) or (
        "the source" if source_format == AUTO else source_format
    )


def _shown(remark: Remark | Sign) -> str:
    text = str(remark)
    return text if is_visible(text) else ascii(text)[1:-1]
