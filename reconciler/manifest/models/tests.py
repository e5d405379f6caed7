"""The fields of ``AccessTests`` and ``ClusterTests`` documents."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.fields import (
    MAPPING_TAG,
    TEXT_TAG,
    Boolean,
    ManifestModel,
    OneOrMoreOperations,
    OneOrMoreTexts,
    Severity,
    Text,
    words_schema,
)
from reconciler.manifest.parts.resources import Names, Resources
from reconciler.manifest.parts.selectors import TestExceptionsField

ThroughWord = Annotated[Literal["acl", "identity", "flow"], words_schema(("acl", "identity", "flow"))]


class DutyItem(Resources):
    """One of the duties that nobody may hold together: any of the operations on any of the resources."""

    can: OneOrMoreOperations = Field(description="The operations, any of which is enough.", examples=[["WRITE"]])


class ControlItem(ManifestModel):
    """Topics whose records a service obeys, such as the config topic of Kafka Connect."""

    topics: Names = Field(description="The topics, in the forms of names.", examples=[["connect-configs"]])
    acts: Text = Field(description="The principal of the service: a writer acts as it.", examples=["User:connect"])


class AccessTestItem(Resources):
    """One test: who must, must not, or alone may do what on which resources."""

    name: Text = Field(description="What the test claims, in words.", examples=["only billing reads personal data"])
    principals: OneOrMoreTexts | None = Field(
        None,
        description="Whom must, mustNot and separate are about: Type:name, with * for any text, ? for a letter; "
        "User:* is everybody.",
        examples=[["User:svc-orders"], ["User:*"]],
    )
    except_: OneOrMoreTexts | None = Field(
        None, alias="except", description="Principals that are left out, in the same form.", examples=[["User:admin"]]
    )
    must: OneOrMoreOperations | None = Field(
        None, description="Operations that the principals must have on every name.", examples=[["WRITE"]]
    )
    must_not: OneOrMoreOperations | None = Field(
        None, description="Operations that the principals must not have on any name.", examples=[["READ", "WRITE"]]
    )
    only_readers: OneOrMoreTexts | None = Field(
        None, description="Nobody else may read.", examples=[["User:svc-ledger", "User:svc-audit"]]
    )
    only_writers: OneOrMoreTexts | None = Field(
        None, description="Nobody else may write.", examples=[["User:svc-ledger"]]
    )
    only_admins: OneOrMoreTexts | None = Field(
        None, description="Nobody else may create, delete, alter or reconfigure.", examples=[["User:platform"]]
    )
    separate: list[DutyItem] | None = Field(
        None,
        min_length=2,
        description="Duties that none of the principals may hold together.",
        examples=[[{"can": ["WRITE"], "topics": ["orders"]}, {"can": ["WRITE"], "topics": {"prefix": "approvals."}}]],
    )
    through: ThroughWord = Field(
        "acl",
        description="Which rights separate counts: those of the principal itself (acl), also those of everybody that "
        "it could act as (identity), also what records could move to or from (flow).",
        examples=["identity"],
    )
    severity: Severity = Field("error", description="Whether a failure stops, or is only said.", examples=["warning"])
    include_super_users: Boolean = Field(
        False, description="With true, super users count as well; no ACL limits them.", examples=[True]
    )


class AccessTestsSpec(ManifestModel):
    """The tests of a document."""

    clusters: ClustersField = None
    controls: list[ControlItem] | None = Field(
        None,
        min_length=1,
        description="Topics by which a writer acts as somebody else.",
        examples=[[{"topics": ["connect-configs"], "acts": "User:connect"}]],
    )
    tests: list[AccessTestItem] = Field(
        default_factory=list,
        description="The tests.",
        examples=[
            [{"name": "orders flow", "principals": ["User:svc-orders"], "must": "WRITE", "topics": ["payments.orders"]}]
        ],
    )
    exceptions: TestExceptionsField


class AccessTestsDocument(ManifestModel):
    """Claims about access, decided over every name that there is or could be."""

    api_version: ApiVersion
    kind: Literal["AccessTests"] = Field(description="What the document declares.", examples=["AccessTests"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "guardrails"}])
    spec: AccessTestsSpec = Field(
        description="The tests.",
        examples=[
            {"tests": [{"name": "ledger readers", "onlyReaders": "User:svc-ledger", "topics": ["payments.ledger"]}]}
        ],
    )


class ConfigLimits(ManifestModel):
    """What a config of brokers may be."""

    allowed: OneOrMoreTexts | None = Field(
        None, description="The only values that it may have, as brokers spell them.", examples=[["TLSv1.2,TLSv1.3"]]
    )
    min: Text | None = Field(
        None,
        description="The least number; units where the name ends in .ms or .bytes.",
        examples=[2],
    )
    max: Text | None = Field(
        None, description="The greatest number; units where the name ends in .ms or .bytes.", examples=["7d"]
    )


class FeatureLimits(ManifestModel):
    """What a feature of the cluster has to be."""

    min: Text = Field(
        description="The least finalized level; for metadata.version also a release, which is its first level.",
        examples=["4.1"],
    )


ConfigClaim = Annotated[
    Annotated[Text, Tag(TEXT_TAG)] | Annotated[ConfigLimits, Tag(MAPPING_TAG)],
    Discriminator(lambda value: MAPPING_TAG if isinstance(value, dict) else TEXT_TAG),
]


class ClusterTestItem(ManifestModel):
    """One test: configs that every broker must have, features that the cluster must have."""

    name: Text = Field(description="What the test claims, in words.", examples=["topics come from manifests only"])
    configs: dict[str, ConfigClaim] = Field(
        default_factory=dict,
        description="Broker configs by name: the value that every broker uses, or {allowed: …}, {min: …, max: …}.",
        examples=[{"auto.create.topics.enable": "false", "min.insync.replicas": {"min": 2}}],
    )
    features: dict[str, FeatureLimits] = Field(
        default_factory=dict,
        description="Features by name, each with its least finalized level.",
        examples=[{"metadata.version": {"min": "4.1"}}],
    )
    severity: Severity = Field("error", description="Whether a failure stops, or is only said.", examples=["warning"])


class ClusterTestsSpec(ManifestModel):
    """The tests of a document."""

    clusters: ClustersField = None
    tests: list[ClusterTestItem] = Field(
        min_length=1,
        description="The tests.",
        examples=[[{"name": "no accidental topics", "configs": {"auto.create.topics.enable": "false"}}]],
    )
    exceptions: TestExceptionsField


class ClusterTestsDocument(ManifestModel):
    """Claims about broker configs and features, which are looked at and never changed."""

    api_version: ApiVersion
    kind: Literal["ClusterTests"] = Field(description="What the document declares.", examples=["ClusterTests"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "brokers"}])
    spec: ClusterTestsSpec = Field(
        description="The tests.",
        examples=[{"tests": [{"name": "upgraded", "features": {"metadata.version": {"min": "4.1"}}}]}],
    )
