"""A breach of ownership: which rule is broken, where, by whom, and whose the resource is."""

from enum import StrEnum

from reconciler.dataclass import dataclass
from reconciler.model import AclOperation, AclPermissionType, Origin, ResourcePattern


class BreachKind(StrEnum):
    """Which rule is broken."""

    #: A binding for a principal of another team.
    PRINCIPAL = "principal"
    #: A binding on a resource of another team, without its consent.
    RESOURCE = "resource"
    #: A declaration of a topic of another team.
    TOPIC = "topic"
    #: A declaration of the configs of a group of another team.
    GROUP = "group"
    #: A consent outside the files of the team that gives it.
    CONSENT = "consent"
    #: Owners in a file that belongs to a team.
    OWNERS = "owners"
    #: A team's file that declares something about everybody, such as a default quota.
    SHARED = "shared"
    #: A team's file that declares what no team owns, and only a file of no team may declare.
    UNOWNED = "unowned"
    #: A team's file that sets the variables of files that are not the team's.
    VARIABLES = "variables"
    #: A team's file that calls topics its own which the rules do not give it.
    CLAIM = "claim"


@dataclass(frozen=True, slots=True)
class Breach:
    """One breach: ``teams`` are those of the file, ``owners`` those that own the resource (none if nobody does).

    ``subject`` is what a SHARED or UNOWNED one declares. ``pattern``, ``permission`` and ``operations`` are set for
    RESOURCE, ``pattern`` for TOPIC, GROUP and CLAIM, ``principal`` for PRINCIPAL. ``strangers`` are the principals of a
    RESOURCE that ``teams`` do not own, ``consent`` is the place of one that names the operation and covers neither them
    nor the permission. With ``role`` the file is that of a ``Role`` document's rule, which ``origin`` uses. ``rule`` is
    the item of Ownership that says so, where it is one of the guardrails.
    """

    origin: Origin
    kind: BreachKind
    teams: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    principal: str | None = None
    pattern: ResourcePattern | None = None
    operations: tuple[AclOperation, ...] = ()
    permission: AclPermissionType = AclPermissionType.ALLOW
    strangers: tuple[str, ...] = ()
    consent: Origin | None = None
    role: Origin | None = None
    rule: Origin | None = None
    subject: str = ""


def breach_order(breach: Breach) -> tuple[object, ...]:
    """By files and lines."""
    return (
        breach.origin,
        breach.kind,
        breach.principal or breach.subject,
        breach.pattern or (),
        breach.permission,
        breach.operations,
        (breach.role is not None, breach.role or ()),
        (breach.rule is not None, breach.rule or ()),
    )
