"""Any state, written as a tool would keep it, converts to exactly that state: one writer for each format."""

import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from reconciler.adapters.converters import SourceFiles, convert
from reconciler.model import AclBinding, ClusterState, ResourceType
from tests.property.strategies import states

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
}


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
        assert bool(found.skipped) is not bool(state.bindings)

    check()
