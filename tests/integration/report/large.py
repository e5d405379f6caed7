"""Plans so large that nobody reads them whole: fifty thousand steps, a hundred thousand rows of access."""

import datetime
from typing import Final

from reconciler.access.difference import Witness
from reconciler.access.names import ResourceSet, literal
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Origin
from reconciler.model.listing import Create, Delete
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Counts, Options, Plan, Terms
from reconciler.plan.review.access_change import AccessChange
from reconciler.plan.review.access_review import AccessReview
from reconciler.plan.review.callouts import Callout
from reconciler.plan.review.effects import Effect, EffectKind
from reconciler.plan.step import Step
from reconciler.results.findings import Check, CheckStatus, Finding, Level
from reconciler.show.reading import Report

STEPS: Final = 50_000
ROWS: Final = 100_000
_READ: Final = (AclOperation.DESCRIBE, AclOperation.READ)


def large_report(
    *, steps: int = STEPS, rows: int = ROWS, principals: int = 5_000, findings: int | None = None
) -> Report:
    """A plan with findings (one for two steps) and checks to match; every hundredth row is a loss."""
    findings = steps // 2 + 1 if findings is None else findings
    access_changes = tuple(_row(number, principals) for number in range(rows))
    found = tuple(_step(number, principals) for number in range(steps))
    effects = (Effect(EffectKind.GRANT),) * steps
    callouts = tuple(Callout("wildcard", f"User:svc-{n}", f"User:svc-{n} gains READ on all topics") for n in range(500))
    plan = Plan(
        "big-id",
        Terms("big"),
        Options(),
        datetime.date(2026, 11, 21),
        tuple(sorted(found, key=lambda step: step.phase)),
        counts=Counts(live_bindings=steps, owned=steps),
        access=AccessReview(access_changes, effects, callouts),
    )
    return Report(
        (plan,),
        findings=tuple(_finding(number) for number in range(findings)),
        checks=tuple(
            Check(
                "AccessTests",
                f"claim {number}",
                "big",
                CheckStatus.FAILED,
                "User:* must not have READ",
                ("but it has",),
            )
            for number in range(2_000)
        ),
    )


def _binding(number: int, principals: int) -> AclBinding:
    name = f"team-{number % 97}.topic-{number:06d}-`|<&"
    entry = AccessControlEntry(f"User:svc-{number % principals}", "*", AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, name, PatternType.LITERAL), entry)


def _step(number: int, principals: int) -> Step:
    origin = Origin(f"teams/{number % 97}.yaml", number % 500 + 1, 5)
    if number % 100 == 0:
        return Step(Phase.DELETE_ALLOW, Delete(_binding(number, principals)))
    return Step(Phase.CREATE_ALLOW, Create(_binding(number, principals)), origin)


def _row(number: int, principals: int) -> AccessChange:
    who, name = f"User:svc-{number % principals}", f"team-{number % 97}.topic-{number:06d}"
    resources, witness = ResourceSet(ResourceType.TOPIC, literal(name)), Witness(who, "192.0.2.0", name)
    gained, lost = ((), _READ) if number % 100 == 0 else (_READ, ())
    return AccessChange(who, "any host", resources, gained, lost, witness)


def _finding(number: int) -> Finding:
    subject = f"User:svc-{number} ALLOW READ on TOPIC x"
    return Finding("KA001", "redundant", Level.WARNING, "says what is said", "remove it", "big", subject)
