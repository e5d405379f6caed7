"""Certificates, judged by other means than ``check_plan.py``: by trying every state, and by an SMT solver."""

import copy
import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, combinations, product
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import z3

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.listing import Create, Delete
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.bridges import bridges
from reconciler.plan.certificate import CERTIFICATE, certificate
from reconciler.plan.difference import DeclaredChange
from reconciler.plan.order import ordered
from reconciler.plan.proposal import Options, Plan, Terms
from tests.property.naive import Ask, applies, covers
from tests.property.transitions import DAY, HOSTS, OPERATIONS, PATTERNS, PRINCIPALS, TOPICS

CHECKER: Final = Path(__file__).parents[2] / "check_plan.py"
Document = dict[str, Any]
DIGEST: Final = f"file-{'0' * 64}"
_FIELDS: Final = ("resourceType", "patternType", "name", "principal", "host", "permissionType", "operation")
#: Every request that the states of random plans can tell apart; CREATE stands for what only ALL permits.
ASKS: Final = [
    Ask(principal, host, operation, resource_type, name)
    for principal, host, operation, (resource_type, names) in product(
        ("User:a", "User:b", "User:stranger"),
        ("10.0.0.1", "10.0.0.2"),
        (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
        ((ResourceType.TOPIC, ("x", "xa", "xab", "xz", "xaz", "y", "yz", "fresh")), (ResourceType.GROUP, ("x",))),
    )
    for name in names
]
_RESOURCES: Final = {(ask.resource_type, ask.name) for ask in ASKS}
_POOL: Final = [
    AclBinding(pattern, AccessControlEntry(*entry))
    for pattern in PATTERNS
    for entry in product(PRINCIPALS, HOSTS, OPERATIONS, (AclPermissionType.DENY, AclPermissionType.ALLOW))
]
_CROWDED: Final = [binding for binding in _POOL if binding.pattern in (PATTERNS[1], PATTERNS[5])]


@cache
def checker() -> Any:
    """The checker as a module: a process for each of thousands of certificates would take hours."""
    spec = importlib.util.spec_from_file_location("check_plan", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def witness(document: Document) -> str | None:
    """What the checker says against a certificate; ``None``: it is proven."""
    try:
        checker().check(document)
    except SystemExit as stop:
        return str(stop)
    return None


def random_plan(random: Random, *, default_allow: bool | None) -> tuple[Plan, ClusterState]:
    """A plan between two states that meet often; ordered and bridged by the product, without a review."""
    pool = random.choice([_POOL, _CROWDED])
    before, after = (frozenset(random.sample(pool, random.randint(0, 6))) for _ in range(2))
    kept = frozenset(random.sample(pool, random.randint(0, 3)))
    before, after = before | kept, after | kept
    topics = {name: Topic(name, 1, 1) for name in TOPICS if random.random() < 0.4}
    live = ClusterState("c", before, topics)
    changes = [DeclaredChange(Create(binding)) for binding in after - before]
    changes += [DeclaredChange(Delete(binding)) for binding in before - after]
    steps = ordered(changes, (binding.pattern for binding in after), default_allow=default_allow)
    terms = Terms("c", default_allow=default_allow, probe="User:probe")
    return Plan("c", terms, Options(allow_deletes=True), DAY, steps, bridges=bridges(live, steps, terms)), live


def document_of(plan: Plan, live: ClusterState) -> Document:
    found: Document = json.loads(json.dumps(CERTIFICATE.write(certificate(plan, live, DIGEST))))
    return found


# The states that brokers may show at each moment, from the words of docs/certificate.md.


class Moment(NamedTuple):
    """ACLs that every broker shows, and those that one may show."""

    there: tuple[AclBinding, ...]
    perhaps: tuple[AclBinding, ...]


def bindings(row: Document) -> AclBinding:
    pattern = ResourcePattern(ResourceType[row["resourceType"]], row["name"], PatternType[row["patternType"]])
    operation, permission = AclOperation[row["operation"]], AclPermissionType[row["permissionType"]]
    return AclBinding(pattern, AccessControlEntry(row["principal"], row["host"], operation, permission))


def moments(document: Document, order: Document) -> Iterator[Moment]:
    """Each epoch between two checks: creations phase by phase, deletions at any time in it."""
    live = {bindings(row) for row in document["before"]}
    epoch: list[Document] = []
    for index, phase in enumerate(order["phases"]):
        epoch.append(phase)
        if phase["check"] is None and index + 1 < len(order["phases"]):
            continue
        sent = [[document["changes"][number] for number in each["changes"]] for each in epoch]
        gone = {bindings(row) for row in chain(*sent) if row["action"] == "delete"}
        for current in sent:
            new = {bindings(row) for row in current if row["action"] == "create"}
            yield Moment(tuple(sorted(live - gone)), tuple(sorted((live & gone) | new)))
            live |= new
        live -= gone
        epoch = []


def readings(document: Document) -> Iterator[tuple[Document, bool, bool]]:
    """Each order with a reading of the default, and whether nobody may be interrupted under it."""
    flag = document["facts"]["allowEveryoneIfNoAclFound"]
    bridged = any(order["observed"] for order in document["orders"])
    for order in document["orders"]:
        for allow in (True,) if order["observed"] else (True, False) if flag is None else (flag,):
            yield order, allow, order["observed"] or not allow or (flag is True and not bridged)


def ends(document: Document, order: Document) -> tuple[set[AclBinding], set[AclBinding]]:
    """What is there before and after."""
    before = {bindings(row) for row in document["before"]}
    after = set(before)
    for phase in order["phases"]:
        for change in (document["changes"][number] for number in phase["changes"]):
            (after.add if change["action"] == "create" else after.discard)(bindings(change))
    return before, after


def excused(document: Document, ask_pattern: ResourcePattern) -> bool:
    return any(
        ResourcePattern(ResourceType[row["resourceType"]], row["name"], PatternType[row["patternType"]]).contains(
            ask_pattern
        )
        for row in document["mayInterrupt"]
    )


def _temporary(document: Document, order: Document) -> list[AclBinding]:
    numbers = chain(*(phase["changes"] for phase in order["phases"]))
    return [bindings(document["changes"][n]) for n in numbers if document["changes"][n]["step"] is None]


# First judge: every subset of what may show, asked about every request there is.


def brute_force(document: Document) -> Ask | None:
    """A request for which some state breaks the law; ``None``: there is none."""
    for order, allow, uninterrupted in readings(document):
        before, after = ends(document, order)
        kept = _temporary(document, order)
        found = list(moments(document, order))
        everything = {one: _about(one) for one in chain(before, after, kept, *chain(*found))}
        excuses = {near: allow and excused(document, ResourcePattern(*near)) for near in _RESOURCES}
        asked = set()
        for number, ask in enumerate(ASKS):
            about = {one: each[number] for one, each in everything.items()}
            told = excuses[ask.resource_type, ask.name]
            if (told, *about.values()) in asked:
                continue  # no state tells it from a request before it
            asked.add((told, *about.values()))
            old, new = (_permitted([b for b in side if about[b].covers], about, allow) for side in (before, after))
            held = uninterrupted and (not told or any(about[b].covers for b in kept))
            if (old or new) and not (held and old and new):
                continue  # nothing can be wrong
            for moment in found:
                there, perhaps = ([b for b in part if about[b].covers] for part in moment)
                for size in range(len(perhaps) + 1):
                    for part in combinations(perhaps, size):
                        now = _permitted([*there, *part], about, allow)
                        if now not in (old, new):
                            return ask
    return None


class About(NamedTuple):
    """Whether a binding is about the resource of a request, and about the request."""

    covers: bool
    applies: bool


@cache
def _about(binding: AclBinding) -> list[About]:
    """For each request of ``ASKS``."""
    return [About(covers(binding, ask), applies(binding, ask)) for ask in ASKS]


def _permitted(candidates: list[AclBinding], about: Mapping[AclBinding, About], default: bool) -> bool:
    if not candidates:
        return default
    deciding = {binding.entry.permission_type for binding in candidates if about[binding].applies}
    return deciding == {AclPermissionType.ALLOW}


# Second judge: an SMT solver, over all texts as principals, hosts and names.

_PRINCIPAL, _HOST, _NAME = (z3.String(word) for word in ("principal", "host", "name"))
_TYPE, _OPERATION = z3.Int("type"), z3.Int("operation")
_DESCRIBED: Final = (AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER)


@cache
def _on_name(pattern: ResourcePattern) -> Any:
    if pattern.is_wildcard:
        named = z3.BoolVal(True)
    elif pattern.pattern_type is PatternType.PREFIXED:
        named = z3.PrefixOf(z3.StringVal(pattern.name), _NAME)
    else:
        named = z3.StringVal(pattern.name) == _NAME
    return z3.And(int(pattern.resource_type) == _TYPE, named)


@cache  # of the same few bindings in every plan: making terms takes longer than solving
def _applies(binding: AclBinding) -> Any:
    entry = binding.entry
    operations = [entry.operation]
    if entry.permission_type is AclPermissionType.ALLOW:
        operations += [AclOperation.DESCRIBE] if entry.operation in _DESCRIBED else []
        operations += [AclOperation.DESCRIBE_CONFIGS] if entry.operation is AclOperation.ALTER_CONFIGS else []
    everything = entry.operation is AclOperation.ALL
    return z3.And(
        _on_name(binding.pattern),
        entry.principal == "User:*" or z3.StringVal(entry.principal) == _PRINCIPAL,
        entry.host == "*" or z3.StringVal(entry.host) == _HOST,
        everything or z3.Or([int(operation) == _OPERATION for operation in operations]),
    )


@cache
def _perhaps(binding: AclBinding, number: int) -> tuple[AclBinding, Any, Any]:
    """The same of one that shows at a moment, or does not."""
    shows = z3.Bool(f"shows-{number}-{binding}")
    return binding, z3.And(shows, _on_name(binding.pattern)), z3.And(shows, _applies(binding))


def _decision(there: Iterable[AclBinding], default: bool, perhaps: Iterable[AclBinding] = (), moment: int = 0) -> Any:
    """Whether a request is permitted where all of ``there`` show, and any of ``perhaps``."""
    found = [(b, _on_name(b.pattern), _applies(b)) for b in there]
    found += [_perhaps(b, moment) for b in perhaps]
    allowed, denied = (
        [applies for b, _, applies in found if b.entry.permission_type is kind]
        for kind in (AclPermissionType.ALLOW, AclPermissionType.DENY)
    )
    decided = z3.And(_any(allowed), z3.Not(_any(denied)))
    return z3.If(_any([near for _, near, _ in found]), decided, z3.BoolVal(default))


def _any(terms: list[Any]) -> Any:
    """``z3.Or`` without what it does for terms that are of other types or of other contexts."""
    if not terms:
        return z3.BoolVal(False)
    made = (z3.Ast * len(terms))(*(term.as_ast() for term in terms))
    return z3.BoolRef(z3.Z3_mk_or(terms[0].ctx_ref(), len(terms), made), terms[0].ctx)


def solved(document: Document) -> bool:
    """Whether the solver finds no request and no state that break the law."""
    for order, allow, uninterrupted in readings(document):
        before, after = (_decision(sorted(side), allow) for side in ends(document, order))
        kept = [_on_name(binding.pattern) for binding in _temporary(document, order)]
        told = [
            _on_name(ResourcePattern(ResourceType[row["resourceType"]], row["name"], PatternType[row["patternType"]]))
            for row in document["mayInterrupt"]
            if allow
        ]
        held = z3.And(uninterrupted, z3.Or([z3.Not(z3.Or(told or [z3.BoolVal(False)])), *kept]))
        wrong = []
        for number, moment in enumerate(moments(document, order)):
            now = _decision(moment.there, allow, moment.perhaps, number)
            wrong.append(z3.And(now, z3.Not(before), z3.Not(after)))
            wrong.append(z3.And(z3.Not(now), before, after, held))
        solver = z3.SimpleSolver()
        # A principal is never the wildcard; AclOperation: 3 is READ, 15 is TWO_PHASE_COMMIT.
        solver.add(z3.StringVal("User:*") != _PRINCIPAL, z3.StringVal("*") != _HOST, z3.StringVal("") != _NAME)
        solver.add(_OPERATION >= 3, _OPERATION <= 15, z3.Or(wrong))
        answer = solver.check()
        assert answer != z3.unknown
        if answer == z3.sat:
            return False
    return True


# Mutants: the order, the checks and the temporary ACLs of a certificate, changed at one place.


def mutants(document: Document, random: Random) -> Iterator[tuple[str, Document]]:
    """Certificates with one fault each, which may or may not matter."""
    for at in range(len(document["orders"])):
        phases = document["orders"][at]["phases"]
        filled = [number for number, phase in enumerate(phases) if phase["changes"]]
        if len(filled) > 1:
            one, other = random.sample(filled, 2)
            yield "swapped phases", _mutant(document, at, _swap(phases, one, other))
            moved = copy.deepcopy(phases)
            moved[other]["changes"].append(moved[one]["changes"].pop(random.randrange(len(moved[one]["changes"]))))
            yield "a change in another phase", _mutant(document, at, moved)
            merged = copy.deepcopy(phases)
            first, second = sorted((one, other))
            merged[first]["changes"] += merged[second]["changes"]
            merged[second]["changes"] = []
            yield "merged phases", _mutant(document, at, merged)
            yield "backwards", _mutant(document, at, phases[::-1])
        checked = [number for number, phase in enumerate(phases) if phase["check"]]
        if checked:
            without = copy.deepcopy(phases)
            without[random.choice(checked)]["check"] = None
            yield "a check less", _mutant(document, at, without)
        own = [number for number in _numbers(phases) if document["changes"][number]["step"] is None]
        if own:
            row = _row(document["changes"][random.choice(own)])
            gone = {number for number in own if _row(document["changes"][number]) == row}
            bare = [{**phase, "changes": [n for n in phase["changes"] if n not in gone]} for phase in phases]
            yield "a temporary ACL less", _mutant(document, at, bare)
            early = copy.deepcopy(phases)
            early.insert(random.randint(1, len(early) - 1), early.pop())
            yield "temporary ACLs deleted early", _mutant(document, at, early)
            late = copy.deepcopy(phases)
            late.insert(random.randint(1, len(late) - 2), late.pop(0))
            yield "temporary ACLs created late", _mutant(document, at, late)


def _numbers(phases: list[Document]) -> list[int]:
    return [number for phase in phases for number in phase["changes"]]


def _row(change: Document) -> tuple[str, ...]:
    return tuple(change[field] for field in _FIELDS)


def _swap(phases: list[Document], one: int, other: int) -> list[Document]:
    found = copy.deepcopy(phases)
    found[one]["changes"], found[other]["changes"] = found[other]["changes"], found[one]["changes"]
    return found


def _mutant(document: Document, at: int, phases: list[Document]) -> Document:
    orders = [{**order, "phases": phases} if index == at else order for index, order in enumerate(document["orders"])]
    return {**document, "orders": orders}
