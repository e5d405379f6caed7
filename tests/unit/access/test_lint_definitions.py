"""Lint rules by their definition, over many small states: what each finds, in which words, and nothing else."""

import random
from collections.abc import Sequence

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import compare_access
from reconciler.access.lint.rule import LintFinding
from reconciler.access.remediation import simplify, without_change
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, OpaqueBinding, PatternType, ResourceType
from tests.property.access_naive import Cluster, host_applies, meant, operations, reach
from tests.unit.access.linting import lint
from tests.worlds import binding, bindings

_O, _T = AclOperation, ResourceType
_ALLOW, _DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
VERSION = (4, 4)
_IMPLIED = {
    **dict.fromkeys((_O.READ, _O.WRITE, _O.DELETE, _O.ALTER), _O.DESCRIBE),
    _O.ALTER_CONFIGS: _O.DESCRIBE_CONFIGS,
}
_WHO = ("User:a@*", "User:a@10.0.0.1", "User:a@10.0.0.0/30", "User:*@*", "User:*@10.0.0.1", "User:b@*")
POOL = bindings(
    *(
        f"{where} {who} {what}"
        for where in ("TOPIC:L:a", "TOPIC:P:a", "TOPIC:L:ab", "TOPIC:L:*", "GROUP:L:*", "GROUP:P:*", "GROUP:L:*x")
        for who in _WHO
        for what in (
            "ALLOW READ",
            "ALLOW ALL",
            "ALLOW DESCRIBE",
            "ALLOW DELETE",
            "DENY READ",
            "DENY ALL",
            "DENY DELETE",
        )
    ),
    *(
        f"CLUSTER:{where} {who} {what}"
        for where in ("L:kafka-cluster", "P:k")
        for who in _WHO[::2]
        for what in ("ALLOW DELETE", "ALLOW CREATE", "DENY DELETE", "ALLOW READ", "DENY READ")
    ),
)
NAMES = ("a", "ab", "abc", "b", "*", "*x", "*xy", "*y", "kafka-cluster")


def states(seed: int, count: int) -> list[list[AclBinding]]:
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        few = chance.sample(POOL, 12)
        # Most of one principal and one type, so that they meet.
        found.append(
            sorted({*few[: chance.randrange(3)], *chance.sample([b for b in POOL if b[0][0] is few[0][0][0]], 5)})
        )
    return found


def names_under(one: AclBinding) -> set[str]:
    kind = one.pattern.resource_type
    return {name for name in NAMES if meant(Cluster([one]), kind, name)}


def effect(one: AclBinding) -> set[AclOperation]:
    """The operations that it grants or takes, of those that the type has; DELETE on CLUSTER deletes topics."""
    kind, (_, _, operation, permission) = one.pattern.resource_type, one.entry
    known = {*operations(Cluster((), (), False, VERSION), kind), *([_O.DELETE] if kind is _T.CLUSTER else [])}
    if operation is _O.ALL:
        return known
    implied = {_IMPLIED[operation]} if permission is _ALLOW and operation in _IMPLIED else set()
    return ({operation} | implied) & known


def host_covers(outer: str, inner: str) -> bool:
    if outer in ("*", inner):
        return True
    return "/" in outer and inner != "*" and "/" not in inner and host_applies(outer, inner, VERSION)


def around(one: AclBinding, held: Sequence[AclBinding], permission: AclPermissionType) -> list[AclBinding]:
    return [
        other
        for other in held
        if other != one
        and other.entry.permission_type is permission
        and other.pattern.resource_type is one.pattern.resource_type
        and other.entry.principal in (one.entry.principal, "User:*")
        and host_covers(other.entry.host, one.entry.host)
        and names_under(one) <= names_under(other)
        and not (
            # No finite set of names is a prefix.
            one.pattern.pattern_type is PatternType.PREFIXED
            and other.pattern.pattern_type is PatternType.LITERAL
            and not other.pattern.is_wildcard
        )
    ]


def covered(one: AclBinding, by: Sequence[AclBinding]) -> tuple[AclBinding, ...]:
    """The first that has it all; else one after the other that has something of what is left."""
    wanted = effect(one)
    whole = [other for other in by if wanted <= effect(other)]
    if whole or not wanted:
        return tuple(whole[:1]) if wanted else ()
    together = []
    for other in by:
        if wanted & effect(other):
            together.append(other)
            wanted = wanted - effect(other)
    return () if wanted else tuple(together)


def redundancy(one: AclBinding, held: Sequence[AclBinding]) -> tuple[AclBinding, ...]:
    def same(other: AclBinding) -> bool:
        reach_of = [(b.pattern, b.entry.principal, b.entry.host, effect(b)) for b in (one, other)]
        return reach_of[0] == reach_of[1]

    candidates = around(one, held, one.entry.permission_type)
    return covered(one, [other for other in candidates if not (other > one and same(other))])


def of(code: str, found: Sequence[LintFinding]) -> dict[AclBinding, LintFinding]:
    hits = [finding for finding in found if finding.rule.code == code]
    assert len({finding.binding for finding in hits}) == len(hits)
    return {finding.binding: finding for finding in hits if finding.binding is not None}


def test_redundant_is_what_others_cover_and_shadowed_what_denies_do() -> None:
    count = 0
    for held in states(1, 400):
        found = lint(Authorizer(held, kafka_version=VERSION))
        redundant = {one: by for one in held if (by := redundancy(one, held))}
        assert {one: hit.related for one, hit in of("KA001", found).items()} == redundant
        shadowed = {
            one: by
            for one in held
            if one not in redundant
            and one.entry.permission_type is _ALLOW
            and (by := covered(one, around(one, held, _DENY)))
        }
        assert {one: hit.related for one, hit in of("KA002", found).items()} == shadowed
        count += len(redundant) + 10 * len(shadowed)
    assert count > 500


def test_an_idle_deny_takes_what_nothing_allows() -> None:
    for held in states(2, 300):
        for setting in (False, True, None):
            authorizer = Authorizer(held, (), setting, VERSION)
            idle = {
                one
                for one in held
                if setting is False
                and one.entry.permission_type is _DENY
                and not redundancy(one, held)
                and not any(_meets(one, allow) for allow in held)
            }
            assert of("KA003", lint(authorizer)).keys() == idle
    unclear = Authorizer(
        bindings("TOPIC:L:a User:a@* DENY READ"), opaque=[OpaqueBinding("b", "User:b", "*", 3, 3, None, 3)]
    )
    assert not of("KA003", lint(unclear))


def _meets(deny: AclBinding, allow: AclBinding) -> bool:
    """Hosts aside: a DENY of some addresses is idle only where nothing is allowed at all."""
    who = {deny.entry.principal, allow.entry.principal}
    shared = {name for name in (*NAMES, "zz") if all(_matches(one, name) for one in (deny, allow))}
    return bool(
        allow.entry.permission_type is _ALLOW
        and allow.pattern.resource_type is deny.pattern.resource_type
        and (len(who) == 1 or "User:*" in who)
        and effect(deny) & effect(allow)
        and shared
    )


def _matches(one: AclBinding, name: str) -> bool:
    pattern = one.pattern
    if pattern.is_wildcard:
        return True
    return name.startswith(pattern.name) if pattern.pattern_type is PatternType.PREFIXED else name == pattern.name


def test_minimise_keeps_access_and_says_what_covers_each_removal() -> None:
    for held in states(3, 60):
        for setting in (False, True):
            authorizer = Authorizer(held, (), setting, VERSION)
            smaller = simplify(authorizer)
            gone = [removal.binding for removal in smaller.removed]
            kept = sorted(smaller.kept.bindings)
            assert sorted([*kept, *gone]) == sorted(held)
            before, after = (Cluster(side, (), setting, VERSION) for side in (held, kept))
            for who, host, name in (
                (who, host, name)
                for who in ("User:a", "User:b", "User:z")
                for host in ("10.0.0.1", "10.0.0.2", "9.9.9.9")
                for name in NAMES
            ):
                for kind in {one.pattern.resource_type for one in held}:
                    assert reach(before, who, host, kind, name) == reach(after, who, host, kind, name)
            for removal in smaller.removed:
                by = [
                    one for one in removal.because if one.entry.permission_type is removal.binding.entry.permission_type
                ]
                assert set(by) <= set(around(removal.binding, held, removal.binding.entry.permission_type))
                assert removal.binding not in removal.because
            for one in (one for one in kept if redundancy(one, kept)):
                fewer = smaller.kept.with_changes(removed=[one])
                assert not compare_access(smaller.kept, fewer).is_empty, "only by default-allow"
                assert setting
            assert without_change(authorizer, gone) == set(gone)
            assert without_change(authorizer, [*POOL[:3], *held]) <= set(held)


def test_of_two_equals_the_wider_stays_and_dead_ones_go() -> None:
    wide, narrow = bindings("TOPIC:P:a User:a@* ALLOW READ", "TOPIC:P:ab User:a@* ALLOW READ")
    dead = bindings(
        "TOPIC:L:z User:a@localhost ALLOW READ", "TOPIC:L:foo* User:a@* ALLOW READ", "CLUSTER:L:x User:a@* ALLOW CREATE"
    )
    deny, idle = bindings("TOPIC:P:a User:*@* DENY WRITE", "GROUP:L:g User:a@* DENY READ")
    shadowed = binding("TOPIC:L:aa User:a@* ALLOW IDEMPOTENT_WRITE")
    under = binding("TOPIC:L:ab User:b@* ALLOW WRITE")
    both = binding("TOPIC:L:ab User:*@* DENY DESCRIBE")
    found = simplify(Authorizer([wide, narrow, *dead, deny, idle, under, both]))
    because = {removal.binding: removal.because for removal in found.removed}
    assert because[narrow] == (wide,)
    assert {one: because[one] for one in dead} == dict.fromkeys(dead, ())
    assert because[idle] == ()
    assert because[under] == (both, deny) or set(because[under]) == {both, deny}
    assert shadowed not in because
    # Judged against those that remain: the second of two that have each other removed stays.
    twins = bindings("TOPIC:L:a User:a@10.0.0.1 ALLOW ALL", "TOPIC:L:a User:a@* ALLOW READ")
    assert simplify(Authorizer(twins)).removed == ()
