"""Which bridges a plan wants, against their definition applied to every pattern and name by itself."""

from collections.abc import Iterator
from random import Random
from typing import Final, TypeAlias

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.markers import bridge_on
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.bridges import bridges
from reconciler.plan.observed import Facts
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Terms
from reconciler.plan.step import Bridge, Means, Side, Step, Unbridged

#: A pattern, the side, how it is kept open or a word of why not, and who is interrupted without.
Expected: TypeAlias = tuple[ResourcePattern, Side, Means | str, tuple[str, ...]]
_TOPIC, _GROUP = ResourceType.TOPIC, ResourceType.GROUP
PATTERNS: Final = (
    *(ResourcePattern(_TOPIC, name) for name in ("*", "x", "xa", "y")),
    *(ResourcePattern(_TOPIC, name, PatternType.PREFIXED) for name in ("x", "xa", "_")),
    *(ResourcePattern(_GROUP, name) for name in ("*", "*x", "x", "!", "z")),
    *(ResourcePattern(_GROUP, name, PatternType.PREFIXED) for name in ("x", "*")),
    ResourcePattern(ResourceType.TRANSACTIONAL_ID, "x"),
    ResourcePattern(ResourceType.TRANSACTIONAL_ID, "x", PatternType.PREFIXED),
    ResourcePattern(ResourceType.CLUSTER, "kafka-cluster"),
    ResourcePattern(ResourceType.DELEGATION_TOKEN, "x"),
)
ENTRIES: Final = (
    AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW),
    AccessControlEntry("User:b", "10.0.0.1", AclOperation.READ, AclPermissionType.ALLOW),
    AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.DENY),
    bridge_on(PATTERNS[0]).entry,
)
TOPICS: Final = ("x", "xa", "xab", "xb", "y", "__kr.1")
GROUPS: Final = ("*x", "x", "xa", "!", "z")
SELECTORS: Final = (
    Selector(None, _TOPIC, NameSelector(prefixes=("xa",))),
    Selector(None, _TOPIC, NameSelector(literal=("x", "y"))),
    Selector(None, _GROUP, NameSelector(literal=("x",))),
    Selector(NameSelector(literal=("User:a",))),
)
INCLUDED: Final = (
    None,
    None,
    (Selector(None, _TOPIC, NameSelector(prefixes=("x",))),),
    (Selector(None, _TOPIC, NameSelector(any_name=True)), Selector(None, _GROUP, NameSelector(prefixes=("x",)))),
    (Selector(None, _GROUP, NameSelector(any_name=True)), Selector(NameSelector(literal=("User:a",)))),
)


class World:
    """A plan at random, with the sets that the definition speaks of."""

    def __init__(self, random: Random) -> None:
        few = random.sample(PATTERNS, random.choice((2, 4, 6)))
        every = [AclBinding(pattern, entry) for pattern in few for entry in random.sample(ENTRIES, 2)]
        before, after = (frozenset(random.sample(every, random.randint(0, len(every)))) for _ in range(2))
        topics = random.sample(TOPICS, random.randint(0, len(TOPICS)))
        dying, born = (
            topics[:1] * random.randint(0, 1),
            random.sample(sorted({*TOPICS[:5]} - {*topics}), 1 - bool(topics)),
        )
        self.live = ClusterState(
            "c",
            before,
            {name: Topic(name, 1, 1) for name in topics},
            opaque=(OpaqueBinding("x", "User:o", "*", None, None, None, None),) * (random.random() < 0.1),
            groups=random.choice((None, frozenset(random.sample(GROUPS, 3)))),
            topic_gap=random.choice((None, None, "hidden")),
        )
        self.moving = {**dict.fromkeys(born, "creates"), **dict.fromkeys(dying, "deletes")}
        self.created, self.deleted = after - before, before - after
        # Only what a step changes counts here, and not when it is performed.
        changes: list[Change] = [
            *map(Create, self.created),
            *map(Delete, self.deleted),
            *(Create(Topic(name)) for name in born),
            *(Delete(Topic(name)) for name in dying),
        ]
        self.steps = [Step(Phase.CREATE_ALLOW, change) for change in changes]
        self.protect = tuple(random.sample(SELECTORS, random.choice((0, 0, 1))))
        self.scope = Scope(
            random.choice(INCLUDED),
            exclude=tuple(random.sample(SELECTORS, random.choice((0, 0, 1)))),
            ignore=tuple(random.sample(SELECTORS, random.choice((0, 0, 1)))),
        )
        self.terms = Terms(
            "c",
            scope=self.scope,
            facts=Facts(protect=self.protect),
            default_allow=True,
            probe=None if random.random() < 0.1 else "User:probe",
        )
        self.sides = {Side.CLOSING: (before, after), Side.OPENING: (after, before)}

    def existing(self, pattern: ResourcePattern) -> set[str]:
        """Names under a pattern for more names than one."""
        if pattern.pattern_type is PatternType.LITERAL and not pattern.is_wildcard:
            return set()
        names = {_TOPIC: {*self.live.topics}, _GROUP: {*(self.live.groups or ())}}.get(pattern.resource_type, set())
        return {name for name in names if pattern.matches(name)}

    def barred(self, pattern: ResourcePattern) -> str | None:
        """A word of the reason why a pattern must not be opened to everyone."""
        if pattern.resource_type not in (_TOPIC, _GROUP, ResourceType.TRANSACTIONAL_ID):
            return "never bridged"
        if any(_speaks(one, pattern) for one in self.protect):
            return "protected"
        if any(_speaks(one, pattern) for one in (*self.scope.exclude, *self.scope.ignore)):
            return "excluded or ignored"
        include = self.scope.include
        if include is not None and not any(one.names is None or _holds(one, pattern) for one in include):
            return "out of scope"
        if pattern.resource_type is _TOPIC and (met := [name for name in self.moving if pattern.matches(name)]):
            return f"the plan {self.moving[met[0]]} topic {met[0]}"
        return None

    def expected(self) -> Iterator[Expected]:
        """What becomes of each pattern or name whose coverage changes: how it is kept open, or a word of why not."""
        for side, (lacking, having) in self.sides.items():
            other, own = {one.pattern for one in lacking}, {one.pattern for one in having}
            changing = {pattern for pattern in own - other if not any(_covers(one, pattern) for one in other)}
            reasons = {pattern: self.barred(pattern) or self._met(pattern, other) for pattern in changing}
            whole = {pattern for pattern, why in reasons.items() if why is None}
            names: set[ResourcePattern] = set()
            for pattern, why in reasons.items():
                if any(_covers(one, pattern) for one in whole - {pattern}):
                    continue
                if why is None:
                    yield pattern, side, self._means(pattern, side), _holders(pattern, having, other)
                elif not (pattern.resource_type is _TOPIC and self.moving.get(pattern.name) == "creates") or (
                    pattern.pattern_type is PatternType.PREFIXED
                ):
                    yield pattern, side, why, _holders(pattern, having, other)
                    names |= {ResourcePattern(pattern.resource_type, name) for name in self.existing(pattern)}
            for name in names:
                if name.name.startswith("__kr") or any(_covers(one, name) for one in {*other, *whole}):
                    continue
                reason = self.barred(name) or ("hang" if name.name <= "*" else None)
                yield name, side, reason or self._means(name, side), _holders(name, having, other)

    def _met(self, pattern: ResourcePattern, other: set[ResourcePattern]) -> str | None:
        if not any(one.overlaps(pattern) for one in other):
            return None
        if pattern.resource_type is _TOPIC:
            return "hidden" if self.live.topic_gap else "do not exist yet"
        known = pattern.resource_type is _GROUP and self.live.groups is not None
        return "do not exist yet" if known else "not known"

    def _means(self, pattern: ResourcePattern, side: Side) -> Means | str:
        if self.terms.probe is None:
            return "without a barrier probe"
        if self.live.opaque:
            return "cannot name"
        if any(one.pattern.matches("__kr-flag.") and one.pattern.resource_type is _TOPIC for one in self.live.bindings):
            return "hide default-allow"
        ours = bridge_on(pattern)
        if ours in (self.created if side is Side.CLOSING else self.deleted):
            return Means.CREATED_FIRST if side is Side.CLOSING else Means.DELETED_LAST
        return Means.BRIDGE


def _covers(one: ResourcePattern, other: ResourcePattern) -> bool:
    """A broker passes ``*`` over where a name that is no topic's begins with it."""
    odd = other.name.startswith("*") and other.resource_type is not _TOPIC and not other.is_wildcard
    return one.contains(other) and not (one.is_wildcard and odd)


def _speaks(selector: Selector, pattern: ResourcePattern) -> bool:
    return any(own.overlaps(pattern) for own in _of(selector, pattern))


def _holds(selector: Selector, pattern: ResourcePattern) -> bool:
    return any(own.contains(pattern) for own in _of(selector, pattern))


def _of(selector: Selector, pattern: ResourcePattern) -> list[ResourcePattern]:
    if selector.names is None or selector.resource_type is not pattern.resource_type:
        return []
    return [*selector.names.patterns(pattern.resource_type)]


def _holders(pattern: ResourcePattern, having: frozenset[AclBinding], other: set[ResourcePattern]) -> tuple[str, ...]:
    return tuple(
        sorted(
            {
                one.entry.principal
                for one in having
                if one.entry.permission_type is AclPermissionType.ALLOW and one.pattern.overlaps(pattern)
                if not any(_covers(wide, one.pattern) for wide in other)
            }
        )
    )


def _is(one: Bridge | Unbridged, how: Means | str) -> bool:
    if isinstance(how, Means):
        return isinstance(one, Bridge) and one.means is how
    return isinstance(one, Unbridged) and how in one.reason


def test_bridges_are_what_their_definition_says_of_each_pattern_and_name() -> None:
    met = set[Means | str]()
    for number in range(2000):
        world = World(Random(number))
        found = bridges(world.live, world.steps, world.terms)
        assert [*found.wanted] == sorted(found.wanted)
        assert [*found.unbridged] == sorted(found.unbridged)
        left = {*world.expected()}
        met |= {how for _, _, how, _ in left}
        every: list[Bridge | Unbridged] = [*found.wanted, *found.unbridged]
        for one in every:
            same = {
                it for it in left if it[:2] == (one.pattern, one.side) and it[3] == one.principals and _is(one, it[2])
            }
            assert len(same) == 1, (number, one)
            left -= same
        assert not left, number
    assert {*Means} < met
    assert len(met) == 25, "a way or a reason that these worlds do not meet"
