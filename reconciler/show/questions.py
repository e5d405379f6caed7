"""Answers to ``can-i``, ``explain`` and ``reach``: yes or no first, then the rule, the ACLs and their lines.

Ways to a right are told with whose right it is, as whom somebody acts by it, and where each ACL is declared.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from reconciler.access.authorizer import AccessRequest, Decision, DecisionRule
from reconciler.access.hosts import ANY_HOST
from reconciler.access.names import ResourceSet
from reconciler.access.questions import AccessAnswer, AnswerWord, Explanation, GivenBy, Relevance, can_i, explain
from reconciler.access.reach import Hop, HopKind
from reconciler.access.separation import Combination, Way
from reconciler.codec.values import BINDING, PATTERN
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import Style, as_name, binding_name, counted, plain, safe
from reconciler.model.locks import is_lock_denial
from reconciler.results.access import (
    AccessView,
    ActedAs,
    ReachAnswer,
    times,
    token_documents,
    token_lines,
    with_condition,
)
from reconciler.results.documents import STEP, CombinationEntry, RemediationEntry, StepEntry, WayEntry
from reconciler.results.words import (
    access_document,
    decision_document,
    host_words,
    names_words,
    note_document,
    note_words,
    request_document,
    resource_words,
)
from reconciler.show.access import LIKE_EVERYBODY, allowing_rule, row_words
from reconciler.show.quota import ClientLimits

_RULES: Final = {
    DecisionRule.SUPER_USER: "it is a super user, whom no ACL limits",
    DecisionRule.DENY: "an ACL denies it",
    DecisionRule.ALLOW: "an ACL allows it",
    DecisionRule.IMPLIED_ALLOW: "an ACL allows something that implies it",
    DecisionRule.DEFAULT_ALLOW: "no ACL is about this name, and allow.everyone.if.no.acl.found is on",
    DecisionRule.DEFAULT_DENY: "no ACL allows it",
    DecisionRule.BROKER_ERROR: "brokers fail on this request because of a broken ACL",
    DecisionRule.UNDECIDED: "it depends on allow.everyone.if.no.acl.found, on entries that cannot be read, on who is "
    "in a role or group, or on whether a host is a range: Kafka's version is not known",
}
_STYLE: Final = {AnswerWord.YES: "add", AnswerWord.NO: "remove"}
_PART_WORDS: Final = {True: "yes", False: "no", None: "undecided"}
_UNSUPPORTED: Final = "brokers of this release have no such operation"
#: Of very many resource sets of names, so many are shown.
_MOST_PARTS: Final = 10


@dataclass(frozen=True, slots=True)
class Answered:
    """A question to one state with its answer. ``host`` is ``None`` where it is about every host.

    ``explanations`` are of one request for each part of the answer about one name; of an answer about many names, of
    what speaks against it. ``limits`` are those of the client, where it was asked about one.
    """

    view: AccessView
    principal: str
    operation: AclOperation
    pattern: ResourcePattern
    host: str | None
    answer: AccessAnswer
    explanations: tuple[Explanation, ...]
    limits: ClientLimits | None = None

    @property
    def allowed(self) -> bool | None:
        """Whether all that was asked is permitted."""
        return self.answer.allowed

    @property
    def main(self) -> Explanation | None:
        """Of the explanations, that of what speaks against a yes."""
        against = (
            explanation
            for explanation in self.explanations
            if explanation.decision.request == self.answer.counterexample
        )
        return next(against, next(iter(self.explanations), None))


def ask(
    view: AccessView, principal: str, operation: AclOperation, pattern: ResourcePattern, host: str | None
) -> Answered:
    """Whether a principal may do it on every name of the pattern; from every host where none is given."""
    about = None if principal == WILDCARD_PRINCIPAL else principal
    view, answered = with_condition(
        view,
        lambda state: _ask(state, principal, operation, pattern, host),
        compared=lambda asked: (
            [(part.allowed, part.hosts, part.resources) for part in asked.answer.parts] or asked.allowed
        ),
        about=about,
    )
    return replace(answered, view=view)


def _ask(
    view: AccessView, principal: str, operation: AclOperation, pattern: ResourcePattern, host: str | None
) -> Answered:
    answer = can_i(view.authorizer, principal, operation, pattern, host or WILDCARD)
    asked = [part.example for part in answer.parts] if _is_one_name(pattern) else []
    if not asked and answer.counterexample is not None:
        asked = [answer.counterexample]
    explanations = tuple(explain(view.authorizer, request) for request in asked)
    return Answered(view, principal, operation, pattern, host, answer, explanations)


def _is_one_name(pattern: ResourcePattern) -> bool:
    return pattern.pattern_type is PatternType.LITERAL and not pattern.is_wildcard


def can_i_lines(answers: Sequence[Answered], style: Style = plain) -> Iterator[str]:
    """One state, or before and after: the answer, on what it depends, and why."""
    for answered, when in zip(answers, times(answers), strict=True):
        yield when + _answer(answered, style)
        yield from _parts(answered)
        yield from _why(answered)
        yield style("dim", f"    {safe(answered.view.words)}")


def explain_lines(answers: Sequence[Answered], style: Style = plain) -> Iterator[str]:
    """The same, with all ACLs on the name, whom to ask, what to write, and the client's limits if asked for."""
    for answered, when in zip(answers, times(answers), strict=True):
        yield when + _answer(answered, style)
        yield from _why(answered)
        if answered.main is not None and answered.allowed is False:
            yield from (f"    {line}" for line in allowing_rule(answered.main.decision))
        if teams := _owners(answered):
            whose = " and ".join(map(as_name, teams))
            ask_them = "" if answered.allowed else f": ask {whose} for access"
            yield safe(f"    {names_words(answered.pattern)} is owned by {whose}{ask_them}")
        yield from _considered(answered, style)
        yield from (f"    {line}" for line in _login_lines(answered))
        if answered.limits is not None:
            yield from answered.limits.lines("    ")
        yield style("dim", f"    {safe(answered.view.words)}")


def _answer(answered: Answered, style: Style) -> str:
    """The first line: the answer, then all of it in a sentence, whose verb is never positive after a no."""
    word = answered.answer.word
    answer = str(word)
    if word is AnswerWord.DEPENDS:
        answer = _depends(answered)
    # Where an answer rests on a claim, no reader may take its first line for all of it.
    condition = f", {answered.view.condition}" if answered.view.condition else ""
    return style(_STYLE.get(word, "warn"), safe(answer)) + f"  {safe(_sentence(answered) + condition)}"


def _depends(answered: Answered) -> str:
    """On which part of the request the answer depends; of one name, with the hosts of the shorter answer."""
    hosts = len({part.hosts for part in answered.answer.parts}) > 1
    if not _is_one_name(answered.pattern):
        return "depends on the name and the client's address" if hosts else "depends on the name"
    by_answer = {part.allowed: part.hosts for part in answered.answer.parts}
    if by_answer[True].any_host:
        others = by_answer[False]
        undecided = f", undecided from {by_answer[None]}" if None in by_answer else ""
        return f"depends on the client's address: yes, except from {others}{undecided}"
    return f"depends on the client's address: yes, only from {by_answer[True]}"


def _sentence(answered: Answered) -> str:
    """``User:a can READ topic t from every host``, ``User:a cannot READ topic t from any host``."""
    everybody = answered.principal == WILDCARD_PRINCIPAL
    who = "everybody" if everybody else as_name(answered.principal)
    match answered.answer.word:
        case AnswerWord.YES:
            return f"{who} can {_request(answered, 'every')}"
        case AnswerWord.NO:
            return (
                f"not everybody can {_request(answered, 'every')}"
                if everybody
                else f"{who} cannot {_request(answered, 'any')}"
            )
        case AnswerWord.DEPENDS:
            return f"{who} can {_request(answered, 'some')}"
        case _:
            return f"it is not known whether {who} can {_request(answered, 'every')}"


def _request(answered: Answered, quantifier: str) -> str:
    hosts = {part.hosts for part in answered.answer.parts}
    # Of an answer that depends on the name alone, no reader should look for a host.
    host = f"{'every' if len(hosts) == 1 else quantifier} host" if quantifier == "some" else f"{quantifier} host"
    names = names_words(answered.pattern, quantifier)
    return f"{answered.operation.name} {names} from {host if answered.host is None else answered.host}"


def _parts(answered: Answered) -> Iterator[str]:
    """Of an answer about many names: which, what is permitted first; and one request that is not."""
    parts = sorted(answered.answer.parts, key=lambda part: (part.allowed is not True, part.allowed is not None))
    if _is_one_name(answered.pattern):
        parts = []
    for part in parts[:_MOST_PARTS] if len(parts) > 1 else ():
        hosts = "" if part.hosts == ANY_HOST or answered.host is not None else f" from {part.hosts}"
        yield safe(f"    {_PART_WORDS[part.allowed]:<9}  {part.resources.describe()}{hosts}")
    if len(parts) > _MOST_PARTS:
        yield f"    and {len(parts) - _MOST_PARTS:,} more; --output json has each"
    against = answered.answer.counterexample
    if against is not None and (parts or answered.principal == WILDCARD_PRINCIPAL):
        resource = resource_words(against.resource_type, against.resource_name)
        host = host_words(against.host, _named(answered.view, answered.host))
        cannot = "may not be able to" if answered.answer.word is AnswerWord.UNDECIDED else "cannot"
        yield safe(
            f"    for example, {as_name(against.principal)} {cannot} {against.operation.name} {resource} from {host}"
        )


def _why(answered: Answered) -> Iterator[str]:
    """The rule and the ACLs; where the answer depends on the client's address, for each of them."""
    several = len(answered.explanations) > 1
    for number, explanation in enumerate(answered.explanations):
        if several:
            part = answered.answer.parts[number]
            yield safe(f"    {_PART_WORDS[part.allowed]} from {part.hosts}:")
        yield from (f"{'      ' if several else '    '}{line}" for line in _reasons(explanation, answered.view))


def _owners(answered: Answered) -> tuple[str, ...]:
    return answered.view.owners(answered.pattern)


def _login_lines(answered: Answered) -> list[str]:
    """What is known of the login and the quota, which ``limits`` say for one client."""
    lines = answered.view.login_lines(answered.principal)
    notes = list(answered.view.beside.notes()) if answered.view.beside else []
    return [*(line for line in lines if answered.limits is None or not line.startswith("quota ")), *notes]


def _named(view: AccessView, asked: str | None) -> set[str]:
    """The hosts that somebody spelled out: in an ACL, or in the question."""
    return {binding.entry.host for binding in view.authorizer.bindings} | ({asked} if asked else set())


def _considered(answered: Answered, style: Style) -> Iterator[str]:
    """The ACLs that could bear on the request; those of other principals are many and say nothing about this one."""
    bindings = considered(answered)
    others = sum(relevance is Relevance.OTHER_PRINCIPAL for _, relevance in bindings)
    if bindings:
        yield "    ACLs on this name:"
    for binding, relevance in bindings:
        if relevance is not Relevance.OTHER_PRINCIPAL:
            line = f"      {relevance:<15}  {safe(binding_name(binding))}"
            yield style("title" if relevance is Relevance.DECIDES else "dim", line) + _place(binding, answered.view)
    if others:
        yield style("dim", f"      {counted(others, 'ACL')} of other principals")


def considered(answered: Answered) -> list[tuple[AclBinding, Relevance]]:
    """The ACLs on the name, each as it relates to the request, of whichever host, on which it bears most."""
    order = list(Relevance)
    relevances: dict[AclBinding, Relevance] = {}
    for binding, relevance in chain.from_iterable(explanation.considered for explanation in answered.explanations):
        relevances[binding] = min(relevances.get(binding, relevance), relevance, key=order.index)
    return list(relevances.items())


def _reasons(explanation: Explanation, view: AccessView) -> Iterator[str]:
    request = explanation.decision.request
    if explanation.allowed is False and explanation.decision.allowed is not False:
        yield _UNSUPPORTED
        return
    yield from _reason(explanation.decision, view)
    instead = explanation.instead
    if instead is not None and instead.allowed:
        where = _resource(instead.request)
        yield safe(
            f"but brokers accept {instead.request.operation.name} on {where}, which {as_name(request.principal)} has:"
        )
        yield from _reason(instead, view)


def _resource(request: AccessRequest) -> str:
    kind, name = request.resource_type, request.resource_name
    return resource_words(kind, name) if name else f"{kind.noun} of some name"


def _reason(decision: Decision, view: AccessView) -> Iterator[str]:
    yield _RULES[decision.rule]
    for binding in decision.bindings:
        yield f"  {safe(binding_name(binding))}{_place(binding, view)}"


def _place(binding: AclBinding, view: AccessView) -> str:
    if (given := view.break_glass.get(binding)) is not None:
        return f"  {safe(given.words)}"
    authorizer = view.authorizer
    note = authorizer.sources.notes.get(binding)
    if is_lock_denial(binding) and (words := view.lock_words(binding.entry.principal)):
        return f"  {safe(words)}"
    if note is None:
        return "  (declared in no manifest)" if any(authorizer.sources.notes.values()) else ""
    return f"  {safe(note_words(note))}"


def can_i_document(answers: Sequence[Answered]) -> dict[str, Any]:
    """For programs; ``allowed`` is the last state's: null is undecided."""
    return {
        **_question(answers[0]),
        "allowed": answers[-1].allowed,
        "answers": [_document(answer) for answer in answers],
    }


def explain_document(answers: Sequence[Answered]) -> dict[str, Any]:
    """The same, with the ACLs on the name and the owners; ``limits`` is null unless a client was asked about."""
    return {**can_i_document(answers), "answers": [_explained_document(answered) for answered in answers]}


def _question(answered: Answered) -> dict[str, Any]:
    return {
        "principal": answered.principal,
        "operation": answered.operation.name,
        "on": PATTERN.write(answered.pattern),
        "host": answered.host,
    }


def _document(answered: Answered) -> dict[str, Any]:
    main, against = answered.main, answered.answer.counterexample
    return {
        **answered.view.document(),
        "answer": str(answered.answer.word),
        "allowed": answered.allowed,
        "parts": [
            {"allowed": part.allowed, "hosts": str(part.hosts), "names": part.resources.describe()}
            for part in answered.answer.parts
        ],
        "counterexample": None if against is None else request_document(against),
        "decision": None if main is None else decision_document(main.decision),
        "declared": [] if main is None else _declared(main.decision, answered.view),
    }


def _declared(decision: Decision, view: AccessView) -> list[dict[str, Any]]:
    """Where, how long and why the deciding bindings are declared, as far as that is known."""
    notes = ((binding, view.authorizer.sources.notes.get(binding)) for binding in decision.bindings)
    return [note_document(binding, note) for binding, note in notes if note is not None]


def _explained_document(answered: Answered) -> dict[str, Any]:
    instead = None if answered.main is None else answered.main.instead
    return {
        **_document(answered),
        "instead": None if instead is None else decision_document(instead),
        "considered": [
            {"binding": BINDING.write(binding), "standing": relevance.value}
            for binding, relevance in considered(answered)
        ],
        "owners": list(_owners(answered)),
        "limits": None if answered.limits is None else answered.limits.documents(),
        **answered.view.login_document(answered.principal),
    }


#: What somebody may do by a right on the cluster.
_ANYTHING = {
    HopKind.ALTER: "and so grant itself",
    HopKind.ALTER_CONFIGS: "and so add a listener on which it logs in as anybody:",
    HopKind.CLUSTER_ACTION: "and so ask a controller as anybody:",
}
#: Of several principals that somebody could act as, so many are named.
_NAMED = 3


def combination_entry(combination: Combination) -> CombinationEntry:
    """A principal that could hold all duties, for all formats."""
    ways = tuple(way_entry(way, combination.evidence, combination.principal) for way in combination.ways)
    fix = None if combination.fix is None else RemediationEntry((), combination.fix)
    return CombinationEntry(None if combination.everybody else combination.principal, combination.certain, ways, fix)


def way_entry(way: Way, given: GivenBy, principal: str) -> WayEntry:
    """A way of a principal, in words and step by step."""
    words = [hop_words(hop, given) for hop in way.hops]
    last, right = way.hops[-1] if way.hops else None, way.right.request
    phrase = f"{right.operation.name} {resource_words(right.resource_type, right.resource_name)}"
    if last is not None and last.acts_as is None:
        words[-1] = f"{words[-1]}, {_ANYTHING.get(last.kind, 'whosever it is:')} {phrase}"
    else:
        acting = "" if right.principal == principal else f"as {as_name(right.principal)} "
        words.append(f"{acting}{phrase}{_places(right, given)}")
    if way.right.moves:
        moves = ", then ".join(move_words(move, given) for move in way.right.moves)
        words[-1] += f", and records could be moved: {moves}"
    hops = (*way.hops, *way.right.moves)
    steps = [*(step for hop in hops for step in _hop_steps(hop, given))]
    if last is None or last.acts_as is not None:
        steps.append(_step("right", right, way.right.resources, (), given))
    return WayEntry(" → ".join(words), tuple(steps))


def hop_words(hop: Hop, given: GivenBy) -> str:
    """``CREATE_TOKENS on user User:a (acls.yaml:3:5)``."""
    if hop.kind is HopKind.HOLDING:
        return f"a delegation token of {_some(hop.acts_as or ())}, which it asked for or renews"
    if hop.request is None:
        return f"perhaps a member of {_some(hop.acts_as or ())}"
    operation, kind = hop.request.operation, hop.request.resource_type
    on = " on" if kind is not ResourceType.TOPIC else ""
    words = f"{operation.name}{on} {resource_words(kind, hop.request.resource_name)}{_places(hop.request, given)}"
    if hop.control is not None:
        words += f", which controls {as_name(hop.control.acts)} ({hop.control.origin})"
    return words


def move_words(move: Hop, given: GivenBy) -> str:
    """``by User:a, READ topic x (acls.yaml:3:5) and WRITE topic y (acls.yaml:4:5)``."""
    if move.kind is HopKind.DEAD_LETTERS and move.request is not None:
        group = as_name(move.request.resource_name)
        return f"from share group {group} of {as_name(move.principal)} to its dead letter queue"
    steps = "".join(f"{hop_words(hop, given)} → " for hop in dict.fromkeys(move.via))
    if move.request is None or move.writes is None:
        return f"by {as_name(move.principal)}, {steps}anything"
    rights = " and ".join(
        f"{'' if item.principal == move.principal else f'as {as_name(item.principal)} '}"
        f"{item.operation.name} {resource_words(item.resource_type, item.resource_name)}{_places(item, given)}"
        for item in (move.request, move.writes)
    )
    rights = f"{steps}{rights}"
    return f"by {as_name(move.principal)}, {rights}"


def _some(principals: Iterable[str]) -> str:
    names = sorted(principals)
    more = f" or {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return " or ".join(map(as_name, names[:_NAMED])) + more


def _places(request: AccessRequest, given: GivenBy) -> str:
    """Where what gives a right is declared; the ACL itself, where no manifest declares it."""
    results = given.get(request, ())
    phrase = dict.fromkeys(str(origin) if origin is not None else binding_name(binding) for binding, origin in results)
    return f" ({', '.join(phrase)})" if phrase else ""


def _hop_steps(hop: Hop, given: GivenBy) -> Iterator[StepEntry]:
    acts_as = None if hop.acts_as is None else tuple(sorted(hop.acts_as))
    if hop.request is None:
        yield StepEntry(hop.kind.value, hop.principal, None, "USER", None, _some(hop.acts_as or ()), acts_as)
        return
    yield _step(hop.kind.value, hop.request, hop.resources, acts_as, given)
    if hop.writes is not None:
        yield _step(hop.kind.value, hop.writes, hop.resources, acts_as, given)


def _step(
    by: str, request: AccessRequest, resources: ResourceSet, acts_as: tuple[str, ...] | None, given: GivenBy
) -> StepEntry:
    results = given.get(request, ())
    kind, name = request.resource_type, request.resource_name
    names = (
        resources.describe()
        if resources.resource_type is kind and resources.contains(name)
        else resource_words(kind, name)
    )
    origins = tuple(dict.fromkeys(str(origin) for _, origin in results if origin is not None))
    bindings = tuple(binding for binding, _ in results)
    return StepEntry(by, request.principal, request.operation.name, kind.name, name, names, acts_as, bindings, origins)


# What a principal reaches.

#: So many principals, and as many topics with their moves, are shown; JSON has each.
_SHOWN: Final = 20


def reach_lines(results: Sequence[tuple[AccessView, ReachAnswer]], style: Style = plain) -> Iterator[str]:
    """As whom a principal could act, with the way and what that is worth; then where records could be moved."""
    for (view, answer), when in zip(results, times(results), strict=True):
        yield style("title", safe(f"{when}{_summary(answer)}"))
        shown = answer.identities[:_SHOWN]
        for item in shown:
            yield from (safe(line) for line in _identity_lines(item, answer))
        if more := len(answer.identities) - len(shown):
            yield f"  and {more:,} more; --output json has each"
        for title, moved in (
            ("Records that others could move to what it reads", answer.coming),
            ("Records that it writes could be moved by others", answer.going),
        ):
            if moved:
                yield style("title", title)
                yield from (
                    safe(f"    {resources.describe()}: {_moves(moves, answer.evidence)}")
                    for resources, moves in moved[:_SHOWN]
                )
                if len(moved) > _SHOWN:
                    yield f"    and {len(moved) - _SHOWN:,} more; --output json has each"
        if answer.gap:
            yield style("warn", f"The {answer.gap} are not known: dead letter queues of share groups are not seen.")
        if answer.tokens is not None and answer.tokens.gap:
            yield style("warn", safe(f"Not every delegation token is known: {answer.tokens.gap}"))
        yield style("warn" if view.condition else "dim", safe(view.words))


def _summary(answer: ReachAnswer) -> str:
    who, others = as_name(answer.principal), len(answer.identities) - 1
    if answer.anything:
        return f"{who} could do anything"
    return f"{who} could act as {counted(others, 'other')}" if others else f"{who} could act as nobody else"


def _identity_lines(item: ActedAs, answer: ReachAnswer) -> Iterator[str]:
    perhaps = "" if item.certain else " (perhaps)"
    name = "anybody" if item.principal is None else as_name(item.principal)
    yield f"  {name}{perhaps}"
    if item.hops:
        yield f"    by {' → '.join(hop_words(hop, answer.evidence) for hop in item.hops)}"
    if answer.tokens is not None and item.principal is not None:
        yield from (f"    {line}" for line in token_lines(answer.tokens, item.principal, held=False))
    if not item.access and item.principal is not None and not item.like_everybody:
        yield "    can do nothing"
    yield from (f"    {row_words(row)}" for row in item.access)
    if item.like_everybody:
        yield f"    {LIKE_EVERYBODY}"


def _moves(moves: Sequence[Hop], given: GivenBy) -> str:
    return ", then ".join(move_words(move, given) for move in moves)


def reach_document(results: Sequence[tuple[AccessView, ReachAnswer]]) -> dict[str, Any]:
    """For programs; a ``principal`` null is anybody."""
    return {
        "principal": results[0][1].principal if results else None,
        "states": [
            {
                **view.document(),
                "anything": answer.anything,
                "identities": [
                    {
                        "principal": item.principal,
                        "certain": item.certain,
                        "words": " → ".join(hop_words(hop, answer.evidence) for hop in item.hops),
                        "steps": [STEP.write(step) for hop in item.hops for step in _hop_steps(hop, answer.evidence)],
                        "access": [access_document(row) for row in item.access],
                        "likeEverybodyElse": item.like_everybody,
                        "tokens": None
                        if answer.tokens is None or item.principal is None
                        else token_documents(answer.tokens, item.principal),
                    }
                    for item in answer.identities
                ],
                "coming": _moved_documents(answer.coming, answer.evidence),
                "going": _moved_documents(answer.going, answer.evidence),
            }
            for view, answer in results
        ],
    }


def _moved_documents(moved: Iterable[tuple[ResourceSet, Sequence[Hop]]], given: GivenBy) -> list[dict[str, Any]]:
    return [{"topics": resources.describe(), "words": _moves(moves, given)} for resources, moves in moved]
