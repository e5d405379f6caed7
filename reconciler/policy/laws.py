"""The laws of each kind of change: who may declare it, whom it can lock out, what it gives, what it loses.

One :class:`Law` a kind, one answer a question; those of listed kinds stand in ``reconciler.kinds``. No field has a
default, and no listed kind a law by default, so mypy refuses a kind without an answer.
``Ownership`` asks for the first four, plans ask for the others, and ``docs/security.md`` prints them all.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from reconciler.model.kinds import listed_kind, listed_types
from reconciler.model.listing import ListedItem


class DeclaredBy(Enum):
    """Whose files may declare an item that somebody owns."""

    RESOURCE_AND_PRINCIPAL = (
        "a file of an owner of the whole pattern, or with an owner's consent; the principal must be the team's or "
        "nobody's"
    )
    NAME = "a file of a team that owns the name"
    PRINCIPAL = "a file of a team that owns the principal; without one (a default, client id, address): no team"
    NO_TEAM = "a file of no team: it is about all clients"


class Unowned(Enum):
    """Whose files may declare an item that nobody owns."""

    ADDITIONS = "any file may add (ALLOW, a topic); to take away (DENY, `absent`) needs a file of no team"
    NO_TEAM = "a file of no team"


class Ends(Enum):
    """Who is judged for an item that has expired."""

    JUDGED = "the file is judged as before the end"
    NEVER = "it has no end"


class Goes(Enum):
    """How manifests say that an item must not be there, or that nobody may use it."""

    UNDECLARED = "only by silence; a file of a `denyAny` team may DENY anything"
    ABSENT = "`absent: true`, judged like any other declaration"
    ABSENT_OR_DISABLED = "the same; a file of a `denyAny` team may disable any user"
    WITH_TOPIC = "with its topic"


class Lockout(Enum):
    """What stops a change that locks out our own login, super users, the brokers or the probe."""

    EFFECTIVE_ACCESS = "safety check `lockout`, by effective access to the cluster before and after"
    GUARD = "safety check `login-limit`, also for a default that limits them; an address may be theirs: a warning"
    IMPOSSIBLE = "impossible: no exception permits it"
    NO_LOGIN = "it changes nothing for any login as such"


class NewAccess(Enum):
    """Whether ``--fail-on new-access`` counts a change."""

    EFFECTIVE_ACCESS = "if anybody gains access"
    PASSWORD = "if it sets a password that somebody knows, for a new or an existing user"  # noqa: S105 - an answer
    NONE = "never"


class Lost(Enum):
    """What no undo brings back."""

    NOTHING = "nothing"
    PASSWORDS = "a password that is replaced or deleted"
    RECORDS = "records, and the former number of partitions"


class Undeclared(Enum):
    """What drift says of a live item in scope that no manifest declares."""

    DIFFERENCE = "always a difference"
    IF_KIND_DECLARED = "listed where manifests declare any of the kind; a difference if the cluster prunes the kind"
    NONE = "nothing: only a declared place differs"


class Undo(Enum):
    """What undo does about a step."""

    RESTORES = "restores what was there, unless it has expired or somebody has changed it since"
    DELETES_CREATED = "deletes what was created; nothing else can be restored"
    RESTORES_WITHOUT_RECORDS = "deletes what was created, restores configs, makes a deleted topic again without records"


class Audit(Enum):
    """What the audit log has of a step."""

    BOTH_SIDES = "the step with the values before and after"
    NO_SECRETS = "the step with iterations and references, never a password"


class Law(NamedTuple):
    """The answers for one kind; ``kind`` is the word for it in states and documents, ``words`` what people call it."""

    kind: str
    words: str
    declared_by: DeclaredBy
    unowned: Unowned
    ends: Ends
    goes: Goes
    lockout: Lockout
    new_access: NewAccess
    lost: Lost
    undeclared: Undeclared
    undo: Undo
    audit: Audit


#: The question of each field of :class:`Law` that is an answer, as the documents ask it.
QUESTIONS: Final[Mapping[str, str]] = {
    "declared_by": "Who may declare it?",
    "unowned": "And if nobody owns the name?",
    "ends": "And after its `expires`?",
    "goes": "How does it go?",
    "lockout": "Does it lock out our login, a super user, the brokers?",
    "new_access": "Is it new access (`--fail-on new-access`)?",
    "lost": "What cannot be undone?",
    "undeclared": "What does drift say if it is not declared?",
    "undo": "What does `undo` do?",
    "audit": "What does the audit log keep?",
}
#: The kinds that are not listed kinds.
ACL: Final = Law(
    kind="acls",
    words="ACL",
    declared_by=DeclaredBy.RESOURCE_AND_PRINCIPAL,
    unowned=Unowned.ADDITIONS,
    ends=Ends.JUDGED,
    goes=Goes.UNDECLARED,
    lockout=Lockout.EFFECTIVE_ACCESS,
    new_access=NewAccess.EFFECTIVE_ACCESS,
    lost=Lost.NOTHING,
    undeclared=Undeclared.DIFFERENCE,
    undo=Undo.RESTORES,
    audit=Audit.BOTH_SIDES,
)
TOPIC: Final = Law(
    kind="topics",
    words="topic",
    declared_by=DeclaredBy.NAME,
    unowned=Unowned.ADDITIONS,
    ends=Ends.NEVER,
    goes=Goes.ABSENT,
    lockout=Lockout.NO_LOGIN,
    new_access=NewAccess.NONE,
    lost=Lost.RECORDS,
    undeclared=Undeclared.IF_KIND_DECLARED,
    undo=Undo.RESTORES_WITHOUT_RECORDS,
    audit=Audit.BOTH_SIDES,
)
MOVE: Final = Law(
    kind="replicas",
    words="move of replicas",
    declared_by=DeclaredBy.NAME,
    unowned=Unowned.ADDITIONS,
    ends=Ends.NEVER,
    goes=Goes.WITH_TOPIC,
    lockout=Lockout.NO_LOGIN,
    new_access=NewAccess.NONE,
    lost=Lost.NOTHING,
    undeclared=Undeclared.NONE,
    undo=Undo.RESTORES,
    audit=Audit.BOTH_SIDES,
)


def laws() -> Mapping[str, Law]:
    """The laws of all kinds, by the word for each."""
    return {law.kind: law for law in (ACL, TOPIC, MOVE, *map(_of_listed, listed_types()))}


def law_of(kind: str) -> Law:
    """The law of a listed kind; raises ``KeyError`` for a word that names none."""
    return _of_listed({resource.KIND: resource for resource in listed_types()}[kind])


def _of_listed(resource: type[ListedItem]) -> Law:
    law: Law = listed_kind(resource).answers
    return law
