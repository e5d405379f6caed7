"""Answers to ``can-i`` and ``explain``: yes or no first, then the rule, the ACLs and their lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reconciler.access import (
    AccessAnswer,
    AccessRequest,
    Authorizer,
    Decision,
    DecisionRule,
    Explanation,
    Relevance,
    can_i,
    explain,
)
from reconciler.codec.values import BINDING, PATTERN
from reconciler.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
)
from reconciler.report.access_view import AccessView
from reconciler.report.style import Style, plain, safe
from reconciler.report.words import (
    decision_document,
    names_words,
    note_document,
    note_words,
    request_document,
    resource_words,
)

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
    answer = can_i(view.authorizer, principal, operation, pattern, host or WILDCARD)
    request = answer.counterexample
    one_name = pattern.pattern_type is PatternType.LITERAL and not pattern.is_wildcard
    if request is None and one_name and principal != WILDCARD_PRINCIPAL:
        request = AccessRequest(principal, host or unnamed_host(view.authorizer), operation, *pattern[:2])
    explanation = None if request is None else explain(view.authorizer, request)
    return Answered(view, principal, operation, pattern, host, answer, explanation)


def explained(
    authorizer: Authorizer, principal: str, operation: AclOperation, pattern: ResourcePattern, host: str | None
) -> Explanation:
    """Why one request is decided as it is; the host of no ACL where none is given."""
    return explain(authorizer, AccessRequest(principal, host or unnamed_host(authorizer), operation, *pattern[:2]))


def unnamed_host(authorizer: Authorizer) -> str:
    """An address that no ACL names, of those set aside for documentation (RFC 5737)."""
    named = {binding.entry.host for binding in authorizer.bindings}
    addresses = (f"{net}.{last}" for net in ("192.0.2", "198.51.100", "203.0.113") for last in range(256))
    return next((address for address in addresses if address not in named), "192.0.2.0")


def can_i_lines(answers: Sequence[Answered], style: Style = plain) -> Iterator[str]:
    """One state, or before and after."""
    for answered, when in zip(answers, _times(answers), strict=True):
        yield when + style(_STYLE[answered.allowed], _WORD[answered.allowed]) + f"  {safe(_question(answered))}"
        explanation = answered.explanation
        if answered.answer.counterexample is not None and explanation is not None:
            request = explanation.decision.request
            resource = resource_words(request.resource_type, request.resource_name)
            yield safe(f"    not {request.principal} on {resource} from {request.host}")
        if explanation is not None:
            yield from _reasons(explanation, answered.view.authorizer)
        yield style("dim", f"    {safe(answered.view.words)}")


def explain_lines(found: Sequence[tuple[AccessView, Explanation]], style: Style = plain) -> Iterator[str]:
    """One state, or before and after: the answer, why, and all ACLs on the name."""
    for (view, explanation), when in zip(found, _times(found), strict=True):
        request = explanation.decision.request
        resource = resource_words(request.resource_type, request.resource_name)
        subject = f"{request.principal} {request.operation.name} {resource} from {request.host}"
        yield when + style(_STYLE[explanation.allowed], _WORD[explanation.allowed]) + f"  {safe(subject)}"
        yield from _reasons(explanation, view.authorizer)
        if explanation.considered:
            yield "    ACLs on this name:"
        for binding, standing in explanation.considered:
            line = f"      {standing:<15}  {safe(str(binding))}"
            yield style("title" if standing is Relevance.DECIDES else "dim", line) + _place(binding, view.authorizer)
        yield style("dim", f"    {safe(view.words)}")


def _reasons(explanation: Explanation, authorizer: Authorizer) -> Iterator[str]:
    yield from _reason(explanation.decision, authorizer)
    instead = explanation.instead
    if instead is not None and instead.allowed:
        request = instead.request
        where = resource_words(request.resource_type, request.resource_name or "of some name")
        yield safe(f"    but brokers accept {request.operation.name} on {where}, which it may:")
        yield from _reason(instead, authorizer)


def _reason(decision: Decision, authorizer: Authorizer) -> Iterator[str]:
    yield f"    {_RULES[decision.rule]}"
    for binding in decision.bindings:
        yield f"      {safe(str(binding))}{_place(binding, authorizer)}"


def _place(binding: AclBinding, authorizer: Authorizer) -> str:
    note = authorizer.sources.notes.get(binding)
    if note is None:
        return "  (declared in no manifest)" if any(authorizer.sources.notes.values()) else ""
    return f"  {safe(note_words(note))}"


def _question(answered: Answered) -> str:
    host = "every host" if answered.host is None else answered.host
    who = "everybody" if answered.principal == WILDCARD_PRINCIPAL else answered.principal
    return f"{who} may {answered.operation.name} {names_words(answered.pattern)} from {host}"


def _times(answers: Sequence[object]) -> tuple[str, ...]:
    return ("before: ", "after:  ") if len(answers) > 1 else ("",)


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


def explain_document(found: Sequence[tuple[AccessView, Explanation]]) -> dict[str, Any]:
    """For programs."""
    return {
        "answers": [
            {
                **view.document(),
                "allowed": one.allowed,
                "decision": decision_document(one.decision),
                "declared": _declared(one.decision, view),
                "instead": None if one.instead is None else decision_document(one.instead),
                "considered": [
                    {"binding": BINDING.write(binding), "standing": standing.value}
                    for binding, standing in one.considered
                ],
            }
            for view, one in found
        ]
    }
