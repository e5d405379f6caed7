"""Manifests validated, for every cluster that they declare; nothing is asked of any cluster."""

import datetime
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from reconciler.app.access_checks import CheckContext, checks
from reconciler.app.manifests import desired, guardrails_changed_from, held, load, load_base, repeated_warnings
from reconciler.app.options import moment
from reconciler.app.reasons import InvalidManifestsError, WorkflowError
from reconciler.app.states import authorizer
from reconciler.app.terms import declared_dead_letters
from reconciler.dataclass import dataclass
from reconciler.kafka.settings import setting_problems
from reconciler.manifest.documents import KINDS_BY_NAME
from reconciler.manifest.documents.kind import Touched
from reconciler.manifest.guardrails import GuardrailChange
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.problem import Code, Problem, in_order
from reconciler.manifest.safeguards import cluster_warnings, declares_access_tests, expired_rules
from reconciler.model.desired import DesiredState
from reconciler.plan.guards import guardrail_review
from reconciler.plan.proposal import Plan
from reconciler.results.findings import matter
from reconciler.show.claims import Checks, checks_entry
from reconciler.show.findings import agreed_checks, agreed_findings, problem_entry, problem_finding, standing_findings


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

    ``tests_declared``: whether anything is claimed about access, for whatever cluster. ``touched`` are the clusters
    that the change from a base can touch; ``None`` without a base.
    """

    clusters: tuple[ValidatedCluster, ...]
    warnings: tuple[Problem, ...]
    problems: tuple[Problem, ...]
    tests_declared: bool = True
    touched: tuple[str, ...] | None = None

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
    if base is not None:
        before = load_base(base)
        changes = guardrails_changed_from(before, base, path)
        touched = touched_clusters(before, manifests, certain=not changes)
        return replace(_validation(manifests, day, changes, before), touched=touched)
    return _validation(manifests, day, (), None if guardrails is None else load(guardrails))


def _validation(
    manifests: Manifests, day: datetime.date, changes: tuple[GuardrailChange, ...] = (), before: Manifests | None = None
) -> ManifestValidation:
    """Every cluster of the manifests; the findings of ``before``, which is the base, are no news."""
    clusters: list[ValidatedCluster] = []
    problems: list[Problem] = []
    base = _of_base(before, day)
    for declaration in manifests.clusters.values():
        problems.extend(_of_client(declaration))
        try:
            validated = _validated(manifests, declaration, day, changes)
            clusters.append(replace(validated, checks=replace(validated.checks, known=_matters(base, validated.name))))
        except InvalidManifestsError as error:
            problems.extend(error.problems)
    warnings = (*manifests.warnings, *(item for cluster in clusters for item in cluster.warnings))
    return ManifestValidation(tuple(clusters), in_order(warnings), in_order(problems), declares_access_tests(manifests))


def touched_clusters(before: Manifests, after: Manifests, *, certain: bool) -> tuple[str, ...]:
    """The declared clusters that a change from the base can touch; plans of the others are equal.

    Those of every document in a file that differs, as it was and as it is, for a place in a file is part of a plan.
    All, if not ``certain``, and where the change is about what may count everywhere: guardrails, roles, fleets, a
    cluster that is gone, a file that is not read.
    """
    everything = tuple(after.clusters)
    gone = before.clusters.keys() - after.clusters.keys()
    if not certain or gone or repeated_warnings(before) != repeated_warnings(after):
        return everything
    both = (before, after)
    names = before.sources.keys() | after.sources.keys()
    changed = {
        name
        for name in names
        if len({manifests.sources[name].text if name in manifests.sources else None for manifests in both}) > 1
    }
    touched = set[str]()
    for manifests in both:
        headings = [
            *(template.heading for template in manifests.templates),
            *(item.heading for item in manifests.documents),
        ]
        for heading in headings:
            if heading is None:
                return everything
            if heading.file not in changed:
                continue
            match KINDS_BY_NAME[heading.kind].touched:
                case Touched.ANY:
                    return everything
                case Touched.NAMED:
                    touched.add(heading.name)
                case Touched.CHOSEN:
                    touched |= {name for name, item in manifests.clusters.items() if heading.applies_to(item.labels)}
    return tuple(name for name in everything if name in touched)


def known_matters(
    base: Manifests | None, cluster: str, day: datetime.date, plan: Plan | None = None
) -> tuple[str, ...] | None:
    """The matters of what is found about a cluster in the base; ``None`` where there is no base that declares it.

    ``plan`` is the one of the base.

    The base is manifests that whoever proposes a change cannot edit. What is found is new unless it is found there.
    """
    return _matters(_of_base(base, day), cluster, plan)


def _of_base(base: Manifests | None, day: datetime.date) -> ManifestValidation | None:
    """``None``: there is no base, or nothing can be said about it, so that all is new."""
    try:
        return None if base is None else _validation(base, day)
    except WorkflowError:
        return None


def _matters(base: ManifestValidation | None, cluster: str, plan: Plan | None = None) -> tuple[str, ...] | None:
    if base is None:
        return None
    entries = [
        (validated.name, checks_entry(validated.checks)) for validated in base.clusters if validated.name == cluster
    ]
    matters = [matter(problem_finding(problem_entry(problem))) for problem in base.warnings]
    matters += [] if plan is None else map(matter, standing_findings(plan))
    matters += [matter(finding) for name, entry in entries for finding in agreed_findings(entry, name)]
    matters += [matter(check) for name, entry in entries for check in agreed_checks(entry, name, "")]
    return tuple(sorted(matters)) if entries else None


def _of_client(declaration: ClusterDeclaration) -> Iterator[Problem]:
    """What a command that connects would refuse about the settings, whatever their secrets are."""
    if not declaration.client:
        return
    for problem in setting_problems(",".join(declaration.bootstrap_servers), declaration.client):
        if problem.key == "bootstrapServers":
            continue  # the reader judges addresses
        place = declaration.client_origins.get(problem.key, declaration.origin)
        advice = problem.advice or "docs/client-settings.md lists the supported settings"
        yield Problem(Code.CLIENT_SETTING, place, f"{problem.key}: {problem.message}", advice=advice)


def _validated(
    manifests: Manifests,
    declaration: ClusterDeclaration,
    day: datetime.date,
    changes: tuple[GuardrailChange, ...],
) -> ValidatedCluster:
    name = declaration.name
    wanted = desired(manifests, name, day)
    besides = CheckContext(dead_letters=declared_dead_letters(wanted))
    state = partial(authorizer, declaration, wanted.bindings)
    decided = checks(manifests, name, wanted, state, day, live=False, besides=besides)
    review = guardrail_review(manifests, name, changes)
    warnings = (*cluster_warnings(manifests, name, day), *expired_rules(manifests, wanted))
    return ValidatedCluster(name, wanted, warnings, replace(decided, guardrails=review))
