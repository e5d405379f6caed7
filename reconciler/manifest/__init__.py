"""YAML text to declarations to desired state; every problem with its place. Takes texts, never files."""

from reconciler.manifest.built_in_roles import BUILT_IN_ROLES
from reconciler.manifest.claims import AccessTest, Claim
from reconciler.manifest.clusters import Acknowledgement, ClusterDeclaration, Limits
from reconciler.manifest.codes import CODES, Code
from reconciler.manifest.connections import Connection, connections
from reconciler.manifest.desired import declared_cluster, desired_state
from reconciler.manifest.fleets import FleetDeclaration, WaveDeclaration
from reconciler.manifest.hosts import right_form
from reconciler.manifest.loading import load
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.models.metadata import document_name_problem
from reconciler.manifest.owners import ConsentDeclaration, OwnerDeclaration
from reconciler.manifest.policy_texts import ExpressionFault, expression_problems
from reconciler.manifest.problem import ManifestError, Problem, render_problem
from reconciler.manifest.roles import FIELD_OF
from reconciler.manifest.safeguards import (
    access_tests,
    cluster_warnings,
    lint_waivers,
    ownership,
    standing_acknowledgements,
    topic_rules,
)
from reconciler.manifest.schema import ANY_KIND, SCHEMA_KINDS, json_schema, schema_file_name, schema_text
from reconciler.manifest.settings import setting_problem
from reconciler.manifest.source import Source
from reconciler.manifest.waivers import LintWaiver, Waiver

__all__ = [
    "ANY_KIND",
    "BUILT_IN_ROLES",
    "CODES",
    "FIELD_OF",
    "SCHEMA_KINDS",
    "AccessTest",
    "Acknowledgement",
    "Claim",
    "ClusterDeclaration",
    "Code",
    "Connection",
    "ConsentDeclaration",
    "ExpressionFault",
    "FleetDeclaration",
    "Limits",
    "LintWaiver",
    "ManifestError",
    "Manifests",
    "OwnerDeclaration",
    "Problem",
    "Source",
    "Waiver",
    "WaveDeclaration",
    "access_tests",
    "cluster_warnings",
    "connections",
    "declared_cluster",
    "desired_state",
    "document_name_problem",
    "expression_problems",
    "json_schema",
    "lint_waivers",
    "load",
    "ownership",
    "render_problem",
    "right_form",
    "schema_file_name",
    "schema_text",
    "setting_problem",
    "standing_acknowledgements",
    "topic_rules",
]
