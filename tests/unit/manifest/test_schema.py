"""JSON Schemas: committed, valid, complete, and true to the examples."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from reconciler.cli.schema import ANY_KIND, SCHEMA_KINDS, json_schema, manifest_schema_text
from reconciler.manifest.documents import KINDS_BY_NAME
from reconciler.manifest.manifests import load
from reconciler.manifest.parts.rules import BUILT_IN_ROLES
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.write.kinds.interface import WrittenKind
from reconciler.model.kinds import listed_kind, listed_types
from reconciler.model.listing import ListedItem
from reconciler.model.topic_configs import TOPIC_CONFIGS

EXAMPLES = Path(__file__).parent / "examples.yaml"

#: To generate them for each test would take longer than the tests.
schema_of = cache(json_schema)


@cache
def validator_of(kind: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(schema_of(kind))


class EditorLoader(yaml.SafeLoader):
    """Types scalars as editors do: dates stay texts."""


EditorLoader.yaml_implicit_resolvers = {
    key: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for key, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def examples() -> list[dict[str, Any]]:
    return list(yaml.load_all(EXAMPLES.read_text(encoding="utf-8"), EditorLoader))


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_the_committed_schema_is_the_generated_one(kind: str) -> None:
    assert Path("schema", f"{kind.lower()}.json").read_text(encoding="utf-8") == manifest_schema_text(kind)


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_the_schema_is_one(kind: str) -> None:
    jsonschema.Draft7Validator.check_schema(schema_of(kind))


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_every_field_has_a_description_and_an_example_that_fits(kind: str) -> None:
    schema = schema_of(kind)
    objects = [schema, *schema["definitions"].values()]
    fields = [(name, field) for item in objects for name, field in item.get("properties", {}).items()]
    assert fields
    for name, field in fields:
        assert field.get("description"), name
        assert field.get("examples"), name
        validator = jsonschema.Draft7Validator({**field, "definitions": schema["definitions"]})
        for example in field["examples"]:
            validator.validate(example)


@pytest.mark.parametrize("document", examples(), ids=lambda document: document["kind"])
def test_examples_fit_their_schemas(document: dict[str, Any]) -> None:
    validator_of(document["kind"]).validate(document)
    validator_of(ANY_KIND).validate(document)


def test_examples_are_manifests() -> None:
    load([Source("examples.yaml", EXAMPLES.read_text(encoding="utf-8"))])


@pytest.mark.parametrize(
    "wrong",
    [
        {"spec": {"principal": "User:a", "rules": [{"allow": "REED", "topics": ["a"]}]}},
        {"spec": {"principal": "User:a", "rules": [{"allow": "READ", "topic": ["a"]}]}},
        {"spec": {"principal": "User:a", "rules": [{"allow": "READ", "topics": {"prefix": "a", "any": True}}]}},
        {"spec": {"principal": "User:a"}},
        {"metadata": {}},
        {"spec": {"principal": "svc-a", "rules": [{"allow": "READ", "topics": ["a"]}]}},
        {"spec": {"principals": ["User:a", "b"], "rules": [{"allow": "READ", "topics": ["a"]}]}},
        {"spec": {"principal": "User:a", "rules": [{"allow": "READ", "topics": "a*"}]}},
        {"spec": {"principal": "User:a", "rules": [{"allow": "READ", "topics": ["b", "a.*"]}]}},
    ],
)
def test_mistakes_do_not_fit(wrong: dict[str, Any]) -> None:
    document = {
        "apiVersion": "reconciler/v1",
        "kind": "Acls",
        "metadata": {"name": "a"},
        "spec": {"principal": "User:a", "rules": []},
    }
    validator = validator_of("Acls")
    assert validator.is_valid(document)
    assert not validator.is_valid(document | wrong)


def fields_of(schema: dict[str, Any]) -> set[str]:
    return {name for item in (schema, *schema["definitions"].values()) for name in item.get("properties", {})}


def reference() -> str:
    """Every page about manifests."""
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted(Path("docs/manifests").glob("*.md")))


def test_every_field_is_documented() -> None:
    spans = re.findall(r"`[^`\n]+`", reference())
    words = {word for span in spans for word in re.findall(r"[\w-]+", span)}
    # What each config does, Kafka documents.
    assert fields_of(schema_of(ANY_KIND)) - words - TOPIC_CONFIGS.keys() == set()


def test_examples_of_the_reference_are_manifests() -> None:
    blocks = re.findall(r"^```yaml\n(apiVersion.*?)^```", reference(), re.M | re.S)
    assert len(blocks) == 18
    for block in blocks:
        load([Source("manifests.md", block)])
        assert re.findall(r"^ *- \{.*", block, re.M) == [], "a reference shows each field on a line of its own"


VARYING = """\
apiVersion: reconciler/v1
kind: {kind}
metadata: {{name: true}}
spec: {spec}
"""


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Acls", '{principal: "${vars.x}", rules: [{allow: "${vars.x}", deny: ["${vars.x}"], topics: [t]}]}'),
        ("Acls", '{principal: User:a, rules: [], exceptions: [{check: "${vars.x}", reason: r, expires: "${vars.x}"}]}'),
        ("Topics", '{topics: [{name: t, replicaAssignments: [["${vars.x}"]]}]}'),
        ("Quotas", '{quotas: [{user: "${vars.x}", absent: "${vars.x}", limits: {producer_byte_rate: "${vars.x}"}}]}'),
        (
            "GroupConfigs",
            '{groups: [{name: "${vars.x}", absent: "${vars.x}", configs: {share.isolation.level: "${vars.x}"}}]}',
        ),
        ("ClientMetrics", '{subscriptions: [{name: "${vars.x}", configs: {"${vars.x}": "${vars.x}"}}]}'),
        (
            "ClusterTests",
            '{tests: [{name: n, configs: {a: "${vars.x}", b: {min: "${vars.x}"}}, features: {f: {min: "${vars.x}"}}}]}',
        ),
        ("AccessTests", '{tests: [{name: n, onlyReaders: User:a, topics: [t], severity: "${vars.x}"}]}'),
        (
            "TopicPolicy",
            '{rules: [{name: n, topics: t, names: {maxLength: "${vars.x}"}, severity: "${vars.x}"}], '
            'exceptions: [{check: n, topics: t, codes: ["${vars.x}"], reason: r, expires: "${vars.x}"}]}',
        ),
    ],
)
def test_a_variable_fits_wherever_the_reader_takes_one(kind: str, spec: str) -> None:
    document = yaml.safe_load(VARYING.format(kind=kind, spec=spec))
    validator_of(kind).validate(document)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Topics", "{topics: [{name: t, partitions: 2147483648}]}"),
        ("Topics", "{topics: [{name: t, replicationFactor: 32768}]}"),
        ("Cluster", '{deleteLimits: {maxDeletes: "${vars.x}"}}'),
        ("Cluster", "{brokers: [2147483648]}"),
        ("Quotas", "{quotas: [{user: u, limits: {producer_byte_rate: 0}}]}"),
        ("GroupConfigs", "{groups: [{configs: {share.isolation.level: read_committed}}]}"),
        ("ClientMetrics", "{subscriptions: [{configs: {metrics: a}}]}"),
        ("Quotas", "{quotas: [{user: u, limits: {request_percentage: 5/s}}]}"),
        ("Fleet", "{waves: [{name: w, clusters: {matchLabels: {}}, gate: {soak: -1}}]}"),
    ],
)
def test_what_the_reader_refuses_does_not_fit(kind: str, spec: str) -> None:
    text = VARYING.format(kind=kind, spec=spec)
    with pytest.raises(ManifestError):
        load([Source("a.yaml", text)])
    with pytest.raises(jsonschema.ValidationError):
        validator_of(kind).validate(yaml.safe_load(text))


@pytest.mark.parametrize("kind", KINDS_BY_NAME)
def test_an_editor_proposes_a_whole_document(kind: str) -> None:
    """As the YAML language server reads it: a snippet, whose body is a manifest once ``$`` is no place any more."""
    (snippet,) = schema_of(kind)["defaultSnippets"]
    (same,) = schema_of(ANY_KIND)["definitions"][f"{kind}Document"]["defaultSnippets"]
    assert snippet == same
    text = yaml.safe_dump(snippet["body"], sort_keys=False)
    assert not re.search(r"(?<!\\)\$", text)
    document = yaml.safe_load(text.replace("\\$", "$").replace("\\}", "}"))
    validator_of(kind).validate(document)
    assert load([Source("a.yaml", yaml.safe_dump(document))]).documents or kind == "Role"


def test_an_editor_proposes_roles_and_configs() -> None:
    schema = schema_of(ANY_KIND)["definitions"]
    for rule in ("RuleItem", "TopicGrant"):
        assert schema[rule]["properties"]["role"]["anyOf"][0]["enum"] == sorted(BUILT_IN_ROLES)
    configs = schema["TopicConfigs"]
    assert configs["properties"].keys() == TOPIC_CONFIGS.keys()
    assert configs["properties"]["message.timestamp.type"]["anyOf"][0]["enum"] == ["CreateTime", "LogAppendTime"]
    validator = jsonschema.Draft7Validator(configs)
    validator.validate({"retention.ms": "${vars.x}", "of.a.vendor": 1, "cleanup.policy": ["delete", "compact"]})
    assert not validator.is_valid({"retention.ms": {"a": 1}})


@pytest.mark.parametrize("resource", listed_types(), ids=lambda resource: resource.KIND)
def test_a_listed_kind_is_written_under_the_key_that_its_document_has(resource: type[ListedItem]) -> None:
    kind: WrittenKind = listed_kind(resource)
    spec = schema_of(kind.document)["properties"]["spec"]
    found = spec.get("properties") or schema_of(kind.document)["definitions"][f"{kind.document}Spec"]["properties"]
    assert kind.items_key in found
