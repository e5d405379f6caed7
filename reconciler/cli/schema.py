"""``reconciler schema``: the JSON Schema of manifests, for editors and for CI."""

from pathlib import Path
from typing import Final

import click

from reconciler.cli.console import info, out
from reconciler.cli.exits import CommandError, Exit

#: What this program writes and reads again, besides manifests.
_FILES: Final = ("plan", "snapshot")


@click.command("schema", short_help="Print JSON Schemas for editors")
@click.argument("kind", required=False)
@click.option(
    "--out", "directory", metavar="DIR", type=click.Path(file_okay=False), help="Write every schema to this directory."
)
def command(*, kind: str | None, directory: str | None) -> int:
    """Print the schema of one KIND of manifest, of any of them, of a saved plan (plan) or of a snapshot (snapshot).

    Editors with the YAML language server find the schema by the first line of a manifest:
    # yaml-language-server: $schema=schema/manifest.json
    """
    from reconciler.manifest import ANY_KIND, SCHEMA_KINDS

    if kind is not None and directory is not None:
        raise CommandError("--out writes every schema", f"leave out {kind}, or print it alone", Exit.USAGE)
    kinds = (*SCHEMA_KINDS, *_FILES)
    if directory is not None:
        Path(directory).mkdir(parents=True, exist_ok=True)
        for known in kinds:
            target = Path(directory, f"{known.lower()}.json")
            target.write_text(_text(known), encoding="utf-8")
            info(f"wrote {target}")
        return Exit.OK
    known_kinds = {name.lower(): name for name in kinds}
    wanted = known_kinds.get((kind or ANY_KIND).lower())
    if wanted is None:
        raise CommandError(f"no kind {kind!r}", f"kinds are: {', '.join(kinds)}", Exit.USAGE)
    out([_text(wanted).rstrip("\n")])
    return Exit.OK


def _text(kind: str) -> str:
    from reconciler.adapters.snapshot import snapshot_schema_text
    from reconciler.manifest import schema_text
    from reconciler.plan import plan_schema_text

    match kind:
        case "plan":
            return plan_schema_text()
        case "snapshot":
            return snapshot_schema_text()
        case _:
            return schema_text(kind)
