"""Any state, written as a tool would keep it, converts to exactly that state: one writer for each format."""

import csv
import io
import json
import shlex
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.model.acl import AclBinding, ResourceType
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.convert.files import STDIN, SourceFiles
from reconciler.parts.convert.recognition import convert
from tests.property.strategies import states, topics

_OPTIONS = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
    ResourceType.DELEGATION_TOKEN: "--delegation-token",
    ResourceType.USER: "--user-principal",
}


def _parts(binding: AclBinding) -> dict[str, str]:
    pattern, entry = binding
    return {
        "principal": entry.principal,
        "host": entry.host,
        "resource_type": pattern.resource_type.name,
        "resource_name": pattern.name,
        "pattern_type": pattern.pattern_type.name,
        "operation": entry.operation.name,
        "permission": entry.permission_type.name,
    }


def _script(state: ClusterState) -> str:
    lines = ["#!/bin/sh"]
    for binding in sorted(state.bindings):
        of = _parts(binding)
        effect = of["permission"].lower()
        words = ["--add", f"--{effect}-principal", of["principal"], f"--{effect}-host", of["host"]]
        words += ["--operation", of["operation"]]
        if binding.pattern.resource_type is ResourceType.CLUSTER:
            words.append("--cluster")
        else:
            words += [_OPTIONS[binding.pattern.resource_type], of["resource_name"]]
            words += ["--resource-pattern-type", of["pattern_type"].lower()]
        lines.append(f"kafka-acls.sh --bootstrap-server $SERVERS {shlex.join(words)}")
    return "\n".join(lines)


def _rpk_table(state: ClusterState) -> str:
    heads = ("PRINCIPAL", "HOST", "RESOURCE-TYPE", "RESOURCE-NAME", "RESOURCE-PATTERN-TYPE", "OPERATION", "PERMISSION")
    rows = [heads, *(tuple(_parts(binding).values()) for binding in sorted(state.bindings))]
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    return "\n".join("".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _rpk_json(state: ClusterState) -> str:
    return json.dumps({"matches": [_parts(binding) for binding in state.bindings]})


def _terraform(kind: str, names: dict[str, str]) -> Callable[[ClusterState], str]:
    def written(state: ClusterState) -> str:
        instances = [
            {"index_key": str(index), "attributes": {names.get(name, name): text for name, text in _parts(one).items()}}
            for index, one in enumerate(sorted(state.bindings))
        ]
        resource = {"mode": "managed", "type": kind, "name": "x", "instances": instances}
        return json.dumps({"version": 4, "resources": [resource]})

    return written


def _kdef(state: ClusterState) -> str:
    documents: list[dict[str, Any]] = []
    for binding in sorted(state.bindings):
        of = _parts(binding)
        metadata = {"type": of["resource_type"].lower(), "name": of["resource_name"]}
        metadata["resourcePatternType"] = of["pattern_type"].lower()
        group = {"principals": [of["principal"]], "hosts": [of["host"]], "operations": [of["operation"]]}
        acls = [group | {"permissionType": of["permission"]}]
        documents.append({"apiVersion": "v1", "kind": "acl", "metadata": metadata, "spec": {"acls": acls}})
    return yaml.safe_dump_all(documents)


def _topicctl(state: ClusterState) -> str:
    acls = []
    for binding in sorted(state.bindings):
        of = _parts(binding)
        resource = {"type": of["resource_type"], "name": of["resource_name"], "patternType": of["pattern_type"]}
        resource |= {key: of[key] for key in ("principal", "host", "permission")}
        acls.append({"resource": resource, "operations": [of["operation"]]})
    return yaml.safe_dump({"meta": {"name": "all", "cluster": "c"}, "spec": {"acls": acls}})


def _csv(state: ClusterState) -> str:
    heads = ("KafkaPrincipal", "Host", "ResourceType", "ResourceName", "PatternType", "Operation", "PermissionType")
    text = io.StringIO()
    csv.writer(text).writerows([heads, *(tuple(_parts(binding).values()) for binding in sorted(state.bindings))])
    return text.getvalue()


def _crossplane(state: ClusterState) -> str:
    names = {
        "principal": "resourcePrincipal", "host": "resourceHost", "resource_type": "resourceType",
        "resource_name": "resourceName", "pattern_type": "resourcePatternTypeFilter", "operation": "resourceOperation",
        "permission": "resourcePermissionType",
    }  # fmt: skip
    documents = [
        {
            "apiVersion": "acl.kafka.crossplane.io/v1alpha1",
            "kind": "AccessControlList",
            "metadata": {"name": f"a{index}"},
            "spec": {"forProvider": {names[name]: text for name, text in _parts(binding).items()}},
        }
        for index, binding in enumerate(sorted(state.bindings))
    ]
    return yaml.safe_dump_all(documents)


def _ansible(state: ClusterState) -> str:
    """Half of the entries in a variable, the others in a loop."""
    names = {
        "principal": "acl_principal", "host": "acl_host", "resource_type": "acl_resource_type", "resource_name": "name",
        "pattern_type": "acl_pattern_type", "operation": "acl_operation", "permission": "acl_permission",
    }  # fmt: skip
    entries = [{names[name]: text for name, text in _parts(one).items()} for one in sorted(state.bindings)]
    fields = {name: f"{{{{ item.{name} }}}}" for name in names.values()}
    tasks = [{"kafka_acls": {"acls": "{{ acls }}"}}, {"kafka_acl": fields, "loop": entries[1::2]}]
    return yaml.safe_dump([{"hosts": "localhost", "vars": {"acls": entries[::2]}, "tasks": tasks}])


def _job(state: ClusterState) -> str:
    """Each call as a container; dollars with a bracket would be variables."""
    calls = [shlex.split(line.replace(" $SERVERS", " b:9092")) for line in _script(state).split("\n")[1:]]
    containers = [{"name": "c", "command": call} for call in calls]
    spec = {"template": {"spec": {"containers": containers}}}
    return yaml.safe_dump({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "acls"}, "spec": spec})


def _hcl(state: ClusterState) -> str:
    """Every text quoted as in JSON, and what Terraform would replace in it doubled."""
    lines = []
    for index, binding in enumerate(sorted(state.bindings)):
        lines.append(f'resource "aiven_kafka_native_acl" "a{index}" {{')
        of = _parts(binding)
        of["permission_type"] = of.pop("permission")
        lines += [f"  {name} = {json.dumps(text, ensure_ascii=False)}" for name, text in of.items()]
        lines.append("}")
    return "\n".join(lines)


_SOURCES: dict[str, tuple[str, str, Callable[[ClusterState], str]]] = {
    "script": ("kafka-acls-script", "acls.sh", _script),
    "rpk": ("redpanda", "acls.txt", _rpk_table),
    "rpk-json": ("redpanda", "acls.json", _rpk_json),
    "aiven": ("terraform", "a.tfstate", _terraform("aiven_kafka_native_acl", {"permission": "permission_type"})),
    "redpanda-state": (
        "terraform",
        "a.tfstate",
        _terraform("redpanda_acl", {"permission": "permission_type", "pattern_type": "resource_pattern_type"}),
    ),
    "confluent-state": ("terraform", "a.tfstate", _terraform("confluent_kafka_acl", {})),
    "confluent": ("confluent", "a.json", lambda state: json.dumps([_parts(one) for one in state.bindings])),
    "kdef": ("kdef", "a.yaml", _kdef),
    "topicctl": ("topicctl", "a.yaml", _topicctl),
    "hcl": ("terraform", "a.tf", _hcl),
    "csv": ("kafka-security-manager", "a.csv", _csv),
    "crossplane": ("crossplane", "a.yaml", _crossplane),
    "ansible": ("ansible", "a.yml", _ansible),
    "job": ("kafka-acls-script", "job.yaml", _job),
}


#: A heading or a task says what a file is, even if no ACL follows.
_KNOWN_WITHOUT_ACLS = ("csv", "ansible")


@pytest.mark.parametrize("source", _SOURCES)
def test_what_a_tool_keeps_of_any_state_is_that_state(source: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    source_format, name, write = _SOURCES[source]
    directory = tmp_path_factory.mktemp(source)

    @settings(max_examples=15)
    @given(states())
    def check(state: ClusterState) -> None:
        (directory / name).write_text(write(state), encoding="utf-8")
        found = convert(source_format, SourceFiles(directory, (name,)))
        assert found.bindings == state.bindings
        assert bool(found.skipped) is not bool(state.bindings) or source in _KNOWN_WITHOUT_ACLS
        recognised = convert("auto", SourceFiles(directory, (name,)))
        assert recognised.bindings == state.bindings
        assert not (state.bindings and recognised.skipped)

    check()


def _number(value: float) -> str:
    """As Java prints a double of these sizes."""
    return f"{float(value):.1f}" if value == int(value) else repr(float(value))


_WORDS = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}


def _of(entity: QuotaEntity) -> str:
    parts = sorted(entity.parts, key=lambda part: list(_WORDS).index(part[0]))
    return ", ".join(f"{_WORDS[kind]} '{name}'" if name else f"the default {_WORDS[kind]}" for kind, name in parts)


def _described(topics: Iterable[Topic], quotas: Iterable[ClientQuota]) -> str:
    """As kafka-topics and kafka-configs of Kafka 4 print a state; configs of brokers stand among those of topics."""
    lines = []
    for topic in topics:
        counts = f"PartitionCount: {topic.num_partitions}\tReplicationFactor: {topic.replication_factor}"
        lines.append(f"Topic: {topic.name}\tTopicId: x\t{counts}\tConfigs: segment.bytes=1073741824")
        lines += [f"\tTopic: {topic.name}\tPartition: 0\tLeader: none\tReplicas: {_replicas(topic)}\tIsr: "]
        lines.append(f"Dynamic configs for topic {topic.name} are:")
        lines += [
            f"  {key}={text} sensitive=false synonyms={{DYNAMIC_TOPIC_CONFIG:{key}={text}}}"
            for key, text in topic.configs.items()
        ]
    for quota in quotas:
        limits = ", ".join(f"{key}={_number(value)}" for key, value in quota.values.items())
        lines.append(f"Quota configs for {_of(quota.entity)} are {limits}")
    return "\n".join(lines)


def _replicas(topic: Topic) -> str:
    return ",".join(map(str, range(topic.replication_factor or 0)))


_names = st.sampled_from(["", "a", "CN=a,O=b", "it's", "\u00e9 x"])
_limits = st.dictionaries(
    st.sampled_from(["producer_byte_rate", "consumer_byte_rate", "request_percentage"]),
    st.one_of(st.integers(1, 10**7), st.sampled_from([0.5, 12.25])),
    min_size=1,
)
_quotas = st.builds(
    lambda user, client, limits: ClientQuota(QuotaEntity.of(user, client), limits),
    _names,
    st.none() | _names,
    _limits,
)
_topics = topics().map(lambda topic: replace(topic, num_partitions=3, replication_factor=2, topic_id=None))


@given(st.lists(_topics, unique_by=lambda topic: topic.name), st.lists(_quotas, unique_by=lambda quota: quota.entity))
def test_what_kafkas_tools_describe_is_what_there_is(topics: list[Topic], quotas: list[ClientQuota]) -> None:
    text = _described(topics, quotas)
    for source_format in ("kafka-describe", "auto"):
        found = convert(source_format, SourceFiles(Path(), (STDIN,), stdin=text))
        assert set(found.topics.values()) == {replace(topic, replica_assignments=None) for topic in topics}
        assert found.listed[ClientQuota.KIND] == set(quotas)
        assert bool(found.skipped) is not bool(topics or quotas)
