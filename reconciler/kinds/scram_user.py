"""SCRAM users: ALTER on the cluster (KIP-554). A password that is replaced or deleted is gone: Kafka never tells it.

Reports and exports tell iterations and references, never a password.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from secrets import token_bytes
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

from reconciler.kafka.sent_kind import MessageKind
from reconciler.kinds.listed import ListedKind, declaration_at, refuse_fields
from reconciler.manifest.documents.kind import DocumentWords
from reconciler.manifest.parts import fields
from reconciler.manifest.parts.resources import principal_problem
from reconciler.manifest.parts.rules import checked_users, other_type
from reconciler.manifest.read.findings import Findings, MappingNode, Node, Trouble, quoted
from reconciler.manifest.read.problem import Code
from reconciler.manifest.write.kinds.interface import declared_texts
from reconciler.manifest.write.spans import Splice, TextSpan, Written, with_entry, without_entries
from reconciler.manifest.write.spans import quoted as quoted_text
from reconciler.manifest.write.text import scalar, text_problem
from reconciler.model.acl import AclOperation
from reconciler.model.characters import counted
from reconciler.model.desired import DesiredItem
from reconciler.model.kinds.scram_user import (
    DEFAULT_ITERATIONS,
    DISABLED_ITERATIONS,
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    SCRAM_CODES,
    SCRAM_HASHES,
    PasswordSource,
    ScramUser,
    salted,
    unmatched_name,
)
from reconciler.model.listing import Change, Create, Update, resource_of, values_of
from reconciler.model.secrets import is_reference
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.interface import Conditions, LoginAtRisk, NewPassword, PhaseContext
from reconciler.plan.phase import Phase
from reconciler.plan.refusal import Guard, Refusal, refusal
from reconciler.policy import laws

if TYPE_CHECKING:
    from reconciler.kafka.handshake import Handshake

_NAMES: Final = {code: name for name, code in SCRAM_CODES.items()}
_SALT_BYTES: Final = 32
_OPEN: Final = "connections that are open stay open until they have to log in again (connections.max.reauth.ms)"

#: The fields of a mechanism that refer to secrets, as a source and as documents call them.
_REFERENCES: Final = {"password": "password", "salt": "salt", "salted_password": "saltedPassword"}
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
_MOST_VERSIONS: Final = MAX_ITERATIONS - MIN_ITERATIONS


def _between(low: int, high: int) -> tuple[BeforeValidator, WithJsonSchema]:
    def read(text: str) -> int:
        return fields.in_range(fields.integer(text), low, high)

    variable = {"type": "string", "pattern": fields.VARIABLE_PATTERN}
    return BeforeValidator(fields.reading(read)), WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": low, "maximum": high}, variable]}
    )


class CredentialItem(fields.ManifestModel):
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
    password: fields.Text | None = Field(
        None,
        description="A reference to the password; without one the user is compared and never created.",
        examples=["${env:KAFKA_USER_PAYMENTS}", "${dir:/run/secrets/kafka-users:payments}"],
    )
    salt: fields.Text | None = Field(
        None,
        description="Instead of a password: a reference to the salt, in base64.",
        examples=["${file:/run/secrets/users.properties:payments.salt}"],
    )
    salted_password: fields.Text | None = Field(
        None,
        description="Instead of a password: a reference to the salted password, in base64.",
        examples=["${file:/run/secrets/users.properties:payments.salted}"],
    )


class UserMechanisms(fields.ManifestModel):
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


class UserItem(fields.ManifestModel):
    """One SCRAM user."""

    name: fields.Text = Field(description="The name, with or without User: before it.", examples=["svc-payments"])
    mechanisms: UserMechanisms | None = Field(
        None,
        description="The credentials, by mechanism.",
        examples=[{"SCRAM-SHA-512": {"password": "${env:KAFKA_USER_PAYMENTS}", "passwordVersion": 1}}],
    )
    absent: fields.Boolean = Field(False, description="With true, the user must not exist.", examples=[True])
    disabled: fields.Boolean = Field(
        False,
        description="With true, nobody can log in as the user: each mechanism, or both if none is named, gets a random "
        "password that nobody knows, and no reference is read.",
        examples=[True],
    )
    expires: fields.Ends | None = fields.ends("The user exists")
    reason: fields.Text | None = Field(None, description="Why the user exists.", examples=["consumer of the warehouse"])
    ticket: fields.Text | None = Field(None, description="Where the user was agreed.", examples=["OPS-7"])


class ScramUsers(ListedKind, MessageKind):
    """SCRAM users."""

    resource = ScramUser
    operation = AclOperation.ALTER
    answers = laws.Law(
        kind="users",
        words="SCRAM user",
        declared_by=laws.DeclaredBy.PRINCIPAL,
        unowned=laws.Unowned.NO_TEAM,
        ends=laws.Ends.JUDGED,
        goes=laws.Goes.ABSENT_OR_DISABLED,
        lockout=laws.Lockout.IMPOSSIBLE,
        new_access=laws.NewAccess.PASSWORD,
        lost=laws.Lost.PASSWORDS,
        undeclared=laws.Undeclared.IF_KIND_DECLARED,
        undo=laws.Undo.DELETES_CREATED,
        audit=laws.Audit.NO_SECRETS,
    )
    noun = "SCRAM user"
    at_end = "nobody can log in with its passwords"
    items_key = "users"
    values_key = "mechanisms"
    of_teams = True
    document_words = DocumentWords(
        "SCRAM users; passwords are references, never values.",
        "user",
        {"name": "svc-payments", "mechanisms": {"SCRAM-SHA-512": {"password": "${env:KAFKA_USER_PAYMENTS}"}}},
        {"name": "svc-payments", "absent": True},
    )
    item_model = UserItem
    # confluent-kafka's description of users aborts the process on some errors, and kafka-python's own alteration takes
    # an error without a message for success.
    alters = "AlterUserScramCredentialsRequest"
    # Null and not an empty list, although Kafka takes both for all users: others take the latter for none.
    reads, everything = "DescribeUserScramCredentialsRequest", MappingProxyType({"users": None})
    entries = "results"
    reading_right = "DESCRIBE on the cluster"
    gone = "RESOURCE_NOT_FOUND"

    def phase(self, change: Change, context: PhaseContext) -> Phase:
        """Passwords after the DENYs that hold who logs in with them; what only goes, before its grants."""
        return Phase.ALTER_USERS if passwords_set(change) else Phase.DELETE_USERS

    def is_reversible(self, change: Change) -> bool:
        """Only what was added can be taken away again."""
        return not _passwords_lost(change)

    def is_destructive(self, change: Change) -> bool:
        """Whether a password goes."""
        return bool(_passwords_lost(change))

    def irreversible(self, change: Change) -> str | None:
        """The passwords that nobody can restore."""
        lost = _passwords_lost(change)
        which = f"the {' and '.join(lost)} password of SCRAM user {resource_of(change).name}"
        return f"{which} is gone: Kafka tells no password, so it can only be set anew" if lost else None

    def obstacle(self, change: Change, conditions: Conditions) -> str | None:
        """A login that must stay as it is, a password that nobody gives, or one that may not be read."""
        user: ScramUser = resource_of(change)
        role = conditions.logins.get(user.principal)
        if role is not None:
            return f"no plan changes the login of {user.principal}, which is {role}: change it by hand"
        for mechanism in _passwords_given(change):
            if mechanism not in user.sources:
                return f"{mechanism} of {user.subject} needs a password source: without one it is only compared"
        return next(filter(None, map(conditions.permit.objection, self.references(change))), None)

    def references(self, change: Change) -> tuple[str, ...]:
        """Those of the passwords that are set."""
        user: ScramUser = resource_of(change)
        given = (user.sources[name].references for name in _passwords_given(change) if name in user.sources)
        return tuple(dict.fromkeys(reference for references in given for reference in references))

    def passwords(self, change: Change) -> Iterator[NewPassword]:
        """Those that somebody knows."""
        user: ScramUser = resource_of(change)
        for mechanism in _passwords_given(change):
            yield NewPassword(user.name, mechanism, user.sources.get(mechanism, PasswordSource()).password)

    def refusals(self, change: Change) -> Iterator[Refusal]:
        """A login that somebody disabled works again: the next plan of an older commit must not do that in passing."""
        if isinstance(change, Update) and change.before.disabled and _passwords_given(change):
            name = resource_of(change).principal
            message = f"{name} is disabled, and whoever knows the password that is set could log in again"
            yield refusal(Guard.USER_ENABLE, name, message)

    def logins(self, change: Change, live: ClusterState) -> Iterator[tuple[str, str]]:
        """Who can log in from then on, and who cannot; the rights may be there already, from another way to log in."""
        user: ScramUser = resource_of(change)
        put, lost = _passwords_given(change), _passwords_lost(change)
        off = [name for name in passwords_set(change) if name not in put]
        if off:
            yield user.principal, f"nobody knows the password of {user.subject} from then on: {' and '.join(off)}"
        if put and isinstance(change, Create):
            count = sum(binding.entry.principal == user.principal for binding in live.bindings)
            rights = f", with the {counted(count, 'ACL')} that it has already" if count else ""
            yield user.principal, f"whoever knows the password of {user.subject} can log in{rights}"
        elif put:
            yield user.principal, f"the password of {user.subject} is set: {' and '.join(put)}"
        if gone := [name for name in lost if name not in put and name not in off]:
            yield user.principal, f"nobody can log in as {user.subject} with {' and '.join(gone)} any more"

    def risks(self, changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
        """None: to change a login that has to work is impossible (:meth:`obstacle`)."""
        yield from ()

    def declared(
        self, node: MappingNode, item: UserItem | None, findings: Findings
    ) -> Iterator[DesiredItem[ScramUser]]:
        """One for each of its names."""
        goes = node.text("absent") == "true"
        names = checked_users(node.get("name"), partial(_name_problem, goes=goes), findings)
        mechanisms = node.get("mechanisms")
        places = mechanisms.values if isinstance(mechanisms, MappingNode) else {}
        disabled = node.text("disabled") == "true"
        if goes:
            refuse_fields(("mechanisms", "expires", *(("disabled",) if disabled else ())), _ABSENT, node, findings)
        elif not places and not (disabled and "mechanisms" not in node.keys):
            findings.add(_NOTHING, node)
        given = item.mechanisms.given if item is not None and item.mechanisms is not None else {}
        for name, place in places.items():
            _check_credential(place, given.get(name), findings)
        if item is None:
            return
        declaration = declaration_at(node.values["name"], item, findings)
        for name in names:
            yield DesiredItem(_user(name, given, disabled=item.disabled), declaration, item.absent)

    def shown(self, name: str, value: int) -> str:
        """``8192 iterations``."""
        return f"disabled ({value} iterations)" if value == DISABLED_ITERATIONS else f"{value} iterations"

    def dim_lines(self, change: Change) -> tuple[str, ...]:
        """Which references the passwords are read from."""
        user: ScramUser = resource_of(change)
        return tuple(
            f"{name}: password from {', '.join(user.sources[name].references)}"
            for name in passwords_set(change)
            if name in user.sources
        )

    def notes(self, change: Change) -> tuple[str, ...]:
        """What a new or deleted password does not do."""
        return () if change.before is None else (_OPEN,)

    def problem(self, item: ScramUser) -> str | None:
        """A name, a mechanism or a number that no manifest has, or one mechanism of two that is disabled."""
        unknown = next((name for name in item.values if not item.understands(name)), None)
        if unknown is not None:
            return f"no manifest has {unknown}"
        if item.disabled and item.disabled != item.values.keys():
            return f"{' and '.join(sorted(item.disabled))} is disabled, and not its other mechanism"
        trouble, refused = _name_problem(item.name), item.refusal()
        return text_problem(item.name) or (trouble and trouble.message) or (refused and refused.message)

    def lines(self, item: ScramUser) -> Iterator[str]:
        """Without passwords: Kafka tells none."""
        yield f"    - name: {scalar(item.name)}"
        if item.disabled:
            yield f"      mechanisms: {{{', '.join(f'{name}: {{}}' for name in item.values)}}}"
            yield "      disabled: true"
            return
        yield "      # Without password or salt and saltedPassword a user is compared, and never created."
        yield "      mechanisms:"
        yield from (f"        {name}: {{iterations: {iterations}}}" for name, iterations in item.values.items())

    def about(self, item: ScramUser) -> Mapping[str, str]:
        """Its name."""
        return {"name": quoted_text(item.name)}

    def settings(self, item: ScramUser) -> Mapping[str, Written]:
        """The mechanisms, with versions and references."""
        return {name: {} if item.disabled else _written(item, name) for name in item.values}

    def content(self, item: ScramUser) -> dict[str, Written]:
        """Also that it is disabled."""
        return {**super().content(item), **({"disabled": "true"} if item.disabled else {})}

    def adopted(self, item: ScramUser, declared: ScramUser) -> ScramUser:
        """With the references that are declared, but for those of a user that is disabled."""
        sources = {name: source for name, source in declared.sources.items() if name in item.values}
        return item if item.disabled else ScramUser(item.name, item.values, sources)

    def altered(
        self, text: str, span: TextSpan, before: DesiredItem[ScramUser], wanted: DesiredItem[ScramUser]
    ) -> list[Splice]:
        """References, versions and ends in place, one after the other."""
        old, new = before.item, wanted.item
        texts, stated = declared_texts(wanted.declaration), declared_texts(before.declaration)
        if before.absent or wanted.absent or stated.keys() - texts.keys():
            return []
        splices = [
            splice
            for key, value in texts.items()
            if stated.get(key) != value
            for splice in with_entry(text, span, key, value)
        ]
        if splices or old == new:
            return splices  # the rest is looked at next
        if new.disabled:
            alike = old.values.keys() == new.values.keys() and not old.disabled
            return with_entry(text, span, "disabled", "true") if alike else []
        if old.disabled:
            return without_entries(text, span, {"disabled"})  # what it declares without is looked at next
        return self.with_settings(text, span, old, new)

    def with_setting(
        self, text: str, values: TextSpan, name: str, before: ScramUser, wanted: ScramUser
    ) -> list[Splice]:
        """A mechanism's version and references in place, all of it where that does not say it."""
        if (before.values.get(name), before.sources.get(name)) == (wanted.values[name], wanted.sources.get(name)):
            return []
        span, written = values.get(name), _written(wanted, name)
        if (
            span is None
            or not span.entries
            or {key.plain for key, _ in span.entries} & set(_REFERENCES.values()) - written.keys()
        ):
            return with_entry(text, values, name, written)
        stated = span.get("iterations")
        iterations = DEFAULT_ITERATIONS if stated is None else _number(stated.plain)
        version = wanted.values[name] - iterations
        if version < 0 or "saltedPassword" in written:
            return with_entry(text, values, name, written)
        number = {"passwordVersion": str(version)} if version or span.get("passwordVersion") is not None else {}
        stands = {key.plain: quoted_text(value.plain) for key, value in span.entries}
        refers = {key: to for key, to in written.items() if key in _REFERENCES.values() and stands.get(key) != to}
        return [splice for key, value in {**number, **refers}.items() for splice in with_entry(text, span, key, value)]

    def named(self, name: str) -> ScramUser:
        """The user."""
        return ScramUser(name)

    def item(self, entry: Mapping[str, Any]) -> ScramUser | None:
        """Of a name and its credentials; a mechanism of a newer Kafka is kept under its code, and never changed."""
        credentials = ((item["mechanism"], item["iterations"]) for item in entry["credential_infos"])
        values = {_NAMES.get(code, f"mechanism {code}"): iterations for code, iterations in credentials}
        return ScramUser(self.outcome_key(entry), values) if values else None

    def outcome_key(self, entry: Mapping[str, Any]) -> str:
        """The name."""
        return str(entry["user"])

    def alteration(self, change: Change, secrets: Mapping[str, str]) -> Mapping[str, Any]:
        """The name, the mechanism, and its iterations, salt and salted password; nothing of one that goes.

        The password is salted here, and never sent.
        """
        user: ScramUser = resource_of(change)
        ((mechanism, iterations),) = user.values.items()
        named = {"name": user.name, "mechanism": SCRAM_CODES[mechanism]}
        if change.after is None:
            return named
        salt, password = _credential(user, mechanism, iterations, secrets)
        return {**named, "iterations": iterations, "salt": salt, "salted_password": password}

    def request(self, alterations: Sequence[Any], *, only_validate: bool) -> Mapping[str, Any]:
        """What goes, and what is set. To validate is not in this message: ``CAN_VALIDATE``."""
        return {
            "deletions": [item for item in alterations if "salt" not in item],
            "upsertions": [item for item in alterations if "salt" in item],
        }

    def may_read(self, handshake: "Handshake") -> bool:
        """DESCRIBE on the cluster, as for ACLs."""
        return handshake.may_list_acls


def passwords_set(change: Change) -> tuple[str, ...]:
    """The mechanisms whose password a change sets: those that are new, and those with other iterations."""
    before, after = values_of(change.before), values_of(change.after)
    return tuple(name for name, iterations in after.items() if before.get(name) != iterations)


def _passwords_given(change: Change) -> tuple[str, ...]:
    """The mechanisms with which whoever knows the password can log in from then on; not those that are disabled."""
    off = ScramUser("", values_of(change.after)).disabled
    return tuple(name for name in passwords_set(change) if name not in off)


def _user(name: str, given: Mapping[str, CredentialItem], *, disabled: bool) -> ScramUser:
    if disabled:
        return ScramUser(name, dict.fromkeys(given or SCRAM_CODES, DISABLED_ITERATIONS))
    values = {name: credential.iterations + credential.password_version for name, credential in given.items()}
    sources = {
        name: PasswordSource(credential.password or "", credential.salt or "", credential.salted_password or "")
        for name, credential in given.items()
    }
    return ScramUser(name, values, {name: source for name, source in sources.items() if source.references})


def _check_credential(node: Node, item: CredentialItem | None, findings: Findings) -> None:
    if not isinstance(node, MappingNode):
        return
    for field in _REFERENCES.values():
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


def _name_problem(text: str, *, goes: bool = False) -> Trouble | None:
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


def _passwords_lost(change: Change) -> tuple[str, ...]:
    before, after = values_of(change.before), values_of(change.after)
    return tuple(name for name, iterations in before.items() if after.get(name) != iterations)


def _credential(user: ScramUser, mechanism: str, iterations: int, secrets: Mapping[str, str]) -> tuple[bytes, bytes]:
    """A salt and the salted password; of a disabled credential random ones, which nobody keeps."""
    if iterations == DISABLED_ITERATIONS:
        return token_bytes(_SALT_BYTES), token_bytes(hashlib.new(SCRAM_HASHES[mechanism]).digest_size)
    source = user.sources.get(mechanism, PasswordSource())
    missing = [reference for reference in source.references if reference not in secrets]
    if missing or not source.references:
        raise ValueError(f"nobody has read {missing[0]}" if missing else f"{mechanism} has no password")
    if source.password:
        salt = token_bytes(_SALT_BYTES)
        return salt, salted(mechanism, secrets[source.password], salt, iterations)
    return _bytes(source.salt, secrets), _bytes(source.salted_password, secrets)


def _number(text: str) -> int:
    """A number as it stands there; with a variable none that any credential has."""
    return int(text) if text.isascii() and text.isdigit() else 1 << 20


def _written(user: ScramUser, mechanism: str) -> dict[str, Written]:
    """One mechanism as an item has it."""
    source = user.sources.get(mechanism, PasswordSource())
    references = {_REFERENCES[field]: quoted_text(text) for field, text in source._asdict().items() if text}
    version = user.values[mechanism] - DEFAULT_ITERATIONS
    if version == 0:
        return dict(references)
    # Without a password to set, the number is only compared, and a version would promise one.
    if version < 0 or not source.password:
        return {"iterations": str(user.values[mechanism]), **references}
    return {**references, "passwordVersion": str(version)}


def _bytes(reference: str, secrets: Mapping[str, str]) -> bytes:
    try:
        decoded = base64.b64decode(secrets[reference], validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{reference} is not base64") from None
    if not decoded:
        raise ValueError(f"{reference} is empty")
    return decoded


KIND: Final = ScramUsers()
