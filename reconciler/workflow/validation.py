"""Manifests validated, for every cluster that they declare; nothing is asked of any cluster."""

import datetime
from dataclasses import dataclass

from reconciler.manifest import ClusterDeclaration, ManifestError, Manifests, Problem, cluster_warnings
from reconciler.model import DesiredState
from reconciler.report.checks import Checks
from reconciler.workflow.checks import checks
from reconciler.workflow.manifests import desired, load
from reconciler.workflow.options import today
from reconciler.workflow.reasons import InvalidManifestsError
from reconciler.workflow.states import authorizer


@dataclass(frozen=True, slots=True)
class ValidatedCluster:
    """One cluster: what is declared for it, and what speaks against that."""

    name: str
    desired: DesiredState
    warnings: tuple[Problem, ...]
    checks: Checks


@dataclass(frozen=True, slots=True)
class ManifestValidation:
    """The clusters for which the manifests hold together, and the ``problems`` of the others, each said once."""

    clusters: tuple[ValidatedCluster, ...]
    warnings: tuple[Problem, ...]
    problems: tuple[Problem, ...]

    @property
    def valid(self) -> bool:
        """Whether there is no problem, and nothing that is demanded speaks against what is declared."""
        return not self.problems and not any(one.checks.stops for one in self.clusters)


def validate(path: str, as_of: datetime.date | None = None) -> ManifestValidation:
    """Validate the manifests below ``path``; raises :class:`InvalidManifestsError` where they cannot be read at all."""
    manifests, day = load(path), as_of or today()
    clusters: list[ValidatedCluster] = []
    problems: list[Problem] = []
    for declaration in manifests.clusters.values():
        try:
            clusters.append(_validated(manifests, declaration, day))
        except InvalidManifestsError as error:
            problems.extend(error.problems)
    warnings = (*manifests.warnings, *(item for one in clusters for item in one.warnings))
    return ManifestValidation(tuple(clusters), warnings, ManifestError(problems).problems)


def _validated(manifests: Manifests, declaration: ClusterDeclaration, day: datetime.date) -> ValidatedCluster:
    name = declaration.name
    wanted = desired(manifests, name, day)
    return ValidatedCluster(
        name,
        wanted,
        cluster_warnings(manifests, name, day),
        checks(manifests, name, wanted, lambda: authorizer(declaration, wanted.bindings), day),
    )
