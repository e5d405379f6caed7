"""Results of access tests as text: what is broken, by whom and on which name, by which line, and what would mend it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from reconciler.access import AccessRequest, AssertionResult, Via
from reconciler.access import AssertionKind as Direction
from reconciler.access.remediation import Remediation
from reconciler.manifest import AccessTest, Claim
from reconciler.model.naming import as_name, binding_name, ticked
from reconciler.plan.guardrail_review import GuardrailReview
from reconciler.plan.review.access_change import ending_words
from reconciler.ports import NO_AUTHORIZER
from reconciler.report.access_view import AccessView
from reconciler.report.claim_results import ClaimResult, ClaimStatus
from reconciler.report.cluster_test_results import ClusterTestResult
from reconciler.report.cluster_tests_text import entry as cluster_test_entry
from reconciler.report.results.documents import (
    TEST,
    ClaimEntry,
    ClusterTestEntry,
    RemediationEntry,
    TestedState,
    TestOutput,
    WaiverEntry,
    WitnessEntry,
)
from reconciler.report.results.finding import Level
from reconciler.report.style import Style, counted, plain, safe
from reconciler.report.words import host_words, names_words, resource_words

_STYLE: Final = {
    ClaimStatus.PASSED: "add",
    ClaimStatus.FAILED: "error",
    ClaimStatus.UNDECIDED: "warn",
    ClaimStatus.WAIVED: "warn",
}
_ONLY: Final = {
    Claim.ONLY_READERS: "may read",
    Claim.ONLY_WRITERS: "may write",
    Claim.ONLY_ADMINS: "may create, delete, alter or reconfigure",
}


def claims_lines(results: Iterable[ClaimResult], style: Style = plain, *, all_of_them: bool = False) -> Iterator[str]:
    """Each result that did not pass, or every one, then a line that counts them all."""
    results = tuple(results)
    for result in results:
        if all_of_them or result.standing is not ClaimStatus.PASSED:
            yield from result_lines(result, style)
    yield summary(results)


def summary(results: Iterable[ClaimResult]) -> str:
    """``3 claims: 2 passed, 1 waived``."""
    found = Counter(result.standing for result in results)
    parts = ", ".join(f"{found[standing]:,} {standing}" for standing in ClaimStatus if found[standing])
    return f"{counted(found.total(), 'claim')} about access" + (f": {parts}" if parts else "")


def result_lines(result: ClaimResult, style: Style = plain) -> Iterator[str]:
    """One result."""
    test = result.test
    word = str(result.standing)
    if test.severity == "warning" and result.standing in (ClaimStatus.FAILED, ClaimStatus.UNDECIDED):
        word += " (warning)"
    place = style("dim", f"  {safe(str(test.origin))}")
    yield style(_STYLE[result.standing], word) + f"  {safe(test.name)}{place}"
    if result.standing is ClaimStatus.PASSED:
        return
    yield f"    claimed: {safe(claim_words(test))}"
    if result.since is not None:
        yield f"    it holds now, and no longer {ending_words(result.since)}:"
    for glob in result.nobody:
        yield f"    no known principal matches {safe(as_name(glob))}, so the claim covers nobody"
    if result.verdict is not None:
        yield from (f"    {safe(line)}" for line in _broken(result.verdict))
    if result.mending is not None:
        yield from (f"    {safe(line)}" for line in _mending(result.mending))
    if test.waiver is not None:
        stands = "accepted until" if result.standing is ClaimStatus.WAIVED else "was accepted until"
        yield safe(f"    {stands} {test.waiver.expires}: {ticked(test.waiver.reason)}")


def claim_words(test: AccessTest) -> str:
    """``nobody but User:a may read topics starting with `pii.` ``."""
    where = " and ".join(names_words(pattern) for pattern in test.patterns)
    who = ", ".join(map(as_name, test.principals))
    if test.claim in _ONLY:
        return f"only {who} {_ONLY[test.claim]} {where}"
    operations = ", ".join(operation.name for operation in test.operations)
    excluded = f" except {', '.join(map(as_name, test.excluded))}" if test.excluded else ""
    verb = "must have" if test.claim is Claim.MUST else "must not have"
    return f"{who}{excluded} {verb} {operations} on {where}"


def _broken(verdict: AssertionResult) -> Iterator[str]:
    witness = verdict.witness
    if witness is not None:
        may = "may" if verdict.assertion.claim is Direction.MUST_NOT else "may not"
        doubt = "perhaps " if verdict.reason else ""
        resource = resource_words(witness.resource_type, witness.resource_name)
        host = host_words(witness.host, {binding.entry.host for binding in verdict.bindings})
        yield f"but {as_name(witness.principal)} {doubt}{may} {witness.operation.name} {resource} from {host}"
        yield from _because(verdict)
    if verdict.reason:
        yield f"undecided: {verdict.reason}"
    if verdict.reason and not verdict.reason.startswith(NO_AUTHORIZER):
        yield "have the operator state superUsers and allowEveryoneIfNoAclFound in the file of --connections"


def _because(verdict: AssertionResult) -> Iterator[str]:
    if verdict.via is Via.DEFAULT_ALLOW:
        yield "because no binding covers it, and allow.everyone.if.no.acl.found is or may be on"
    elif verdict.via is Via.SUPER_USER:
        yield "because it is a super user, whom no ACL limits"
    elif verdict.via is Via.CLUSTER_ALTER:
        yield "because it may ALTER the cluster, and so grant itself anything:"
    elif verdict.via is Via.OTHER_RESOURCE:
        yield "because what it holds on another resource is enough:"
    elif not verdict.bindings:
        yield "because nothing grants it"
    yield from (f"by {binding_name(binding)}" for binding in verdict.bindings)
    if verdict.origins:
        yield f"declared at {', '.join(as_name(str(origin)) for origin in verdict.origins)}"


def _mending(mending: Remediation) -> Iterator[str]:
    """The change, each binding on its line; it has been checked to be enough."""
    changes = [
        *(f"create {binding_name(one)}" for one in mending.create),
        *(f"delete {binding_name(one)}" for one in mending.delete),
    ]
    if len(changes) == 1:
        yield f"it would hold after: {changes[0]}"
    elif changes:
        yield "it would hold after all of:"
        yield from (f"  {change}" for change in changes)


def claim_entry(result: ClaimResult) -> ClaimEntry:
    """One result as commands print it for programs."""
    test, verdict, waiver = result.test, result.verdict, result.test.waiver
    return ClaimEntry(
        test=test.name,
        document=test.document,
        claim=test.claim.value,
        place=test.origin,
        severity=Level(test.severity),
        standing=result.standing.value,
        stops=result.stops,
        words=claim_words(test)
        + ("" if result.since is None else f"; it holds now, and no longer {ending_words(result.since)}"),
        about_nobody=tuple(result.nobody),
        witness=None if verdict is None or verdict.witness is None else _witness(verdict, verdict.witness),
        reason=None if verdict is None else verdict.reason,
        mending=None
        if result.mending is None
        else RemediationEntry(tuple(result.mending.create), tuple(result.mending.delete)),
        waiver=None if waiver is None else WaiverEntry(waiver.reason, str(waiver.expires), waiver.ticket),
    )


def _witness(verdict: AssertionResult, request: AccessRequest) -> WitnessEntry:
    return WitnessEntry(
        request.principal,
        request.host,
        request.operation.name,
        request.resource_type.name,
        request.resource_name,
        None if verdict.via is None else verdict.via.value,
        tuple(verdict.bindings),
        tuple(map(str, verdict.origins)),
    )


def test_document(
    decided: Iterable[tuple[AccessView, Sequence[ClaimResult], GuardrailReview, Sequence[ClusterTestResult], int]],
) -> dict[str, Any]:
    """What ``test --output json`` prints."""
    states = tuple(
        TestedState(
            view.cluster,
            view.basis.value,
            tuple(map(claim_entry, results)),
            guardrails,
            view.unseen,
            tuple(map(cluster_test_entry, of_cluster)),
        )
        for view, results, guardrails, of_cluster, _ in decided
    )
    return TEST.write(TestOutput(not any(one.stops for state in states for one in _entries(state)), states))


def _entries(state: TestedState) -> Iterator[ClaimEntry | ClusterTestEntry]:
    yield from state.claims
    yield from state.cluster_tests
