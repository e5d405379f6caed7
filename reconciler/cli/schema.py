"""``reconciler schema``: the JSON Schema of manifests, for editors and for CI."""

from pathlib import Path

import click

from reconciler.cli.console import say, tell
from reconciler.cli.exits import CommandError, Exit


@click.command("schema", short_help="Print the JSON Schema of manifests, for editors")
@click.argument("kind", required=False)
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False), help="Write every schema into a directory.")
def command(*, kind: str | None, out: str | None) -> int:
    """Print the schema of one KIND of manifest, or of any of them.

    Editors that know yaml-language-server find it by a first line in the manifest:
    # yaml-language-server: $schema=schema/manifest.json
    """
    from reconciler.manifest import ANY_KIND, SCHEMA_KINDS, schema_file_name, schema_text

    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)
        for known in (*SCHEMA_KINDS, ANY_KIND):
            target = Path(out) / schema_file_name(known)
            target.write_text(schema_text(known), encoding="utf-8")
            tell(f"wrote {target}")
        return Exit.OK
    known_kinds = {name.lower(): name for name in (*SCHEMA_KINDS, ANY_KIND)}
    wanted = known_kinds.get((kind or ANY_KIND).lower())
    if wanted is None:
        raise CommandError(f"no kind {kind!r}", f"kinds are: {', '.join(SCHEMA_KINDS)}", Exit.USAGE)
    say([schema_text(wanted).rstrip("\n")])
    return Exit.OK
