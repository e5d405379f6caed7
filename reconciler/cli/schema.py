"""``reconciler schema``: JSON Schemas (draft-07) for editors and for CI; those of manifests are made from their models.

They describe what an editor sees: YAML's numbers and booleans. What only Kafka's rules can decide, ``validate`` checks.
"""

import json
from pathlib import Path
from typing import Any, Final

import click
from pydantic import BaseModel

from reconciler.apply.audit import AUDIT
from reconciler.apply.records import JOURNAL
from reconciler.cli.console import CommandError, Exit, out, progress
from reconciler.codec.codec import Codec
from reconciler.codec.document import schema_text
from reconciler.manifest.documents import KINDS_BY_NAME
from reconciler.manifest.models.cluster import ConnectionsDocument
from reconciler.manifest.project import ProjectSpec
from reconciler.plan.certificate import CERTIFICATE
from reconciler.plan.file import plan_schema_text
from reconciler.results import OutputKind
from reconciler.results.documents import LintOutput, TestOutput, ValidateOutput, printed
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


DRAFT: Final = "http://json-schema.org/draft-07/schema#"
#: The schema of any document, whatever its kind.
ANY_KIND: Final = "manifest"
#: What a schema can be asked for.
SCHEMA_KINDS: Final = (*KINDS_BY_NAME, ANY_KIND)
#: The schema of a document in the operator's file, which is no manifest, and of the project file.
CONNECTIONS: Final = "connections"
PROJECT: Final = "project"


def json_schema(kind: str) -> dict[str, Any]:
    """The schema of a kind, or of any document for ``manifest``; raises ``KeyError`` for another word."""
    if kind == ANY_KIND:
        return _any_kind()
    if kind == CONNECTIONS:
        schema, title = _of_model(ConnectionsDocument), "A document of a connections file"
    elif kind == PROJECT:
        schema, title = _of_model(ProjectSpec), "A project file, reconciler.yaml"
    else:
        schema, title = _of_kind(kind), f"{kind} manifest"
    definitions = schema.pop("definitions", {})
    return {"$schema": DRAFT, "title": title, **schema, "definitions": dict(sorted(definitions.items()))}


def manifest_schema_text(kind: str) -> str:
    """The schema as written in ``schema/``: sorted, indented, with a newline at the end."""
    return json.dumps(json_schema(kind), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _any_kind() -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    for kind in KINDS_BY_NAME:
        schema = _of_kind(kind)
        definitions.update(schema.pop("definitions", {}))
        definitions[f"{kind}Document"] = schema
    return {
        "$schema": DRAFT,
        "title": "A document of a manifest",
        "description": f"One document: {', '.join(KINDS_BY_NAME)}.",
        "oneOf": [{"$ref": f"#/definitions/{kind}Document"} for kind in KINDS_BY_NAME],
        "definitions": dict(sorted(definitions.items())),
    }


def _of_kind(kind: str) -> dict[str, Any]:
    schema = _of_model(KINDS_BY_NAME[kind].model())
    body = {name: field["examples"][0] for name, field in schema["properties"].items() if name in schema["required"]}
    # What the YAML language server proposes in an empty document; of objects in lists it makes nothing by itself.
    words = {"label": f"{kind} document", "description": schema["description"]}
    return {**schema, "defaultSnippets": [{**words, "body": _plain(body)}]}


def _plain(value: Any) -> Any:
    """An example as it is: in a snippet ``$`` begins a place to fill in."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.replace("$", "\\$").replace("}", "\\}") if isinstance(value, str) and "$" in value else value


def _of_model(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True, ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs", {})
    tidied: dict[str, Any] = _tidy({**schema, "definitions": definitions})
    return tidied


def _tidy(node: Any) -> Any:
    """Without pydantic's titles and nulls: no manifest holds a null; draft-07 wants ``$ref`` alone."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tidy = {key: _tidy(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))}
    if tidy.get("default", 0) is None or tidy.get("default") == {} or tidy.get("default") == []:
        del tidy["default"]
    alternatives = tidy.get("anyOf")
    if isinstance(alternatives, list) and {"type": "null"} in alternatives:
        rest = [item for item in alternatives if item != {"type": "null"}]
        if len(rest) == 1:
            del tidy["anyOf"]
            tidy = {**rest[0], **tidy}
        else:
            tidy["anyOf"] = rest
    # Editors that follow draft-07 ignore whatever stands next to a `$ref`: a description there would never show.
    if "$ref" in tidy and len(tidy) > 1:
        tidy = {"allOf": [{"$ref": tidy.pop("$ref")}], **tidy}
    return tidy
