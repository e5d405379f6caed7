"""Bindings that look stale: half a grant, unknown names, dates that have passed, names that differ by case."""

from collections.abc import Iterator
from typing import Final

from reconciler.access.authorizer import on_some_resource
from reconciler.access.hosts import EXAMPLE_HOST
from reconciler.access.lint.rule import PRINCIPAL, LintFinding, LintState, lint_rule
from reconciler.access.names import matches
from reconciler.model.acl import ANONYMOUS, WILDCARD_PRINCIPAL, AclBinding, AclOperation, PatternType, ResourceType
from reconciler.model.desired import Declaration, Expiry, KnowsEnds, instant_of

#: What a grant is worth nothing without.
_OTHER_HALF: Final = {
    (ResourceType.TOPIC, AclOperation.READ): (AclOperation.READ, ResourceType.GROUP),
    (ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE): (AclOperation.WRITE, ResourceType.TOPIC),
}


@lint_rule(
    "KA013",
    "warning",
    "READ on topics without READ on any group, or WRITE on a transactional id without WRITE on any topic: a client "
    "fails at the missing half.",
    "Grant the other half, or remove this. A consumer that assigns partitions itself and commits nothing needs no "
    "group: write an exception.",
    on_facts=True,
)
def half_a_grant(state: LintState) -> Iterator[LintFinding]:
    """READ on topics without a group, WRITE on a transactional id without a topic."""
    interpretation = state.authorizer.interpretations.most
    seen: dict[tuple[str, str, AclOperation, ResourceType], bool] = {}
    for binding in state.allows:
        entry = binding.entry
        other = _OTHER_HALF.get((binding.pattern.resource_type, entry.operation))
        if other is None or entry.principal == WILDCARD_PRINCIPAL:
            continue
        # Any host will do where the binding is for every host.
        asked = (entry.principal, entry.host if entry.host != "*" else EXAMPLE_HOST, *other)
        if asked not in seen:
            seen[asked] = interpretation.default_allow or on_some_resource(interpretation, *asked).allowed
        if not seen[asked]:
            needed = f"{other[0].name} on any {other[1].name}"
            advice = f"grant {needed.replace('any', 'its')}, or remove this"
            if other[1] is ResourceType.GROUP:
                advice += "; a consumer that assigns partitions itself and commits nothing needs no group"
            message = f"{entry.principal} has {entry.operation.name} here, and no {needed}"
            yield half_a_grant.finding(binding, message, advice)


@lint_rule(
    "KA014",
    "warning",
    "The topic that it names does not exist. Reported for a live cluster whose topics could all be listed.",
    "Remove it, or create the topic.",
    "asked",
)
def unknown_topic(state: LintState) -> Iterator[LintFinding]:
    """Literal topics that do not exist."""
    for binding in state.bindings if state.topics is not None else ():
        pattern = binding.pattern
        named = pattern.resource_type is ResourceType.TOPIC and pattern.pattern_type is PatternType.LITERAL
        if named and not pattern.is_wildcard and pattern.name not in (state.topics or ()):
            message = f"there is no topic {pattern.name!r}"
            yield unknown_topic.finding(binding, message, "remove it, or create the topic")


@lint_rule(
    "KA015",
    "warning",
    "The principal is not in the file that you pass with `--known-principals`, one a line. Kafka itself keeps no "
    "such list.",
    "Remove the binding, or add the principal to the file.",
    "asked",
)
def unknown_principal(state: LintState) -> Iterator[LintFinding]:
    """Principals that are not in the list of those known."""
    for binding in state.bindings if state.principals is not None else ():
        principal = binding.entry.principal
        if principal not in (state.principals or ()) and principal != WILDCARD_PRINCIPAL:
            message = f"{principal} is not among the known principals"
            yield unknown_principal.finding(binding, message, "remove it, or add the principal to the known ones")


@lint_rule(
    "KA026",
    "warning",
    "No `Users` document declares the principal, and nobody can log in as it. Reported where `Users` documents declare "
    "SCRAM users and the operator's file says `onlyScramLogins: true`; super users are left out, and those for whom an "
    "ACL lets somebody create delegation tokens. It is told once for each principal.",
    "Remove its ACLs, or declare the user.",
)
def undeclared_principal(state: LintState) -> Iterator[LintFinding]:
    """Principals of the type User that are no declared user."""
    supers, making = state.authorizer.super_users, (AclOperation.ALL, AclOperation.CREATE_TOKENS)
    # A token is a login, too, and takes no user.
    tokens = [item for item in state.allows if item.pattern[0] is ResourceType.USER and item.entry[2] in making]
    for principal, binding in state.names.get(PRINCIPAL, {}).items() if state.users is not None else ():
        principal_type, _, name = principal.partition(":")
        exempt = name in (state.users or ()) or principal in supers or principal in (WILDCARD_PRINCIPAL, ANONYMOUS)
        exempt |= any(entry.principal != principal and matches(pattern, principal) for pattern, entry in tokens)
        if principal_type == "User" and not exempt:
            message = f"no Users document declares {principal}, and SCRAM is the only way to log in"
            yield undeclared_principal.finding(binding, message, "remove its ACLs, or declare the user")


@lint_rule(
    "KA016",
    "warning",
    "It has ended (`expires`).",
    "Remove the lines; the next plan removes the binding.",
    "same",
)
def expired(state: LintState) -> Iterator[LintFinding]:
    """Bindings that have ended."""
    for binding, end in _dated(state):
        if state.as_of is not None and end.over(state.as_of):
            yield expired.finding(binding, f"it ended {end.past}", "remove it; the next plan removes the binding")


@lint_rule(
    "KA017",
    "warning",
    "It ends (`expires`) within 30 days.",
    "Extend it with a reason, or let it expire.",
)
def expires_soon(state: LintState) -> Iterator[LintFinding]:
    """Bindings that end soon."""
    for binding, end in _dated(state):
        if state.as_of is not None and not end.over(state.as_of) and end.over(instant_of(state.as_of) + state.soon):
            yield expires_soon.finding(
                binding, f"it is declared until {end}", "extend it with a reason, or let it expire"
            )


def _dated(state: LintState) -> Iterator[tuple[AclBinding, Expiry]]:
    """Declared bindings that expire, each with its end."""
    notes = state.authorizer.sources.notes
    if isinstance(notes, KnowsEnds):
        return notes.ending()
    declared = ((binding, note) for binding, note in notes.items() if isinstance(note, Declaration))
    return ((binding, note.expires) for binding, note in declared if note.expires)


@lint_rule(
    "KA018",
    "warning",
    "Two principals, or two names of one type, differ only by case. For Kafka they are two. *Evidence:* both "
    "spellings.",
    "Write both alike if one is meant.",
)
def case(state: LintState) -> Iterator[LintFinding]:
    """Principals, and names of one resource type, that differ only by case."""
    for kind, spellings in _respelt(state):
        first, *others = sorted(spellings)
        for other in others:
            what = f"{kind} name" if kind else "principal"
            yield case.finding(
                spellings[other],
                f"the {what} {other!r} differs from {first!r} only by case: for Kafka they are two",
                "write both alike if one is meant",
                related=(spellings[first],),
                evidence=(first, other),
            )


def _respelt(state: LintState) -> Iterator[tuple[str, dict[str, AclBinding]]]:
    """The spellings of each name that has several, with a binding each; a resource type, or nothing for principals."""
    for what, used in state.names.items():
        # Only those that are not all lower case: mostly there is none, of as many as a million names.
        others: dict[str, list[str]] = {}
        for text in used:
            if (folded := text.casefold()) != text:
                others.setdefault(folded, []).append(text)
        for folded, more in others.items():
            spellings = [folded, *more] if folded in used else more
            if len(spellings) < 2:
                continue
            kind = "" if what == PRINCIPAL else what.upper().replace(" ", "_")
            yield kind, {text: used[text] for text in spellings}
