"""Proof of a suggestion, and its trial before it counts.

What has to hold before a suggestion is shown: nobody gains anything, and what was seen is decided as before.
"""

import datetime
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Final, NamedTuple, TypeAlias

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import compare_access
from reconciler.codec.annotated import record_of
from reconciler.codec.codec import Codec, SchemaError, array, converted
from reconciler.codec.document import canonical, known_minor, load
from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD, AclBinding, AclPermissionType, PatternType, ResourcePattern
from reconciler.model.says import REQUIRED, Says
from reconciler.parts.evidence.suggestion import Held, HeldReason, Narrowing
from reconciler.parts.evidence.usage.cluster import permitted
from reconciler.parts.evidence.usage.counts import SeenAccess, UsageEvidence

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
    held = [Held(binding, HeldReason.OPENS) for narrowing in opening for binding in narrowing.bindings]
    after, done = _most(before, before, closing, evidence, holds)
    kept = {binding for narrowing in done for binding in narrowing.bindings}
    failed = [narrowing for narrowing in closing if narrowing.first not in kept]
    held += [Held(binding, HeldReason.UNPROVEN) for narrowing in failed for binding in narrowing.bindings]
    rows, replayed = 0, 0
    if done:
        difference = compare_access(before, after)
        if difference.gives():
            raise AssertionError("narrower rights grant something new")
        rows = len(difference.rows)
        replayed = sum(map(len, evidence.accesses.values()))
    return Proven(tuple(done), tuple(sorted(held)), after, replayed, rows)


def applied(before: Authorizer, narrowings: Iterable[Narrowing]) -> Authorizer:
    """The rights after the narrowings, as far as those are there that they begin with."""
    there = before.bindings
    chosen = [narrowing for narrowing in narrowings if there.issuperset(narrowing.bindings)]
    removed = {binding for item in chosen for binding in item.bindings}
    into = {binding for item in chosen for binding in item.into}
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
    if difference.gives():
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
    remaining = applied(before, narrowings).bindings
    patterns = {binding.pattern for binding in remaining}

    def is_covered(binding: AclBinding) -> bool:
        pattern = binding.pattern
        prefixes = (pattern.name[:length] for length in range(1, len(pattern.name) + 1))
        return (
            pattern in patterns
            or ResourcePattern(pattern.resource_type, WILDCARD) in patterns
            or any(ResourcePattern(pattern.resource_type, name, PatternType.PREFIXED) in patterns for name in prefixes)
        )

    judged = [(narrowing, all(map(is_covered, narrowing.bindings))) for narrowing in narrowings]
    return [item for item, covered in judged if covered], [item for item, covered in judged if not covered]


# A proposal before its day: what it would have refused since it was made, day by day. Nothing is refused for it.


@dataclass(frozen=True, slots=True)
class Shadow:
    """What would have been refused, the most frequent first; ``decisions`` are how many were looked at.

    ``wanted`` are the narrowings that would have refused nothing, ``refusing`` the others, ``gone`` those of which the
    rights are no longer declared as they were.
    """

    refusals: tuple[SeenAccess, ...] = ()
    decisions: int = 0
    wanted: tuple[Narrowing, ...] = ()
    refusing: tuple[Narrowing, ...] = ()
    gone: tuple[Narrowing, ...] = ()

    @property
    def refused(self) -> int:
        """How many decisions would have been refused."""
        return sum(refusal.tally.times for refusal in self.refusals)


def shadow(before: Authorizer, narrowings: Iterable[Narrowing], evidence: UsageEvidence) -> Shadow:
    """What the narrowings together would have refused of the accesses that were permitted."""
    narrowings = tuple(narrowings)
    declared = before.bindings
    there = [narrowing for narrowing in narrowings if declared.issuperset(narrowing.bindings)]
    after = applied(before, there)
    refusals = [
        access
        for principal in sorted({item.first.entry.principal for item in there})
        for access in evidence.accesses.get(principal, ())
        if permitted(before, access.event)[0] is not permitted(after, access.event)[0]
    ]
    refusals.sort(key=lambda item: (-item.tally.times, item.event.request))
    # Each right that granted one of them, whether or not it did so alone.
    needed = {binding for refusal in refusals for binding in permitted(before, refusal.event)[1].bindings}
    refusing = [item for item in there if needed.intersection(item.bindings)]
    return Shadow(
        tuple(refusals),
        evidence.decisions,
        tuple(item for item in there if item not in refusing),
        tuple(refusing),
        tuple(narrowing for narrowing in narrowings if narrowing not in there),
    )


# A proposal that waits for its day: a file of whoever makes it, and no word that counts.
#
# It says what is to be narrowed and from which day on that may be proposed. Nothing is believed of it: on its day it
# only chooses among what a new run proposes, so that a forged file can take nothing that could not be taken without
# it.

VERSION: Final = "1.0"


def _only_allows(narrowing: Narrowing) -> Narrowing:
    bindings = (*narrowing.bindings, *narrowing.into)
    if not narrowing.bindings or any(
        binding.entry.permission_type is not AclPermissionType.ALLOW for binding in bindings
    ):
        raise ValueError("only ALLOWs are narrowed")
    return narrowing


_READ: Final = record_of(Narrowing)
_NARROWING: Final[Codec[Narrowing]] = converted(_READ, _only_allows, _READ.write)


class Stage(NamedTuple):
    """Narrowings for one cluster, watched since a day and proposed not before another."""

    cluster: Annotated[str, Says("The cluster.", "prod")]
    since: Annotated[datetime.date, Says("The day of the proposal.", "2026-11-23")]
    not_before: Annotated[datetime.date, Says("The first day on which the edit may be proposed.", "2026-12-23")]
    narrowings: Annotated[tuple[Narrowing, ...], array(_NARROWING), Says("What is to be narrowed.")]
    format_version: Annotated[str, Says("The version of this file's format.", VERSION, default=REQUIRED)] = VERSION


STAGE: Final = record_of(Stage)


def stage_text(stage: Stage) -> str:
    """The file."""
    return canonical(STAGE.write(stage)) + "\n"


def read_stage(text: str) -> Stage:
    """The file's content; raises :class:`reconciler.codec.codec.SchemaError`."""
    document = load(text)
    known_minor(document, VERSION)
    stage = STAGE.read(document)
    if stage.not_before < stage.since:
        raise SchemaError("it is before since", "notBefore")
    return stage._replace(narrowings=tuple(stage.narrowings))
