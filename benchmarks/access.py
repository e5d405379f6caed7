"""What questions about access cost at 100,000 bindings, against the aims that the product claims.

Run: ``python -m benchmarks.access [COUNT]``. 10,000 principals, prefixes, literals, 40 ``User:*`` bindings, 1 % DENY,
37 LITERAL ``*``, 3 % of the bindings at one host. Rates are per second (more is better), the rest seconds (less is
better); the ratio is to the aim, above 1 is better than the aim.
"""

import gc
import math
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from reconciler.access.assertion import Assertion, AssertionKind, PrincipalSelection, only_readers
from reconciler.access.assertions import Checker
from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.difference import compare_access
from reconciler.access.separation import Separation, Separations
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Control, Duty, Links, Origin, Through

_ALLOW, _DENY, _TOPIC = AclPermissionType.ALLOW, AclPermissionType.DENY, ResourceType.TOPIC
_OPERATIONS = (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL, AclOperation.DELETE)
_EVERY_TOPIC = ResourcePattern(_TOPIC, WILDCARD)


def binding(
    pattern: ResourcePattern,
    principal: str,
    operation: AclOperation,
    permission: AclPermissionType = _ALLOW,
    host: str = WILDCARD,
) -> AclBinding:
    """One binding."""
    return AclBinding(pattern, AccessControlEntry(principal, host, operation, permission))


class Cluster:
    """A large cluster, the same for the same count."""

    def __init__(self, count: int) -> None:
        """Ten bindings for each principal on patterns that several share."""
        self.random = random.Random(4)  # noqa: S311 - the same cluster every time
        self.principals = [f"User:svc-{number}" for number in range(max(count // 10, 10))]
        self.names = [f"team-{n % 500}.area-{n % 7}.topic-{n}" for n in range(count // 4)]
        self.patterns = [ResourcePattern(_TOPIC, name) for name in self.names]
        self.patterns += [
            ResourcePattern(_TOPIC, name[: self.random.randrange(6, len(name))], PatternType.PREFIXED)
            for name in self.names[: count // 20]
        ]
        self.bindings = {self.some() for _ in range(count - 100)}
        self.bindings |= {binding(_EVERY_TOPIC, principal, AclOperation.DESCRIBE) for principal in self.principals[:37]}
        self.bindings |= {self.some(WILDCARD_PRINCIPAL) for _ in range(40)}

    def some(self, principal: str | None = None) -> AclBinding:
        """A binding by chance."""
        chance = self.random
        return binding(
            chance.choice(self.patterns),
            principal or chance.choice(self.principals),
            chance.choice(_OPERATIONS),
            _DENY if chance.random() < 0.01 else _ALLOW,
            "10.0.0.7" if chance.random() < 0.03 else WILDCARD,
        )

    def requests(self, count: int, *, fresh: bool = False) -> list[AccessRequest]:
        """Requests for names that exist, or for names that nobody saw."""
        chance = self.random
        suffix = "-new" if fresh else ""
        return [
            AccessRequest(
                chance.choice(self.principals),
                "10.0.0.7" if n % 10 == 0 else "10.0.0.8",
                chance.choice((AclOperation.READ, AclOperation.WRITE)),
                _TOPIC,
                chance.choice(self.names) + suffix,
            )
            for n in range(count)
        ]

    def changes(self, count: int, everyone: int = 0) -> tuple[list[AclBinding], list[AclBinding]]:
        """Bindings to add and to remove; ``everyone`` of those to add are of ``User:*``."""
        added = [self.some(WILDCARD_PRINCIPAL if n < everyone else None) for n in range(count // 2)]
        return added, self.random.sample(sorted(self.bindings), count // 2)


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """Processor seconds of the quickest of several runs, the cyclic collector off."""
    best = math.inf
    for _ in range(times):
        gc.collect()
        gc.disable()
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
        gc.enable()
    return best


def show(what: str, figure: float, aim: float, *, rate: bool = False) -> None:
    """One line: the figure, the aim, and how many times better than the aim."""
    ratio = figure / aim if rate else aim / figure
    form = "{:>14,.0f}/s" if rate else "{:>14.3f} s"
    print(f"{what:58}{form.format(figure)}{form.format(aim)}{ratio:8.2f}×")


def decisions(cluster: Cluster, authorizer: Authorizer) -> None:
    """Single requests and batches."""
    known, fresh = cluster.requests(100_000), cluster.requests(100_000, fresh=True)
    authorizer.permits(known)
    show("decisions, batch", len(known) / seconds(lambda: authorizer.permits(known)), 400_000, rate=True)
    show("decisions, batch, unseen names", len(fresh) / seconds(lambda: authorizer.permits(fresh)), 200_000, rate=True)
    calls = seconds(lambda: [authorizer.authorize(*request) for request in known])
    show("decisions, single calls", len(known) / calls, 300_000, rate=True)


def differences(cluster: Cluster, authorizer: Authorizer) -> None:
    """What a review has to wait for."""

    def direct(added: list[AclBinding], removed: list[AclBinding]) -> None:
        assert compare_access(authorizer, authorizer.with_changes(added, removed)).rows

    def everybody(added: list[AclBinding], removed: list[AclBinding]) -> None:
        compare_access(authorizer, authorizer.with_changes(added, removed)).reached()

    ordinary, mixed = cluster.changes(1_000), cluster.changes(1_000, everyone=50)
    wide = ([binding(_EVERY_TOPIC, WILDCARD_PRINCIPAL, AclOperation.READ)], list[AclBinding]())
    show("difference, 1,000 ordinary changes", seconds(lambda: direct(*ordinary)), 0.3)
    show("difference, 50 of them User:*", seconds(lambda: direct(*mixed)), 0.5)
    show("difference, User:* READ on *, direct", seconds(lambda: direct(*wide)), 0.5)
    show("difference, User:* READ on *, every principal", seconds(lambda: everybody(*wide), 1), 2.0)
    many = [
        binding(ResourcePattern(_TOPIC, name), WILDCARD_PRINCIPAL, AclOperation.READ) for name in cluster.names[:20_000]
    ]
    many.append(binding(_EVERY_TOPIC, WILDCARD_PRINCIPAL, AclOperation.WRITE, _DENY))
    show("difference, 20,000 User:* literals and a DENY on *, direct", seconds(lambda: direct(many, []), 1), 1.0)


def tests_of_access(cluster: Cluster, authorizer: Authorizer) -> None:
    """500 AccessTests."""
    chance = cluster.random
    mixed: list[Assertion] = []
    for number in range(500):
        pattern = (
            chance.choice(cluster.patterns)
            if number % 5
            else ResourcePattern(_TOPIC, f"team-{number}.", PatternType.PREFIXED)
        )
        if number % 3:
            mixed.append(only_readers(f"readers {number}", [pattern], chance.sample(cluster.principals, 3)))
        else:
            who = (chance.choice(cluster.principals),)
            mixed.append(
                Assertion(f"must {number}", AssertionKind.MUST, frozenset({AclOperation.READ}), (pattern,), who)
            )

    def cold() -> Checker:
        checker = Checker(authorizer)
        for assertion in mixed:
            checker.check(assertion)
        return checker

    checker = cold()
    show("500 mixed assertions, cold", seconds(cold), 0.7)
    show("500 mixed assertions, warm", seconds(lambda: [checker.check(assertion) for assertion in mixed]), 0.1)
    denied = authorizer.with_changes([binding(_EVERY_TOPIC, WILDCARD_PRINCIPAL, AclOperation.READ, _DENY)])
    whole = [only_readers(f"all {n}", [_EVERY_TOPIC], chance.sample(cluster.principals, 3)) for n in range(500)]

    def under_deny() -> None:
        checker = Checker(denied)
        for assertion in whole:
            checker.check(assertion)

    show("500 whole-type assertions under a User:* DENY", seconds(under_deny, 1), 2.0)


def separations(cluster: Cluster) -> None:
    """Two duties that nearly everybody could do together: the ways of each, and the least to take away for ten."""
    chance = cluster.random
    tokens = {
        binding(pattern, who, AclOperation.CREATE_TOKENS)
        for who, pattern in [
            *(
                (who, ResourcePattern(ResourceType.USER, chance.choice(cluster.principals)))
                for who in cluster.principals[::50]
            ),
            *(
                (who, ResourcePattern(ResourceType.USER, "User:svc-1", PatternType.PREFIXED))
                for who in cluster.principals[7::500]
            ),
        ]
    }
    controls = tuple(
        Control(
            (ResourcePattern(_TOPIC, cluster.names[n * 11]),), cluster.principals[n * 7], Origin("bench.yaml", 1, 1)
        )
        for n in range(10)
    )
    links = Links(controls, {f"share-{n}": cluster.names[n * 17] for n in range(20)})
    duties = tuple(
        Duty((AclOperation.WRITE,), (ResourcePattern(_TOPIC, text, PatternType.PREFIXED),))
        for text in ("team-1", "team-2")
    )
    selection = PrincipalSelection(None, frozenset(cluster.principals[3:5]))
    held = frozenset(cluster.bindings | tokens)
    for through in Through:
        separation = Separation(duties, through)

        def decided(separation: Separation = separation) -> None:
            judge = Separations(Authorizer(held), links)
            breaking = judge.decide(separation, selection).breaking
            assert breaking
            for one in breaking[:10]:
                judge.fixed(one, separation, selection)

        show(f"separation of two duties, through {through.value}", seconds(decided, 1), 5.0)


def main(count: int) -> None:
    """Prints the table."""
    cluster = Cluster(count)
    bindings = frozenset(cluster.bindings)
    print(f"{len(bindings):,} bindings, CPython {sys.version.split()[0]}")
    print(f"{'':58}{'measured':>16}{'aim':>16}{'ratio':>9}")
    show("index", seconds(lambda: Authorizer(bindings)), 0.5)
    authorizer = Authorizer(bindings)
    decisions(cluster, authorizer)
    differences(cluster, authorizer)
    tests_of_access(cluster, authorizer)
    separations(cluster)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
