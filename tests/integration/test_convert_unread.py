"""Nothing in a source passes unread: a field that a converter does not know is named, wherever it stands."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.cli.main import run
from reconciler.parts.convert.conversion import ConversionResult
from reconciler.parts.convert.files import SourceError, source_files
from reconciler.parts.convert.recognition import convert

_MOVING = Path(__file__).parent / "moving"
_STRANGE = "zzStrange"
#: Parts that decide nothing about ACLs and topics, by the last keys of their path.
_OF_NO_CONCERN = {
    "jikkou": ("metadata", "annotations", "labels"),
    "julie": ("metadata",),
    "kafka-gitops": ("blacklist",),
    "strimzi": ("metadata", "annotations", "labels", "authentication", "quotas"),
    "confluent": ("metadata",),
    "terraform": ("kafka_cluster",),
}
_SOURCES = sorted(path.name for path in _MOVING.iterdir() if path.name in _OF_NO_CONCERN)


def _mappings(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every mapping with its path of keys."""
    if isinstance(value, dict):
        yield path, value
        for key, item in list(value.items()):
            yield from _mappings(item, (*path, str(key)))
    elif isinstance(value, list):
        for item in value:
            yield from _mappings(item, path)


def _documents(file: Path) -> list[Any]:
    text = file.read_text(encoding="utf-8")
    return (
        [json.loads(text)]
        if file.suffix not in (".yaml", ".yml")
        else list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    )


def _written(file: Path, documents: list[Any]) -> None:
    text = (
        yaml.dump_all(documents, Dumper=yaml.CSafeDumper)
        if file.suffix in (".yaml", ".yml")
        else json.dumps(documents[0])
    )
    file.write_text(text, encoding="utf-8")


def _told(found: ConversionResult) -> str:
    return "\n".join(map(str, (*found.skipped, *found.unmanaged)))


def _converted(source_format: str, file: Path, documents: list[Any]) -> ConversionResult | None:
    _written(file, documents)
    try:
        return convert(source_format, source_files(str(file.parent)))
    except SourceError:
        return None


def _is_quiet(found: ConversionResult | None, before: ConversionResult) -> bool:
    """Whether nothing shows that the source differs."""
    return found is not None and (found.bindings, found.topics) == (before.bindings, before.topics)


def _is_spoken_for(source_format: str, path: tuple[str, ...], held: dict[str, Any], before: ConversionResult) -> bool:
    """Whether it is of no concern, or a remark gives a value in it as the reason why all of it is not converted."""
    reasons = " ".join(remark.reason for remark in before.skipped)
    values = [text for value in held.values() for text in (value if isinstance(value, list) else [value])]
    named = any(text.split()[-1] in reasons for text in values if isinstance(text, str) and len(text) > 4)
    return named or bool(set(path) & set(_OF_NO_CONCERN[source_format]))


@pytest.mark.parametrize("source_format", _SOURCES)
def test_a_strange_field_wherever_something_is_decided_is_named(source_format: str, tmp_path: Path) -> None:
    """A mapping decides something if the result is another without what it holds."""
    for file in (_MOVING / source_format).iterdir():
        if file.name != "expected.txt":
            _written(tmp_path / file.name, _documents(file))
    before = convert(source_format, source_files(str(tmp_path)))
    passed, named = [], 0
    for file in sorted(tmp_path.iterdir()):
        documents = _documents(file)
        for path, mapping in [found for document in documents for found in _mappings(document)]:
            if source_format == "terraform" and "attributes" not in path:
                continue
            held = dict(mapping)
            mapping[_STRANGE] = "x"
            found = _converted(source_format, file, documents)
            mapping.clear()
            if found is not None and _STRANGE in _told(found):
                named += 1
            elif (
                _is_quiet(found, before)
                and not _is_spoken_for(source_format, path, held, before)
                and not _is_quiet(_converted(source_format, file, documents), before)
            ):
                passed.append(f"{file.name}: {'.'.join(path)}")
            mapping.update(held)
        _written(file, documents)
    assert passed == []
    assert named > 3


@pytest.mark.parametrize(
    "settings",
    [
        "{services: {acls: {describe-topic-enabled: true}}}",
        "{services: {aclz: {describeTopicEnabled: true}}}",
        "{services: {acls: {nonsense: true}}}",
        "{ccloud: {enabled: false, foo: 1}}",
        "{topics: {defaults: {replicas: 3}}}",
    ],
)
def test_a_misspelt_setting_of_kafka_gitops_is_named(
    settings: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = f"settings: {settings}\nservices: {{a: {{type: application, principal: 'User:a', produces: [t]}}}}\n"
    (tmp_path / "state.yaml").write_text(state, encoding="utf-8")
    assert run(["convert", "--from", "kafka-gitops", str(tmp_path)]) == 2
    assert "unknown field, which may matter" in capsys.readouterr().err


def test_a_text_where_settings_belong_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.yaml").write_text("settings: {services: enabled}\n", encoding="utf-8")
    with pytest.raises(SourceError, match="expected a mapping"):
        convert("kafka-gitops", source_files(str(tmp_path)))


def test_the_maintained_fork_has_default_partitions_and_a_whitelist(tmp_path: Path) -> None:
    state = """\
settings:
  topics: {defaults: {partitions: 6, replication: 3}, whitelist: {prefixed: [app.]}}
  schemaRegistry: {url: "http://registry"}
topics: {app.a: {}, app.b: {partitions: 1}}
schemas: {app.a-value: {file: a.avsc}}
"""
    (tmp_path / "state.yaml").write_text(state, encoding="utf-8")
    found = convert("kafka-gitops", source_files(str(tmp_path)))
    assert {name: topic.num_partitions for name, topic in found.topics.items()} == {"app.a": 6, "app.b": 1}
    assert found.skipped == ()
    assert [remark.subject for remark in found.unmanaged] == ["whitelist", "schemas", "schemaRegistry"]


def test_what_kafka_gitops_refuses_is_no_binding(tmp_path: Path) -> None:
    acl = "{name: t, type: TOPIC, pattern: PREFIX, principal: 'User:a', operation: READ}"
    state = f"services: {{a: {{type: application, principal: 'User:a'}}}}\ncustomServiceAcls: {{a: {{x: {acl}}}}}\n"
    (tmp_path / "state.yaml").write_text(state, encoding="utf-8")
    found = convert("kafka-gitops", source_files(str(tmp_path)))
    assert found.bindings == frozenset()
    assert [remark.reason for remark in found.skipped] == ["kafka-gitops refuses pattern 'PREFIX'"]


#: Access and topics of other tools, in the files that a converter reads; facts of their formats, not their texts.
FOREIGN: dict[str, dict[str, dict[str, Any]]] = {
    "terraform": {
        "aiven_kafka_acl": {"permission": "admin", "topic": "t*", "username": "u"},
        "aiven_kafka_schema_registry_acl": {"permission": "schema_registry_read"},
        "confluent_role_binding": {"principal": "User:sa-1", "role_name": "CloudClusterAdmin", "crn_pattern": "crn:x"},
        "redpanda_role_assignment": {"role_name": "r", "principal": "User:x"},
        "instaclustr_kafka_acl": {"user_query": "x"},
        "tencentcloud_ckafka_acl": {"operation": "READ"},
        "aws_iam_policy": {"policy": '{"Action": ["kafka-cluster:ReadData"]}'},
    },
    "jikkou": {
        "kafka.aiven.io/v1beta2 KafkaTopicAclEntry": {"permission": "READ", "username": "u", "topic": "t"},
        "kafka.strimzi.io/v1 KafkaUser": {"authorization": {"type": "simple", "acls": [{"operations": ["Read"]}]}},
        "kafka.strimzi.io/v1 KafkaTopic": {"partitions": 1},
    },
    "strimzi": {
        "platform.confluent.io/v1beta1 ConfluentRolebinding": {"role": "DeveloperRead"},
        "cluster.redpanda.com/v1alpha2 User": {"authorization": {"acls": [{"operations": ["Read"]}]}},
        "kafka.banzaicloud.io/v1alpha1 KafkaUser": {"topicGrants": [{"topicName": "t", "accessType": "read"}]},
        "v1 AccessControlEntry": {"resourceType": "TOPIC", "permission": "READ", "grantedTo": "other"},
        "kafka.nais.io/v1 Topic": {"acl": [{"team": "a", "access": "read"}]},
    },
}


@pytest.mark.parametrize(("source_format", "kind"), [(name, kind) for name in FOREIGN for kind in FOREIGN[name]])
def test_access_of_another_tool_is_never_neither_an_acl_nor_a_topic(
    source_format: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = FOREIGN[source_format][kind]
    if source_format == "terraform":
        resource = {"mode": "managed", "type": kind, "name": "x", "instances": [{"attributes": inside}]}
        text = json.dumps({"version": 4, "resources": [resource]})
        (tmp_path / "terraform.tfstate").write_text(text, encoding="utf-8")
    else:
        version, _, name = kind.rpartition(" ")
        document = {"apiVersion": version, "kind": name, "metadata": {"name": "x"}, "spec": inside}
        (tmp_path / "all.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    assert run(["convert", "--from", source_format, str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "not managed here" not in told
    assert "not converted" in told


@pytest.mark.parametrize(
    ("source_format", "kind"),
    [
        ("terraform", "aws_s3_bucket_acl"),
        ("terraform", "aws_sns_topic"),
        ("terraform", "confluent_service_account"),
        ("jikkou", "v1 KafkaUser"),
        ("strimzi", "rbac.authorization.k8s.io/v1 RoleBinding"),
        ("strimzi", "kafka.strimzi.io/v1 KafkaConnect"),
    ],
)
def test_what_grants_nothing_in_kafka_is_not_called_access(source_format: str, kind: str, tmp_path: Path) -> None:
    if source_format == "terraform":
        resource = {"mode": "managed", "type": kind, "name": "x", "instances": [{"attributes": {"id": "1"}}]}
        topic = {"name": "t", "partitions": 1, "replication_factor": 1}
        ours = {"mode": "managed", "type": "kafka_topic", "name": "t", "instances": [{"attributes": topic}]}
        (tmp_path / "a.tfstate").write_text(json.dumps({"version": 4, "resources": [resource, ours]}))
    else:
        version, _, name = kind.rpartition(" ")
        documents = [
            {"apiVersion": version, "kind": name, "metadata": {"name": "x"}, "spec": {}},
            {"kind": "KafkaTopic", "metadata": {"name": "t"}, "spec": {"partitions": 1}},
        ]
        (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(documents))
    found = convert(source_format, source_files(str(tmp_path)))
    assert (list(found.topics), found.skipped, len(found.unmanaged)) == (["t"], (), 1)


def test_the_providers_of_aiven_and_redpanda_have_acls_as_kafka_has_them(tmp_path: Path) -> None:
    attributes: dict[str, dict[str, Any]] = {
        "aiven_kafka_native_acl": {
            "project": "p", "service_name": "s", "acl_id": "acl1", "id": "p/s/acl1", "host": None, "operation": "Read",
            "pattern_type": "PREFIXED", "permission_type": "ALLOW", "principal": "User:a", "resource_name": "t.",
            "resource_type": "Topic",
        },
        "aiven_kafka_topic": {
            "project": "p", "service_name": "s", "topic_name": "t.a", "partitions": 3, "replication": 2,
            "config": [{"cleanup_policy": "compact", "retention_ms": "", "min_insync_replicas": None}],
            "termination_protection": False,
        },
    }  # fmt: skip
    resources = [
        {"mode": "managed", "type": kind, "name": "x", "instances": [{"attributes": inside}]}
        for kind, inside in attributes.items()
    ]
    (tmp_path / "a.tfstate").write_text(json.dumps({"version": 4, "resources": resources}))
    found = convert("terraform", source_files(str(tmp_path)))
    assert [str(binding) for binding in found.bindings] == ["User:a ALLOW READ on TOPIC PREFIXED t."]
    [topic] = found.topics.values()
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t.a", 3, 2)
    assert dict(topic.configs) == {"cleanup.policy": "compact"}
    assert (found.skipped, found.unmanaged) == ((), ())


def test_a_redpanda_role_is_no_principal_of_kafka(tmp_path: Path) -> None:
    inside = {
        "principal": "RedpandaRole:x", "permission_type": "ALLOW", "operation": "READ", "host": "*",
        "resource_type": "TOPIC", "resource_name": "t", "resource_pattern_type": "LITERAL", "cluster_api_url": "u",
    }  # fmt: skip
    resource = {"mode": "managed", "type": "redpanda_acl", "name": "x", "instances": [{"attributes": inside}]}
    (tmp_path / "a.tfstate").write_text(json.dumps({"version": 4, "resources": [resource]}))
    found = convert("terraform", source_files(str(tmp_path)))
    assert (found.bindings, [remark.reason[:18] for remark in found.skipped]) == (frozenset(), ["Kafka has no roles"])


def test_a_plan_of_terraform_tells_what_its_apply_creates(tmp_path: Path) -> None:
    topic = {"name": "t", "partitions": 1, "replication_factor": 1, "config": None}
    acl = {"acl_principal": "User:a", "acl_permission_type": "Allow", "acl_operation": "Read", "acl_host": "*"}
    resources = [
        {"mode": "managed", "type": "kafka_topic", "address": "kafka_topic.t", "values": topic},
        {"mode": "managed", "type": "kafka_acl", "address": "kafka_acl.a", "values": acl | {"resource_type": "Topic"}},
    ]
    plan = {"format_version": "1.2", "planned_values": {"root_module": {"resources": resources}}}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    found = convert("terraform", source_files(str(tmp_path)))
    assert (list(found.topics), found.bindings) == (["t"], frozenset())
    assert [remark.subject for remark in found.skipped] == ["kafka_acl.a"]
    assert "resource_name only after its apply" in found.skipped[0].reason


@pytest.mark.parametrize("source_format", ["jikkou", "strimzi", "kafka-acls", "confluent", "kafka-gitops", "terraform"])
@pytest.mark.parametrize("text", ["", "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n"])
def test_nothing_recognised_is_no_success(source_format: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "only.yaml").write_text(text, encoding="utf-8")
    assert run(["convert", "--from", source_format, str(tmp_path / "only.yaml")]) in (1, 2)


@pytest.mark.parametrize("source_format", ["jikkou", "strimzi"])
@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("metadata: {name: '{{ .Values.name }}'}\n", "templates/t.yaml:1: a file: this is a Helm template"),
        ("{% for t in topics %}\nkind: KafkaTopic\n{% endfor %}\n", "templates/t.yaml:1: a file: this is a template"),
        ("kind: [\n", "templates/t.yaml:2: a file: this is not YAML"),
        ("- kind: KafkaTopic\n", "templates/t.yaml:1: a list: unknown field"),
    ],
)
def test_one_template_does_not_refuse_the_directory(
    source_format: str, template: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.yaml").write_text("kind: KafkaTopic\nmetadata: {name: good}\nspec: {partitions: 1}\n")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "t.yaml").write_text(template)
    assert run(["convert", "--from", source_format, str(tmp_path)]) == 2
    output = capsys.readouterr()
    assert "- name: good" in output.out
    assert said in output.err


@pytest.mark.parametrize(
    ("setting", "status"),
    [
        ("topology.translation.principal.enabled=true", 2),
        ("topology.dlq.topic.prefix.format={{topic}}.dlq", 2),
        ("topology.validations.topic.name.format=x", 0),
        ("bootstrap.servers=broker:9092", 0),
        ("topology.topic.prefix.separator=.", 0),
    ],
)
def test_a_setting_of_julie_that_decides_names_or_grants_is_named(setting: str, status: int, tmp_path: Path) -> None:
    topology = "context: c\nprojects: [{name: p, topics: [{name: t, consumers: [{principal: 'User:a'}]}]}]\n"
    (tmp_path / "topology.yaml").write_text(topology, encoding="utf-8")
    (tmp_path / "julie.properties").write_text(f"{setting}\n", encoding="utf-8")
    config = ["--config", str(tmp_path / "julie.properties")]
    assert run(["convert", "--from", "julie", str(tmp_path / "topology.yaml"), *config]) == status


def test_files_of_terraform_say_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.tf").write_text("locals {}\n", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "hcl2", None)
    with pytest.raises(SourceError, match="pip install"):
        convert("terraform", source_files(str(tmp_path)))


@pytest.mark.parametrize(
    ("source_format", "text"),
    [
        ("strimzi", "kind: KafkaUser\nmetadata: {name: u}\nspec: {authentication: {type: tls}}\n"),
        ("strimzi", "kind: KafkaUser\nmetadata: {name: u}\n"),
        ("jikkou", "kind: KafkaUser\nmetadata: {name: u}\n"),
    ],
)
def test_a_user_without_access_is_recognised(source_format: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "user.yaml").write_text(text, encoding="utf-8")
    assert convert(source_format, source_files(str(tmp_path))).skipped == ()


def test_access_inside_a_topic_of_another_tool_is_said(tmp_path: Path) -> None:
    text = "apiVersion: kafka.nais.io/v1\nkind: Topic\nmetadata: {name: t}\nspec: {acl: [{team: a, access: read}]}\n"
    (tmp_path / "topic.yaml").write_text(text, encoding="utf-8")
    [remark] = convert("strimzi", source_files(str(tmp_path))).skipped
    assert "a topic with access to it" in remark.reason


def test_an_acl_without_a_principal_is_named_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "meta: {name: a, cluster: c}\nspec:\n  acls:\n  - {resource: {type: topic, name: t, patternType: literal}, "
    (tmp_path / "acls.yaml").write_text(text + "operations: [Read]}\n", encoding="utf-8")
    assert run(["convert", "--from", "topicctl", str(tmp_path)]) == 2
    assert "not converted: acls.yaml:4" in capsys.readouterr().err


def test_a_role_of_rbac_in_a_script_is_no_call_of_kafka_acls(tmp_path: Path) -> None:
    text = "confluent iam rbac role-binding create --principal User:a --role DeveloperRead --resource Topic:t\n"
    (tmp_path / "roles.sh").write_text(text, encoding="utf-8")
    [remark] = convert("kafka-acls-script", source_files(str(tmp_path))).skipped
    assert "RBAC" in remark.reason
