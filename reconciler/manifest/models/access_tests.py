"""The fields of ``AccessTests`` documents."""

from typing import Literal

from pydantic import Field

from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.fields import Boolean, ManifestModel, OneOrMoreOperations, OneOrMoreTexts, Severity, Text
from reconciler.manifest.parts.resources import Resources
from reconciler.manifest.parts.selectors import TestExceptionsField


class AccessTestItem(Resources):
    """One test: who must, must not, or alone may do what on which resources."""

    name: Text = Field(description="What the test claims, in words.", examples=["only billing reads personal data"])
    principals: OneOrMoreTexts | None = Field(
        None,
        description="Whom must and mustNot are about: Type:name, with * for any text, ? for a letter; "
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
    severity: Severity = Field("error", description="Whether a failure stops, or is only said.", examples=["warning"])
    include_super_users: Boolean = Field(
        False, description="With true, super users count as well; no ACL limits them.", examples=[True]
    )


class AccessTestsSpec(ManifestModel):
    """The tests of a document."""

    clusters: ClustersField = None
    tests: list[AccessTestItem] = Field(
        min_length=1,
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
