"""What principals may do, and who may do something: rows of operations, names and hosts; before and after a plan."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reconciler.access.authorizer import AccessRequest, Decision, DecisionRule
from reconciler.access.effective import Access, Holders, access_of
from reconciler.access.hosts import ANY_HOST
from reconciler.access.interpretation import unnamed_principal
from reconciler.codec.values import PATTERN
from reconciler.dataclass import dataclass
from reconciler.manifest.write.text import scalar
from reconciler.model.acl import WILDCARD_PRINCIPAL, AclBinding, AclOperation, ResourcePattern, ResourceType
from reconciler.model.characters import Style, plain, safe
from reconciler.model.desired import Declaration, Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.scope import RESOURCE_FIELDS
from reconciler.results.access import AccessView
from reconciler.results.words import access_document, names_words, note_document, note_words

_EVERYBODY = "everybody else"


@dataclass(frozen=True, slots=True)
class Holding:
    """Everything that one principal may do; ``principal=None`` is everybody whom no ACL names."""

    principal: str | None
    rows: tuple[Access, ...]
    super_user: bool = False

    @property
    def name(self) -> str:
        """How it is called in a report."""
        return self.principal or _EVERYBODY


def holdings(view: AccessView, principals: Sequence[str] = (), kind: ResourceType | None = None) -> tuple[Holding, ...]:
    """What each principal may do; without any, everybody else and every principal that is known."""
    if principals:
        return tuple(_holding(view, principal, kind) for principal in principals)
    return tuple(_holding(view, principal, kind) for principal in (None, *known_principals(view)))


def known_principals(view: AccessView) -> list[str]:
    """The principals that ACLs name, and super users; sorted."""
    named = {binding.entry.principal for binding in view.authorizer.bindings}
    return sorted((named | view.authorizer.super_users) - {WILDCARD_PRINCIPAL})


def _holding(view: AccessView, principal: str | None, kind: ResourceType | None) -> Holding:
    authorizer = view.authorizer
    if principal in authorizer.super_users:
        return Holding(principal, (), super_user=True)
    worlds = [world.index for world in authorizer.interpretations.both]
    asked = principal or unnamed_principal(worlds, authorizer.super_users)
    rows = access_of(authorizer, asked)
    return Holding(principal, tuple(row for row in rows if kind is None or row.region.resource_type is kind))


def access_lines(found: Sequence[tuple[AccessView, tuple[Holding, ...]]], style: Style = plain) -> Iterator[str]:
    """A section for each principal; before and after a plan, what goes is marked ``-`` and what comes ``+``."""
    for view, _ in found:
        yield style("dim", safe(view.words))
        yield from (style("warn", note) for note in (view.beside.notes() if view.beside else ()))
    after = {holding.principal: holding for holding in found[-1][1]}
    before = {holding.principal: holding for holding in found[0][1]}
    for principal in sorted(before.keys() | after.keys(), key=lambda name: (name is not None, name or "")):
        empty = Holding(principal, ())
        yield ""
        beside = found[0][0].beside_lines(principal), found[-1][0].beside_lines(principal)
        several = len(found) > 1
        yield from _section(before.get(principal, empty), after.get(principal, empty), style, several=several)
        yield from _compared(*beside, style, several=several)


def _section(before: Holding, after: Holding, style: Style, *, several: bool) -> Iterator[str]:
    yield style("title", safe(after.name))
    if after.super_user:
        yield "    may do anything: it is a super user"
        return
    if not before.rows and not after.rows:
        yield "    may do nothing"
        return
    yield from _compared(
        [_line(row) for row in before.rows], [_line(row) for row in after.rows], style, several=several
    )


def _compared(
    before: Sequence[str],
    after: Sequence[str],
    style: Style,
    *,
    several: bool,
    why: Mapping[str, Sequence[str]] = FrozenMap(),
) -> Iterator[str]:
    """The lines of one state, or those of both with what goes and what comes marked; below each, ``why``."""
    old, new = dict.fromkeys(before), dict.fromkeys(after)
    if several:
        yield from (style("remove", f"  - {line}") for line in old if line not in new)
    marked = [("add", "  + ", line) for line in new if several and line not in old]
    for role, sign, line in (*marked, *(("", "    ", line) for line in new if not several or line in old)):
        yield style(role, f"{sign}{line}") if role else f"{sign}{line}"
        yield from (style("dim", f"        by {text}") for text in why.get(line, ()))


def _line(row: Access, *, who: bool = False) -> str:
    operations = ", ".join(operation.name for operation in sorted(row.operations))
    hosts = "" if row.hosts == ANY_HOST else f" from {row.hosts}"
    doubt = "" if row.certain else "  (perhaps: depends on what is unknown about the cluster)"
    subject = f"{row.principal or _EVERYBODY}: " if who else f"{operations} on "
    return safe(f"{subject}{row.region.describe()}{hosts}{doubt}")


def holders_lines(
    operation: AclOperation,
    pattern: ResourcePattern,
    found: Sequence[tuple[AccessView, Holders]],
    style: Style = plain,
) -> Iterator[str]:
    """Who holds it; who does not although everybody else does; who could grant it to itself."""
    several = len(found) > 1
    before, after = found[0][1], found[-1][1]
    for view, _ in found:
        yield style("dim", safe(view.words))
    yield style("title", safe(f"Principals with {operation.name} on {names_words(pattern)}"))
    if not before.rows and not after.rows:
        yield "    nobody, by any ACL"
    yield from _who(before.rows, after.rows, style, several=several, why=_why(found[-1][0], operation, after))
    alter, configs = (_admins(found, right) for right in (AclOperation.ALTER, AclOperation.ALTER_CONFIGS))
    for title, (old, new) in (
        ("But not, although everybody else may", (before.lacking, after.lacking)),
        ("May ALTER the cluster, and so grant it to itself", alter),
        ("May ALTER_CONFIGS on the cluster, and so log in as anybody", configs),
    ):
        if old or new:
            yield style("title", title)
            yield from _who(old, new, style, several=several)
    if after.super_users:
        yield style("title", "Super users, who may do anything")
        yield from (f"    {safe(principal)}" for principal in sorted(after.super_users))


def _admins(
    found: Sequence[tuple[AccessView, Holders]], right: AclOperation
) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    """Before and after: those whom this right on the cluster lets do anything."""
    before, after = (
        tuple(row for row in held.cluster_admins if right in row.operations) for held in (found[0][1], found[-1][1])
    )
    return before, after


def _who(
    before: Sequence[Access],
    after: Sequence[Access],
    style: Style,
    *,
    several: bool,
    why: Mapping[str, Sequence[str]] = FrozenMap(),
) -> Iterator[str]:
    """A line for each; below it the ACLs that let them, once where it stands in both states."""
    old, new = ([_line(row, who=True) for row in rows] for rows in (before, after))
    yield from _compared(old, new, style, several=several, why=why)


def _why(view: AccessView, operation: AclOperation, held: Holders) -> dict[str, list[str]]:
    """By the line of a holder: the ACLs that decide for it, each with its place, its end and its reason."""
    found: dict[str, list[str]] = {}
    for row in held.rows:
        texts = found.setdefault(_line(row, who=True), [])
        for binding in _deciding(view, operation, row):
            note = view.authorizer.sources.notes.get(binding)
            texts.append(safe(str(binding) + ("" if note is None else f"  {note_words(note)}")))
    return found


def _deciding(view: AccessView, operation: AclOperation, row: Access) -> tuple[AclBinding, ...]:
    """The ACLs that decide for a holder at its witness; of everybody else, for a principal that no ACL names."""
    authorizer = view.authorizer
    worlds = [world.index for world in authorizer.interpretations.both]
    who = row.principal or unnamed_principal(worlds, authorizer.super_users)
    return authorizer.authorize(who, row.host, operation, row.region.resource_type, row.name).bindings


def declared_for(view: AccessView, operation: AclOperation, held: Holders) -> dict[AclBinding, Declaration | Origin]:
    """The ACLs that decide for each holder at its witness, with where and why they are declared; sorted."""
    found: dict[AclBinding, Declaration | Origin] = {}
    for row in held.rows:
        if row.principal is not None and row.certain:
            for binding in _deciding(view, operation, row):
                note = view.authorizer.sources.notes.get(binding)
                if note is not None:
                    found[binding] = note
    return dict(sorted(found.items(), key=lambda item: item[0]))


def access_documents(found: Sequence[tuple[AccessView, tuple[Holding, ...]]]) -> dict[str, Any]:
    """For programs: one entry a state; ``principal`` null is everybody else."""
    return {
        "states": [
            {
                **view.document(),
                "principals": [
                    {
                        "principal": holding.principal,
                        "superUser": holding.super_user,
                        "access": [access_document(row) for row in holding.rows],
                        **view.beside_document(holding.principal),
                    }
                    for holding in held
                ],
            }
            for view, held in found
        ]
    }


def holders_document(
    operation: AclOperation, pattern: ResourcePattern, found: Sequence[tuple[AccessView, Holders]]
) -> dict[str, Any]:
    """For programs."""
    return {
        "operation": operation.name,
        "on": PATTERN.write(pattern),
        "states": [
            {
                **view.document(),
                "holders": [access_document(row) for row in held.rows],
                "lacking": [access_document(row) for row in held.lacking],
                "clusterAdmins": [access_document(row) for row in held.cluster_admins],
                "superUsers": sorted(held.super_users),
                "declared": [note_document(*item) for item in declared_for(view, operation, held).items()],
            }
            for view, held in found
        ],
    }


# The rule to write where nothing allows a request, as a person would paste it into a manifest.


def allowing_rule(decision: Decision) -> Iterator[str]:
    """What to do about a request that is denied; nothing where no rule helps, or too little is known."""
    if decision.rule is DecisionRule.DENY:
        yield "no ALLOW helps while this DENY is there: remove it, or narrow it"
    elif decision.rule is DecisionRule.DEFAULT_DENY:
        yield "to allow it, write:"
        yield from (f"  {line}" for line in _rule(decision.request))


def _rule(request: AccessRequest) -> Iterator[str]:
    fields = {kind: field for field, kind in RESOURCE_FIELDS.items()}
    kind, name = request.resource_type, request.resource_name
    on = "cluster: true" if kind is ResourceType.CLUSTER else f"{fields[kind]}: [{scalar(name, flow=True)}]"
    yield safe(f"principal: {scalar(request.principal)}")
    yield safe(f"rules: [{{allow: {request.operation.name}, {on}}}]")
