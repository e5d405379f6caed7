"""``reconciler schema``: the JSON Schema of manifests, for editors and for CI."""

from pathlib import Path
from typing import Final

import click

from reconciler.cli.console import info, out
from reconciler.cli.exits import CommandError, Exit

_PLAN: Final = "plan"


@click.command("schema", short_help="Print the JSON Schema of manifests, for editors")
@click.argument("kind", required=False)
@click.option(
    "--out", "directory", metavar="DIR", type=click.Path(file_okay=False), help="Write every schema into a directory."
)
def command(*, kind: str | None, directory: str | None) -> int:
    """Print the schema of one KIND of manifest, of any of them, or of a saved plan (KIND plan).

    Editors that know yaml-language-server find it by a first line in the manifest:
    # yaml-language-server: $schema=schema/manifest.json
    """
    from reconciler.manifest import ANY_KIND, SCHEMA_KINDS

    if kind is not None and directory is not None:
        raise CommandError("--out writes every schema", f"leave out {kind}, or print it alone", Exit.USAGE)
    kinds = (*SCHEMA_KINDS, _PLAN)
    if directory is not None:
        Path(directory).mkdir(parents=True, exist_ok=True)
        for known in kinds:
            _write(known, Path(directory))
        return Exit.OK
    known_kinds = {name.lower(): name for name in kinds}
    wanted = known_kinds.get((kind or ANY_KIND).lower())
    if wanted is None:
        raise CommandError(f"no kind {kind!r}", f"kinds are: {', '.join((*SCHEMA_KINDS, _PLAN))}", Exit.USAGE)
    out([_text(wanted).rstrip("\n")])
    return Exit.OK


def _text(kind: str) -> str:
    from reconciler.manifest import schema_text
    from reconciler.plan import plan_schema_text

    return plan_schema_text() if kind == _PLAN else schema_text(kind)


def _write(kind: str, directory: Path) -> None:
    from reconciler.manifest import schema_file_name

    target = directory / (f"{_PLAN}.json" if kind == _PLAN else schema_file_name(kind))
    target.write_text(_text(kind), encoding="utf-8")
    info(f"wrote {target}")
