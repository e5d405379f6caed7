"""Ways to a right in words: whose right, as whom somebody acts by it, and where each ACL is declared."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from reconciler.access.authorizer import AccessRequest
from reconciler.access.names import Region
from reconciler.access.reach import GivenBy, Hop, HopKind
from reconciler.access.separation import Combination, Way
from reconciler.model.acl import ResourceType
from reconciler.model.characters import Style, as_name, binding_name, counted, plain, safe
from reconciler.results.access import AccessView, ActedAs, ReachAnswer, times, token_documents, token_lines
from reconciler.results.documents import STEP, CombinationEntry, RemediationEntry, StepEntry, WayEntry
from reconciler.results.words import access_document, resource_words
from reconciler.show.access import row_words

#: What somebody may do by a right on the cluster.
_ANYTHING = {
    HopKind.ALTER: "and so grant itself",
    HopKind.ALTER_CONFIGS: "and so add a listener on which it logs in as anybody:",
    HopKind.CLUSTER_ACTION: "and so ask a controller as anybody:",
}
#: Of several principals that somebody could act as, so many are named.
_NAMED = 3


def combination_entry(results: Combination) -> CombinationEntry:
    """A principal that could hold all duties, for all formats."""
    ways = tuple(way_entry(way, results.evidence, results.principal) for way in results.ways)
    fix = None if results.fix is None else RemediationEntry((), results.fix)
    return CombinationEntry(None if results.everybody else results.principal, results.certain, ways, fix)


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
        steps.append(_step("right", right, way.right.region, (), given))
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
    yield _step(hop.kind.value, hop.request, hop.region, acts_as, given)
    if hop.writes is not None:
        yield _step(hop.kind.value, hop.writes, hop.region, acts_as, given)


def _step(
    by: str, request: AccessRequest, region: Region, acts_as: tuple[str, ...] | None, given: GivenBy
) -> StepEntry:
    results = given.get(request, ())
    kind, name = request.resource_type, request.resource_name
    names = region.describe() if region.resource_type is kind and region.contains(name) else resource_words(kind, name)
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
                    safe(f"    {region.describe()}: {_moves(moves, answer.evidence)}")
                    for region, moves in moved[:_SHOWN]
                )
                if more := len(moved) - _SHOWN:
                    yield from [f"    and {more:,} more; --output json has each"] if more > 0 else []
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
    if not item.access and item.principal is not None:
        yield "    can do nothing"
    yield from (f"    {row_words(row)}" for row in item.access)


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


def _moved_documents(moved: Iterable[tuple[Region, Sequence[Hop]]], given: GivenBy) -> list[dict[str, Any]]:
    return [{"topics": region.describe(), "words": _moves(moves, given)} for region, moves in moved]
