"""YAML text to declarations to desired state; every problem with its place. Takes texts, never files."""

from reconciler.manifest.clusters import Acknowledgement, ClusterDeclaration, Limits
from reconciler.manifest.codes import CODES, Code
from reconciler.manifest.connections import Connection, connections
from reconciler.manifest.desired import cluster_warnings, declared_cluster, desired_state, standing_acknowledgements
from reconciler.manifest.fleets import FleetDeclaration, WaveDeclaration
from reconciler.manifest.loading import load
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.problem import ManifestError, Problem, render_problem
from reconciler.manifest.schema import ANY_KIND, SCHEMA_KINDS, json_schema, schema_file_name, schema_text
from reconciler.manifest.source import Source

__all__ = [
    "ANY_KIND",
    "CODES",
    "SCHEMA_KINDS",
    "Acknowledgement",
    "ClusterDeclaration",
    "Code",
    "Connection",
    "FleetDeclaration",
    "Limits",
    "ManifestError",
    "Manifests",
    "Problem",
    "Source",
    "WaveDeclaration",
    "cluster_warnings",
    "connections",
    "declared_cluster",
    "desired_state",
    "json_schema",
    "load",
    "render_problem",
    "schema_file_name",
    "schema_text",
    "standing_acknowledgements",
]
