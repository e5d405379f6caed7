"""What has to hold before a suggestion is shown: nobody gains anything, and what was seen is decided as before."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from reconciler.access import Authorizer, compare_access
from reconciler.fleet.tighten.evidence import SeenAccess, UsageEvidence
from reconciler.fleet.tighten.narrowing import Held, HeldReason, Narrowing
from reconciler.fleet.usage.replay import permitted
from reconciler.model import WILDCARD, AclBinding, PatternType, ResourcePattern

#: What else has to hold of the rights after a change, such as access tests.
Holds: TypeAlias = Callable[[Authorizer], bool]


class Proven(NamedTuple):
    """The narrowings that hold together, those that do not, and the rights after.

    ``replayed`` counts the distinct accesses that were decided again, ``rows`` the rows of lost access.
    """

    narrowings: tuple[Narrowing, ...]
    held: tuple[Held, ...]
    after: Authorizer
    replayed: int = 0
    rows: int = 0


def prove(
    before: Authorizer, narrowings: Iterable[Narrowing], evidence: UsageEvidence, holds: Holds = lambda _: True
) -> Proven:
    """As many of the narrowings as hold, all at once where possible, else each judged on top of those before it.

    Of the result the same is proven once more as a whole: rights after ⊆ rights before, for every principal, host and
    name, in every interpretation of what is unknown; and every permitted access of the evidence is decided the same.
    """
    closing, opening = _by_coverage(before, sorted(narrowings))
    held = [Held(one, HeldReason.OPENS) for narrowing in opening for one in narrowing.bindings]
    after, done = _most(before, before, closing, evidence, holds)
    kept = {one for narrowing in done for one in narrowing.bindings}
    failed = [narrowing for narrowing in closing if narrowing.first not in kept]
    held += [Held(one, HeldReason.UNPROVEN) for narrowing in failed for one in narrowing.bindings]
    rows, replayed = 0, 0
    if done:
        difference = compare_access(before, after)
        if any(row.gained for row in (*difference.rows, *difference.reached())):
            raise AssertionError("narrower rights grant something new")
        rows = len(difference.rows)
        replayed = sum(map(len, evidence.accesses.values()))
    return Proven(tuple(done), tuple(sorted(held)), after, replayed, rows)


def applied(before: Authorizer, narrowings: Iterable[Narrowing]) -> Authorizer:
    """The rights after the narrowings, as far as those are there that they begin with."""
    there = before.bindings
    chosen = [one for one in narrowings if there.issuperset(one.bindings)]
    removed = {binding for one in chosen for binding in one.bindings}
    into = {binding for one in chosen for binding in one.into}
    return before.with_changes(into - there, removed - into)


def _most(
    first: Authorizer, now: Authorizer, narrowings: Sequence[Narrowing], evidence: UsageEvidence, holds: Holds
) -> tuple[Authorizer, list[Narrowing]]:
    """The rights after as many as hold. What does not hold now does not with fewer rights either."""
    if not narrowings:
        return now, []
    after = applied(now, narrowings)
    if _holds(first, now, after, narrowings, evidence) and holds(after):
        return after, list(narrowings)
    if len(narrowings) == 1:
        return now, []
    half = len(narrowings) // 2
    now, done = _most(first, now, narrowings[:half], evidence, holds)
    now, more = _most(first, now, narrowings[half:], evidence, holds)
    return now, done + more


def _holds(
    first: Authorizer, now: Authorizer, after: Authorizer, narrowings: Sequence[Narrowing], evidence: UsageEvidence
) -> bool:
    difference = compare_access(now, after)
    if any(row.gained for row in (*difference.rows, *difference.reached())):
        return False
    # Only those who lose something can be decided otherwise: nobody gains, and nothing is for everybody.
    concerned = {binding.entry.principal for narrowing in narrowings for binding in narrowing.bindings}
    return all(same(first, after, evidence.accesses.get(principal, ())) for principal in concerned)


def same(before: Authorizer, after: Authorizer, accesses: Sequence[SeenAccess]) -> bool:
    """Whether every access is decided the same; what the API accepts in place of a right counts."""
    plain = [access.event for access in accesses if not access.event.on_some]
    answers = after.permits(event.request for event in plain)
    # Most are permitted as before; only the others need the longer way.
    open_ = [event for event, answer in zip(plain, answers, strict=True) if not answer]
    open_ += [access.event for access in accesses if access.event.on_some]
    return all(permitted(before, event)[0] is permitted(after, event)[0] for event in open_)


def _by_coverage(before: Authorizer, narrowings: Sequence[Narrowing]) -> tuple[list[Narrowing], list[Narrowing]]:
    """Those that leave every name covered by some ACL, and the others, where a name without any might be open."""
    if not before.interpretations.most.default_allow:
        return list(narrowings), []
    left = applied(before, narrowings).bindings
    patterns = {binding.pattern for binding in left}

    def is_covered(binding: AclBinding) -> bool:
        pattern = binding.pattern
        prefixes = (pattern.name[:length] for length in range(1, len(pattern.name) + 1))
        return (
            pattern in patterns
            or ResourcePattern(pattern.resource_type, WILDCARD) in patterns
            or any(ResourcePattern(pattern.resource_type, name, PatternType.PREFIXED) in patterns for name in prefixes)
        )

    found = [(one, all(map(is_covered, one.bindings))) for one in narrowings]
    return [one for one, covered in found if covered], [one for one, covered in found if not covered]
