"""``can-i`` and ``explain`` as data: one request, or a question about many names, with the reasons.

The reasons of a right are the bindings that give it, with their places in the manifests.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import chain
from typing import TypeAlias

from reconciler.access.assertion import Assertion, AssertionKind, AssertionOutcome, PrincipalSelection
from reconciler.access.assertions import Checker, may_break
from reconciler.access.authorizer import AccessRequest, Authorizer, Decision, covers_operation, host_matches
from reconciler.access.comparison import ON_EVERY_TOPIC, AccessComparison
from reconciler.access.hosts import ANY_HOST, EXAMPLE_HOST, ClassSet, HostClass, Hosts, host_classes
from reconciler.access.names import ResourceSet, matches, names_of, shortest_name
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.addresses import RANGES_SINCE
from reconciler.model.desired import Declaration, Origin
from reconciler.model.flavor import supported


class Relevance(StrEnum):
    """How a binding on the resource relates to a request."""

    DECIDES = "decides"
    APPLIES = "applies"
    OTHER_PRINCIPAL = "other principal"
    OTHER_HOST = "other host"
    OTHER_OPERATION = "other operation"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One request with everything relevant to it.

    ``decision`` is the authorizer's answer. ``considered`` are the bindings whose pattern matches the resource, each
    with its relevance. ``instead`` is the decision on what the API accepts in place of the operation: CREATE or DELETE
    on CLUSTER for topics, WRITE on some topic for an idempotent producer. ``allowed`` takes both into account;
    ``None`` if a broker fails or too little is known. Nobody may do what the brokers' release does not have.
    """

    decision: Decision
    considered: tuple[tuple[AclBinding, Relevance], ...]
    instead: Decision | None
    allowed: bool | None


def explain(authorizer: Authorizer, request: AccessRequest) -> Explanation:
    """Why a request is allowed or not."""
    decision = authorizer.authorize(*request)
    deciding = frozenset(decision.bindings)
    considered = [
        (binding, Relevance.DECIDES if binding in deciding else _standing(binding, request, authorizer))
        for binding in sorted(authorizer.bindings)
        if binding.pattern.resource_type is request.resource_type and matches(binding.pattern, request.resource_name)
    ]
    other = instead(authorizer, request)
    return Explanation(decision, tuple(considered), other, _allowed(authorizer, decision, other))


def _allowed(authorizer: Authorizer, decision: Decision, other: Decision | None) -> bool | None:
    """Whether the API permits the request; ``None`` if a broker fails or too little is known."""
    principal, _, operation, kind, _ = decision.request
    if principal not in authorizer.super_users and operation not in supported(kind, authorizer.kafka_version):
        return False
    answers = [decision.allowed] + ([] if other is None else [other.allowed])
    if True in answers:
        return True
    return None if None in answers else False


def _standing(binding: AclBinding, request: AccessRequest, authorizer: Authorizer) -> Relevance:
    entry = binding.entry
    if entry.principal not in (request.principal, WILDCARD_PRINCIPAL):
        return Relevance.OTHER_PRINCIPAL
    if not host_matches(entry.host, request.host, authorizer.kafka_version):
        return Relevance.OTHER_HOST
    if not covers_operation(entry, request.operation):
        return Relevance.OTHER_OPERATION
    return Relevance.APPLIES


def instead(authorizer: Authorizer, request: AccessRequest) -> Decision | None:
    """The decision that the API accepts in place of this request's, if there is one."""
    principal, host, operation, kind, _ = request
    if kind is ResourceType.TOPIC and 1 << operation & ON_EVERY_TOPIC:
        return authorizer.authorize(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME)
    if kind is ResourceType.CLUSTER and operation is AclOperation.IDEMPOTENT_WRITE:
        return authorizer.authorize_by_resource_type(principal, host, AclOperation.WRITE, ResourceType.TOPIC)
    return None


class AnswerWord(StrEnum):
    """The answer to a question about one principal, in one word."""

    YES = "yes"
    NO = "no"
    #: Some of what was asked is permitted, and some is not.
    DEPENDS = "depends"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """Some of the requests that were asked about, all answered alike: names, hosts, and one request of them."""

    allowed: bool | None
    hosts: Hosts
    resources: ResourceSet
    example: AccessRequest


@dataclass(frozen=True, slots=True)
class AccessAnswer:
    """The answer for all names and hosts that were asked about; ``counterexample`` is a request not permitted.

    ``parts`` together are all that was asked; there are none of a question about everybody.
    """

    word: AnswerWord
    parts: tuple[AnswerPart, ...] = ()
    counterexample: AccessRequest | None = None

    @property
    def allowed(self) -> bool | None:
        """Whether everything asked is permitted; ``None`` if undecided."""
        return None if self.word is AnswerWord.UNDECIDED else self.word is AnswerWord.YES


def can_i(
    authorizer: Authorizer,
    principal: str,
    operation: AclOperation,
    pattern: ResourcePattern,
    host: str = WILDCARD,
) -> AccessAnswer:
    """Whether ``principal`` may do ``operation`` on every name of ``pattern``, from ``host`` or (``*``) from any.

    A LITERAL pattern asks about one name, LITERAL ``*`` about every name there could be; ``User:*`` about everybody.
    ``NO`` means on none of the names and from no host, as ``who_can`` has no row of the principal.
    """
    if principal == WILDCARD_PRINCIPAL:
        return _everybody(authorizer, operation, pattern, host)
    one_name = pattern.pattern_type is PatternType.LITERAL and not pattern.is_wildcard
    parts = tuple((_parts_of_name if one_name else _parts_of_names)(authorizer, principal, operation, pattern, host))
    word = _word({part.allowed for part in parts})
    against = [part for part in parts if part.allowed is False] or [part for part in parts if part.allowed is None]
    ranked = sorted((part.example for part in against), key=lambda item: (len(item.resource_name), item))
    return AccessAnswer(word, parts, next(iter(ranked), None))


def _word(answers: set[bool | None]) -> AnswerWord:
    if len(answers - {None}) > 1:
        return AnswerWord.DEPENDS
    if None in answers:
        return AnswerWord.UNDECIDED
    return AnswerWord.YES if True in answers else AnswerWord.NO


def _everybody(authorizer: Authorizer, operation: AclOperation, pattern: ResourcePattern, host: str) -> AccessAnswer:
    claim = Assertion("can-i", AssertionKind.MUST, frozenset({operation}), (pattern,), hosts=(host,))
    verdict = Checker(authorizer).decide(claim, PrincipalSelection(None, authorizer.super_users))
    words = {AssertionOutcome.PASS: AnswerWord.YES, AssertionOutcome.FAIL: AnswerWord.NO}
    return AccessAnswer(words.get(verdict.outcome, AnswerWord.UNDECIDED), (), verdict.witness)


def _parts_of_name(
    authorizer: Authorizer, principal: str, operation: AclOperation, pattern: ResourcePattern, host: str
) -> Iterator[AnswerPart]:
    """One name: the hosts that are answered alike, each class of hosts asked as a broker would be."""
    kind, name = pattern.resource_type, pattern.name
    version = RANGES_SINCE if authorizer.interpretations.doubtful is not None else authorizer.kafka_version
    classes = [HostClass(host, host)]
    if host == WILDCARD:
        classes = host_classes(_host_texts(authorizer, principal, pattern), version)
    by_answer: dict[bool | None, ClassSet] = {}
    for number, item in enumerate(classes):
        request = AccessRequest(principal, item.sample, operation, kind, name)
        by_answer.setdefault(_permitted(authorizer, request), ClassSet()).members.append(number)
    resources = ResourceSet(kind, names_of(pattern))
    for allowed, where in by_answer.items():
        example = AccessRequest(principal, where.example(classes), operation, kind, name)
        yield AnswerPart(allowed, where.hosts(classes, version) or ANY_HOST, resources, example)


def _host_texts(authorizer: Authorizer, principal: str, pattern: ResourcePattern) -> set[str]:
    """The hosts that decide about a principal on a name, or on which a broker may fail."""
    texts = {binding.entry.host for binding in authorizer.broker_defects.bindings}
    for world in dict.fromkeys(authorizer.interpretations.both):
        comparison = AccessComparison(None, world, principal)
        hosts = comparison.hosts(principal, pattern.resource_type, names_of(pattern))
        texts.update(host.label for host in hosts)
    return texts


def _permitted(authorizer: Authorizer, request: AccessRequest) -> bool | None:
    return _allowed(authorizer, authorizer.authorize(*request), instead(authorizer, request))


def _parts_of_names(
    authorizer: Authorizer, principal: str, operation: AclOperation, pattern: ResourcePattern, host: str
) -> Iterator[AnswerPart]:
    """Many names: resource sets of them with hosts. What only one reading of the unknown permits is undecided."""
    kind = pattern.resource_type
    hosts = None if host == WILDCARD else [HostClass(host, host)]
    if principal in authorizer.super_users:
        name = shortest_name(kind, names_of(pattern)) or pattern.name
        example = AccessRequest(principal, EXAMPLE_HOST if hosts is None else host, operation, kind, name)
        yield AnswerPart(True, ANY_HOST, ResourceSet(kind, names_of(pattern)), example)
        return
    breaks = any(may_break(binding, (pattern,)) for binding in authorizer.broker_defects.bindings)
    worlds = []
    for world in dict.fromkeys(authorizer.interpretations.both):
        comparison = AccessComparison(None, world, principal, 1 << operation)
        pieces = comparison.pieces(principal, kind, names_of(pattern), unchanged=True, hosts=hosts)
        held = ((piece, bool(piece.effect.gained >> operation & 1)) for piece in pieces)
        worlds.append({(piece.hosts, piece.resources, may): (piece.host, piece.name) for piece, may in held})
    reported = set()
    for (where, resources, may), (sample, name) in chain.from_iterable(world.items() for world in worlds):
        certain = all((where, resources, may) in world for world in worlds) and not (may and breaks)
        allowed = may if certain else None
        if (allowed, where, resources) not in reported:
            reported.add((allowed, where, resources))
            yield AnswerPart(allowed, where, resources, AccessRequest(principal, sample, operation, kind, name))


# Which bindings give a right, and where they are declared.

#: By request the bindings that permit it, each with its place in the manifests, where it has one.
GivenBy: TypeAlias = Mapping[AccessRequest, tuple[tuple[AclBinding, Origin | None], ...]]


def deciding(authorizer: Authorizer, request: AccessRequest) -> tuple[AclBinding, ...]:
    """The bindings that permit a request, of that right or of one that the API accepts in place of it."""
    decision, other = authorizer.authorize(*request), instead(authorizer, request)
    if decision.allowed is not True and other is not None and other.allowed is not False:
        return other.bindings
    return decision.bindings if decision.allowed is not False else ()


class Grounds:
    """The bindings that permit requests, each asked about once; none where something else does, or it is denied."""

    __slots__ = ("_authorizer", "_evidence")

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._evidence: dict[AccessRequest, tuple[tuple[AclBinding, Origin | None], ...]] = {}

    def of(self, requests: Iterable[AccessRequest]) -> GivenBy:
        """By request."""
        return {request: self._of(request) for request in requests}

    def _of(self, request: AccessRequest) -> tuple[tuple[AclBinding, Origin | None], ...]:
        results = self._evidence.get(request)
        if results is None:
            notes = self._authorizer.sources.notes
            given = ((binding, notes.get(binding)) for binding in deciding(self._authorizer, request))
            results = self._evidence[request] = tuple(
                (binding, note.origin if isinstance(note, Declaration) else note) for binding, note in given
            )
        return results
