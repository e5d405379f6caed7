"""The fields of ``AccessTests`` documents."""

from typing import Annotated, Literal

from pydantic import Field

from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.fields import (
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
