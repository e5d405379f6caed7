"""What guards one cluster besides its limits: access tests, ownership, topic policies, waivers, acknowledgements."""

import datetime
from collections.abc import Iterator

from reconciler.manifest.desired import FindingsByFile, declared_cluster, declared_for
from reconciler.manifest.kinds.access_tests import AccessTest, AccessTestsDeclaration
from reconciler.manifest.kinds.acls import AclsDeclaration
from reconciler.manifest.kinds.interface import Declared
from reconciler.manifest.kinds.ownership import ConsentDeclaration, OwnerDeclaration, OwnershipDeclaration
from reconciler.manifest.kinds.topic_policy.declaration import TopicPolicyDeclaration
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import Acknowledgement, ClusterDeclaration
from reconciler.manifest.parts.waivers import LintWaiver, Waiver
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Trouble
from reconciler.manifest.reader.problem import ManifestError, Problem
from reconciler.manifest.reader.source import quoted
from reconciler.model import Origin, TopicRule


def access_tests(manifests: Manifests, cluster_name: str) -> tuple[AccessTest, ...]:
    """The claims for a declared cluster, in the order of their places; raises :class:`ManifestError`."""
    documents = _documents(manifests, cluster_name)
    found = (test for item in documents if isinstance(item, AccessTestsDeclaration) for test in item.tests)
    return tuple(sorted(found, key=lambda test: test.origin))


def ownership(
    manifests: Manifests, cluster_name: str, as_of: datetime.date
) -> tuple[tuple[OwnerDeclaration, ...], tuple[ConsentDeclaration, ...]]:
    """The owners, and the consents that count on that day, for a declared cluster; raises :class:`ManifestError`."""
    documents = [item for item in _documents(manifests, cluster_name) if isinstance(item, OwnershipDeclaration)]
    owners = (owner for item in documents for owner in item.owners)
    consents = (consent for item in documents for consent in item.consents)
    standing = (consent for consent in consents if consent.expires is None or consent.expires >= as_of)
    return tuple(sorted(owners, key=_place)), tuple(sorted(standing, key=_place))


def topic_rules(manifests: Manifests, cluster_name: str) -> tuple[TopicRule, ...]:
    """The rules of topic policies for a declared cluster, in the order of places; raises :class:`ManifestError`."""
    documents = _documents(manifests, cluster_name)
    found = (rule for item in documents if isinstance(item, TopicPolicyDeclaration) for rule in item.rules)
    return tuple(sorted(found, key=lambda rule: rule.origin))


def lint_waivers(manifests: Manifests, cluster_name: str) -> tuple[LintWaiver, ...]:
    """The waivers for a declared cluster, those of its own document first; raises :class:`ManifestError`.

    Whether one still counts is its ``waiver.stands(as_of)``.
    """
    documents = _documents(manifests, cluster_name)
    of_acls = (waiver for item in documents if isinstance(item, AclsDeclaration) for waiver in item.waivers)
    return (*declared_cluster(manifests, cluster_name).waivers, *of_acls)


def _documents(manifests: Manifests, cluster_name: str) -> list[Declared]:
    findings = FindingsByFile(manifests)
    documents = declared_for(manifests, declared_cluster(manifests, cluster_name), findings)
    problems = findings.problems()
    if any(problem.severity == "error" for problem in problems):
        raise ManifestError(problems)
    return documents


def _place(item: OwnerDeclaration | ConsentDeclaration) -> Origin:
    return item.origin


def standing_acknowledgements(cluster: ClusterDeclaration, as_of: datetime.date) -> tuple[Acknowledgement, ...]:
    """The acknowledgements that count on that day; one counts through the day on which it expires."""
    return tuple(item for item in cluster.acknowledgements if item.expires is None or item.expires >= as_of)


def cluster_warnings(manifests: Manifests, cluster_name: str, as_of: datetime.date) -> tuple[Problem, ...]:
    """Warnings that depend on cluster and day: acknowledgements and waivers that no longer count."""
    cluster = declared_cluster(manifests, cluster_name)
    findings = FindingsByFile(manifests)
    for item in set(cluster.acknowledgements).difference(standing_acknowledgements(cluster, as_of)):
        message = f"this acknowledgement for {quoted(item.object)} expired after {item.expires}: it does not count"
        trouble = Trouble(Code.EXPIRED_ACKNOWLEDGEMENT, message, "remove it, or agree on a new day")
        findings.of(item.origin.file).add_at(trouble, item.origin, severity="warning")
    for waiver in _waivers(manifests, cluster_name):
        if not waiver.stands(as_of):
            message = f"this waiver expired after {waiver.expires}: it does not count"
            trouble = Trouble(Code.EXPIRED_WAIVER, message, "fix what it accepted, or agree on a new date")
            findings.of(waiver.origin.file).add_at(trouble, waiver.origin, severity="warning")
    return findings.problems()


def _waivers(manifests: Manifests, cluster_name: str) -> Iterator[Waiver]:
    yield from (item.waiver for item in lint_waivers(manifests, cluster_name))
    yield from (test.waiver for test in access_tests(manifests, cluster_name) if test.waiver is not None)
    of_topics = (waiver for rule in topic_rules(manifests, cluster_name) for waiver in rule.waivers)
    yield from (Waiver(item.reason, item.expires, item.origin, item.ticket) for item in of_topics)
