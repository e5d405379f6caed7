"""The kind ``Acls``."""

from typing import Literal

from pydantic import Field

from reconciler.manifest.models.fields import (
    Day,
    ManifestModel,
    OneOrMoreOperations,
    OneOrMoreTexts,
    Text,
)
from reconciler.manifest.models.metadata import ApiVersion, ClustersField, Metadata
from reconciler.manifest.models.resources import Resources
from reconciler.manifest.models.waivers import WaiveField


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
    waive: WaiveField


class AclsDocument(ManifestModel):
    """ACL bindings of one principal, or of several with the same rules."""

    api_version: ApiVersion
    kind: Literal["Acls"] = Field(description="What the document declares.", examples=["Acls"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: AclsSpec = Field(
        description="Principals and rules.",
        examples=[{"principal": "User:svc-payments", "rules": [{"allow": "READ", "topics": ["payments.orders"]}]}],
    )
