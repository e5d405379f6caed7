"""YAML text to declarations to desired state; every problem with its place. Takes texts, never files."""

from reconciler.manifest.connections import Connection, connections
from reconciler.manifest.desired import declared_acls, declared_cluster, desired_state
from reconciler.manifest.flavors import with_flavor
from reconciler.manifest.guardrail_meaning import Meaning
from reconciler.manifest.guardrail_set import PREFIX as GUARDRAIL_PREFIX
from reconciler.manifest.guardrail_set import (
    guardrail_files,
    guardrail_labels,
    guardrails_digest,
    rule_key,
    wave_labels,
    with_guardrails,
)
from reconciler.manifest.guardrails import GuardrailChange, gravest_first, guardrail_changes
from reconciler.manifest.kinds.access_tests import AccessTest, Claim
from reconciler.manifest.kinds.acls import AclsDeclaration
from reconciler.manifest.kinds.cluster.secrets import referring_settings
from reconciler.manifest.kinds.cluster_tests import ClusterTest
from reconciler.manifest.kinds.fleet import FleetDeclaration, WaveDeclaration
from reconciler.manifest.kinds.ownership import ConsentDeclaration, OwnerDeclaration
from reconciler.manifest.kinds.topic_policy.declaration import TopicPolicyDeclaration
from reconciler.manifest.kinds.topic_policy.texts import ExpressionFault, expression_problems
from reconciler.manifest.kinds.topics.declaration import TopicsDeclaration
from reconciler.manifest.loading import load
from reconciler.manifest.manifests import GuardrailNotice, Guardrails, Manifests
from reconciler.manifest.operator import as_proposed, with_operator
from reconciler.manifest.parts.built_in_roles import BUILT_IN_ROLES
from reconciler.manifest.parts.clusters import (
    DEFAULT_DELETE_PERCENT,
    DEFAULT_PERCENT_ABOVE,
    Acknowledgement,
    ClusterDeclaration,
    Limits,
)
from reconciler.manifest.parts.hosts import right_form
from reconciler.manifest.parts.metadata import document_name_problem
from reconciler.manifest.parts.roles import FIELD_OF
from reconciler.manifest.parts.settings import setting_problem
from reconciler.manifest.parts.waivers import LintWaiver, Waiver
from reconciler.manifest.project import (
    OPERATORS_OPTIONS,
    PROJECT_FILE,
    Project,
    is_project,
    project_changes,
    read_project,
)
from reconciler.manifest.reader.codes import CODES, Code
from reconciler.manifest.reader.problem import ManifestError, Problem, in_order, problem_count, render_problem
from reconciler.manifest.reader.source import Source
from reconciler.manifest.safeguards import (
    access_tests,
    cluster_tests,
    cluster_warnings,
    coverage_notices,
    declares_access_tests,
    expired_rules,
    guardrail_ownership,
    guardrail_topic_rules,
    lint_waivers,
    owned_topics,
    ownership,
    standing_acknowledgements,
    topic_rules,
)
from reconciler.manifest.schema import ANY_KIND, SCHEMA_KINDS, json_schema, schema_file_name, schema_text

__all__ = [
    "ANY_KIND",
    "BUILT_IN_ROLES",
    "CODES",
    "DEFAULT_DELETE_PERCENT",
    "DEFAULT_PERCENT_ABOVE",
    "FIELD_OF",
    "GUARDRAIL_PREFIX",
    "OPERATORS_OPTIONS",
    "PROJECT_FILE",
    "SCHEMA_KINDS",
    "AccessTest",
    "Acknowledgement",
    "AclsDeclaration",
    "Claim",
    "ClusterDeclaration",
    "ClusterTest",
    "Code",
    "Connection",
    "ConsentDeclaration",
    "ExpressionFault",
    "FleetDeclaration",
    "GuardrailChange",
    "GuardrailNotice",
    "Guardrails",
    "Limits",
    "LintWaiver",
    "ManifestError",
    "Manifests",
    "Meaning",
    "OwnerDeclaration",
    "Problem",
    "Project",
    "Source",
    "TopicPolicyDeclaration",
    "TopicsDeclaration",
    "Waiver",
    "WaveDeclaration",
    "access_tests",
    "as_proposed",
    "cluster_tests",
    "cluster_warnings",
    "connections",
    "coverage_notices",
    "declared_acls",
    "declared_cluster",
    "declares_access_tests",
    "desired_state",
    "document_name_problem",
    "expired_rules",
    "expression_problems",
    "gravest_first",
    "guardrail_changes",
    "guardrail_files",
    "guardrail_labels",
    "guardrail_ownership",
    "guardrail_topic_rules",
    "guardrails_digest",
    "in_order",
    "is_project",
    "json_schema",
    "lint_waivers",
    "load",
    "owned_topics",
    "ownership",
    "problem_count",
    "project_changes",
    "read_project",
    "referring_settings",
    "render_problem",
    "right_form",
    "rule_key",
    "schema_file_name",
    "schema_text",
    "setting_problem",
    "standing_acknowledgements",
    "topic_rules",
    "wave_labels",
    "with_flavor",
    "with_guardrails",
    "with_operator",
]
