"""Results of tests and ownership as text, and all checks together.

Results of access tests: what is broken, by whom and on which name, by which line, and what would mend it. Results of
cluster tests: which broker differs, what it has, and what nobody could tell.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, TypeAlias

from reconciler.access.assertion import AssertionKind as Direction
from reconciler.access.assertion import AssertionOutcome, AssertionResult, Via
from reconciler.access.authorizer import AccessRequest
from reconciler.access.remediation import Remediation
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.tests import AccessTest, Claim, ClusterTest
from reconciler.manifest.parts.resources import looks_like_a_pattern
from reconciler.manifest.parts.rules import FIELD_OF
from reconciler.model.acl import AclPermissionType, PatternType, ResourcePattern, ResourceType
from reconciler.model.characters import Style, as_name, binding_name, counted, plain, safe, ticked
from reconciler.model.desired import Duty, Origin, Through
from reconciler.plan.guards import NO_GUARDRAILS, GuardrailReview
from reconciler.plan.review.access_change import ending_words
from reconciler.policy.owners import OwnerConsent
from reconciler.policy.ownership import Breach, BreachKind
from reconciler.policy.topic_policy import TopicPolicyResult
from reconciler.ports import NO_AUTHORIZER
from reconciler.results import documents
from reconciler.results.access import AccessView
from reconciler.results.findings import ClaimResult, ClaimStatus, ClusterTestResult, Level, any_stops
from reconciler.results.words import host_words, names_words, resource_words
from reconciler.show.document import FEW, lines_shown
from reconciler.show.findings import breaking_lines
from reconciler.show.policy import policies_entry, policy_lines
from reconciler.show.questions import combination_entry
from reconciler.show.review import end_lines


def cluster_test_lines(
    results: Iterable[ClusterTestResult], style: Style = plain, *, all_of_them: bool = False
) -> Iterator[str]:
    """Each result that did not pass, or every one, then a line that counts them all; nothing without any."""
    results = tuple(results)
    for result in results:
        if all_of_them or result.standing is not ClaimStatus.PASSED:
            yield from _lines(result, style)
    if results:
        yield _summary(results, "brokers and features")


def _lines(result: ClusterTestResult, style: Style) -> Iterator[str]:
    yield _standing_line(result, style)
    if result.standing is ClaimStatus.PASSED:
        return
    yield f"    claimed: {safe(cluster_claim_words(result.test))}"
    yield from (f"    {safe(line)}" for line in documents.broken_lines(cluster_test_entry(result)))
    yield from _exception_lines(result)


def _standing_line(result: ClaimResult | ClusterTestResult, style: Style) -> str:
    """The standing, the name of the test and its place."""
    test = result.test
    word = str(result.standing)
    if test.severity == "warning" and result.standing in (ClaimStatus.FAILED, ClaimStatus.UNDECIDED):
        word += " (warning)"
    place = style("dim", f"  {safe(str(test.origin))}")
    return style(_STYLE[result.standing], word) + f"  {safe(test.name)}{place}"


def _exception_lines(result: ClaimResult | ClusterTestResult) -> Iterator[str]:
    """The exception that accepts it, or did."""
    if (exception := result.test.exception) is not None:
        stands = "accepted until" if result.standing is ClaimStatus.EXCEPTED else "was accepted until"
        yield safe(f"    {stands} {exception.expires}: {ticked(exception.reason)}")


def _exception_entry(result: ClaimResult | ClusterTestResult) -> documents.ExceptionEntry | None:
    if (exception := result.test.exception) is None:
        return None
    return documents.ExceptionEntry(exception.reason, str(exception.expires), exception.ticket)


def cluster_claim_words(test: ClusterTest) -> str:
    """``auto.create.topics.enable is false on every broker``."""
    return f"{as_name(test.key)} {test.words}" + ("" if test.is_feature else " on every broker")


def cluster_test_entry(result: ClusterTestResult) -> documents.ClusterTestEntry:
    """One result as commands print it for programs."""
    test = result.test
    return documents.ClusterTestEntry(
        test=test.name,
        document=test.document,
        key=test.key,
        place=test.origin,
        severity=Level(test.severity),
        standing=result.standing.value,
        stops=result.stops,
        words=cluster_claim_words(test),
        breaking=result.breaking,
        unknown=result.unknown,
        note=result.note,
        exception=_exception_entry(result),
    )


_STYLE: Final = {
    ClaimStatus.PASSED: "add",
    ClaimStatus.FAILED: "error",
    ClaimStatus.UNDECIDED: "warn",
    ClaimStatus.EXCEPTED: "warn",
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
    yield _summary(results, "access")


def _summary(results: Sequence[ClaimResult | ClusterTestResult], about: str) -> str:
    """``3 claims about access: 2 passed, 1 excepted``."""
    counts = Counter(result.standing for result in results)
    parts = ", ".join(f"{counts[standing]:,} {standing}" for standing in ClaimStatus if counts[standing])
    return f"{counted(len(results), 'claim')} about {about}" + (f": {parts}" if parts else "")


def result_lines(result: ClaimResult, style: Style = plain) -> Iterator[str]:
    """One result."""
    yield _standing_line(result, style)
    if result.standing is ClaimStatus.PASSED:
        return
    yield f"    claimed: {safe(claim_words(result.test))}"
    if result.since is not None:
        yield f"    it holds now, and no longer {ending_words(result.since)}:"
    for glob in result.nobody:
        yield f"    no known principal matches {safe(as_name(glob))}, so the claim covers nobody"
    if result.verdict is not None:
        yield from (f"    {safe(line)}" for line in _broken(result.verdict))
    if result.combinations is not None:
        yield from (
            f"    {safe(line)}" for line in breaking_lines(map(combination_entry, result.combinations.breaking))
        )
        reason, some = result.combinations.reason, result.combinations.outcome is AssertionOutcome.FAIL
        doubt = _undecided(reason, stated="allow.everyone" in (reason or ""), some=some)
        yield from (f"    {safe(line)}" for line in doubt)
    if result.mending is not None:
        yield from (f"    {safe(line)}" for line in _mending(result.mending))
    yield from _exception_lines(result)


def claim_words(test: AccessTest) -> str:
    """``nobody but User:a may read topics starting with `pii.` ``."""
    where = " and ".join(names_words(pattern) for pattern in test.patterns)
    who = ", ".join(map(as_name, test.principals))
    if test.claim in _ONLY:
        return f"only {who} {_ONLY[test.claim]} {where}"
    excluded = f" except {', '.join(map(as_name, test.excluded))}" if test.excluded else ""
    if test.claim is Claim.SEPARATE:
        every = "both" if len(test.duties) == 2 else "all of"
        followed = "" if test.through is Through.ACL else f", through {test.through}"
        duties = " and ".join(map(duty_words, test.duties))
        return f"{who}{excluded} must not be able to do {every} {duties}{followed}"
    operations = ", ".join(operation.name for operation in test.operations)
    verb = "must have" if test.claim is Claim.MUST else "must not have"
    return f"{who}{excluded} {verb} {operations} on {where}"


def duty_words(duty: Duty) -> str:
    """``READ or WRITE some topic starting with pii.``."""
    operations = " or ".join(operation.name for operation in duty.operations)
    return f"{operations} on {' or '.join(names_words(pattern, 'some') for pattern in duty.patterns)}"


def _broken(verdict: AssertionResult) -> Iterator[str]:
    witness = verdict.witness
    if witness is not None:
        may = "may" if verdict.assertion.claim is Direction.MUST_NOT else "may not"
        doubt = "perhaps " if verdict.reason else ""
        resource = resource_words(witness.resource_type, witness.resource_name)
        host = host_words(witness.host, {binding.entry.host for binding in verdict.bindings})
        yield f"but {as_name(witness.principal)} {doubt}{may} {witness.operation.name} {resource} from {host}"
        yield from _because(verdict)
    yield from _undecided(verdict.reason, stated=not (verdict.reason or "").startswith(NO_AUTHORIZER))


def _undecided(reason: str | None, *, stated: bool, some: bool = False) -> Iterator[str]:
    """``some``: it is decided, and only for some principals it is not."""
    if reason:
        yield f"{'perhaps' if some else 'undecided'}: {reason}"
    if reason and stated:
        facts = "superUsers and allowEveryoneIfNoAclFound"
        yield f"state {facts} in the operator's file; validate reads them in the Cluster document"


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
        *(f"create {binding_name(binding)}" for binding in mending.create),
        *(f"delete {binding_name(binding)}" for binding in mending.delete),
    ]
    if len(changes) == 1:
        yield f"it would hold after: {changes[0]}"
    elif changes:
        yield "it would hold after all of:"
        yield from (f"  {change}" for change in changes)


def claim_entry(result: ClaimResult) -> documents.ClaimEntry:
    """One result as commands print it for programs."""
    test, verdict = result.test, result.verdict
    decided = verdict or result.combinations
    return documents.ClaimEntry(
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
        reason=None if decided is None else decided.reason,
        mending=None
        if result.mending is None
        else documents.RemediationEntry(tuple(result.mending.create), tuple(result.mending.delete)),
        exception=_exception_entry(result),
        breaking=() if result.combinations is None else tuple(map(combination_entry, result.combinations.breaking)),
    )


def _witness(verdict: AssertionResult, request: AccessRequest) -> documents.WitnessEntry:
    return documents.WitnessEntry(
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
        documents.TestedState(
            view.cluster,
            view.basis.value,
            tuple(map(claim_entry, results)),
            guardrails,
            view.unseen,
            tuple(map(cluster_test_entry, of_cluster)),
        )
        for view, results, guardrails, of_cluster, _ in decided
    )
    return documents.TEST.write(
        documents.TestOutput(not any(entry.stops for state in states for entry in _entries(state)), states)
    )


def _entries(state: documents.TestedState) -> Iterator[documents.ClaimEntry | documents.ClusterTestEntry]:
    yield from state.claims
    yield from state.cluster_tests


# Breaches of ownership as text: the place, whose it is, and what to write where.

#: Of consents that only say who agreed, so many are shown one by one.
_FEW_CONSENTS: Final = 3
#: The rules that go on when a consent ends on which they rely.
Lapsing: TypeAlias = Mapping[OwnerConsent, Sequence[Origin]]


def breach_lines(breaches: Iterable[Breach], style: Style = plain) -> Iterator[str]:
    """Two lines for each breach, then how many there are; nothing where there is none."""
    breaches = tuple(breaches)
    for breach in breaches:
        yield style("error", "not yours") + f"  {safe(str(breach.origin))}: {safe(message(breach))}"
        yield f"    {safe(advice(breach))}"
    if breaches:
        yield f"{len(breaches):,} breach{'' if len(breaches) == 1 else 'es'} of ownership"


def consent_lines(
    consents: Iterable[OwnerConsent], style: Style = plain, lapsing: Lapsing | None = None, *, expand: bool = False
) -> Iterator[str]:
    """A line for each consent that something declared relies on; ``lapsing``: what goes on when it ends.

    Those with a rule that goes on come first; of many others, the first few and how many there are.
    """
    ending = lapsing or {}
    ordered = sorted(consents, key=lambda consent: not ending.get(consent))
    grave = sum(bool(ending.get(consent)) for consent in ordered)
    shown = lines_shown(len(ordered), expand=expand, most=min(grave, FEW) + _FEW_CONSENTS)
    for entry in (consent_entry(consent, ending.get(consent, ())) for consent in ordered[:shown]):
        yield style("dim", "consent") + f"  {safe(str(entry.place))}: {safe(entry.message)}"
    if shown < len(ordered):
        more = f"and {len(ordered) - shown:,} more of {len(ordered):,} consents in use; --expand shows each"
        yield style("dim", "consent") + f"  {more}"


def message(breach: Breach) -> str:
    """What the file names, and whose it is; with the role that names it, and the guardrail that says so."""
    message = _message(breach)
    if breach.consent is not None:
        message += f"; the consent at {as_name(str(breach.consent))} does not cover it"
    return message if breach.rule is None else f"{message} (by the guardrails, {breach.rule})"


def _message(breach: Breach) -> str:
    file = f"a file of {_teams(breach.teams)}" if breach.teams else "a file of no team"
    if breach.role is not None:
        file = f"by the Role at {as_name(str(breach.role))}, {file}"
    whose = f"of {_teams(breach.owners)}" if breach.owners else "that no team owns"
    match breach.kind:
        case BreachKind.PRINCIPAL:
            return f"{file} names the principal {as_name(breach.principal or '')} {whose}"
        case BreachKind.RESOURCE:
            operations = ", ".join(operation.name for operation in breach.operations)
            verb = "denies" if breach.permission is AclPermissionType.DENY else "declares"
            reached = "" if breach.part is None else f", which reaches {_names(breach.part)}"
            return f"{file} {verb} {operations} on {_names(breach.pattern)}{reached} {whose}"
        case BreachKind.TOPIC | BreachKind.GROUP:
            return f"{file} declares {_names(breach.pattern)} {whose}"
        case BreachKind.CLAIM:
            return f"{file} owns {_names(breach.pattern)}, and no Ownership document says so"
        case BreachKind.CONSENT:
            return f"{file} consents in the name {whose}"
        case BreachKind.OWNERS:
            return f"{file} declares owners, and so could give itself anything"
        case BreachKind.SHARED:
            return f"{file} declares the {as_name(breach.subject)}, which is about everybody"
        case BreachKind.UNOWNED:
            return f"{file} declares the {as_name(breach.subject)}, which no team owns"
        case BreachKind.VARIABLES:
            return f"{file} sets variables for files {'of other teams' if breach.owners else 'of no team'}"


def advice(breach: Breach) -> str:
    """What to write, and where; for a guardrail, before the change that needs it."""
    advice = _advice(breach)
    return advice if breach.rule is None else f"{advice}; merge that before the change that needs it"


def _advice(breach: Breach) -> str:
    match breach.kind:
        case _ if breach.role is not None:
            return "write the rule out instead of using the role, or move the Role to a file that belongs to no team"
        case BreachKind.RESOURCE if breach.teams and breach.owners and breach.pattern is not None:
            owner = breach.owners[0]
            item = ticked(_consent(breach, owner))
            instead = "" if breach.part is None else ", or name only what is the team's own"
            return f"ask {as_name(owner)} to write in a file of its own, under consents: {item}{instead}"
        case BreachKind.RESOURCE if breach.teams and not _is_cluster(breach):
            return "on what no team owns, only a file of no team may deny: move the rule there"
        case BreachKind.RESOURCE if breach.teams:
            return "only a team whose item of Ownership says cluster: true may name the cluster"
        case BreachKind.CLAIM:
            return "correct owns, or have the topics added to the item of the team in Ownership"
        case BreachKind.CONSENT:
            return f"move it to a file of {_teams(breach.owners)}"
        case BreachKind.UNOWNED:
            return "move it to a file that belongs to no team, or have the name added to the team in Ownership"
        case BreachKind.OWNERS | BreachKind.VARIABLES | BreachKind.SHARED:
            return "move it to a file that belongs to no team"
        case BreachKind.PRINCIPAL | BreachKind.TOPIC | BreachKind.GROUP if breach.teams:
            return f"declare it in a file of {_teams(breach.owners)}"
        case _:
            return "no team's files match this file: move it, or fix the files of its team"


def breach_entry(breach: Breach) -> documents.BreachEntry:
    """One breach as commands print it for programs."""
    return documents.BreachEntry(
        breach.origin, breach.kind.value, tuple(breach.teams), tuple(breach.owners), message(breach), advice(breach)
    )


def consent_entry(consent: OwnerConsent, outlasting: Sequence[Origin] = ()) -> documents.ConsentEntry:
    """One consent in use, as commands print it for programs; ``outlasting``: the rules that go on when it ends."""
    operations = ", ".join(sorted(operation.name for operation in consent.operations))
    names = ", ".join(map(names_words, consent.patterns))
    words = f"{as_name(consent.team)} lets files of {as_name(consent.to)} declare {operations} on {names}"
    reason = consent.reason or ""
    words += f": {ticked(reason)}" if reason else ""
    if outlasting:
        first, more = as_name(str(outlasting[0])), len(outlasting) - 1
        rules = f"the rule at {first}" + (f" and {more:,} more" if more else "")
        words += f"; it ends {consent.expires}, and then {rules} {'are breaches' if more else 'is a breach'}"
    return documents.ConsentEntry(consent.origin, consent.team, consent.to, reason, words)


def _teams(names: Iterable[str]) -> str:
    return " and ".join(map(as_name, names))


def _names(pattern: ResourcePattern | None) -> str:
    return "" if pattern is None else names_words(pattern)


def _is_cluster(breach: Breach) -> bool:
    return breach.pattern is not None and breach.pattern.resource_type is ResourceType.CLUSTER


def _consent(breach: Breach, owner: str) -> str:
    """The item of a manifest that would permit it."""
    operations = ", ".join(operation.name for operation in breach.operations)
    to, pattern = breach.teams[0], breach.part or breach.pattern
    resource = "" if pattern is None else f", {FIELD_OF[pattern.resource_type]}: {_value(pattern)}"
    deny = ", permissions: [DENY]" if breach.permission is AclPermissionType.DENY else ""
    # As quoted as YAML wants it: "User:*" begins an alias elsewhere in the text.
    principals = ", ".join(f'"{principal}"' for principal in breach.strangers)
    strangers = f", principals: [{principals}]" if principals else ""
    return f"{{team: {owner}, to: {to}, operations: [{operations}]{resource}{deny}{strangers}}}"


def _value(pattern: ResourcePattern) -> str:
    if pattern.resource_type is ResourceType.CLUSTER:
        return "true"
    if pattern.is_wildcard:
        return "{any: true}"
    if pattern.pattern_type is PatternType.PREFIXED:
        return f"{{prefix: {pattern.name}}}"
    return f"{{literal: {pattern.name}}}" if looks_like_a_pattern(pattern.name) else f"[{pattern.name}]"


# What the manifests demand of a state: access tests, ownership and topic policies, decided and said.


@dataclass(frozen=True, slots=True)
class Checks:
    """What came of every claim, what files name without owning it, what topics do not keep, the consents in use.

    ``lapsing`` are the rules that go on when a consent ends on which they rely: each is a breach from then on. ``ends``
    are declared items that end by themselves. ``known`` are the matters of the base, where there is one.
    """

    claims: tuple[ClaimResult, ...] = ()
    breaches: tuple[Breach, ...] = ()
    policies: TopicPolicyResult | None = None
    consents: tuple[OwnerConsent, ...] = ()
    guardrails: GuardrailReview = NO_GUARDRAILS
    cluster_tests: tuple[ClusterTestResult, ...] = ()
    lapsing: Lapsing = field(default_factory=dict)
    ends: tuple[documents.EndEntry, ...] = ()
    known: tuple[str, ...] | None = None

    @property
    def stops(self) -> bool:
        """Whether a claim, an owner or a policy says no."""
        against = self.policies is not None and bool(self.policies.stopping)
        stopping = any(result.stops for result in self.claims) or any_stops(self.cluster_tests)
        return against or bool(self.breaches) or stopping


def checks_lines(checks: Checks, style: Style, *, expand: bool = False, agreed: bool = True) -> Iterator[str]:
    """The claims that do not hold, breaches, what topics do not keep; nothing without any demand.

    With ``agreed`` the consents in use and the ends too; a plan has them above its verdict.
    """
    if checks.claims:
        yield from claims_lines(checks.claims, style)
    yield from cluster_test_lines(checks.cluster_tests, style)
    yield from breach_lines(checks.breaches, style)
    if agreed:
        yield from agreed_lines(checks, style, expand=expand)
    if checks.policies is not None:
        yield from policy_lines(checks.policies, style)


def agreed_lines(checks: Checks, style: Style, *, expand: bool = False) -> Iterator[str]:
    """What speaks against nothing today: the consents in use, and what ends by itself."""
    yield from consent_lines(checks.consents, style, checks.lapsing, expand=expand)
    yield from end_lines(checks.ends, style, expand=expand)


def checks_entry(checks: Checks) -> documents.ChecksEntry:
    """As commands print it for programs."""
    return documents.ChecksEntry(
        tuple(map(claim_entry, checks.claims)),
        tuple(map(breach_entry, checks.breaches)),
        None if checks.policies is None else policies_entry(checks.policies),
        tuple(consent_entry(consent, checks.lapsing.get(consent, ())) for consent in checks.consents),
        checks.guardrails,
        tuple(map(cluster_test_entry, checks.cluster_tests)),
        checks.ends,
        checks.known,
    )


def checks_document(checks: Checks) -> dict[str, Any]:
    """What ``plan --output json`` adds to a plan."""
    return documents.CHECKS.write(checks_entry(checks))
