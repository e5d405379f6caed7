"""Answers to ``can-i`` and ``explain``: yes or no first, then the rule, the ACLs and their lines."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from reconciler.access.authorizer import AccessRequest, Authorizer, Decision, DecisionRule
from reconciler.access.questions import AccessAnswer, Explanation, Relevance, can_i, explain
from reconciler.codec.values import BINDING, PATTERN
from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, AclOperation, PatternType, ResourcePattern
from reconciler.model.characters import Style, as_name, binding_name, counted, plain, safe
from reconciler.results.access import AccessView, times
from reconciler.results.words import (
    DOCUMENTATION,
    decision_document,
    host_words,
    names_words,
    note_document,
    note_words,
    request_document,
    resource_words,
)
from reconciler.show.access import allowing_rule
from reconciler.show.quota import ClientLimits
from reconciler.show.words import with_condition

_RULES: Final = {
    DecisionRule.SUPER_USER: "it is a super user, whom no ACL limits",
    DecisionRule.DENY: "an ACL denies it",
    DecisionRule.ALLOW: "an ACL allows it",
    DecisionRule.IMPLIED_ALLOW: "an ACL allows something that implies it",
    DecisionRule.DEFAULT_ALLOW: "no ACL is about this name, and allow.everyone.if.no.acl.found is on",
    DecisionRule.DEFAULT_DENY: "no ACL allows it",
    DecisionRule.BROKER_ERROR: "brokers fail on this request because of a broken ACL",
    DecisionRule.UNDECIDED: "it depends on allow.everyone.if.no.acl.found, on entries that cannot be read, or on "
    "whether a host is a range: Kafka's version is not known",
}
_WORD: Final = {True: "yes", False: "no", None: "undecided"}
_STYLE: Final = {True: "add", False: "remove", None: "warn"}


@dataclass(frozen=True, slots=True)
class Answered:
    """A question to one state with its answer; ``explanation`` is of the one name, or of what speaks against."""

    view: AccessView
    principal: str
    operation: AclOperation
    pattern: ResourcePattern
    host: str | None
    answer: AccessAnswer
    explanation: Explanation | None

    @property
    def allowed(self) -> bool | None:
        """Whether all that was asked is permitted."""
        return self.answer.allowed


def ask(
    view: AccessView, principal: str, operation: AclOperation, pattern: ResourcePattern, host: str | None
) -> Answered:
    """Whether a principal may do it on every name of the pattern; from every host where none is given."""
    about = None if principal == WILDCARD_PRINCIPAL else principal
    view, found = with_condition(
        view,
        lambda one: _ask(one, principal, operation, pattern, host),
        compared=lambda one: one.allowed,
        about=about,
    )
    return replace(found, view=view)


def _ask(
    view: AccessView, principal: str, operation: AclOperation, pattern: ResourcePattern, host: str | None
) -> Answered:
    answer = can_i(view.authorizer, principal, operation, pattern, host or WILDCARD)
    request = answer.counterexample
    one_name = pattern.pattern_type is PatternType.LITERAL and not pattern.is_wildcard
    if request is None and one_name and principal != WILDCARD_PRINCIPAL:
        request = AccessRequest(principal, host or unnamed_host(view.authorizer), operation, *pattern[:2])
    explanation = None if request is None else explain(view.authorizer, request)
    return Answered(view, principal, operation, pattern, host, answer, explanation)


@dataclass(frozen=True, slots=True)
class Explained:
    """Why one state decides a request as it does; ``limits`` are those of the client, where it was asked about one.

    ``host`` is the one that was asked about; without one, the request stands for every host that no ACL names.
    """

    view: AccessView
    explanation: Explanation
    limits: ClientLimits | None = None
    host: str | None = None


def explained(
    view: AccessView, principal: str, operation: AclOperation, pattern: ResourcePattern, host: str | None
) -> Explained:
    """Why one request is decided as it is; the host of no ACL where none is given."""
    request = AccessRequest(principal, host or unnamed_host(view.authorizer), operation, *pattern[:2])
    view, explanation = with_condition(
        view,
        lambda one: explain(one.authorizer, request),
        compared=lambda one: one.allowed,
        about=principal,
    )
    return Explained(view, explanation, host=host)


def unnamed_host(authorizer: Authorizer) -> str:
    """An address that no ACL names, of those set aside for documentation (RFC 5737)."""
    named = {binding.entry.host for binding in authorizer.bindings}
    addresses = (f"{net}{last}" for net in DOCUMENTATION for last in range(256))
    return next((address for address in addresses if address not in named), "192.0.2.0")


def can_i_lines(answers: Sequence[Answered], style: Style = plain) -> Iterator[str]:
    """One state, or before and after."""
    for answered, when in zip(answers, times(answers), strict=True):
        answer = style(_STYLE[answered.allowed], _WORD[answered.allowed])
        yield f"{when}{answer}  {safe(_question(answered) + _condition(answered.view))}"
        explanation = answered.explanation
        if answered.answer.counterexample is not None and explanation is not None:
            request = explanation.decision.request
            resource = resource_words(request.resource_type, request.resource_name)
            host = host_words(request.host, _named(answered.view, answered.host))
            yield safe(f"    not {as_name(request.principal)} on {resource} from {host}")
        if explanation is not None:
            yield from _reasons(explanation, answered.view.authorizer)
        yield style("dim", f"    {safe(answered.view.words)}")


def explain_lines(found: Sequence[Explained], style: Style = plain) -> Iterator[str]:
    """One state, or before and after: the answer, why, all ACLs on the name, and the client's limits if asked for."""
    for one, when in zip(found, times(found), strict=True):
        view, explanation = one.view, one.explanation
        request = explanation.decision.request
        resource = resource_words(request.resource_type, request.resource_name)
        host = host_words(request.host, _named(view, one.host))
        subject = f"{as_name(request.principal)} {request.operation.name} {resource} from {host}"
        answer = style(_STYLE[explanation.allowed], _WORD[explanation.allowed])
        yield f"{when}{answer}  {safe(subject + _condition(view))}"
        yield from _reasons(explanation, view.authorizer)
        if explanation.allowed is False:
            yield from (f"    {line}" for line in allowing_rule(explanation.decision))
        if teams := _owners(one):
            whose = " and ".join(map(as_name, teams))
            ask_them = "" if explanation.allowed else f": ask {whose} for access"
            yield safe(f"    {resource} is owned by {whose}{ask_them}")
        yield from _considered(explanation, view, style)
        yield from (f"    {line}" for line in _beside(one))
        if one.limits is not None:
            yield from one.limits.lines("    ")
        yield style("dim", f"    {safe(view.words)}")


def _owners(one: Explained) -> tuple[str, ...]:
    request = one.explanation.decision.request
    return one.view.owners(ResourcePattern(request.resource_type, request.resource_name))


def _beside(one: Explained) -> list[str]:
    """What is known of the login and the quota, which ``limits`` say for one client."""
    lines = one.view.beside_lines(one.explanation.decision.request.principal)
    notes = list(one.view.beside.notes()) if one.view.beside else []
    return [*(line for line in lines if one.limits is None or not line.startswith("quota ")), *notes]


def _named(view: AccessView, asked: str | None) -> set[str]:
    """The hosts that somebody spelled out: in an ACL, or in the question."""
    return {binding.entry.host for binding in view.authorizer.bindings} | ({asked} if asked else set())


def _considered(explanation: Explanation, view: AccessView, style: Style) -> Iterator[str]:
    """The ACLs that could bear on the request; those of other principals are many and say nothing about this one."""
    others = sum(relevance is Relevance.OTHER_PRINCIPAL for _, relevance in explanation.considered)
    if explanation.considered:
        yield "    ACLs on this name:"
    for binding, standing in explanation.considered:
        if standing is not Relevance.OTHER_PRINCIPAL:
            line = f"      {standing:<15}  {safe(binding_name(binding))}"
            yield style("title" if standing is Relevance.DECIDES else "dim", line) + _place(binding, view.authorizer)
    if others:
        yield style("dim", f"      {counted(others, 'ACL')} of other principals")


def _reasons(explanation: Explanation, authorizer: Authorizer) -> Iterator[str]:
    yield from _reason(explanation.decision, authorizer)
    instead = explanation.instead
    if instead is not None and instead.allowed:
        request = instead.request
        where = _resource(request)
        yield safe(f"    but brokers accept {request.operation.name} on {where}, which it may:")
        yield from _reason(instead, authorizer)


def _resource(request: AccessRequest) -> str:
    kind, name = request.resource_type, request.resource_name
    return resource_words(kind, name) if name else f"{kind.noun} of some name"


def _reason(decision: Decision, authorizer: Authorizer) -> Iterator[str]:
    yield f"    {_RULES[decision.rule]}"
    for binding in decision.bindings:
        yield f"      {safe(binding_name(binding))}{_place(binding, authorizer)}"


def _place(binding: AclBinding, authorizer: Authorizer) -> str:
    note = authorizer.sources.notes.get(binding)
    if note is None:
        return "  (declared in no manifest)" if any(authorizer.sources.notes.values()) else ""
    return f"  {safe(note_words(note))}"


def _condition(view: AccessView) -> str:
    """Where an answer rests on a claim, no reader may take its first line for all of it."""
    return f", {view.condition}" if view.condition else ""


def _question(answered: Answered) -> str:
    host = "every host" if answered.host is None else answered.host
    who = "everybody" if answered.principal == WILDCARD_PRINCIPAL else as_name(answered.principal)
    return f"{who} may {answered.operation.name} {names_words(answered.pattern)} from {host}"


def can_i_document(answers: Sequence[Answered]) -> dict[str, Any]:
    """For programs; ``allowed`` is the last state's: null is undecided."""
    first = answers[0]
    return {
        "principal": first.principal,
        "operation": first.operation.name,
        "on": PATTERN.write(first.pattern),
        "host": first.host,
        "allowed": answers[-1].allowed,
        "answers": [
            {
                **one.view.document(),
                "allowed": one.allowed,
                "counterexample": None
                if one.answer.counterexample is None
                else request_document(one.answer.counterexample),
                "decision": None if one.explanation is None else decision_document(one.explanation.decision),
                "declared": [] if one.explanation is None else _declared(one.explanation.decision, one.view),
            }
            for one in answers
        ],
    }


def _declared(decision: Decision, view: AccessView) -> list[dict[str, Any]]:
    """Where, how long and why the deciding bindings are declared, as far as that is known."""
    notes = ((binding, view.authorizer.sources.notes.get(binding)) for binding in decision.bindings)
    return [note_document(binding, note) for binding, note in notes if note is not None]


def explain_document(found: Sequence[Explained]) -> dict[str, Any]:
    """For programs; ``limits`` is null unless a client was asked about."""
    return {"answers": [_explained_document(one) for one in found]}


def _explained_document(explained: Explained) -> dict[str, Any]:
    view, found = explained.view, explained.explanation
    return {
        **view.document(),
        "allowed": found.allowed,
        "decision": decision_document(found.decision),
        "declared": _declared(found.decision, view),
        "instead": None if found.instead is None else decision_document(found.instead),
        "considered": [
            {"binding": BINDING.write(binding), "standing": standing.value} for binding, standing in found.considered
        ],
        "owners": list(_owners(explained)),
        "limits": None if explained.limits is None else explained.limits.documents(),
        **view.beside_document(found.decision.request.principal),
    }
