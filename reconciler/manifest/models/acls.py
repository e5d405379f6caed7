"""The fields of ``Acls`` and ``Role`` documents."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from reconciler.manifest.parts import fields
from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.resources import Names, Resources
from reconciler.manifest.parts.rules import RoleName
from reconciler.manifest.parts.selectors import LintExceptionsField
from reconciler.manifest.parts.short_form import SHORT_FORM, ShortForm


class RuleItem(Resources):
    """One rule: ``allow``, ``deny`` or ``role``, and at least one kind of resource."""

    allow: fields.OneOrMoreOperations | None = Field(
        None, description="Operations that are granted.", examples=[["READ", "DESCRIBE"], "READ"]
    )
    deny: fields.OneOrMoreOperations | None = Field(
        None, description="Operations that are refused, whatever else is granted.", examples=[["WRITE", "DELETE"]]
    )
    role: RoleName | None = Field(
        None,
        description="A built-in role, or the name of a Role document; it takes the resources.",
        examples=["consumer"],
    )
    parameters: dict[fields.Text, fields.Text] | None = Field(
        None,
        description="With a role that has parameters in its names: the value of each.",
        examples=[{"id": "payments"}],
    )
    reads: Names | None = Field(
        None,
        description="With role streams or ksqldb: the input topics, consumed in the groups of the rule.",
        examples=[["payments.orders"]],
    )
    writes: Names | None = Field(
        None, description="With role streams or ksqldb: the output topics.", examples=[["fraud.alerts"]]
    )
    hosts: fields.OneOrMoreTexts | None = Field(
        None,
        description="Addresses as the broker sees them, IPv6 in full; from Kafka 4.4 on also ranges such as "
        "10.0.0.0/8. Without it, every host.",
        examples=[["10.0.0.7"]],
    )
    expires: fields.Ends | None = fields.ends("The rule holds")
    reason: fields.Text | None = Field(None, description="Why the rule exists.", examples=["quarter-end audit"])
    ticket: fields.Text | None = Field(None, description="Where the rule was agreed.", examples=["SEC-1204"])
    keep: fields.Reason | None = Field(
        None, description="Why `tighten` leaves the rule as it is, used or not.", examples=["disaster recovery"]
    )


class AclsSpec(ShortForm):
    """Principals and their rules, or a short form of them."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": [field]} for field in ("rules", *SHORT_FORM)]})

    clusters: ClustersField = None
    principal: fields.PrincipalText | None = Field(
        None, description="The principal that the rules are for, as Type:name.", examples=["User:svc-payments"]
    )
    principals: fields.OneOrMorePrincipals | None = Field(
        None,
        description="Several principals that the rules are for, instead of principal.",
        examples=[["User:a", "User:b"]],
    )
    rules: list[RuleItem] = Field(
        default_factory=list,
        description="The rules. Each expands to one binding for each principal, host, operation and name.",
        examples=[[{"allow": "READ", "topics": ["payments.orders"]}]],
    )
    exceptions: LintExceptionsField


class AclsDocument(fields.ManifestModel):
    """ACL bindings of one principal, or of several with the same rules."""

    api_version: ApiVersion
    kind: Literal["Acls"] = Field(description="What the document declares.", examples=["Acls"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: AclsSpec = Field(
        description="Principals and rules.",
        examples=[{"principal": "User:svc-payments", "rules": [{"allow": "READ", "topics": ["payments.orders"]}]}],
    )


#: A field of resources that every use names, or a word of the role's names.
ParameterName = Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9]*$")]


class RoleRuleItem(Resources):
    """One rule of a role; ``topics: $topics`` takes what the use of the role names."""

    allow: fields.OneOrMoreOperations | None = Field(
        None, description="Operations that are granted.", examples=[["WRITE", "DESCRIBE"]]
    )
    deny: fields.OneOrMoreOperations | None = Field(
        None, description="Operations that are refused.", examples=["DELETE"]
    )


class RoleSpec(fields.ManifestModel):
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


class RoleDocument(fields.ManifestModel):
    """A named, parametrised bundle of rules, for ``role:`` in Acls."""

    api_version: ApiVersion
    kind: Literal["Role"] = Field(description="What the document declares.", examples=["Role"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "exactly-once-producer"}])
    spec: RoleSpec = Field(
        description="Parameters and rules.",
        examples=[{"parameters": ["topics"], "rules": [{"allow": "READ", "topics": "$topics"}]}],
    )
