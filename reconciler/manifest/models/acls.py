"""The kind ``Acls``, and the forms in which resources are named everywhere."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from reconciler.manifest.models.fields import (
    LIST_TAG,
    MAPPING_TAG,
    TEXT_TAG,
    Day,
    ManifestModel,
    OneOrMoreOperations,
    OneOrMoreTexts,
    Text,
    Truth,
    shape,
)
from reconciler.manifest.models.metadata import ApiVersion, ClustersField, Metadata


class NameForms(ManifestModel):
    """Names by one of three forms: exactly one field."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    prefix: Text | None = Field(None, description="Every name that begins with this text.", examples=["payments."])
    any: Truth | None = Field(None, description="With true, every name.", examples=[True])
    literal: OneOrMoreTexts | None = Field(
        None,
        description="These names, letter by letter, even where one ends with a star.",
        examples=[["payments.orders"]],
    )


Names = Annotated[
    Annotated[Text, Tag(TEXT_TAG)]
    | Annotated[list[Text], Field(min_length=1), Tag(LIST_TAG)]
    | Annotated[NameForms, Tag(MAPPING_TAG)],
    Discriminator(shape),
]


class Resources(ManifestModel):
    """The resources that a rule speaks of, by kind."""

    topics: Names | None = Field(
        None,
        description="Topics: a name, a list of names, {prefix: …}, {any: true} or {literal: […]}.",
        examples=[["payments.orders", "payments.refunds"], {"prefix": "payments."}],
    )
    groups: Names | None = Field(
        None, description="Consumer, share and streams groups, in the same forms.", examples=[{"prefix": "payments-"}]
    )
    transactional_ids: Names | None = Field(
        None, description="Transactional ids, in the same forms.", examples=[["payments-tx"]]
    )
    cluster: Truth | None = Field(None, description="With true, the cluster itself.", examples=[True])
    delegation_tokens: Names | None = Field(
        None, description="Delegation tokens by token id, in the same forms.", examples=[{"any": True}]
    )
    users: Names | None = Field(
        None,
        description="Users whose tokens are created or described; names are principals.",
        examples=[["User:alice"]],
    )


class Rule(Resources):
    """One rule: ``allow``, ``deny`` or ``role``, and at least one kind of resource."""

    allow: OneOrMoreOperations | None = Field(
        None, description="Operations that are granted.", examples=[["READ", "DESCRIBE"], "READ"]
    )
    deny: OneOrMoreOperations | None = Field(
        None, description="Operations that are refused, whatever else is granted.", examples=[["WRITE", "DELETE"]]
    )
    role: Text | None = Field(
        None,
        description="A built-in role, or the name of a Role document; it takes the resources.",
        examples=["consumer"],
    )
    hosts: OneOrMoreTexts | None = Field(
        None,
        description="Addresses as the broker sees them; IPv6 in full. Without it, every host.",
        examples=[["10.0.0.7"]],
    )
    expires: Day | None = Field(None, description="The last day on which the rule holds.", examples=["2027-01-31"])
    reason: Text | None = Field(None, description="Why the rule exists.", examples=["quarter-end audit"])
    ticket: Text | None = Field(None, description="Where the rule was agreed.", examples=["SEC-1204"])


class AclsSpec(ManifestModel):
    """Principals and their rules."""

    clusters: ClustersField = None
    principal: Text | None = Field(
        None, description="The principal that the rules are for, as Type:name.", examples=["User:svc-payments"]
    )
    principals: OneOrMoreTexts | None = Field(
        None,
        description="Several principals that the rules are for, instead of principal.",
        examples=[["User:a", "User:b"]],
    )
    rules: list[Rule] = Field(
        description="The rules. Each expands to one binding for each principal, host, operation and name.",
        examples=[[{"allow": "READ", "topics": ["payments.orders"]}]],
    )


class AclsDocument(ManifestModel):
    """ACL bindings of one principal, or of several with the same rules."""

    api_version: ApiVersion
    kind: Literal["Acls"] = Field(description="What the document declares.", examples=["Acls"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: AclsSpec = Field(
        description="Principals and rules.",
        examples=[{"principal": "User:svc-payments", "rules": [{"allow": "READ", "topics": ["payments.orders"]}]}],
    )
