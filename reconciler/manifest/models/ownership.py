"""The fields of ``Ownership`` documents."""

from typing import Literal

from pydantic import Field

from reconciler.manifest.parts import fields
from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.resources import Names, Resources

PermissionName = Literal["ALLOW", "DENY"]


class ConsentItem(Resources):
    """An owner's word that another team's files may declare bindings on its resources."""

    to: fields.Text = Field(description="The team that may.", examples=["payments"])
    operations: fields.OneOrMoreOperations = Field(description="The operations that it may name.", examples=[["READ"]])
    permissions: list[PermissionName] = Field(
        default=["ALLOW"],
        min_length=1,
        description="What its bindings may do: ALLOW, DENY or both. Without it, ALLOW.",
        examples=[["ALLOW", "DENY"]],
    )
    principals: Names | None = Field(
        None,
        description="For which principals, in the forms of names. Without it, those that the team owns: a consent is "
        "not a right to grant access to others.",
        examples=[["User:analytics"]],
    )
    reason: fields.Text | None = Field(None, description="Why.", examples=["settlement reads the ledger"])
    expires: fields.Ends | None = fields.ends("It counts")


class GivenConsent(ConsentItem):
    """A consent outside of the owner's own item: it says which team gives it."""

    team: fields.Text = Field(
        description="The team that gives it; the file must be one of that team's.", examples=["ledger"]
    )


class OwnerItem(Resources):
    """What a team owns. A team may have several items; it owns what all of them say."""

    team: fields.Text = Field(description="The team's name.", examples=["payments"])
    files: fields.OneOrMoreTexts | None = Field(
        None,
        description="Its files, from the manifests' root: * is any text without /, ** any directories.",
        examples=["teams/payments/**"],
    )
    principals: Names | None = Field(
        None, description="The principals that are its own, in the forms of names.", examples=[{"prefix": "User:svc-p"}]
    )
    consents: list[ConsentItem] = Field(
        default_factory=list,
        description="What other teams' files may declare on its resources.",
        examples=[[{"to": "payments", "operations": ["READ"], "topics": ["ledger.v2"]}]],
    )
    deny_any: fields.Boolean = Field(
        default=False,
        description="With true, its files may DENY anything to anybody and disable any SCRAM user, whoever owns them. "
        "The team owns nothing by that. For files that only those who end incidents may change.",
        examples=[True],
    )


class TeamItem(fields.ManifestModel):
    """A team that owns what has its prefix: topics, groups and transactional ids."""

    prefix: fields.OneOrMoreTexts | None = Field(
        None,
        description="The prefix of its topics, groups and transactional ids, or several.",
        examples=["payments."],
    )
    principals: Names | None = Field(
        None, description="The principals that are its own, in the forms of names.", examples=[{"prefix": "User:svc-p"}]
    )
    files: fields.OneOrMoreTexts | None = Field(
        None, description="Its files, as in owners. Without it, teams/NAME/**.", examples=["teams/payments/**"]
    )


class OwnershipSpec(fields.ManifestModel):
    """Owners, and consents."""

    clusters: ClustersField = None
    teams: dict[fields.Text, TeamItem] = Field(
        default_factory=dict,
        description="The short form of owners: teams by name, each with its prefix, principals and files.",
        examples=[{"payments": {"prefix": "payments.", "principals": ["User:svc-payments"]}}],
    )
    owners: list[OwnerItem] = Field(
        default_factory=list,
        description="The teams. Declare them in a file that belongs to no team.",
        examples=[[{"team": "payments", "files": "teams/payments/**", "topics": {"prefix": "payments."}}]],
    )
    consents: list[GivenConsent] = Field(
        default_factory=list,
        description="Consents in the giving team's own files.",
        examples=[[{"team": "ledger", "to": "payments", "operations": ["READ"], "topics": ["ledger.v2"]}]],
    )


class OwnershipDocument(fields.ManifestModel):
    """Teams, their files, and what those files may name."""

    api_version: ApiVersion
    kind: Literal["Ownership"] = Field(description="What the document declares.", examples=["Ownership"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "teams"}])
    spec: OwnershipSpec = Field(
        description="Owners and consents.",
        examples=[{"owners": [{"team": "payments", "files": "teams/payments/**", "topics": {"prefix": "payments."}}]}],
    )
