"""Manifests validated, for every cluster that they declare; nothing is asked of any cluster."""

import datetime
from collections.abc import Iterator
from dataclasses import replace

from reconciler.app.access_checks import checks
from reconciler.app.manifests import desired, guardrails_changed, held, load
from reconciler.app.options import moment
from reconciler.app.reasons import InvalidManifestsError, WorkflowError
from reconciler.app.states import authorizer
from reconciler.dataclass import dataclass
from reconciler.manifest.guardrails import GuardrailChange
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.problem import Code, Problem, in_order
from reconciler.manifest.safeguards import cluster_warnings, declares_access_tests, expired_rules
from reconciler.model.desired import DesiredState
from reconciler.plan.guards import guardrail_review
from reconciler.results.findings import matter
from reconciler.show.claims import Checks, checks_entry
from reconciler.show.findings import agreed_checks, agreed_findings, problem_entry, problem_finding


@dataclass(frozen=True, slots=True)
class ValidatedCluster:
    """One cluster: what is declared for it, and what speaks against that."""

    name: str
    desired: DesiredState
    warnings: tuple[Problem, ...]
    checks: Checks


@dataclass(frozen=True, slots=True)
class ManifestValidation:
    """The clusters for which the manifests hold together, and the ``problems`` of the others, each said once.

    ``tests_declared``: whether anything is claimed about access, for whatever cluster.
    """

    clusters: tuple[ValidatedCluster, ...]
    warnings: tuple[Problem, ...]
    problems: tuple[Problem, ...]
    tests_declared: bool = True

    @property
    def valid(self) -> bool:
        """Whether there is no problem, and nothing that is demanded speaks against what is declared."""
        return not self.problems and not any(cluster.checks.stops for cluster in self.clusters)


def validate(
    path: str, as_of: datetime.date | None = None, *, guardrails: str | None = None, base: str | None = None
) -> ManifestValidation:
    """Validate the manifests below ``path``; raises :class:`InvalidManifestsError` where they cannot be read at all.

    Those below ``guardrails`` hold them; with those below ``base`` they are compared.
    """
    manifests, day = held(load(path), path, guardrails), as_of or moment()
    changes = () if base is None else guardrails_changed(base, path)
    judge = base or guardrails
    clusters: list[ValidatedCluster] = []
    problems: list[Problem] = []
    for declaration in manifests.clusters.values():
        problems.extend(_of_client(declaration))
        try:
            one = _validated(manifests, declaration, day, changes)
            known = known_matters(judge, one.name, day)
            clusters.append(replace(one, checks=replace(one.checks, known=known)))
        except InvalidManifestsError as error:
            problems.extend(error.problems)
    warnings = (*manifests.warnings, *(item for cluster in clusters for item in cluster.warnings))
    return ManifestValidation(tuple(clusters), in_order(warnings), in_order(problems), declares_access_tests(manifests))


def known_matters(directory: str | None, cluster: str, day: datetime.date) -> tuple[str, ...] | None:
    """The matters of what is found about a cluster in the base; ``None`` where there is no base, or none to be read.

    The base is manifests that whoever proposes a change cannot edit. What is found is new unless it is found there.
    """
    if directory is None:
        return None
    try:
        found = validate(directory, day)
    except WorkflowError:
        return None
    entries = [(one.name, checks_entry(one.checks)) for one in found.clusters if one.name == cluster]
    matters = [matter(problem_finding(problem_entry(one))) for one in found.warnings]
    matters += [matter(one) for name, entry in entries for one in agreed_findings(entry, name)]
    matters += [matter(one) for name, entry in entries for one in agreed_checks(entry, name, "")]
    return tuple(sorted(matters)) if entries else None


def _of_client(declaration: ClusterDeclaration) -> Iterator[Problem]:
    """What a command that connects would refuse about the settings, whatever their secrets are."""
    if not declaration.client:
        return
    from reconciler.kafka.settings import setting_problems

    for found in setting_problems(",".join(declaration.bootstrap_servers), declaration.client):
        if found.key == "bootstrapServers":
            continue  # the reader judges addresses
        place = declaration.client_origins.get(found.key, declaration.origin)
        advice = found.advice or "docs/client-settings.md lists the supported settings"
        yield Problem(Code.CLIENT_SETTING, place, f"{found.key}: {found.message}", advice=advice)


def _validated(
    manifests: Manifests,
    declaration: ClusterDeclaration,
    day: datetime.date,
    changes: tuple[GuardrailChange, ...],
) -> ValidatedCluster:
    name = declaration.name
    wanted = desired(manifests, name, day)
    found = checks(manifests, name, wanted, lambda: authorizer(declaration, wanted.bindings), day, live=False)
    review = guardrail_review(manifests, name, changes)
    warnings = (*cluster_warnings(manifests, name, day), *expired_rules(manifests, wanted))
    return ValidatedCluster(name, wanted, warnings, replace(found, guardrails=review))
