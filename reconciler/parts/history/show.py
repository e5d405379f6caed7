"""When something held, as text."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from reconciler.model.acl import AclBinding
from reconciler.model.characters import safe
from reconciler.parts.history.app import HELD, HeldFact, PastSources, Turn, since_when


def held_lines(found: Sequence[HeldFact]) -> Iterator[str]:
    """Each fact with its begin and its end, a line each; then how many there are."""
    for one in found:
        yield safe(one.what + (f"  [{one.ticket}]" if one.ticket else ""))
        yield safe(f"    since {_words(one.began)}" if one.began else "    since before the first reading")
        if one.ended is not None:
            yield safe(f"    ended {_words(one.ended)}")
        if one.use_known:
            yield f"    last used {one.last_used}" if one.last_used else "    not used, as far as the logs go"
    yield f"{len(found)} {'interval' if len(found) == 1 else 'intervals'}."


def _words(turn: Turn) -> str:
    if turn.exactly is not None:
        when = turn.exactly
    elif turn.before is None:
        when = f"after {turn.after}, or not yet"
    else:
        when = f"between {turn.after} and {turn.before}"
    return ", ".join([when, *_whose(turn)])


def _whose(turn: Turn) -> Iterator[str]:
    if turn.run is None:
        yield "by hand: no run has a record"
        if turn.altered_by:
            yield f"brokers' logs of these days show ALTER on the cluster by {', '.join(turn.altered_by)}"
        return
    yield f"{'' if turn.sure else 'perhaps '}by run {turn.run}" + (f" of {turn.operator}" if turn.operator else "")
    if turn.proposer is not None:
        yield f"proposed by {turn.proposer}"
    if turn.approved_by:
        yield f"approved by {', '.join(turn.approved_by)}"
    if turn.break_glass is not None:
        over = f" over {', '.join(f'“{name}”' for name in turn.overrode)}" if turn.overrode else ""
        yield f"as break-glass access until {turn.break_glass}{over}"
    yield from (f"{word} {value}" for word, value in (("commit", turn.commit), ("see", turn.url)) if value)


def since_lines(found: Sequence[HeldFact]) -> Iterator[str]:
    """Since when differences are there, for a report of drift."""
    yield "Since when"
    for one in found:
        turn, verb = (one.began, "there since") if one.ended is None else (one.ended, "gone since")
        when = f"{verb} {_words(turn)}" if turn else "there since before the first reading"
        yield safe(f"  {one.what}: {when}")


def drift_since(sources: PastSources, cluster: str, bindings: Collection[AclBinding]) -> tuple[list[str], list[Any]]:
    """The lines, and the same for programs."""
    found = since_when(sources, cluster, bindings)
    unseen = len(set(bindings)) - len(found)
    more = [f"  {unseen} of the ACLs that differ are in no reading yet"] if unseen else []
    return [*since_lines(found), *more], [HELD.write(one) for one in found]


def sources(store: str, audit: tuple[str, ...], logs: tuple[str, ...]) -> PastSources:
    """Where the past is known from."""
    return PastSources(store, audit, logs)
