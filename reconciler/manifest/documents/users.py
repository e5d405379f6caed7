"""The kind ``Users``: SCRAM users, their mechanisms, and where their passwords come from."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Declared, DesiredBuilder, Kind
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import PatternTable, principal_problem
from reconciler.manifest.parts.rules import checked_users, other_type
from reconciler.manifest.read.findings import Findings, MappingNode, Node, Trouble, paired, quoted
from reconciler.manifest.read.problem import Code
from reconciler.model.desired import Declaration, DesiredItem
from reconciler.model.kinds.scram_user import (
    DISABLED_ITERATIONS,
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    SCRAM_CODES,
    PasswordSource,
    ScramUser,
    unmatched_name,
)
from reconciler.model.secrets import is_reference

if TYPE_CHECKING:
    from reconciler.manifest.models.users import CredentialItem, UserItem, UsersDocument

#: The fields of a mechanism that refer to secrets.
_REFERENCES: Final = ("password", "salt", "saltedPassword")
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
    "a salted password has no passwordVersion: it is computed with exactly these iterations",
    "compute a new one with other iterations, and write those",
)
_RESERVED = Trouble(
    Code.SETTING_VALUE,
    f"{DISABLED_ITERATIONS} iterations, passwordVersion included, mark users that are disabled",
    "write another number; to disable the user, write disabled: true",
)
_CLEAR = "write ${env:NAME}, ${file:PATH:KEY} or ${dir:DIR:FILE}, and change the secret if others saw it"


@dataclass(frozen=True, slots=True)
class UsersDeclaration:
    """A document's heading and users."""

    heading: Heading
    users: tuple[DesiredItem[ScramUser], ...]


class UsersKind(Kind["UsersDocument"]):
    """SCRAM users."""

    name = "Users"

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        model = document.validated(UsersKind.model())
        users: list[DesiredItem[ScramUser]] = []
        for node, item in paired(document.spec.get("users"), model.spec.users if model else None):
            users += _users(node, item, document.findings)
        return UsersDeclaration(document.heading, tuple(users)) if model else None

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds every user."""
        for document in builder.of(UsersDeclaration):
            for wish in document.users:
                builder.want(wish)


def _users(node: MappingNode, item: "UserItem | None", findings: Findings) -> Iterator[DesiredItem[ScramUser]]:
    goes = node.text("absent") == "true"
    names = checked_users(node.get("name"), partial(user_name_problem, goes=goes), findings)
    mechanisms = node.get("mechanisms")
    places = mechanisms.values if isinstance(mechanisms, MappingNode) else {}
    disabled = node.text("disabled") == "true"
    if goes:
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


def _user(name: str, given: "Mapping[str, CredentialItem]", *, disabled: bool) -> ScramUser:
    if disabled:
        return ScramUser(name, dict.fromkeys(given or SCRAM_CODES, DISABLED_ITERATIONS))
    values = {name: one.iterations + one.password_version for name, one in given.items()}
    sources = {
        name: PasswordSource(one.password or "", one.salt or "", one.salted_password or "")
        for name, one in given.items()
    }
    return ScramUser(name, values, {name: source for name, source in sources.items() if source.references})


def _check_credential(node: Node, item: "CredentialItem | None", findings: Findings) -> None:
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
    elif "saltedPassword" in node.keys and "passwordVersion" in node.keys:
        findings.add(_SALTED_VERSION, node.keys["passwordVersion"])
    if item is not None and item.iterations + item.password_version > MAX_ITERATIONS:
        message = (
            f"iterations and passwordVersion are {item.iterations + item.password_version} together, and Kafka takes "
        )
        advice = f"write fewer iterations, {MIN_ITERATIONS} at least"
        findings.add(Trouble(Code.SETTING_VALUE, f"{message}{MAX_ITERATIONS} at most", advice), node)
    elif item is not None and item.iterations + item.password_version == DISABLED_ITERATIONS:
        findings.add(_RESERVED, node)


def user_name_problem(text: str, *, goes: bool = False) -> Trouble | None:
    """Why no manifest can declare a SCRAM user of that name, or with ``goes`` that none is there; ``None``: it can.

    A name that some client cannot send is for ``lint`` to report.
    """
    unmatched = None if goes else unmatched_name(text)
    if unmatched is not None and not unmatched.some:
        message = f"no client can log in as {quoted(text)}: {unmatched.message}"
        return Trouble(Code.ITEM_FORM, message, "write the name in ASCII, without accents")
    if text.lower().startswith("user:"):
        return other_type(text)
    return principal_problem(f"User:{text}", may_be_everyone=False)
