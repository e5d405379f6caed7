"""The fields of ``Topics`` documents."""

from typing import Literal

from pydantic import Field

from reconciler.manifest.parts import fields
from reconciler.manifest.parts.document import ApiVersion, ClusterSelector, ClustersField, Metadata
from reconciler.manifest.parts.resources import Names
from reconciler.manifest.parts.rules import RoleName
from reconciler.manifest.parts.topic_settings import ClusterTopicDefaults, TopicProperties


class TopicGrant(fields.ManifestModel):
    """A rule on the topic that contains it: ``allow``, ``deny`` or ``role``, and for whom."""

    allow: fields.OneOrMoreOperations | None = Field(
        None, description="Operations that are granted.", examples=[["READ", "DESCRIBE"]]
    )
    deny: fields.OneOrMoreOperations | None = Field(
        None, description="Operations that are refused.", examples=["WRITE"]
    )
    role: RoleName | None = Field(
        None, description="A built-in role, or the name of a Role document.", examples=["producer"]
    )
    principal: fields.PrincipalText | None = Field(
        None, description="Whom the rule is for, as Type:name.", examples=["User:svc-a"]
    )
    principals: fields.OneOrMorePrincipals | None = Field(
        None, description="Several principals, instead of principal.", examples=[["User:svc-a", "User:svc-b"]]
    )
    groups: Names | None = Field(
        None, description="Groups, for a role that takes them.", examples=[{"prefix": "payments-"}]
    )
    transactional_ids: Names | None = Field(
        None, description="Transactional ids, for a role that takes them.", examples=[["payments-tx"]]
    )
    hosts: fields.OneOrMoreTexts | None = Field(
        None, description="Addresses as the broker sees them. Without it, every host.", examples=[["10.0.0.7"]]
    )
    expires: fields.Ends | None = fields.ends("The rule holds")
    reason: fields.Text | None = Field(None, description="Why the rule exists.", examples=["quarter-end audit"])
    ticket: fields.Text | None = Field(None, description="Where the rule was agreed.", examples=["SEC-1204"])
    keep: fields.Reason | None = Field(
        None, description="Why `tighten` leaves the rule as it is, used or not.", examples=["disaster recovery"]
    )


class TopicAccess(fields.ManifestModel):
    """Who may use a topic: a shorthand for rules of ``Acls``."""

    owner: fields.OneOrMorePrincipals | None = Field(
        None,
        description="Whose topic it is, as Type:name, one or several: they get the built-in role owner on it.",
        examples=["User:svc-payments"],
    )
    grants: list[TopicGrant] = Field(
        default_factory=list,
        description="Who else may do what on it.",
        examples=[[{"role": "consumer", "principal": "User:svc-audit", "groups": ["audit"]}]],
    )


class TopicDefaults(ClusterTopicDefaults, TopicAccess):
    """What the topics of a document have unless they say otherwise."""


class TopicItem(TopicProperties, TopicAccess):
    """One topic."""

    name: fields.Text = Field(description="The topic's name.", examples=["payments.orders"])
    labels: dict[str, fields.Text] = Field(
        default_factory=dict, description="Labels of the topic's data.", examples=[{"data": "personal"}]
    )
    absent: fields.Boolean = Field(False, description="With true, the topic must not exist.", examples=[True])
    replica_assignments: list[list[fields.Count]] | None = Field(
        None,
        min_length=1,
        description="The brokers of each partition, the preferred leader first; instead of counts.",
        examples=[[[1, 2], [2, 3]]],
    )


class ClusterOverride(TopicProperties):
    """What topics of a document have on some clusters instead of what they say themselves."""

    clusters: ClusterSelector = Field(
        description="On which clusters, of those that the document is for.", examples=[{"matchLabels": {"env": "prod"}}]
    )
    topics: Names | None = Field(
        None,
        description="Which topics of the document, in the forms of names; without it, all.",
        examples=[["payments.orders"]],
    )


class TopicsSpec(fields.ManifestModel):
    """The topics of a document, and what they have in common."""

    clusters: ClustersField = None
    defaults: TopicDefaults | None = Field(
        None,
        description="What the topics of this document have unless they say otherwise; settings merge by name.",
        examples=[{"partitions": 6, "replicationFactor": 3, "configs": {"min.insync.replicas": 2}}],
    )
    topics: list[TopicItem] = Field(
        description="The topics.", examples=[[{"name": "payments.orders", "partitions": 12}]]
    )
    overrides: list[ClusterOverride] = Field(
        default_factory=list,
        description="What is different on some clusters only; a later one counts more, and all more than the topic.",
        examples=[
            [{"clusters": {"matchLabels": {"env": "prod"}}, "topics": ["payments.orders"], "partitions": 24}],
        ],
    )


class TopicsDocument(fields.ManifestModel):
    """Topics: partitions, replication, settings, labels, and who may use them."""

    api_version: ApiVersion
    kind: Literal["Topics"] = Field(description="What the document declares.", examples=["Topics"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: TopicsSpec = Field(description="Defaults and topics.", examples=[{"topics": [{"name": "payments.orders"}]}])
