"""When something held, as text."""

from collections.abc import Iterator, Sequence

from reconciler.model.characters import safe
from reconciler.parts.history.app import HeldFact, Turn


def held_lines(found: Sequence[HeldFact]) -> Iterator[str]:
    """Each fact with its begin and its end, a line each; then how many there are."""
    for one in found:
        yield safe(one.what + (f"  [{one.ticket}]" if one.ticket else ""))
        yield safe(f"    since {_words(one.began)}" if one.began else "    since before the first reading")
        if one.ended is not None:
            yield safe(f"    ended {_words(one.ended)}")
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
        return
    yield f"{'' if turn.sure else 'perhaps '}by run {turn.run}" + (f" of {turn.operator}" if turn.operator else "")
    if turn.proposer is not None:
        yield f"proposed by {turn.proposer}"
    if turn.approved_by:
        yield f"approved by {', '.join(turn.approved_by)}"
    yield from (f"{word} {value}" for word, value in (("commit", turn.commit), ("see", turn.url)) if value)
