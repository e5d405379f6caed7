"""What principals may do, and who may do something: rows of operations, names and hosts; before and after a plan."""

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from reconciler.access.authorizer import AccessRequest, Decision, DecisionRule
from reconciler.access.effective import Access, Holders, OwnAccess, access_of
from reconciler.access.hosts import ANY_HOST
from reconciler.access.interpretation import unnamed_principal
from reconciler.access.names import ResourceSet
from reconciler.access.questions import instead
from reconciler.codec.values import PATTERN
from reconciler.dataclass import dataclass
from reconciler.manifest.write.text import scalar
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import Style, as_name, counted, plain, safe
from reconciler.model.desired import Declaration, Origin
from reconciler.model.scope import RESOURCE_FIELDS
from reconciler.plan.review.access_change import EVERYBODY_ELSE
from reconciler.results import Made
from reconciler.results.access import AccessView, times
from reconciler.results.words import access_document, names_words, note_document, note_words, pattern_words
from reconciler.show.fleet_report import columns_of

_SUPER_USER: Final = "super user"
_EVERYTHING: Final = "everything"
_NOTHING: Final = "nothing"
_ALIKE: Final = (f"what {EVERYBODY_ELSE} can do", "on names that no ACL of its own covers")
#: Of a principal whose rows are on names of its own.
LIKE_EVERYBODY: Final = " ".join(_ALIKE)
_COLUMNS: Final = ("PRINCIPAL", "ON", "BY", "DECLARED")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Holding:
    """What one principal may do; ``principal=None`` is everybody whom no ACL names.

    ``like_everybody``: on names that no ACL of its own covers, it may do what everybody else may, which ``rows`` leave
    out. ``own`` are the names that one covers.
    """

    principal: str | None
    rows: tuple[Access, ...]
    super_user: bool = False
    like_everybody: bool = False
    own: tuple[ResourceSet, ...] = ()

    @property
    def name(self) -> str:
        """How it is called in a report."""
        return self.principal or EVERYBODY_ELSE


def holdings(
    view: AccessView,
    principals: Sequence[str] = (),
    kind: ResourceType | None = None,
    compared: Sequence[AccessView] = (),
) -> tuple[Holding, ...]:
    """All that each principal may do; without any, as :func:`own_holdings` of every known principal.

    ``compared`` are all states that are asked: whoever is known in one is known in each.
    """
    if not principals:
        everybody = {principal for state in (view, *compared) for principal in known_principals(state)}
        return own_holdings(view, sorted(everybody), kind, compared)
    return tuple(
        Holding(who, (), super_user=True)
        if who in view.authorizer.super_users
        else Holding(who, _of_type(access_of(view.authorizer, who), kind))
        for who in principals
    )


def own_holdings(
    view: AccessView, principals: Sequence[str], kind: ResourceType | None, compared: Sequence[AccessView] = ()
) -> tuple[Holding, ...]:
    """What everybody else may do, and then what each principal may by ACLs of its own."""
    own = OwnAccess(view.authorizer, (other.authorizer for other in compared))
    everybody = Holding(None, _of_type(own.everybody_else, kind))
    held = [everybody]
    for who in principals:
        if who in view.authorizer.super_users:
            held.append(Holding(who, (), super_user=True))
            continue
        rows, names = _of_type(own.rows(who), kind), tuple(own.names(who))
        held.append(Holding(who, rows, like_everybody=bool(everybody.rows), own=names))
    return tuple(held)


def known_principals(view: AccessView) -> set[str]:
    """Those that ACLs name, and super users."""
    named = {binding.entry.principal for binding in view.authorizer.bindings}
    return (named | view.authorizer.super_users) - {WILDCARD_PRINCIPAL}


def _of_type(rows: Iterable[Access], kind: ResourceType | None) -> tuple[Access, ...]:
    return tuple(row for row in rows if kind in (None, row.resources.resource_type))


def access_lines(states: Sequence[tuple[AccessView, tuple[Holding, ...]]], style: Style = plain) -> Iterator[str]:
    """A section for each principal; before and after a plan, what goes is marked ``-`` and what comes ``+``."""
    after = {holding.principal: holding for holding in states[-1][1]}
    before = {holding.principal: holding for holding in states[0][1]}
    for principal in sorted(before.keys() | after.keys(), key=lambda name: (name is not None, name or "")):
        old, new = (held.get(principal, Holding(principal, ())) for held in (before, after))
        beside = states[0][0].login_lines(principal), states[-1][0].login_lines(principal)
        several = len(states) > 1
        yield from _section(old, new, style, several=several)
        yield from _compared(*beside, style, several=several)
        yield from _compared(_letters(states[0][0], old), _letters(states[-1][0], new), style, several=several)
        given, last = (list(map(safe, view.emergency_lines(principal))) for view in (states[0][0], states[-1][0]))
        yield from _compared(given, last, style, several=several)
        yield ""
    for view, _ in states:
        yield from (style("warn", note) for note in (view.beside.notes() if view.beside else ()))
    yield from _basis([view for view, _ in states], style)


def _letters(view: AccessView, held: Holding) -> list[str]:
    """Whose records dead letter queues show to it, or its own to whom."""
    rows = [row for row in held.rows if AclOperation.READ in row.operations] if view.dead_letters else []
    lines = view.letter_lines(
        lambda kind, name: any(row.resources.resource_type is kind and row.resources.contains(name) for row in rows)
    )
    return list(map(safe, lines))


def _basis(views: Sequence[AccessView], style: Style) -> Iterator[str]:
    """What was looked at, and under which conditions the answer holds."""
    for view, when in zip(views, times(views), strict=True):
        yield style("warn" if view.condition else "dim", f"{when}{safe(view.words)}")


def _section(before: Holding, after: Holding, style: Style, *, several: bool) -> Iterator[str]:
    yield style("title", safe(after.name))
    if after.super_user:
        yield f"    can do anything: it is a {_SUPER_USER}"
        return
    old, new = list(_held_lines(before)), list(_held_lines(after))
    if not old and not new:
        yield "    can do nothing"
        return
    yield from _compared(old, new, style, several=several)


def _held_lines(held: Holding) -> Iterator[str]:
    yield from map(row_words, held.rows)
    if held.like_everybody:
        yield LIKE_EVERYBODY


def _compared(before: Sequence[str], after: Sequence[str], style: Style, *, several: bool) -> Iterator[str]:
    """The lines of one state, or those of both with what goes and what comes marked."""
    for sign, line in _signed(before, after, several=several):
        role = {"+": "add", "-": "remove"}.get(sign, "")
        shown = f"  {sign or ' '} {line}"
        yield style(role, shown) if role else shown


def _signed(before: Iterable[_T], after: Iterable[_T], *, several: bool) -> Iterator[tuple[str, _T]]:
    """What is in either state, in order: what goes, what comes, what stays."""
    old, new = dict.fromkeys(before), dict.fromkeys(after)
    if several:
        yield from (("-", item) for item in old if item not in new)
        yield from (("+", item) for item in new if item not in old)
    yield from (("", item) for item in new if not several or item in old)


def row_words(row: Access, *, who: bool = False) -> str:
    """``READ on topics starting with `pii.` from 10.0.0.1``; with ``who`` the principal instead of the operations."""
    operations = _operations(row)
    hosts = "" if row.hosts == ANY_HOST else f" from {row.hosts}"
    doubt = "" if row.certain else "  (perhaps: depends on what is unknown about the cluster)"
    subject = f"{row.principal or EVERYBODY_ELSE}: " if who else f"{operations} on "
    return safe(f"{subject}{row.resources.describe()}{hosts}{doubt}")


def _operations(row: Access) -> str:
    return ", ".join(operation.name for operation in sorted(row.operations)) or _NOTHING


def holders_lines(
    operation: AclOperation,
    pattern: ResourcePattern,
    states: Sequence[tuple[AccessView, Holders]],
    style: Style = plain,
) -> Iterator[str]:
    """How many can, and a table of them; who cannot although everybody else can; who could grant it to itself."""
    several = len(states) > 1
    for (_, held), when in zip(states, times(states), strict=True):
        yield style("title", safe(f"{when}{_holders(held)} {operation.name} {_names(pattern, held)}"))
    rows = [_holder_rows(view, operation, held) for view, held in states]
    signed = list(_signed(rows[0], rows[-1], several=several))
    marks = {sign: f"{sign or ' '} " if several else "" for sign in ("", "+", "-")}
    cells = [(f"{marks[sign]}{row.principal}", row.on, *by) for sign, row in signed for by in row.by or (("", ""),)]
    styles = [{"+": "add", "-": "remove"}.get(sign, "") for sign, row in signed for _ in row.by or ("",)]
    if cells:
        heading, *lines = columns_of(_COLUMNS, _without_repeats(cells))
        yield style("title", heading)
        yield from (style(role, line) if role else line for role, line in zip(styles, lines, strict=True))
    before, after = states[0][1], states[-1][1]
    alter, configs = (_admins(states, right) for right in (AclOperation.ALTER, AclOperation.ALTER_CONFIGS))
    for title, (old, new) in (
        ("Cannot, although everybody else can", (before.lacking, after.lacking)),
        ("Can ALTER the cluster, and so grant it to itself", alter),
        ("Can ALTER_CONFIGS on the cluster, and so log in as anybody", configs),
    ):
        if old or new:
            yield style("title", title)
            old_lines, new_lines = ([row_words(row, who=True) for row in state] for state in (old, new))
            yield from _compared(old_lines, new_lines, style, several=several)
    if operation is AclOperation.READ:
        letters, last = (
            view.letter_lines(lambda kind, name: kind is pattern.resource_type and pattern.matches(name))
            for view in (states[0][0], states[-1][0])
        )
        yield from _compared(list(map(safe, letters)), list(map(safe, last)), style, several=several)
    if any(not row.certain for _, held in states for row in held.rows):
        yield style("warn", "perhaps: it depends on what is not known about the cluster")
    yield from _basis([view for view, _ in states], style)


def _holders(held: Holders) -> str:
    """``3 principals can``, ``1 principal and everybody else can``, ``Nobody can``."""
    sure = {row.principal for row in held.rows if row.certain} | held.super_users
    perhaps = {row.principal for row in held.rows} - sure
    if not sure and not perhaps:
        return "Nobody can"
    parts = [f"{_many(sure)} can"] if sure else []
    parts += [f"perhaps {_many(perhaps)} can"] if perhaps else []
    text = ", and ".join(parts)
    return text[:1].upper() + text[1:]


def _many(principals: Set[str | None]) -> str:
    named = len(principals - {None})
    parts = [counted(named, "principal")] if named else []
    return " and ".join([*parts, *([EVERYBODY_ELSE if named else "everybody"] if None in principals else [])])


def _names(pattern: ResourcePattern, held: Holders) -> str:
    return names_words(pattern, "some" if held.rows or held.super_users else "any")


class _HolderRow(NamedTuple):
    """Somebody who holds it: on which names and from where, and the ACLs that decide, each with its place."""

    principal: str
    on: str
    by: tuple[tuple[str, str], ...]


def _holder_rows(view: AccessView, operation: AclOperation, held: Holders) -> list[_HolderRow]:
    rows = []
    for row in held.rows:
        hosts = "" if row.hosts == ANY_HOST else f" from {row.hosts}"
        perhaps = "" if row.certain else " (perhaps)"
        by = tuple(_by(view, operation, row))
        rows.append(_HolderRow(row.principal or EVERYBODY_ELSE, f"{row.resources.describe()}{hosts}{perhaps}", by))
    rows += [_HolderRow(name, _EVERYTHING, ((_SUPER_USER, ""),)) for name in sorted(held.super_users)]
    return rows


def _by(view: AccessView, operation: AclOperation, row: Access) -> Iterator[tuple[str, str]]:
    """The ACLs that let somebody, or the rule that does without one."""
    for binding in _deciding(view, operation, row):
        pattern, entry = binding
        host = "" if entry.host == WILDCARD else f" from {entry.host}"
        whose = "" if entry.principal == row.principal else f"{as_name(entry.principal)} "
        note = view.authorizer.sources.notes.get(binding)
        text = f"{whose}{entry.permission_type.name} {entry.operation.name} on {pattern_words(pattern)}{host}"
        given = view.break_glass.get(binding)
        yield text, given.words if given is not None else "" if note is None else note_words(note)


def _without_repeats(rows: Sequence[tuple[str, str, str, str]]) -> Iterator[tuple[str, str, str, str]]:
    """Of several ACLs that let the same principal on the same names, who and where stand in the first row."""
    last: tuple[str, ...] = ()
    for row in rows:
        yield ("", "", *row[2:]) if row[:2] == last else row
        last = row[:2]


def holders_table(
    operation: AclOperation, pattern: ResourcePattern, states: Sequence[tuple[AccessView, Holders]]
) -> dict[str, Any]:
    """Columns for people: who can, who cannot although everybody else can, and who could grant it to itself."""
    rows = []
    for (view, held), when in zip(states, times(states), strict=True):
        start, end = [view.cluster, when.strip(" :")], view.condition
        for row in _holder_rows(view, operation, held):
            for by, place in row.by or (("", ""),):
                rows.append([*start, row.principal, f"can {operation.name}", row.on, by, place, end])
        for access in (*held.lacking, *held.cluster_admins):
            can = " and ".join(f"can {right.name}" for right in sorted(access.operations)) or f"cannot {operation.name}"
            hosts = "" if access.hosts == ANY_HOST else f" from {access.hosts}"
            who, where = access.principal or EVERYBODY_ELSE, f"{access.resources.describe()}{hosts}"
            rows.append([*start, who, can, where, "", "", end])
        if not held.rows and not held.super_users:
            rows.append([*start, "nobody", f"can {operation.name}", _names(pattern, held), "", "", end])
    return {
        "columns": ["CLUSTER", "STATE", "PRINCIPAL", "ACCESS", "ON", "BY", "DECLARED AT", "CONDITION"],
        "rows": rows,
    }


def _admins(
    states: Sequence[tuple[AccessView, Holders]], right: AclOperation
) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    """Before and after: those whom this right on the cluster lets do anything."""
    before, after = (
        tuple(row for row in held.cluster_admins if right in row.operations) for held in (states[0][1], states[-1][1])
    )
    return before, after


def _deciding(view: AccessView, operation: AclOperation, row: Access) -> tuple[AclBinding, ...]:
    """The ACLs that decide for a holder at its example; of everybody else, for a principal that no ACL names.

    Where the API accepts a right on another resource in place of this one, the ACLs are those of that right.
    """
    authorizer = view.authorizer
    worlds = [world.index for world in authorizer.interpretations.both]
    who = row.principal or unnamed_principal(worlds, authorizer.super_users)
    request = AccessRequest(who, row.host, operation, row.resources.resource_type, row.name)
    decision, other = authorizer.authorize(*request), instead(authorizer, request)
    return other.bindings if decision.allowed is not True and other is not None else decision.bindings


def declared_for(view: AccessView, operation: AclOperation, held: Holders) -> dict[AclBinding, Declaration | Origin]:
    """The ACLs that decide for each holder at its witness, with where and why they are declared; sorted."""
    declared: dict[AclBinding, Declaration | Origin] = {}
    for row in held.rows:
        if row.principal is not None and row.certain:
            for binding in _deciding(view, operation, row):
                note = view.authorizer.sources.notes.get(binding)
                if note is not None:
                    declared[binding] = note
    return dict(sorted(declared.items(), key=lambda item: item[0]))


def access_table(states: Sequence[tuple[AccessView, tuple[Holding, ...]]]) -> dict[str, Any]:
    """Columns for people: a row for each principal and resource set; who can do nothing has one, too."""
    rows = []
    for (view, held), when in zip(states, times(states), strict=True):
        for holding in held:
            start = [view.cluster, when.strip(" :"), holding.name]
            if holding.super_user or (not holding.rows and not holding.like_everybody):
                all_of_it = (_EVERYTHING, _EVERYTHING) if holding.super_user else (_NOTHING, "")
                rows.append([*start, *all_of_it, "", view.condition])
            for row in holding.rows:
                perhaps = "" if row.certain else "perhaps "
                rows.append(
                    [*start, perhaps + _operations(row), row.resources.describe(), str(row.hosts), view.condition]
                )
            if holding.like_everybody:
                rows.append([*start, *_ALIKE, "", view.condition])
    return {"columns": ["CLUSTER", "STATE", "PRINCIPAL", "OPERATION", "RESOURCE", "HOST", "CONDITION"], "rows": rows}


def access_documents(states: Sequence[tuple[AccessView, tuple[Holding, ...]]]) -> dict[str, Any]:
    """For programs: one entry a state; ``principal`` null is everybody else.

    With ``likeEverybodyElse`` a principal may do, on names that no ACL of its own covers, what everybody else may.
    """
    return {
        "states": [
            {**view.document(), "principals": Made(partial(_access_documents, view, held))} for view, held in states
        ]
    }


def _access_documents(view: AccessView, held: Iterable[Holding]) -> Iterator[dict[str, Any]]:
    for holding in held:
        yield {
            "principal": holding.principal,
            "superUser": holding.super_user,
            "access": [access_document(row) for row in holding.rows],
            "likeEverybodyElse": holding.like_everybody,
            **view.login_document(holding.principal),
        }


def holders_document(
    operation: AclOperation, pattern: ResourcePattern, states: Sequence[tuple[AccessView, Holders]]
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
            for view, held in states
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
