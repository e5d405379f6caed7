"""The kind ``Users``: SCRAM users, their mechanisms, and where their passwords come from."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from reconciler.dataclass import dataclass
from reconciler.manifest.kinds.interface import Declared, DesiredBuilder, Kind
from reconciler.manifest.parts import units
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.fields import VARIABLE_PATTERN, Boolean, Ends, ManifestModel, Text, ends, reading
from reconciler.manifest.parts.metadata import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.principals import principal_problem
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import checked_texts
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, paired
from reconciler.manifest.reader.source import quoted
from reconciler.model import Declaration, DesiredItem
from reconciler.model.kinds.scram_user import (
    DEFAULT_ITERATIONS,
    DISABLED_ITERATIONS,
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    SCRAM_CODES,
    PasswordSource,
    ScramUser,
)
from reconciler.model.secret_settings import is_reference

#: The fields of a mechanism that refer to secrets.
_REFERENCES: Final = ("password", "salt", "saltedPassword")
_MOST_VERSIONS: Final = MAX_ITERATIONS - MIN_ITERATIONS
_NOTHING = Trouble(
    Code.ITEM_FORM, "the user has no mechanism", f"add mechanisms with {' or '.join(SCRAM_CODES)}, or absent: true"
)
_ABSENT = Trouble(
    Code.ITEM_FORM,
    "with absent: true, a user has no mechanisms and no end, and is not disabled",
    "remove mechanisms, expires and disabled, or absent",
)
_TWICE = Trouble(
    Code.ITEM_FORM, "a password and a salted password are two sources", "keep password, or salt and saltedPassword"
)
_HALF = Trouble(
    Code.ITEM_FORM, "salt and saltedPassword belong together", "add the other one; both are references, in base64"
)
_SALTED_VERSION = Trouble(
    Code.ITEM_FORM,
    "a salted password has no version: it is computed with exactly these iterations",
    "compute a new one with other iterations, and write those",
)
_RESERVED = Trouble(
    Code.SETTING_VALUE,
    f"{DISABLED_ITERATIONS} iterations, version included, mark users that are disabled",
    "write another number; to disable the user, write disabled: true",
)
_CLEAR = "write ${env:NAME}, ${file:PATH:KEY} or ${dir:DIR:FILE}, and change the secret if others saw it"


def _between(low: int, high: int) -> tuple[BeforeValidator, WithJsonSchema]:
    def read(text: str) -> int:
        return units.in_range(units.integer(text), low, high)

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
    version: Annotated[int, *_between(0, _MOST_VERSIONS)] = Field(
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
        examples=[{"password": "${env:KAFKA_USER_PAYMENTS}", "version": 1}],
    )

    @property
    def given(self) -> dict[str, CredentialItem]:
        """Those that are declared, by Kafka's name."""
        both = {"SCRAM-SHA-256": self.scram_sha_256, "SCRAM-SHA-512": self.scram_sha_512}
        return {name: item for name, item in both.items() if item is not None}


class UserItem(ManifestModel):
    """One SCRAM user."""

    name: Text = Field(description="The name, as in the principal User:name.", examples=["svc-payments"])
    mechanisms: UserMechanisms | None = Field(
        None,
        description="The credentials, by mechanism.",
        examples=[{"SCRAM-SHA-512": {"password": "${env:KAFKA_USER_PAYMENTS}", "version": 1}}],
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


@dataclass(frozen=True, slots=True)
class UsersDeclaration:
    """A document's heading and users."""

    heading: Heading
    users: tuple[DesiredItem[ScramUser], ...]


class UsersKind(Kind):
    """SCRAM users."""

    name = "Users"
    model = UsersDocument

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        model = document.validated(UsersDocument)
        users: list[DesiredItem[ScramUser]] = []
        for node, item in paired(document.spec.get("users"), model.spec.users if model else None):
            users += _users(node, item, document.findings)
        return UsersDeclaration(document.heading, tuple(users)) if model else None

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds every user."""
        for document in builder.of(UsersDeclaration):
            for wish in document.users:
                builder.want(wish, wish.item.name)


def _users(node: MappingNode, item: UserItem | None, findings: Findings) -> Iterator[DesiredItem[ScramUser]]:
    names = checked_texts(node.get("name"), user_name_problem, findings)
    mechanisms = node.get("mechanisms")
    places = mechanisms.values if isinstance(mechanisms, MappingNode) else {}
    disabled = node.text("disabled") == "true"
    if node.text("absent") == "true":
        for field in ("mechanisms", "expires", *(("disabled",) if disabled else ())):
            if field in node.keys:
                findings.add(_ABSENT, node.keys[field])
    elif not places and not (disabled and "mechanisms" not in node.keys):
        findings.add(_NOTHING, node)
    given = item.mechanisms.given if item is not None and item.mechanisms is not None else {}
    for name, place in places.items():
        _check_credential(place, given.get(name), findings)
    if item is None:
        return
    declaration = Declaration(findings.origin(node.values["name"]), item.reason, item.ticket, item.expires)
    for name in names:
        yield DesiredItem(_user(name, given, disabled=item.disabled), declaration, item.absent)


def _user(name: str, given: Mapping[str, CredentialItem], *, disabled: bool) -> ScramUser:
    if disabled:
        return ScramUser(name, dict.fromkeys(given or SCRAM_CODES, DISABLED_ITERATIONS))
    values = {name: one.iterations + one.version for name, one in given.items()}
    sources = {
        name: PasswordSource(one.password or "", one.salt or "", one.salted_password or "")
        for name, one in given.items()
    }
    return ScramUser(name, values, {name: source for name, source in sources.items() if source.references})


def _check_credential(node: Node, item: CredentialItem | None, findings: Findings) -> None:
    if not isinstance(node, MappingNode):
        return
    for field in _REFERENCES:
        place = node.get(field)
        if place is not None and not is_reference(str(place.plain)):
            # The value may be the secret: no message has it, and its line is shown masked.
            findings.add(Trouble(Code.CLEAR_TEXT, f"{field} is not a reference to a secret", _CLEAR), place)
    if "password" in node.keys and ("salt" in node.keys or "saltedPassword" in node.keys):
        findings.add(_TWICE, node.keys["password"])
    elif ("salt" in node.keys) != ("saltedPassword" in node.keys):
        findings.add(_HALF, node.keys["salt" if "salt" in node.keys else "saltedPassword"])
    elif "saltedPassword" in node.keys and "version" in node.keys:
        findings.add(_SALTED_VERSION, node.keys["version"])
    if item is not None and item.iterations + item.version > MAX_ITERATIONS:
        message = f"iterations and version are {item.iterations + item.version} together, and Kafka takes "
        advice = f"write fewer iterations, {MIN_ITERATIONS} at least"
        findings.add(Trouble(Code.SETTING_VALUE, f"{message}{MAX_ITERATIONS} at most", advice), node)
    elif item is not None and item.iterations + item.version == DISABLED_ITERATIONS:
        findings.add(_RESERVED, node)


def user_name_problem(text: str) -> Trouble | None:
    """Why no manifest can declare a SCRAM user of that name; ``None`` if one can."""
    if text.lower().startswith("user:"):
        message = f"{quoted(text)}: a user is named without the type of the principal"
        return Trouble(Code.ITEM_FORM, message, f"write {text[5:]}")
    return principal_problem(f"User:{text}", may_be_everyone=False)
