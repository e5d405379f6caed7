"""What the manifests want of one cluster on one day."""

import datetime
from collections.abc import Collection, Mapping

from reconciler.manifest.kinds import KINDS
from reconciler.manifest.kinds.acls import AclsDeclaration
from reconciler.manifest.kinds.interface import Declared, DesiredBuilder
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.bindings import BindingTable, Roles
from reconciler.manifest.parts.built_in_roles import BUILT_IN_ROLES
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Heading
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.roles import RoleDeclaration
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.problem import ManifestError, Problem, in_order
from reconciler.manifest.reader.source import Source, quoted
from reconciler.manifest.reader.suggest import did_you_mean
from reconciler.manifest.variables import Variables
from reconciler.model import DesiredState, FrozenMap, Origin
from reconciler.model.collector import without_collector


class FindingsByFile:
    """The findings of several files."""

    def __init__(self, manifests: Manifests) -> None:
        """Starts empty."""
        self._manifests = manifests
        self._by_path: dict[str, Findings] = {}

    def of(self, path: str) -> Findings:
        """The findings of one file."""
        if path not in self._by_path:
            self._by_path[path] = Findings(self._manifests.sources.get(path, Source(path, "")))
        return self._by_path[path]

    def problems(self) -> tuple[Problem, ...]:
        """All problems, in order."""
        return in_order(problem for findings in self._by_path.values() for problem in findings.problems)


def desired_state(manifests: Manifests, cluster_name: str, as_of: datetime.date) -> DesiredState:
    """Bindings and topics for a declared cluster; what expired before ``as_of`` is apart.

    Raises :class:`ManifestError` for an unknown cluster, and for what only this cluster shows: unset variables,
    declarations outside its scope, bindings or topics that two of its documents declare.
    """
    cluster = declared_cluster(manifests, cluster_name)
    findings = FindingsByFile(manifests)
    documents = declared_for(manifests, cluster, findings)
    bindings = BindingTable(cluster, roles_for(manifests, cluster, documents), findings.of)
    builder = DesiredBuilder(cluster, as_of, documents, findings.of, bindings)
    with without_collector():
        for kind in KINDS:
            kind.collect(builder)
    present, expired = bindings.on(as_of)
    builder.check_scope()
    problems = findings.problems()
    if any(problem.severity == "error" for problem in problems):
        raise ManifestError(problems)
    return DesiredState(present, builder.topics, expired, builder.listed, tuple(bindings.repeated))


def declared_cluster(manifests: Manifests, name: str) -> ClusterDeclaration:
    """The cluster of that name; raises :class:`ManifestError` with the nearest name if there is none."""
    found = manifests.clusters.get(name)
    if found is not None:
        return found
    known = manifests.clusters
    otherwise = f"declared are {', '.join(known)}" if known else "no Cluster is declared"
    advice = did_you_mean(name, known, otherwise)
    first = min(
        (cluster.origin for cluster in known.values()), default=Origin(min(manifests.sources, default="."), 1, 1)
    )
    findings = FindingsByFile(manifests).of(first.file)
    findings.add_at(Trouble(Code.UNKNOWN_CLUSTER, f"there is no cluster {quoted(name)}", advice), first)
    raise ManifestError(findings.problems)


def declared_for(
    manifests: Manifests,
    cluster: ClusterDeclaration,
    findings: FindingsByFile,
    *,
    also: Mapping[str, str] = FrozenMap(),
    kinds: Collection[str] | None = None,
) -> list[Declared]:
    """The documents for this cluster, variables filled in; also those for a cluster with other labels, if given.

    With ``kinds``, documents of others are left as they are: filling in many rules takes seconds.
    """

    def applies(heading: Heading) -> bool:
        return heading.applies_to(cluster.labels) or (bool(also) and heading.applies_to(also))

    documents = manifests.chosen(cluster.labels, also)  # no labels fit only a document that is for every cluster
    table, variables = PatternTable(), Variables(cluster)
    with without_collector():
        for template in manifests.templates:
            if applies(template.heading) and (kinds is None or template.heading.kind in kinds):
                filled = template.filled(variables, table, findings.of(template.source.path))
                documents += [filled] if filled else []
    return documents


def declared_acls(manifests: Manifests, cluster: ClusterDeclaration) -> list[AclsDeclaration]:
    """Its ``Acls`` documents, variables filled in; one that cannot be is left out, for :func:`desired_state` to say."""
    found = declared_for(manifests, cluster, FindingsByFile(manifests), kinds=("Acls",))
    return [item for item in found if isinstance(item, AclsDeclaration)]


def roles_for(manifests: Manifests, cluster: ClusterDeclaration, declared: list[Declared]) -> Roles:
    """The built-in roles and those of documents, by whether this cluster can use them."""
    here = {role.name: role for role in declared if isinstance(role, RoleDeclaration)}
    templates = [template.heading for template in manifests.templates if template.heading.kind == "Role"]
    headings = [role.heading for role in manifests.of(RoleDeclaration) if role.heading is not None]
    applying = {heading.name: heading.applies_to(cluster.labels) for heading in (*headings, *templates)}
    elsewhere = frozenset(name for name, applies in applying.items() if not applies)
    return Roles({**here, **BUILT_IN_ROLES}, elsewhere, frozenset(applying).difference(here, elsewhere))
