"""Faults of ``reconciler/access`` that change nothing that anybody may rely on, each with the reason."""

from typing import Final

#: As :data:`tests.mutants.equivalent.EQUIVALENT`, which has them too.
EQUIVALENT_ACCESS: Final[dict[tuple[str, str, str, str], str]] = {
    (
        "reconciler/access/assertions.py",
        "Checker.decide",
        "search(assertion, selection, hard) if hard is not easy else None",
        "search(assertion, selection, hard)",
    ): "a shortcut: the same interpretation has just been searched, and nothing was found",
    (
        "reconciler/access/lint/rules/ineffective.py",
        "_pattern_problem",
        "return None",
        "pass",
    ): "the end of the function, which returns None",
    (
        "reconciler/access/remediation.py",
        "_step",
        "if verdict.assertion.claim is AssertionKind.MUST: return (_missing(verdict.asser … "
        "verdict, authorizer, principals), [])",
        "if True: return (_missing(verdict.assertion, verdict, authorizer, principals), [])",
    ): "a shortcut: no grant keeps anybody from anything, so the rounds end without a remedy",
}
