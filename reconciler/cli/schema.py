"""``reconciler schema``: the JSON Schema of manifests, for editors and for CI."""

from pathlib import Path
from typing import Any, Final

import click

from reconciler.apply.audit import AUDIT
from reconciler.apply.records import JOURNAL
from reconciler.cli.console import CommandError, Exit, out, progress
from reconciler.codec.codec import Codec
from reconciler.codec.document import schema_text
from reconciler.manifest.schema import ANY_KIND, SCHEMA_KINDS
from reconciler.manifest.schema import schema_text as manifest_schema_text
from reconciler.plan.certificate import CERTIFICATE
from reconciler.plan.file import plan_schema_text
from reconciler.results.documents import LintOutput, TestOutput, ValidateOutput, printed
from reconciler.results.output import OutputKind
from reconciler.snapshot.document import snapshot_schema_text

#: What this program reads besides manifests, and mostly writes itself.
_FILES: Final = (
    "connections",
    "project",
    "plan",
    "certificate",
    "snapshot",
    "journal",
    "audit",
    "lint",
    "test",
    "validate",
)


@click.command("schema", short_help="Print JSON Schemas for editors")
@click.argument("kind", required=False)
@click.option(
    "--out", "directory", metavar="DIR", type=click.Path(file_okay=False), help="Write every schema to this directory."
)
def command(*, kind: str | None, directory: str | None) -> int:
    """Print the schema of one KIND of manifest, of any of them, of another file, or of what this program writes.

    Files are a connections file (connections) and the project file (project). What this program writes is a saved plan
    (plan), its certificate (certificate), a snapshot (snapshot), a line of a journal (journal) or of an audit log
    (audit), and what lint, test and validate print with --output json (lint, test, validate).

    Editors with the YAML language server find the schema by the first line of a manifest:
    # yaml-language-server: $schema=schema/manifest.json
    """
    if kind is not None and directory is not None:
        raise CommandError("--out writes every schema", f"leave out {kind}, or print it alone", Exit.USAGE)
    kinds = (*SCHEMA_KINDS, *_FILES)
    if directory is not None:
        Path(directory).mkdir(parents=True, exist_ok=True)
        for item in kinds:
            target = Path(directory, f"{item.lower()}.json")
            target.write_text(_text(item), encoding="utf-8")
            progress(f"wrote {target}")
        return Exit.OK
    known_kinds = {name.lower(): name for name in kinds}
    wanted = known_kinds.get((kind or ANY_KIND).lower())
    if wanted is None:
        raise CommandError(f"no kind {kind!r}", f"kinds are: {', '.join(kinds)}", Exit.USAGE)
    out([_text(wanted).rstrip("\n")], whole=True)
    return Exit.OK


def _text(kind: str) -> str:
    match kind:
        case "plan":
            return plan_schema_text()
        case "certificate":
            return schema_text("The certificate of a plan", CERTIFICATE)
        case "snapshot":
            return snapshot_schema_text()
        case "audit":
            return schema_text("A line of an audit log", AUDIT)
        case "journal":
            return schema_text("A line of a journal", JOURNAL)
        case "lint" | "test" | "validate":
            outputs: dict[str, Codec[Any]] = {
                "lint": printed(OutputKind.LINT, LintOutput),
                "test": printed(OutputKind.TEST, TestOutput),
                "validate": printed(OutputKind.VALIDATE, ValidateOutput),
            }
            return schema_text(f"reconciler {kind} --output json", outputs[kind])
    return manifest_schema_text(kind)
