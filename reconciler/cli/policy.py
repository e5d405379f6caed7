"""``reconciler policy``: a topic policy to begin with, from a cluster or without one."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from reconciler.app.export import export
from reconciler.app.options import ConnectionOptions
from reconciler.app.policy import propose_topic_policy
from reconciler.cli.console import CommandError, Exit, info, out, out_json, progress
from reconciler.cli.export import info_gaps
from reconciler.cli.notes import info_note
from reconciler.cli.options import (
    as_of_option,
    cluster_option,
    connection_options,
    meant_cluster,
    optional_path_argument,
    output_option,
)
from reconciler.manifest.parts.document import document_name_problem
from reconciler.results.output import OutputKind
from reconciler.show.policy import DEFAULT_POLICY


@click.group("policy", short_help="Propose a topic policy from a cluster")
def command() -> None:
    """Topic policies: rules for declared topics. validate, plan and apply check them."""


@command.command("init", short_help="Propose a topic policy from a cluster")
@optional_path_argument
@cluster_option(needed=False)
@click.option("--defaults", is_flag=True, help="Print a policy of good defaults, without a cluster.")
@click.option("--name", metavar="NAME", default=None, help="Name of the policy.  [default: the cluster's]")
@click.option(
    "--out", "file", metavar="FILE", type=click.Path(dir_okay=False), help="Write to this file, which must not exist."
)
@connection_options
@as_of_option
@output_option
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
    cluster = cluster if defaults else meant_cluster(cluster)
    if defaults and name is not None:
        raise CommandError("--defaults has a name of its own", "leave --name out", Exit.USAGE)
    if defaults:
        _write(DEFAULT_POLICY, {}, file, output)
        return Exit.OK
    if name is not None and (problem := document_name_problem(name)) is not None:
        raise CommandError(f"--name: {problem}", status=Exit.USAGE)
    exported = export(path, cluster, connection, acls=False, tell=info_note)
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
