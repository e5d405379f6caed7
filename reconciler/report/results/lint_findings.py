"""Findings of ``lint``, and problems that ``validate`` names."""

from collections.abc import Iterable, Iterator

from reconciler.model import Origin
from reconciler.model.naming import as_name, binding_name, ticked
from reconciler.report.results.documents import LintEntry, ProblemEntry, WaiverEntry
from reconciler.report.results.finding import Finding, Level


def lint_finding(form: LintEntry, cluster: str) -> Finding:
    """One finding of ``lint``."""
    return Finding(
        form.rule,
        form.name,
        form.severity,
        form.message,
        form.advice,
        cluster,
        form.subject,
        form.place,
        tuple(_details(form)),
        waived_words(form.waiver),
        binding=form.binding,
    )


def _details(form: LintEntry) -> Iterator[str]:
    if form.evidence:
        yield f"for example: {', '.join(form.evidence)}"
    yield from (f"see also {name}" for name in map(binding_name, form.related) if name not in form.message)


def idle_waivers(places: Iterable[Origin], cluster: str) -> Iterator[Finding]:
    """Waivers that accept nothing that was found."""
    for place in places:
        message = "this waiver matches no finding"
        yield Finding("idle-waiver", "idle-waiver", Level.WARNING, message, "remove it", cluster, "", place)


def unseen_findings(facts: Iterable[str], cluster: str) -> Iterator[Finding]:
    """What no finding about ACLs can take into account."""
    for fact in facts:
        yield Finding("not-seen", "not-seen", Level.NOTE, fact, "", cluster)


def problem_finding(problem: ProblemEntry) -> Finding:
    """A problem in a manifest."""
    place = Origin(problem.file, problem.line, problem.column)
    details = tuple(f"see also {as_name(str(other))}" for other in problem.related)
    return Finding(
        problem.code,
        problem.code.lower(),
        problem.severity,
        problem.message,
        problem.advice,
        place=place,
        details=details,
    )


def waived_words(waiver: WaiverEntry | None) -> str:
    """Until when it is accepted, and why; nothing where nobody accepts it."""
    if waiver is None:
        return ""
    ticket = f", {as_name(waiver.ticket)}" if waiver.ticket else ""
    return f"accepted until {waiver.expires}: {ticked(waiver.reason)}{ticket}"
