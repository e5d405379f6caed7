"""What every document has besides its ``spec``: names, labels, and the clusters it is for."""

import re
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from reconciler.manifest.parts.fields import ManifestModel, Text, refuse
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.source import quoted

API_VERSION = "reconciler/v1"
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?", re.ASCII)


_NAME_ADVICE: Final = "use ASCII letters, digits, '.', '_' and '-', with a letter or digit at both ends"


def document_name_problem(text: str) -> str | None:
    """Why no document can be called ``text``, with what to do; ``None`` if one can."""
    return None if _NAME.fullmatch(text) else f"{quoted(text)} is not a valid document name: {_NAME_ADVICE}"


def _name(value: object) -> object:
    if isinstance(value, str) and not _NAME.fullmatch(value):
        raise refuse(Code.WRONG_VALUE, f"{quoted(value)} is not a valid document name", _NAME_ADVICE)
    return value


DocumentName = Annotated[
    str,
    BeforeValidator(_name),
    WithJsonSchema({"type": ["string", "number", "boolean"], "pattern": f"^{_NAME.pattern}$", "minimum": 0}),
]
ApiVersion = Annotated[
    Literal["reconciler/v1"], Field(description="The version of this format.", examples=["reconciler/v1"])
]


class Metadata(ManifestModel):
    """A document's name, unique for its kind, and labels."""

    name: DocumentName = Field(
        description="The document's name, unique among the documents of its kind.", examples=["payments"]
    )
    labels: dict[str, Text] = Field(
        default_factory=dict,
        description="Labels; a cluster's are what matchLabels looks at.",
        examples=[{"team": "payments"}],
    )


class ClusterSelector(ManifestModel):
    """Which clusters a document is for."""

    match_labels: dict[str, Text] = Field(
        description="The labels that a cluster must have, all of them; {} is every cluster.", examples=[{"env": "prod"}]
    )


ClustersField = Annotated[
    ClusterSelector | None,
    Field(
        description="Limits the document to some clusters; without it, it is for all.",
        examples=[{"matchLabels": {"env": "prod"}}],
    ),
]
