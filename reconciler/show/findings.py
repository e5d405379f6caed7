"""Findings and checks for reports: of lint, of a plan, of what was agreed about a cluster, of audit logs.

Findings and checks of what was agreed about a cluster: claims about access, ownership, topic policies.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from json import dumps
from typing import Any, Final, NamedTuple, TypeVar

from reconciler.access.assertion import Via
from reconciler.codec.annotated import record_of
from reconciler.manifest.guardrail_meaning import Meaning
from reconciler.manifest.read.problem import Problem
from reconciler.model.acl import AclBinding
from reconciler.model.characters import as_name, binding_name, counted, safe, ticked
from reconciler.model.desired import Origin
from reconciler.plan.difference import Skipped, SkipReason
from reconciler.plan.file import as_shown
from reconciler.plan.guards import GuardrailReview
from reconciler.plan.kinds import CHANGE
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_change import AccessChange
from reconciler.plan.review.callouts import INTERRUPTED, KEPT, LOGIN, Callout
from reconciler.results.audit import AuditEntry
from reconciler.results.documents import (
    BreachEntry,
    ChecksEntry,
    ClaimEntry,
    ClusterTestEntry,
    CombinationEntry,
    ExceptionEntry,
    FailedOutput,
    LintEntry,
    PoliciesEntry,
    PolicyEntry,
    ProblemEntry,
    WitnessEntry,
    broken_lines,
)
from reconciler.results.findings import REFUSED, SKIPPED, Check, CheckStatus, Finding, Level, matter
from reconciler.results.words import host_words
from reconciler.show.access_lines import access_lines
from reconciler.show.review import NOT_VERIFIED, VERIFY, line_words

# Findings of ``lint``, and problems that ``validate`` names.


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
        excepted_words(form.exception),
        binding=form.binding,
    )


def _details(form: LintEntry) -> Iterator[str]:
    if form.evidence:
        yield f"for example: {', '.join(form.evidence)}"
    yield from (f"see also {name}" for name in map(binding_name, form.related) if name not in form.message)


def idle_exceptions(places: Iterable[Origin], cluster: str) -> Iterator[Finding]:
    """Exceptions that accept nothing that was found."""
    for place in places:
        message = "this exception matches no finding"
        yield Finding("idle-exception", "idle-exception", Level.WARNING, message, "remove it", cluster, "", place)


def unseen_findings(facts: Iterable[str], cluster: str) -> Iterator[Finding]:
    """What no finding about ACLs can take into account."""
    for fact in facts:
        yield Finding("not-seen", "not-seen", Level.NOTE, fact, "", cluster)


def problem_entry(problem: Problem) -> ProblemEntry:
    """A problem in a manifest as commands print it for programs."""
    severity, places = Level(problem.severity), tuple(map(str, problem.related))
    return ProblemEntry(problem.code, severity, *problem.origin, problem.message, problem.advice, places)


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


def excepted_words(exception: ExceptionEntry | None) -> str:
    """Until when it is accepted, and why; nothing where nobody accepts it."""
    if exception is None:
        return ""
    ticket = f", {as_name(exception.ticket)}" if exception.ticket else ""
    return f"accepted until {exception.expires}: {ticked(exception.reason)}{ticket}"


_BECAUSE: Final = {
    Via.DEFAULT_ALLOW.value: "because no binding covers it, and allow.everyone.if.no.acl.found is or may be on",
    Via.SUPER_USER.value: "because it is a super user, whom no ACL limits",
    Via.CLUSTER_ALTER.value: "because it may ALTER the cluster, and so grant itself anything",
    Via.OTHER_RESOURCE.value: "because what it holds on another resource is enough",
}


def agreed_findings(agreed: ChecksEntry, cluster: str) -> Iterator[Finding]:
    """What does not hold."""
    for claim in _claims(agreed):
        if claim.standing != "passed":
            yield _claim_finding(claim, cluster)
    yield from guardrail_findings(agreed.guardrails, cluster)
    for breach in agreed.breaches or ():
        yield _ownership_finding(breach, cluster)
    for end in agreed.ends:
        yield Finding("declared-end", "declared-end", Level.NOTE, end.message, "", cluster, end.subject, end.place)
    if agreed.policies is not None:
        yield from (_policy_finding(form, cluster) for form in agreed.policies.findings)
        yield from idle_exceptions(agreed.policies.idle_exceptions, cluster)


def guardrail_findings(review: GuardrailReview, cluster: str) -> Iterator[Finding]:
    """What a proposal changes about its judges, and where they hold although it does."""
    for change in review.changes:
        rule = f"guardrail-{change.meaning}"
        level = Level.NOTE if change.meaning is Meaning.TIGHTER else Level.WARNING
        yield Finding(rule, rule, level, change.words, place=change.origin)
    for notice in review.notices:
        details = () if notice.related is None else (f"compare {as_name(str(notice.related))}",)
        yield Finding(notice.rule, notice.rule, Level.WARNING, notice.message, "", cluster, "", notice.origin, details)


def agreed_checks(agreed: ChecksEntry, cluster: str, basis: str) -> Iterator[Check]:
    """One for each claim, breach and rule that is not kept; one that passed where nothing speaks against it."""
    for check in _checks(agreed, cluster):
        yield replace(check, basis=basis)


def _checks(agreed: ChecksEntry, cluster: str) -> Iterator[Check]:
    for claim in _claims(agreed):
        yield _claim_check(claim, cluster)
    if agreed.breaches is not None:
        yield from _ownership_checks(agreed.breaches, cluster)
    for consent in agreed.consents:
        name = f"consent at {consent.place}"
        yield Check("Ownership", name, cluster, CheckStatus.PASSED, consent.message, (), consent.place)
    if agreed.policies is not None:
        yield from _policy_checks(agreed.policies, cluster)


def _claims(agreed: ChecksEntry) -> Iterator[ClaimEntry | ClusterTestEntry]:
    yield from agreed.claims
    yield from agreed.cluster_tests


class _Against(NamedTuple):
    """What speaks against a claim, about access or about brokers: ``rule`` names it, never the claim's own name."""

    group: str
    rule: str
    about: str
    broken: tuple[str, ...]
    mending: tuple[str, ...] = ()


def _against(claim: ClaimEntry | ClusterTestEntry) -> _Against:
    if isinstance(claim, ClaimEntry):
        return _Against("AccessTests", "access-test", claim.claim, tuple(_broken(claim)), tuple(_mending(claim)))
    return _Against("ClusterTests", "cluster-test", claim.key, tuple(broken_lines(claim)))


def _claim_finding(claim: ClaimEntry | ClusterTestEntry, cluster: str) -> Finding:
    """What a claim that did not pass comes to."""
    against, undecided = _against(claim), claim.standing == "undecided"
    rule = f"{against.rule}{'-undecided' if undecided else ''}"
    return Finding(
        rule,
        rule,
        Level.ERROR if claim.stops else Level.WARNING,
        f"{'undecided, ' if undecided else ''}claimed: {claim.words}",
        "\n".join(against.mending),
        cluster,
        claim.test,
        claim.place,
        against.broken,
        excepted_words(claim.exception if claim.standing == "excepted" else None),
        checked=True,
    )


def _claim_check(claim: ClaimEntry | ClusterTestEntry, cluster: str) -> Check:
    """A claim and what came of it."""
    against, standing = _against(claim), _standing(claim)
    lines = () if standing is CheckStatus.PASSED else (*against.broken, *against.mending)
    excepted = f"{excepted_words(claim.exception)}: " if standing is CheckStatus.EXCEPTED else ""
    name, message = f"{claim.test}: {against.about}", f"{excepted}{claim.words}"
    return Check(against.group, name, cluster, standing, message, lines, claim.place)


def _ownership_finding(breach: BreachEntry, cluster: str) -> Finding:
    """A breach of ownership."""
    rule = f"ownership-{breach.kind}"
    return Finding(rule, rule, Level.ERROR, breach.message, breach.advice, cluster, "", breach.place, checked=True)


def _ownership_checks(breaches: tuple[BreachEntry, ...], cluster: str) -> Iterator[Check]:
    """One for each breach; one that passed where there is none."""
    if not breaches:
        message = "every file names only what belongs to its team"
        yield Check("Ownership", "ownership", cluster, CheckStatus.PASSED, message)
    for breach in breaches:
        name = f"ownership at {breach.place}"
        yield Check("Ownership", name, cluster, CheckStatus.FAILED, breach.message, (breach.advice,), breach.place)


def _policy_finding(form: PolicyEntry, cluster: str) -> Finding:
    level = Level.ERROR if form.stops else Level.WARNING
    message = f"undecided: {form.message}" if form.standing == "undecided" else form.message
    details = (ticked(form.reason),) if form.reason else ()
    excepted = excepted_words(form.exception) if form.standing == "excepted" else ""
    subject = f"topic {form.topic}"
    return Finding(
        form.rule, form.name, level, message, form.advice, cluster, subject, form.place, details, excepted, checked=True
    )


def _policy_checks(policies: PoliciesEntry, cluster: str) -> Iterator[Check]:
    """One for each rule that some topic does not keep, and one for all the others."""
    ordered = sorted(policies.findings, key=_rule_name)
    broken = 0
    for rule, group in groupby(ordered, key=_rule_name):
        forms = list(group)
        broken += 1
        lines = tuple(f"topic {as_name(form.topic)} at {as_name(str(form.place))}: {form.message}" for form in forms)
        message = ticked(forms[0].reason) if forms[0].reason else counted(len(forms), "finding")
        standing = min(map(_standing, forms), key=tuple(CheckStatus).index)
        yield Check("TopicPolicy", rule, cluster, standing, message, lines, forms[0].place)
    if policies.rules > broken:
        kept = f"{counted(policies.topics, 'topic')} against {counted(policies.rules - broken, 'rule')}"
        name = "the other rules" if broken else "topic policies"
        yield Check("TopicPolicy", name, cluster, CheckStatus.PASSED, kept)


def _rule_name(form: PolicyEntry) -> str:
    return f"{form.policy}/{form.policy_rule}" if form.policy_rule else form.policy


def _standing(form: ClaimEntry | ClusterTestEntry | PolicyEntry) -> CheckStatus:
    """What came of a claim, or of a rule for topics, of which only what is not kept has a form."""
    if form.standing == "passed":
        return CheckStatus.PASSED
    if form.standing == "excepted":
        return CheckStatus.EXCEPTED
    if not form.stops:
        return CheckStatus.WARNED
    return CheckStatus.UNDECIDED if form.standing == "undecided" else CheckStatus.FAILED


def _broken(claim: ClaimEntry) -> Iterator[str]:
    for glob in claim.about_nobody:
        yield f"no known principal matches {as_name(glob)}, so the claim covers nobody"
    if claim.witness is not None:
        yield from _witness(claim.witness, may=claim.claim != "must", certain=not claim.reason)
    yield from breaking_lines(claim.breaking)
    if claim.reason:
        yield f"{'perhaps' if any(breaking.certain for breaking in claim.breaking) else 'undecided'}: {claim.reason}"


def breaking_lines(breaking: Iterable[CombinationEntry]) -> Iterator[str]:
    """Everybody who could hold duties together: the ways, and the least to take away."""
    for entry in breaking:
        yield entry.words
        if entry.fix_words:
            yield entry.fix_words


def _witness(witness: WitnessEntry, *, may: bool, certain: bool) -> Iterator[str]:
    verb = f"{'' if certain else 'perhaps '}{'may' if may else 'may not'}"
    resource = f"{witness.resource_type} {as_name(witness.resource_name)}"
    host = host_words(witness.host, {binding.entry.host for binding in witness.bindings})
    yield f"but {as_name(witness.principal)} {verb} {witness.operation} {resource} from {host}"
    because = _BECAUSE.get(witness.via or "")
    if because:
        yield because
    yield from (f"by {binding_name(binding)}" for binding in witness.bindings)
    if witness.origins:
        yield f"declared at {', '.join(map(as_name, witness.origins))}"


def _mending(claim: ClaimEntry) -> Iterator[str]:
    if claim.mending is None:
        return
    changes = [*_changes("create", claim.mending.create), *_changes("delete", claim.mending.delete)]
    if changes:
        yield "it would hold after: " + "; ".join(changes)


def _changes(verb: str, bindings: Iterable[AclBinding]) -> Iterator[str]:
    yield from (f"{verb} {binding_name(binding)}" for binding in bindings)


# Findings and checks of a plan, what guards refuse and what stays; and of a command that ended without a result.

#: What a person has to look at; the others are what was asked for.
_LEVELS: Final = {
    SkipReason.REFUSED: Level.WARNING,
    SkipReason.IMPOSSIBLE: Level.WARNING,
    SkipReason.UNREADABLE: Level.WARNING,
    SkipReason.UNSUPPORTED: Level.WARNING,
    SkipReason.LEFTOVER: Level.WARNING,
    SkipReason.UNDECLARED: Level.WARNING,
    SkipReason.BREAK_GLASS: Level.WARNING,
    SkipReason.UNFINISHED: Level.WARNING,
}


def verification_findings(plan: Plan, document: Mapping[str, Any]) -> tuple[Finding, ...]:
    """What nobody has verified of a plan that comes from a file; nothing for what a command has just printed."""
    rule, cluster, verification = "plan-not-verified", plan.terms.cluster, document.get("verification")
    if verification is None:
        if "digest" not in document:
            return ()
        return (Finding(rule, rule, Level.WARNING, NOT_VERIFIED, VERIFY, cluster),)
    verification = verification if isinstance(verification, dict) else {}
    if verification.get("verified") is True:
        return ()
    places = verification.get("differences") or []
    if not places:
        return (Finding(rule, rule, Level.WARNING, NOT_VERIFIED, VERIFY, cluster),)
    message = "not the plan that the manifests give for this cluster now; these differ: " + ", ".join(map(str, places))
    return (Finding(rule, rule, Level.ERROR, message, "plan again", cluster),)


def guard_findings(plan: Plan) -> tuple[Finding, ...]:
    """One for each refusal."""
    return tuple(
        Finding(
            f"{REFUSED}{refusal.guard}",
            f"{REFUSED}{refusal.guard}",
            Level.ERROR,
            refusal.message,
            refusal.remedy,
            plan.terms.cluster,
            refusal.object,
            checked=True,
        )
        for refusal in plan.refusals
    )


def warning_finding(text: str, cluster: str) -> Finding:
    """A warning of a plan that its base has as well."""
    return Finding("plan-warning", "plan-warning", Level.WARNING, text, "", cluster)


_ROW: Final = record_of(AccessChange)
_Reported = TypeVar("_Reported")


def standing_findings(plan: Plan) -> tuple[Finding, ...]:
    """What a plan says besides its steps: what a plan of other manifests on the same cluster may say as well."""
    cluster, access = plan.terms.cluster, plan.access
    return (
        *(warning_finding(text, cluster) for text in plan.warnings),
        *filter(None, (_standing_skip(item, cluster) for item in plan.skipped)),
        *filter(None, (_later_finding(row, cluster) for row in access.access_changes)),
        *filter(None, (_standing_callout(item, cluster) for item in access.callouts)),
    )


def _standing_skip(item: Skipped, cluster: str) -> Finding | None:
    """The finding that says all of it; ``None`` where manifests declare something of which no change is known.

    What a safety check refuses stops the plan, whoever declares it.
    """
    whole = item.reason is not SkipReason.REFUSED and (item.change is not None or item.origin is None)
    return _skipped_finding(item, cluster) if whole else None


def _later_finding(row: AccessChange, cluster: str) -> Finding | None:
    """Access that an end gives after the plan; ``None`` where the plan itself moves it."""
    if row.since is None:
        return None
    # Changes of Ownership and of topics say whose the names are, and which topics there are.
    plain = replace(row, owners=None, topics=(), topic_count=0)
    words = "; ".join(f"{line.sign} {line_words(line)}" for line in access_lines([plain]))
    return Finding(
        "plan-later", "plan-later", Level.NOTE, words, "", cluster, exact=dumps(_ROW.write(plain), sort_keys=True)
    )


def _standing_callout(item: Callout, cluster: str) -> Finding | None:
    """What stands out; ``None`` where it is about a step, or about the base itself."""
    if item.rule in (KEPT, LOGIN, INTERRUPTED):
        return None
    return Finding("plan-callout", "plan-callout", Level.WARNING, item.text, "", cluster, exact=item.rule)


def without_base(plan: Plan, matters: Iterable[str]) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan without what the base has as well, and that as findings; no step is left out.

    Callouts stay beside steps on ACLs, for they may be about these.
    """
    cluster, counts, folded = plan.terms.cluster, Counter(matters), list[Finding]()

    def new(items: Iterable[_Reported], finding: Callable[[_Reported, str], Finding | None]) -> Iterator[_Reported]:
        for item in items:
            standing = finding(item, cluster)
            if standing is not None and counts[which := matter(standing)] > 0:
                counts[which] -= 1
                folded.append(standing)
            else:
                yield item

    if not counts:
        return plan, ()
    access = plan.access
    moves = any(effect is not None for effect in access.effects)
    shown = replace(
        plan,
        warnings=tuple(new(plan.warnings, warning_finding)),
        skipped=tuple(new(plan.skipped, _standing_skip)),
        access=replace(
            access,
            access_changes=tuple(new(access.access_changes, _later_finding)),
            callouts=access.callouts if moves else tuple(new(access.callouts, _standing_callout)),
        ),
    )
    return (as_shown(plan, shown), tuple(folded)) if folded else (plan, ())


def skipped_findings(plan: Plan) -> tuple[Finding, ...]:
    """One for each difference that stays."""
    return tuple(_skipped_finding(item, plan.terms.cluster) for item in plan.skipped)


def _skipped_finding(item: Skipped, cluster: str) -> Finding:
    rule = f"{SKIPPED}{item.reason}"
    return Finding(
        rule,
        rule,
        _LEVELS.get(item.reason, Level.NOTE),
        f"not changed: {item.detail}",
        "",
        cluster,
        item.subject,
        item.origin,
        exact="" if item.change is None else dumps(CHANGE.write(item.change), sort_keys=True),
    )


def guard_checks(plan: Plan) -> tuple[Check, ...]:
    """One for each guard that refuses; one that passed where none does."""
    if not plan.refusals:
        return (Check("Guards", "guards", plan.terms.cluster, CheckStatus.PASSED, "no safety check refuses this plan"),)
    return tuple(_guards(plan))


def _guards(plan: Plan) -> Iterator[Check]:
    for guard, group in groupby(
        sorted(plan.refusals, key=lambda refusal: refusal.guard), key=lambda refusal: refusal.guard
    ):
        refusals = list(group)
        lines = tuple(f"{refusal.message}; {refusal.remedy}" for refusal in refusals)
        message = refusals[0].message if len(refusals) == 1 else f"{len(refusals):,} refusals"
        yield Check("Guards", f"guard {guard}", plan.terms.cluster, CheckStatus.FAILED, message, lines)


def failed_finding(form: FailedOutput) -> Finding:
    """What did not come about."""
    message, advice = _failed(form), "its messages are in the log of the job"
    return Finding("run-failed", "run-failed", Level.ERROR, message, advice, form.cluster, form.failed, checked=True)


def failed_check(form: FailedOutput) -> Check:
    """The same among the checks, so that none of their formats can be without it."""
    return Check("Runs", f"{form.failed} ended well", form.cluster, CheckStatus.FAILED, _failed(form))


def _failed(form: FailedOutput) -> str:
    message = f" ({form.message})" if form.message else ""
    return f"{form.failed} ended with {form.status}{message}, so its findings are unknown"


def entry_lines(entries: Sequence[AuditEntry]) -> Iterator[str]:
    """What was done, a line each, with a line below of whose it was; then how many there are."""
    for entry in entries:
        yield safe(f"{entry.time}  {entry.outcome}  {entry.cluster}: {entry.what}")
        yield safe(f"    {'; '.join(whose(entry))}")
    yield f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}."


def whose(entry: AuditEntry) -> Iterator[str]:
    """Who ran, proposed and approved it, a clause each, and where its evidence is."""
    yield f"run {entry.run} by {entry.operator}"
    if entry.proposer is not None:
        yield f"proposed by {entry.proposer}"
    if entry.approved_by:
        approvers = (f"{name} ({key})" for name, key in zip(entry.approved_by, entry.keys, strict=True))
        yield f"approved by {', '.join(approvers)}"
    if entry.authors:
        yield f"not counted as authors: {', '.join(entry.authors)}"
    yield from (part for part in (entry.ticket, entry.reason, entry.url) if part)
    if entry.commit is not None:
        yield f"commit {entry.commit}"
    yield entry.line
