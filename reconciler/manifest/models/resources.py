"""The forms in which resources are named, in rules, selectors, tests and owners."""

from typing import Annotated

from pydantic import ConfigDict, Discriminator, Field, Tag

from reconciler.manifest.models.fields import (
    LIST_TAG,
    MAPPING_TAG,
    TEXT_TAG,
    ManifestModel,
    OneOrMoreTexts,
    Text,
    Truth,
    shape,
)


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
