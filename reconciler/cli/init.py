"""``reconciler init``: a directory to start from."""

import shlex
from importlib.resources import files
from pathlib import Path

import click

from reconciler.cli.console import info
from reconciler.cli.exits import CommandError, Exit


@click.command("init", short_help="Write a starter directory of manifests")
@click.argument("directory", default=".", type=click.Path(file_okay=False))
@click.option("--cluster", default="my-cluster", show_default=True, metavar="NAME", help="Name of the cluster.")
def command(*, directory: str, cluster: str) -> int:
    """Write a starter Cluster, Acls and Topics document into DIRECTORY, with comments on every line.

    Existing files are not overwritten.
    """
    from reconciler.manifest import document_name_problem

    if (problem := document_name_problem(cluster)) is not None:
        raise CommandError(f"--cluster: {problem}", status=Exit.USAGE)
    target = Path(directory)
    templates = sorted(files("reconciler.cli").joinpath("starting").iterdir(), key=lambda item: item.name)
    taken = [item.name for item in templates if (target / item.name).exists()]
    if taken:
        raise CommandError(f"{', '.join(taken)} in {directory} would be overwritten: nothing was written")
    target.mkdir(parents=True, exist_ok=True)
    for item in templates:
        text = item.read_text(encoding="utf-8").replace("my-cluster", cluster)
        (target / item.name).write_text(text, encoding="utf-8")
        info(f"wrote {target / item.name}")
    info(f"next: reconciler validate {shlex.quote(directory)}")
    return Exit.OK
