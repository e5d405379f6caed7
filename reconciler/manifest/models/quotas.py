"""The fields of ``Quotas`` documents."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.fields import (
    LIST_TAG,
    MAPPING_TAG,
    TEXT_TAG,
    Boolean,
    ByteRate,
    ConnectionRate,
    Ends,
    ManifestModel,
    MutationRate,
    Percentage,
    Text,
    ends,
    shape,
)


class PrincipalLimits(ManifestModel):
    """The limits of one entity, each for every broker on its own; what is left out is removed."""

    producer_byte_rate: ByteRate | None = Field(
        None,
        alias="producer_byte_rate",
        description="Bytes that its clients may send to one broker each second.",
        examples=["10MiB/s"],
    )
    consumer_byte_rate: ByteRate | None = Field(
        None,
        alias="consumer_byte_rate",
        description="Bytes that its clients may fetch from one broker each second.",
        examples=["20MiB/s"],
    )
    request_percentage: Percentage | None = Field(
        None,
        alias="request_percentage",
        description="The share of one network or I/O thread of a broker that its requests may take.",
        examples=["200%"],
    )
    controller_mutation_rate: MutationRate | None = Field(
        None,
        alias="controller_mutation_rate",
        description="Partitions that it may create or delete each second, in the whole cluster.",
        examples=[5],
    )
    connection_creation_rate: ConnectionRate | None = Field(
        None,
        alias="connection_creation_rate",
        description="Connections that an address may open to one broker each second; only with ip.",
        examples=[20],
    )


class DefaultForm(ManifestModel):
    """Every one that has no quota of its own."""

    default: Boolean = Field(description="With true, all that have no quota of their own.", examples=[True])


EntityNames = Annotated[
    Annotated[Text, Tag(TEXT_TAG)]
    | Annotated[list[Text], Field(min_length=1), Tag(LIST_TAG)]
    | Annotated[DefaultForm, Tag(MAPPING_TAG)],
    Discriminator(shape),
]


class QuotaItem(ManifestModel):
    """The quota of one entity, or of several with the same limits."""

    user: EntityNames | None = Field(
        None,
        description="A user, as svc-payments or User:svc-payments; a list of users; or {default: true}.",
        examples=["svc-payments", {"default": True}],
    )
    client_id: EntityNames | None = Field(
        None, description="A client id, alone or of the user, in the same forms.", examples=["billing"]
    )
    ip: EntityNames | None = Field(
        None, description="An address that clients connect from, in the same forms.", examples=["10.0.0.7"]
    )
    limits: PrincipalLimits | None = Field(
        None, description="What it may take.", examples=[{"producer_byte_rate": "10MiB/s"}]
    )
    absent: Boolean = Field(False, description="With true, the entity must have no quota.", examples=[True])
    expires: Ends | None = ends("The quota holds")
    reason: Text | None = Field(None, description="Why the quota exists.", examples=["backfill until January"])
    ticket: Text | None = Field(None, description="Where the quota was agreed.", examples=["OPS-7"])


class QuotasSpec(ManifestModel):
    """The quotas of a document."""

    clusters: ClustersField = None
    quotas: list[QuotaItem] = Field(
        min_length=1,
        description="The quotas. Declare each entity once.",
        examples=[[{"user": "svc-payments", "limits": {"producer_byte_rate": "10MiB/s"}}]],
    )


class QuotasDocument(ManifestModel):
    """Client quotas, by user, client id or address."""

    api_version: ApiVersion
    kind: Literal["Quotas"] = Field(description="What the document declares.", examples=["Quotas"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: QuotasSpec = Field(
        description="The quotas.",
        examples=[{"quotas": [{"user": {"default": True}, "limits": {"request_percentage": "200%"}}]}],
    )
