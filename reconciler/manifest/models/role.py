"""The fields of ``Role`` documents."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.fields import ManifestModel, OneOrMoreOperations
from reconciler.manifest.parts.resources import Resources

#: A field of resources that every use names, or a word of the role's names.
ParameterName = Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9]*$")]


class RoleRuleItem(Resources):
    """One rule of a role; ``topics: $topics`` takes what the use of the role names."""

    allow: OneOrMoreOperations | None = Field(
        None, description="Operations that are granted.", examples=[["WRITE", "DESCRIBE"]]
    )
    deny: OneOrMoreOperations | None = Field(None, description="Operations that are refused.", examples=["DELETE"])


class RoleSpec(ManifestModel):
    """What a role takes, and what it does with it."""

    clusters: ClustersField = None
    parameters: list[ParameterName] = Field(
        default_factory=list,
        description="The resources that every use of the role must name; a rule takes them as $topics and so on. Any "
        "other word stands in names, as in $id, and every use gives it a value.",
        examples=[["topics", "transactionalIds"], ["id"]],
    )
    rules: list[RoleRuleItem] = Field(
        min_length=1,
        description="What the role consists of.",
        examples=[[{"allow": ["WRITE", "DESCRIBE"], "topics": "$topics"}]],
    )


class RoleDocument(ManifestModel):
    """A named, parametrised bundle of rules, for ``role:`` in Acls."""

    api_version: ApiVersion
    kind: Literal["Role"] = Field(description="What the document declares.", examples=["Role"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "exactly-once-producer"}])
    spec: RoleSpec = Field(
        description="Parameters and rules.",
        examples=[{"parameters": ["topics"], "rules": [{"allow": "READ", "topics": "$topics"}]}],
    )
