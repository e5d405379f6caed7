"""What guards one cluster besides its limits: access tests, ownership, topic policies, exceptions."""

import datetime
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from reconciler.manifest.documents.acls import AclsDeclaration
from reconciler.manifest.documents.kind import Declared
from reconciler.manifest.documents.ownership import OwnerDeclaration, OwnershipDeclaration
from reconciler.manifest.documents.tests import (
    AccessTest,
    AccessTestsDeclaration,
    AccessTestsKind,
    ClusterTest,
    ClusterTestsDeclaration,
    ClusterTestsKind,
)
from reconciler.manifest.documents.topic_policy import TopicPolicyDeclaration
from reconciler.manifest.guardrail_set import guardrail_documents, rule_key
from reconciler.manifest.manifests import FindingsByFile, GuardrailNotice, Manifests, declared_cluster, declared_for
from reconciler.manifest.parts.clusters import ClusterDeclaration, GuardExceptionDeclaration
from reconciler.manifest.parts.selectors import LintException, StatedException
from reconciler.manifest.parts.short_form import OwnedTopics
from reconciler.manifest.read.findings import Trouble, quoted
from reconciler.manifest.read.problem import Code, ManifestError, Problem
from reconciler.model.desired import Control, DesiredState, Expiry, Origin, Through
from reconciler.model.topic_rule import TopicRule
from reconciler.policy.owners import OwnerConsent

T = TypeVar("T", bound=AccessTest | ClusterTest | TopicRule)


def access_tests(manifests: Manifests, cluster_name: str) -> tuple[AccessTest, ...]:
    """The claims for a declared cluster, in the order of their places; raises :class:`ManifestError`.

    A claim of the guardrails that the manifests repeat is there once.
    """
    own, guardrails = (
        [test for item in documents if isinstance(item, AccessTestsDeclaration) for test in item.tests]
        for documents in _own_and_guardrails(manifests, cluster_name, AccessTestsKind.name)
    )
    return _together(own, guardrails)


def follows_records(manifests: Manifests, cluster_name: str) -> bool:
    """Whether a claim for a declared cluster asks where records could go; raises :class:`ManifestError`."""
    return any(test.through is Through.FLOW for test in access_tests(manifests, cluster_name))


def control_topics(manifests: Manifests, cluster_name: str) -> tuple[Control, ...]:
    """The control topics of a declared cluster, those of the guardrails too; raises :class:`ManifestError`."""
    documents = chain.from_iterable(_own_and_guardrails(manifests, cluster_name, AccessTestsKind.name))
    declared = (control for item in documents if isinstance(item, AccessTestsDeclaration) for control in item.controls)
    return tuple({rule_key(control): control for control in declared}.values())


def cluster_tests(manifests: Manifests, cluster_name: str) -> tuple[ClusterTest, ...]:
    """The claims about configs and features of a declared cluster, in the order of their places.

    A claim of the guardrails that the manifests repeat is there once. Raises :class:`ManifestError`.
    """
    own, guardrails = (
        [test for item in documents if isinstance(item, ClusterTestsDeclaration) for test in item.tests]
        for documents in _own_and_guardrails(manifests, cluster_name, ClusterTestsKind.name)
    )
    return _together(own, guardrails)


def declares_access_tests(manifests: Manifests) -> bool:
    """Whether any document, for whatever cluster, claims something about access."""
    return _declares(manifests, AccessTestsDeclaration, AccessTestsKind.name)


def _declares(
    manifests: Manifests, kind: type[AccessTestsDeclaration] | type[ClusterTestsDeclaration], name: str
) -> bool:
    sets = [manifests, *([manifests.guardrails.manifests] if manifests.guardrails else [])]
    templates = (template.heading.kind for declared in sets for template in declared.templates)
    return any(declared.of(kind) for declared in sets) or name in templates


def coverage_notices(manifests: Manifests, cluster_name: str) -> tuple[GuardrailNotice, ...]:
    """Says so where tests of a kind are declared and none is about this cluster: a changed label looks the same."""
    missing = []
    if not access_tests(manifests, cluster_name) and declares_access_tests(manifests):
        missing.append(("no-access-tests", AccessTestsKind.name))
    if not cluster_tests(manifests, cluster_name) and _declares(
        manifests, ClusterTestsDeclaration, ClusterTestsKind.name
    ):
        missing.append(("no-cluster-tests", ClusterTestsKind.name))
    return tuple(
        GuardrailNotice(
            declared_cluster(manifests, cluster_name).origin,
            rule,
            f"0 {name} apply to {cluster_name}: those that are declared are for clusters with other labels",
        )
        for rule, name in missing
    )


def ownership(manifests: Manifests, cluster_name: str) -> tuple[tuple[OwnerDeclaration, ...], tuple[OwnerConsent, ...]]:
    """The owners, and the consents whenever they end, for a declared cluster; raises :class:`ManifestError`."""
    return _ownership(_documents(manifests, cluster_name, "Ownership"))


def guardrail_ownership(
    manifests: Manifests, cluster_name: str
) -> tuple[tuple[OwnerDeclaration, ...], tuple[OwnerConsent, ...]]:
    """The same of the guardrails: rules of their own, to which an owner or a consent of the manifests adds nothing."""
    return _ownership(guardrail_documents(manifests, cluster_name))


def _ownership(
    documents: Iterable[Declared],
) -> tuple[tuple[OwnerDeclaration, ...], tuple[OwnerConsent, ...]]:
    declarations = [item for item in documents if isinstance(item, OwnershipDeclaration)]
    owners = (owner for item in declarations for owner in item.owners)
    consents = (consent for item in declarations for consent in item.consents)
    return tuple(sorted(owners, key=_place)), tuple(sorted(consents, key=_place))


def owned_topics(manifests: Manifests, cluster_name: str) -> tuple[OwnedTopics, ...]:
    """What ``owns`` of Acls names for a declared cluster; raises :class:`ManifestError`."""
    documents = _documents(manifests, cluster_name, "Acls")
    return tuple(topics for item in documents if isinstance(item, AclsDeclaration) for topics in item.owned)


def topic_rules(manifests: Manifests, cluster_name: str) -> tuple[TopicRule, ...]:
    """The rules of topic policies for a declared cluster, in the order of places; raises :class:`ManifestError`.

    A rule of the guardrails that the manifests repeat is there once.
    """
    return _together(*map(_topic_rules, _own_and_guardrails(manifests, cluster_name, "TopicPolicy")))


def guardrail_topic_rules(manifests: Manifests, cluster_name: str) -> tuple[TopicRule, ...]:
    """Those of the guardrails alone, in the order of places; raises :class:`ManifestError`."""
    return tuple(sorted(_topic_rules(guardrail_documents(manifests, cluster_name)), key=_place))


def _topic_rules(documents: Iterable[Declared]) -> list[TopicRule]:
    return [rule for item in documents if isinstance(item, TopicPolicyDeclaration) for rule in item.rules]


def _own_and_guardrails(manifests: Manifests, cluster_name: str, kind: str) -> tuple[list[Declared], list[Declared]]:
    return _documents(manifests, cluster_name, kind), [*guardrail_documents(manifests, cluster_name)]


def _together(own: Sequence[T], guardrails: Iterable[T]) -> tuple[T, ...]:
    """Both in the order of places; of the guardrails those that the manifests do not repeat.

    One that the manifests loosened is there twice, both ways.
    """
    keys = set(map(rule_key, own))
    together = [*own, *(rule for rule in guardrails if rule_key(rule) not in keys)]
    return tuple(sorted(together, key=lambda item: item.origin))


def lint_exceptions(manifests: Manifests, cluster_name: str) -> tuple[LintException, ...]:
    """The exceptions for a declared cluster, those of its own document first; raises :class:`ManifestError`.

    Whether one still counts is its ``exception.stands(as_of)``.
    """
    documents = _documents(manifests, cluster_name, "Acls")
    of_acls = (exception for item in documents if isinstance(item, AclsDeclaration) for exception in item.exceptions)
    return (*declared_cluster(manifests, cluster_name).lint_exceptions, *of_acls)


def _documents(manifests: Manifests, cluster_name: str, kind: str) -> list[Declared]:
    """The documents for a cluster; of those with variables, the ones of that kind."""
    findings = FindingsByFile(manifests)
    documents = declared_for(manifests, declared_cluster(manifests, cluster_name), findings, kinds=(kind,))
    problems = findings.problems()
    if any(problem.severity == "error" for problem in problems):
        raise ManifestError(problems)
    return documents


def _place(item: OwnerDeclaration | OwnerConsent | AccessTest | ClusterTest | TopicRule) -> Origin:
    return item.origin


def standing_exceptions(cluster: ClusterDeclaration, as_of: datetime.date) -> tuple[GuardExceptionDeclaration, ...]:
    """The exceptions from guards that count then."""
    return tuple(item for item in cluster.guard_exceptions if item.expires is None or not item.expires.over(as_of))


def cluster_warnings(manifests: Manifests, cluster_name: str, as_of: datetime.date) -> tuple[Problem, ...]:
    """Warnings that depend on cluster and time: exceptions that no longer count."""
    cluster = declared_cluster(manifests, cluster_name)
    findings = FindingsByFile(manifests)
    for item in set(cluster.guard_exceptions).difference(standing_exceptions(cluster, as_of)):
        message = f"this exception for {quoted(item.object)} expired {_past(item.expires)}: it does not count"
        trouble = Trouble(Code.EXPIRED_EXCEPTION, message, "remove it, or agree on a new day")
        findings.of(item.origin.file).add_at(trouble, item.origin, severity="warning")
    for exception in _exceptions(manifests, cluster_name):
        if not exception.stands(as_of):
            message = f"this exception expired {exception.expires.past}: it does not count"
            trouble = Trouble(Code.EXPIRED_EXCEPTION, message, "fix what it accepted, or agree on a new date")
            findings.of(exception.origin.file).add_at(trouble, exception.origin, severity="warning")
    return findings.problems()


def expired_rules(manifests: Manifests, desired: DesiredState) -> tuple[Problem, ...]:
    """A warning for each rule, and each quota, that has expired: what it brought is not wanted any more."""
    findings = FindingsByFile(manifests)
    ended = {item.origin: item.expires for item in desired.expired.values()}
    listed = (
        desired_item.declaration
        for items in desired.listed.values()
        for desired_item in items.values()
        if desired_item.expired
    )
    ended |= {declaration.origin: declaration.expires for declaration in listed}
    for origin, end in ended.items():
        message = f"this expired {_past(end)}: a plan removes what it brought"
        trouble = Trouble(Code.EXPIRED_RULE, message, "remove it here too, or agree on a new day")
        findings.of(origin.file).add_at(trouble, origin, severity="warning")
    return findings.problems()


def _past(end: Expiry | None) -> str:
    return "" if end is None else end.past


def _exceptions(manifests: Manifests, cluster_name: str) -> Iterator[StatedException]:
    yield from (item.exception for item in lint_exceptions(manifests, cluster_name))
    yield from (test.exception for test in access_tests(manifests, cluster_name) if test.exception is not None)
    yield from (test.exception for test in cluster_tests(manifests, cluster_name) if test.exception is not None)
    of_topics = (exception for rule in topic_rules(manifests, cluster_name) for exception in rule.exceptions)
    yield from (StatedException(item.reason, item.expires, item.origin, item.ticket) for item in of_topics)
