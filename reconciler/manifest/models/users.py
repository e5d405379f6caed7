"""The fields of ``Users`` documents."""

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.fields import (
    VARIABLE_PATTERN,
    Boolean,
    Ends,
    ManifestModel,
    Text,
    ends,
    in_range,
    integer,
    reading,
)
from reconciler.model.kinds.scram_user import DEFAULT_ITERATIONS, MAX_ITERATIONS, MIN_ITERATIONS

_MOST_VERSIONS: Final = MAX_ITERATIONS - MIN_ITERATIONS


def _between(low: int, high: int) -> tuple[BeforeValidator, WithJsonSchema]:
    def read(text: str) -> int:
        return in_range(integer(text), low, high)

    variable = {"type": "string", "pattern": VARIABLE_PATTERN}
    return BeforeValidator(reading(read)), WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": low, "maximum": high}, variable]}
    )


class CredentialItem(ManifestModel):
    """One mechanism of a user: iterations, and where the password comes from."""

    iterations: Annotated[int, *_between(MIN_ITERATIONS, MAX_ITERATIONS)] = Field(
        DEFAULT_ITERATIONS,
        description=f"How often the password is hashed. Default: {DEFAULT_ITERATIONS}.",
        examples=[8192],
    )
    password_version: Annotated[int, *_between(0, _MOST_VERSIONS)] = Field(
        0,
        description="A new number means: set the password again. It is added to the iterations, so that the cluster "
        "keeps it with the password.",
        examples=[1],
    )
    password: Text | None = Field(
        None,
        description="A reference to the password; without one the user is compared and never created.",
        examples=["${env:KAFKA_USER_PAYMENTS}", "${dir:/run/secrets/kafka-users:payments}"],
    )
    salt: Text | None = Field(
        None,
        description="Instead of a password: a reference to the salt, in base64.",
        examples=["${file:/run/secrets/users.properties:payments.salt}"],
    )
    salted_password: Text | None = Field(
        None,
        description="Instead of a password: a reference to the salted password, in base64.",
        examples=["${file:/run/secrets/users.properties:payments.salted}"],
    )


class UserMechanisms(ManifestModel):
    """The mechanisms that a user can log in with; one that is left out is removed."""

    scram_sha_256: CredentialItem | None = Field(
        None, alias="SCRAM-SHA-256", description="SCRAM-SHA-256.", examples=[{"password": "${env:KAFKA_USER_PAYMENTS}"}]
    )
    scram_sha_512: CredentialItem | None = Field(
        None,
        alias="SCRAM-SHA-512",
        description="SCRAM-SHA-512.",
        examples=[{"password": "${env:KAFKA_USER_PAYMENTS}", "passwordVersion": 1}],
    )

    @property
    def given(self) -> dict[str, CredentialItem]:
        """Those that are declared, by Kafka's name."""
        both = {"SCRAM-SHA-256": self.scram_sha_256, "SCRAM-SHA-512": self.scram_sha_512}
        return {name: item for name, item in both.items() if item is not None}


class UserItem(ManifestModel):
    """One SCRAM user."""

    name: Text = Field(description="The name, with or without User: before it.", examples=["svc-payments"])
    mechanisms: UserMechanisms | None = Field(
        None,
        description="The credentials, by mechanism.",
        examples=[{"SCRAM-SHA-512": {"password": "${env:KAFKA_USER_PAYMENTS}", "passwordVersion": 1}}],
    )
    absent: Boolean = Field(False, description="With true, the user must not exist.", examples=[True])
    disabled: Boolean = Field(
        False,
        description="With true, nobody can log in as the user: each mechanism, or both if none is named, gets a random "
        "password that nobody knows, and no reference is read.",
        examples=[True],
    )
    expires: Ends | None = ends("The user exists")
    reason: Text | None = Field(None, description="Why the user exists.", examples=["consumer of the warehouse"])
    ticket: Text | None = Field(None, description="Where the user was agreed.", examples=["OPS-7"])


class UsersSpec(ManifestModel):
    """The users of a document."""

    clusters: ClustersField = None
    users: list[UserItem] = Field(
        min_length=1,
        description="The users. Declare each user once.",
        examples=[
            [{"name": "svc-payments", "mechanisms": {"SCRAM-SHA-512": {"password": "${env:KAFKA_USER_PAYMENTS}"}}}]
        ],
    )


class UsersDocument(ManifestModel):
    """SCRAM users; passwords are references, never values."""

    api_version: ApiVersion
    kind: Literal["Users"] = Field(description="What the document declares.", examples=["Users"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: UsersSpec = Field(description="The users.", examples=[{"users": [{"name": "svc-payments", "absent": True}]}])
