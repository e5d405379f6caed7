"""Separation of duty by simulation: what a few principals could do on a few topics, hop by hop, without any index."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

#: Rights on the cluster, each of which is worth everything.
POWERS = ("ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION")


class Edge(NamedTuple):
    """``who`` may do ``what`` on ``where``: a topic of READ and WRITE, a user of CREATE_TOKENS, nothing of a power."""

    who: str
    what: str
    where: str = ""


class World(NamedTuple):
    """``controls``: by topic, as whom a writer acts; ``trusted`` principals move no records."""

    principals: Sequence[str]
    topics: Sequence[str]
    edges: frozenset[Edge]
    controls: Mapping[str, str] = {}
    trusted: frozenset[str] = frozenset()


def identities(world: World, who: str, through: str) -> set[str] | None:
    """As whom somebody could act; ``None``: as anybody, with every right."""
    powers = POWERS[:1] if through == "acl" else POWERS
    seen = {(who, "login")}
    waiting = [(who, "login")]
    while waiting:
        actor, way = waiting.pop()
        own = [edge for edge in world.edges if edge.who == actor]
        if any(edge.what in powers for edge in own):
            return None
        for edge in own if through != "acl" else ():
            if edge.what == "CREATE_TOKENS" and way == "login":
                step = (edge.where, "token")
            elif edge.what == "WRITE" and edge.where in world.controls:
                step = (world.controls[edge.where], "login")
            else:
                continue
            if step not in seen:
                seen.add(step)
                waiting.append(step)
    return {actor for actor, _ in seen}


def rights(world: World, who: str, through: str) -> set[tuple[str, str]]:
    """The operations on topics that somebody could do as itself or as anybody it acts as."""
    acting = identities(world, who, through)
    if acting is None:
        return {(what, topic) for what in ("READ", "WRITE") for topic in world.topics}
    return {(edge.what, edge.where) for edge in world.edges if edge.who in acting and edge.what in ("READ", "WRITE")}


def moved(world: World) -> dict[str, set[str]]:
    """For each topic those to which its records could get."""
    there = {topic: {topic} for topic in world.topics}
    movers = [rights(world, one, "flow") for one in world.principals if one not in world.trusted]
    for _ in world.topics:
        for held in movers:
            for topics in there.values():
                if any(what == "READ" and topic in topics for what, topic in held):
                    topics |= {topic for what, topic in held if what == "WRITE"}
    return there


def breaking(world: World, duties: Iterable[tuple[str, Iterable[str]]], through: str) -> set[str]:
    """Who could hold all duties, each an operation and topics, one of which is enough."""
    there = moved(world) if through == "flow" else {topic: {topic} for topic in world.topics}

    def holds(held: set[tuple[str, str]], what: str, topics: Iterable[str]) -> bool:
        return any(
            (what, one) in held
            for topic in topics
            for one in (there[topic] if what == "READ" else [one for one, near in there.items() if topic in near])
        )

    duties = [(what, tuple(topics)) for what, topics in duties]
    return {
        who
        for who in world.principals
        if who not in world.trusted and all(holds(rights(world, who, through), *duty) for duty in duties)
    }
