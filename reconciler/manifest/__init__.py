"""YAML text to declarations to desired state; every problem with its place. Takes texts, never files."""

from reconciler.manifest.clusters import Acknowledgement, ClusterDeclaration, Limits
from reconciler.manifest.codes import CODES, Code
from reconciler.manifest.connections import Connection, connections
from reconciler.manifest.desired import cluster_warnings, declared_cluster, desired_state, standing_acknowledgements
from reconciler.manifest.loading import load
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.problem import ManifestError, Problem, render_problem
from reconciler.manifest.source import Source

__all__ = [
    "CODES",
    "Acknowledgement",
    "ClusterDeclaration",
    "Code",
    "Connection",
    "Limits",
    "ManifestError",
    "Manifests",
    "Problem",
    "Source",
    "cluster_warnings",
    "connections",
    "declared_cluster",
    "desired_state",
    "load",
    "render_problem",
    "standing_acknowledgements",
]
