"""YAML text to declarations to desired state; every problem with its place. Takes texts, never files."""

from reconciler.manifest.connections import Connection, connections
from reconciler.manifest.desired import declared_cluster, desired_state
from reconciler.manifest.guardrails import GuardrailChange, Meaning, guardrail_changes
from reconciler.manifest.kinds.access_tests import AccessTest, Claim
from reconciler.manifest.kinds.acls import AclsDeclaration
from reconciler.manifest.kinds.fleet import FleetDeclaration, WaveDeclaration
from reconciler.manifest.kinds.ownership import ConsentDeclaration, OwnerDeclaration
from reconciler.manifest.kinds.quotas import QUOTAS, QuotasDeclaration, quota_name_problem
from reconciler.manifest.kinds.topic_policy.declaration import TopicPolicyDeclaration
from reconciler.manifest.kinds.topic_policy.texts import ExpressionFault, expression_problems
from reconciler.manifest.kinds.topics.declaration import TopicsDeclaration
from reconciler.manifest.loading import load
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.built_in_roles import BUILT_IN_ROLES
from reconciler.manifest.parts.clusters import Acknowledgement, ClusterDeclaration, Limits
from reconciler.manifest.parts.hosts import right_form
from reconciler.manifest.parts.metadata import document_name_problem
from reconciler.manifest.parts.roles import FIELD_OF
from reconciler.manifest.parts.settings import setting_problem
from reconciler.manifest.parts.waivers import LintWaiver, Waiver
from reconciler.manifest.reader.codes import CODES, Code
from reconciler.manifest.reader.problem import ManifestError, Problem, render_problem
from reconciler.manifest.reader.source import Source
from reconciler.manifest.safeguards import (
    access_tests,
    cluster_warnings,
    lint_waivers,
    ownership,
    standing_acknowledgements,
    topic_rules,
)
from reconciler.manifest.schema import ANY_KIND, SCHEMA_KINDS, json_schema, schema_file_name, schema_text

__all__ = [
    "ANY_KIND",
    "BUILT_IN_ROLES",
    "CODES",
    "FIELD_OF",
    "QUOTAS",
    "SCHEMA_KINDS",
    "AccessTest",
    "Acknowledgement",
    "AclsDeclaration",
    "Claim",
    "ClusterDeclaration",
    "Code",
    "Connection",
    "ConsentDeclaration",
    "ExpressionFault",
    "FleetDeclaration",
    "GuardrailChange",
    "Limits",
    "LintWaiver",
    "ManifestError",
    "Manifests",
    "Meaning",
    "OwnerDeclaration",
    "Problem",
    "QuotasDeclaration",
    "Source",
    "TopicPolicyDeclaration",
    "TopicsDeclaration",
    "Waiver",
    "WaveDeclaration",
    "access_tests",
    "cluster_warnings",
    "connections",
    "declared_cluster",
    "desired_state",
    "document_name_problem",
    "expression_problems",
    "guardrail_changes",
    "json_schema",
    "lint_waivers",
    "load",
    "ownership",
    "quota_name_problem",
    "render_problem",
    "right_form",
    "schema_file_name",
    "schema_text",
    "setting_problem",
    "standing_acknowledgements",
    "topic_rules",
]
