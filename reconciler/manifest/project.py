"""The project file, ``reconciler.yaml``: defaults for options, kept beside the manifests in the repository.

Whoever proposes a change can edit it, so it holds nothing that connects, permits, deletes or judges
(docs/decisions/project-file.md).
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema
from pydantic.alias_generators import to_camel

from reconciler.dataclass import dataclass
from reconciler.manifest.guardrail_meaning import Meaning
from reconciler.manifest.guardrails import GuardrailChange
from reconciler.manifest.parts.document import DocumentName, report_invalid
from reconciler.manifest.parts.fields import ManifestModel, boolean, reading
from reconciler.manifest.read.documents import read_documents
from reconciler.manifest.read.findings import Findings, MappingNode, Source, Trouble, quoted
from reconciler.manifest.read.problem import Code, ManifestError, in_order
from reconciler.model.desired import Origin

#: What it is called, wherever it lies.
PROJECT_FILE: Final = "reconciler.yaml"
_MANIFEST: Final = re.compile(r"\b(apiVersion|kind|metadata|spec)\b")
#: Options that only whoever runs the program can set: each weakens or redirects a judge, or permits an effect.
OPERATORS_OPTIONS: Final = (
    "accept",
    "allow-cleartext-login",
    "allow-deletes",
    "allow-env",
    "allowed-signers",
    "as-of",
    "base",
    "baseline",
    "connections",
    "guardrails",
    "max-age",
    "not-author",
    "only",
    "require-approvals",
    "require-id",
    "secrets-dir",
    "trust-manifest-connection",
    "yes",
)


def _below(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or text.startswith("~"):
        raise ValueError(f"{quoted(text)} leads out of the project: write a path below this file's directory")
    return text


_Truth = Annotated[bool, BeforeValidator(reading(boolean)), WithJsonSchema({"type": "boolean"})]


class ProjectSpec(ManifestModel):
    """Defaults for options of the command line."""

    path: Annotated[str, BeforeValidator(reading(_below))] | None = Field(
        None, description="Where the manifests are, below this file's directory.", examples=["manifests"]
    )
    cluster: DocumentName | None = Field(
        None, description="The cluster of commands that ask one. It does not count if CI is set.", examples=["prod"]
    )
    output: Literal["text", "json", "yaml"] | None = Field(
        None, description="What commands print on stdout.", examples=["text"]
    )
    fail_on: list[Literal["new-access", "new-path", "guardrails", "truncated", "warning"]] = Field(
        default_factory=list,
        description="Added to --fail-on of the commands that know the word; a command line cannot take it away.",
        examples=[["new-access"]],
    )
    color: Literal["auto", "always", "never"] | None = Field(None, description="When to use colour.", examples=["auto"])
    expand: _Truth | None = Field(None, description="Print one line per binding and per topic.", examples=[True])
    pager: _Truth | None = Field(None, description="Show long text in a pager.", examples=[False])


@dataclass(frozen=True, slots=True)
class Project:
    """What a project file says, ``None`` where it says nothing; ``places`` has the place of each field in it."""

    path: str | None = None
    cluster: str | None = None
    output: str | None = None
    fail_on: tuple[str, ...] = ()
    color: str | None = None
    expand: bool | None = None
    pager: bool | None = None
    places: tuple[tuple[str, Origin], ...] = ()

    def place(self, field: str, otherwise: Origin) -> Origin:
        """Where a field is written, or the next best place."""
        return dict(self.places).get(field, otherwise)


def is_project(text: str) -> bool:
    """Whether a file called ``reconciler.yaml`` is a project file; with any word that every manifest has, it is not."""
    return not _MANIFEST.search(text)


def read_project(source: Source) -> Project:
    """The project file; raises :class:`ManifestError` with every problem."""
    findings = Findings(source)
    project = Project()
    for number, root in enumerate(read_documents(findings)):
        if number or not isinstance(root, MappingNode):
            findings.add(Trouble(Code.WRONG_SHAPE, "a project file is one mapping of option to default"), root)
            continue
        _report_operators(root, findings)
        places = tuple((key, findings.origin(node)) for key, node in root.keys.items())
        try:
            values = ProjectSpec.model_validate(root.plain).model_dump()
            project = Project(**{**values, "fail_on": tuple(values["fail_on"])}, places=places)
        except ValidationError as error:
            report_invalid(ProjectSpec, root, error, findings)
    if findings.has_errors:
        raise ManifestError(in_order(findings.problems))
    return project


def _report_operators(root: MappingNode, findings: Findings) -> None:
    for option in OPERATORS_OPTIONS:
        key = root.keys.get(to_camel(option.replace("-", "_"))) or root.keys.get(option)
        if key is not None:
            message = f"a project file cannot set --{option}: whoever proposes a change can edit it"
            advice = f"pass --{option} where the program runs"
            findings.add(Trouble(Code.UNKNOWN_FIELD, message, advice), key)


def project_changes(base: Project, proposal: Project) -> Iterator[GuardrailChange]:
    """What a proposal changes about the project file that decides what is judged, or when a check fails."""
    nowhere = Origin(PROJECT_FILE, 1, 1)
    for word in base.fail_on:
        if word not in proposal.fail_on:
            place = proposal.place("failOn", base.place("failOn", nowhere))
            yield _changed(f"failOn[{word}]", Meaning.LOOSER, word, None, place)
    for word in proposal.fail_on:
        if word not in base.fail_on:
            yield _changed(f"failOn[{word}]", Meaning.TIGHTER, None, word, proposal.place("failOn", nowhere))
    for field in ("path", "cluster"):
        before, after = getattr(base, field), getattr(proposal, field)
        if before != after:
            place = proposal.place(field, base.place(field, nowhere))
            yield _changed(field, Meaning.UNCLEAR, before, after, place)


def _changed(field: str, meaning: Meaning, before: str | None, after: str | None, place: Origin) -> GuardrailChange:
    return GuardrailChange("Project", PROJECT_FILE, field, meaning, before, after, place)
