"""Findings and checks of ``lint``, ``test`` and ``validate``."""

from collections.abc import Iterable, Iterator
from typing import Final

from reconciler.access import Via
from reconciler.model import AclBinding, Origin
from reconciler.report.results.documents import (
    BreachForm,
    ClaimForm,
    FindingForm,
    ProblemForm,
    WaiverForm,
    WitnessForm,
)
from reconciler.report.results.finding import Check, Finding, Level, Standing

#: What a claim that did not hold is called as a rule: by what came of it, never by its name.
_CLAIM_RULES: Final = {"failed": "access-test", "undecided": "access-test-undecided", "waived": "access-test"}
_BECAUSE: Final = {
    Via.DEFAULT_ALLOW.value: "because no binding covers it, and allow.everyone.if.no.acl.found is or may be on",
    Via.SUPER_USER.value: "because it is a super user, whom no ACL limits",
    Via.CLUSTER_ALTER.value: "because it may ALTER the cluster, and so grant itself anything",
    Via.OTHER_RESOURCE.value: "because what it holds on another resource is enough",
}


def lint_finding(form: FindingForm, cluster: str) -> Finding:
    """One finding of ``lint``."""
    return Finding(
        form.rule,
        form.name,
        form.severity,
        form.message,
        form.advice,
        cluster,
        str(form.binding),
        form.place,
        (*form.evidence, *(f"see also {binding}" for binding in form.related)),
        _waived(form.waiver),
    )


def idle_waivers(places: Iterable[Origin], cluster: str) -> Iterator[Finding]:
    """Waivers that accept nothing that was found."""
    for place in places:
        message = "this waiver accepts nothing that was found"
        yield Finding("idle-waiver", "idle-waiver", Level.WARNING, message, "remove it", cluster, "", place)


def claim_finding(claim: ClaimForm, cluster: str) -> Finding | None:
    """What a claim that did not pass comes to."""
    if claim.standing == "passed":
        return None
    rule = _CLAIM_RULES.get(claim.standing, "access-test")
    details = tuple(_broken(claim))
    message = f"claimed: {claim.words}"
    if claim.standing == "undecided":
        message = f"undecided, {message}"
    level = Level.ERROR if claim.stops else Level.WARNING
    advice = "\n".join(_mending(claim))
    return Finding(
        rule, rule, level, message, advice, cluster, claim.test, claim.place, details, _waived(claim.waiver, claim)
    )


def claim_check(claim: ClaimForm, cluster: str) -> Check:
    """A claim and what came of it."""
    standing = _standing(claim)
    lines = () if standing is Standing.PASSED else (*_broken(claim), *_mending(claim))
    message = claim.words
    if standing is Standing.WAIVED:
        message = f"{_waived(claim.waiver)}: {claim.words}"
    return Check("AccessTests", f"{claim.test}: {claim.claim}", cluster, standing, message, lines, claim.place)


def ownership_finding(breach: BreachForm, cluster: str) -> Finding:
    """A breach of ownership."""
    rule = f"ownership-{breach.kind}"
    return Finding(rule, rule, Level.ERROR, breach.message, breach.advice, cluster, "", breach.place)


def ownership_checks(breaches: tuple[BreachForm, ...], cluster: str) -> Iterator[Check]:
    """One for each breach; one that passed where there is none."""
    if not breaches:
        message = "every file names only what belongs to its team"
        yield Check("Ownership", "ownership", cluster, Standing.PASSED, message)
    for breach in breaches:
        name = f"ownership at {breach.place}"
        yield Check("Ownership", name, cluster, Standing.FAILED, breach.message, (breach.advice,), breach.place)


def problem_finding(problem: ProblemForm) -> Finding:
    """A problem in a manifest."""
    place = Origin(problem.file, problem.line, problem.column)
    details = tuple(f"see also {other}" for other in problem.related)
    return Finding(
        problem.code,
        problem.code.lower(),
        problem.severity,
        problem.message,
        problem.advice,
        place=place,
        details=details,
    )


def _standing(claim: ClaimForm) -> Standing:
    if claim.standing == "passed":
        return Standing.PASSED
    if claim.standing == "waived":
        return Standing.WAIVED
    if not claim.stops:
        return Standing.WARNED
    return Standing.UNDECIDED if claim.standing == "undecided" else Standing.FAILED


def _waived(waiver: WaiverForm | None, claim: ClaimForm | None = None) -> str:
    """Nothing where nobody accepted it, or no longer."""
    if waiver is None or (claim is not None and claim.standing != "waived"):
        return ""
    ticket = f", {waiver.ticket}" if waiver.ticket else ""
    return f"accepted until {waiver.expires}: {waiver.reason}{ticket}"


def _broken(claim: ClaimForm) -> Iterator[str]:
    for glob in claim.about_nobody:
        yield f"no principal that is known matches {glob}, so the claim is about nobody"
    if claim.witness is not None:
        yield from _witness(claim.witness, may=claim.claim != "must", certain=not claim.reason)
    if claim.reason:
        yield f"undecided: {claim.reason}"


def _witness(witness: WitnessForm, *, may: bool, certain: bool) -> Iterator[str]:
    verb = f"{'' if certain else 'perhaps '}{'may' if may else 'may not'}"
    resource = f"{witness.resource_type} {witness.resource_name}"
    yield f"but {witness.principal} {verb} {witness.operation} {resource} from {witness.host}"
    because = _BECAUSE.get(witness.via or "")
    if because:
        yield because
    yield from (f"by {binding}" for binding in witness.bindings)
    if witness.origins:
        yield f"declared at {', '.join(witness.origins)}"


def _mending(claim: ClaimForm) -> Iterator[str]:
    if claim.mending is None:
        return
    changes = [*_changes("create", claim.mending.create), *_changes("delete", claim.mending.delete)]
    if changes:
        yield "it would hold after: " + "; ".join(changes)


def _changes(verb: str, bindings: Iterable[AclBinding]) -> Iterator[str]:
    yield from (f"{verb} {binding}" for binding in bindings)
