"""New paths of a plan: who could act as whom afterwards and could not before, and who gains by what others gain."""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from typing import Final, TypeAlias

from reconciler.access.authorizer import Authorizer
from reconciler.access.reach import Hop, HopKind, Known, Reach, ReachRow
from reconciler.model.characters import as_name
from reconciler.model.duty import Control, Links
from reconciler.plan.review.access_change import EVERYBODY_ELSE, AccessChange, Transition
from reconciler.plan.review.callouts import Callout

#: The rule of :func:`new_paths`.
NEW_PATH: Final = "new-path"
#: The rules of callouts about a right by which somebody acts as somebody else.
OPENS_A_PATH: Final = frozenset({NEW_PATH, "impersonation", "cluster-alter", "cluster-configs"})
#: So many paths are told one by target, and so many principals of one path are named.
_SHOWN: Final = 20
_NAMED: Final = 3
#: Rights that have a callout of their own where somebody gains them.
_TOLD: Final = frozenset({HopKind.CREATE_TOKENS, HopKind.ALTER, HopKind.ALTER_CONFIGS, HopKind.CLUSTER_ACTION})
#: Whom a principal could act as, by the last hop; ``None``: anybody.
_Targets: TypeAlias = dict[str | None, tuple[Hop, ...]]


def new_paths(
    moved: Transition | None,
    rows: Iterable[AccessChange],
    controls: Collection[Control],
    super_users: Collection[str],
) -> tuple[Callout, ...]:
    """A callout for each principal and hop that is new, and for each that acts as somebody who gains; capped.

    One that is a single right of the principal itself is told by the callout of that right.
    """
    if moved is None:
        return ()
    gaining = {row.principal for row in rows if row.gained and row.principal is not None}
    told: dict[str, Callout] = {}
    befores, afters = (_worlds(target, controls, super_users) for target in (moved.before, moved.after))
    for before, after in zip(befores, afters, strict=True):
        for item in _of_world(before, after, gaining):
            told.setdefault(item.text, item)
    items = tuple(told.values())
    if len(items) <= _SHOWN:
        return items
    text = f"{len(items) - _SHOWN:,} more new paths by which a principal could act as another one"
    return (*items[:_SHOWN], Callout(NEW_PATH, items[_SHOWN].principal, text))


def _worlds(authorizer: Authorizer, controls: Collection[Control], super_users: Collection[str]) -> list[Reach]:
    """Both interpretations: where everything is permitted that may be, nothing would be new."""
    links = Links(tuple(controls))
    people = Known.of(authorizer, links, super_users)
    return [Reach(world, people, links) for world in authorizer.interpretations.both]


def _of_world(before: Reach, after: Reach, gaining: Set[str]) -> Iterator[Callout]:
    everybody = _targets(before, before.known.unnamed), _targets(after, after.known.unnamed)
    for who in (after.known.unnamed, *sorted(after.may_hop)):
        now = everybody[1] if who == after.known.unnamed else _targets(after, who)
        old = everybody[0] if who == after.known.unnamed else _targets(before, who)
        # Whoever could do anything gains nothing by another way.
        if None in old or now.keys() <= {who}:
            continue
        name = EVERYBODY_ELSE if who == after.known.unnamed else who
        new = {target: hops for target, hops in now.items() if target not in old and target != who}
        yield from _told(name, new)
        yield from (
            Callout(NEW_PATH, name, f"{as_name(name)} could act as {as_name(target)}, and so gains what that gains")
            for target in sorted(gaining & now.keys() - new.keys() - {who})
        )


def _targets(reach: Reach, who: str) -> _Targets:
    rows = reach.reached(who)
    return {target: reach.path(rows, number) for number, row in enumerate(rows) for target in _each(row)}


def _each(row: ReachRow) -> Iterable[str | None]:
    return (None,) if row.principals is None else sorted(row.principals)


def _told(who: str, new: _Targets) -> Iterator[Callout]:
    by_path: dict[tuple[Hop, ...], list[str | None]] = {}
    for target, hops in new.items():
        by_path.setdefault(hops, []).append(target)
    for hops, some in by_path.items():
        if len(hops) == 1 and hops[0].kind in _TOLD:
            continue
        names = ["anybody" if target is None else as_name(target) for target in some]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        text = f"{as_name(who)} could act as {', '.join(names[:_NAMED])}{more}: {_way(hops)}"
        yield Callout(NEW_PATH, who, text)


def _way(hops: Sequence[Hop]) -> str:
    phrases = [f"{hop.request.operation.name} on {hop.region}" for hop in hops if hop.request is not None]
    return " → ".join(phrases)
