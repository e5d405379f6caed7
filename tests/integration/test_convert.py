"""What other tools keep becomes manifests that declare exactly what those tools would create.

Each directory below ``moving`` holds input in a tool's own format and ``expected.txt``, written by hand after the
tool's documentation and code: every binding and topic, and everything that must be named as skipped or unmanaged.
"""

import datetime
import io
import json
import shutil
import tempfile
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.manifest.manifests import desired_state, load
from reconciler.model.config_resource import ConfigResource
from reconciler.model.kinds.client_metrics import ClientMetrics
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.topic import Topic
from reconciler.parts.convert.cli import command
from reconciler.parts.convert.recognition import AUTO, FORMATS
from reconciler.system.files import read_manifest_files

_MOVING = Path(__file__).parent / "moving"
_SOURCES = sorted(path for path in _MOVING.iterdir() if path.is_dir())


def _format(source: Path) -> str:
    return "terraform" if source.name.startswith("terraform") else source.name


def _arguments(source: Path, scratch: Path, source_format: str | None = None) -> list[str]:
    """A directory holds ``expected.txt`` too, which is no file of these tools: a copy without it is converted."""
    copy = Path(tempfile.mkdtemp(dir=scratch))
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("expected.txt"), dirs_exist_ok=True)
    return ["convert", "--from", source_format or _format(source), str(copy)]


def _topic(topic: Topic) -> str:
    counts = ("-" if count is None else str(count) for count in (topic.num_partitions, topic.replication_factor))
    return " ".join(["topic", topic.name, *counts, *(f"{key}={value}" for key, value in sorted(topic.configs.items()))])


def _quota(quota: ClientQuota) -> str:
    return " ".join([f"quota of {quota.entity}:", *(f"{key}={value}" for key, value in sorted(quota.values.items()))])


def _user(user: ScramUser) -> str:
    assert not user.sources
    return " ".join([f"user {user.name}:", *(f"{key}={value}" for key, value in sorted(user.values.items()))])


def _configs(config: ConfigResource) -> str:
    subject = config.subject.replace("config of group", "configs of group")
    return " ".join([f"{subject}:", *(f"{key}={text}" for key, text in config.values.items())])


def _declared(directory: Path, name: str = "my-cluster") -> set[str]:
    wanted = desired_state(load(read_manifest_files(directory)), name, datetime.date.max)
    topics = {f"absent {name}" if topic.absent else _topic(topic.topic) for name, topic in wanted.topics.items()}
    quotas = {_quota(item.item) for item in wanted.of(ClientQuota).values()}
    users = {
        f"absent user {item.item.name}" if item.absent else _user(item.item) for item in wanted.of(ScramUser).values()
    }
    configs = {_configs(item.item) for kind in (GroupConfig, ClientMetrics) for item in wanted.of(kind).values()}
    return {str(binding) for binding in wanted.bindings} | topics | quotas | users | configs


@pytest.mark.parametrize("source_format", [None, "auto"])
@pytest.mark.parametrize("source", _SOURCES, ids=lambda path: path.name)
def test_the_manifests_declare_what_the_source_would_create(
    source: Path, source_format: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (source / "expected.txt").read_text(encoding="utf-8").splitlines()
    remarks = [line for line in lines if line.startswith(("skipped ", "unmanaged "))]
    assert run([*_arguments(source, tmp_path, source_format), "--out", str(tmp_path / "out")]) == (
        2 if "skipped" in " ".join(remarks) else 0
    )
    assert _declared(tmp_path / "out") == set(lines) - set(remarks)

    capsys.readouterr()
    run([*_arguments(source, tmp_path, source_format), "--output", "json"])
    document = json.loads(capsys.readouterr().out)
    found = [
        f"{kind} {remark['where']} {remark['reason']}" for kind in ("skipped", "unmanaged") for remark in document[kind]
    ]
    assert [text[: len(line)] for text, line in zip(sorted(found), sorted(remarks), strict=True)] == sorted(remarks)


@pytest.mark.parametrize("source", _SOURCES, ids=lambda path: path.name)
def test_what_is_left_is_named_where_people_look(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*_arguments(source, tmp_path), "--out", str(tmp_path / "out")])
    told = capsys.readouterr().err
    left = [line for line in told.splitlines() if line.startswith("not converted: ")]
    file = tmp_path / "out" / "not-converted.yaml"
    assert file.exists() is bool(left)
    for line in left:
        assert line.removeprefix("not converted: ") in file.read_text(encoding="utf-8")
    assert "read back from the manifests" in told


def test_every_format_is_offered_and_tried() -> None:
    [option] = [parameter for parameter in command.params if parameter.name == "source_format"]
    assert getattr(option.type, "choices", None) == (AUTO, *FORMATS)
    assert {_format(source) for source in _SOURCES} == set(FORMATS)


@pytest.mark.parametrize("page", ["moving-in.md", "other-tools.md"])
def test_every_format_is_on_the_pages_that_list_them(page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    rows = "".join(line for line in text.splitlines() if line.startswith("|"))
    assert [name for name in FORMATS if f"`{name}`" not in rows] == []


def test_standard_input_is_a_source(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = (_MOVING / "kafka-acls" / "acls.txt").read_text(encoding="utf-8").split("[2026")[0]
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert run(["convert", "--from", "kafka-acls", "-", "--name", "prod"]) == 0
    assert "principal: User:carol" in capsys.readouterr().out


JULIE = """\
context: corp
projects:
  - name: orders
    consumers: [{principal: "User:reader", group: g}]
    producers: [{principal: "User:writer"}]
    connectors: [{principal: "User:connect"}]
    topics:
      - name: placed
        dataType: avro
        consumers: [{principal: "User:own", group: g}]
"""


@pytest.mark.parametrize(("place", "status"), [("more/roles.yaml", 2), ("../roles.yaml", 1)])
def test_julie_roles_are_where_the_settings_say(place: str, status: int, tmp_path: Path) -> None:
    """Below the topologies, where other files are passed over; what lies elsewhere is not read."""
    topologies = tmp_path / "t"
    (topologies / "more").mkdir(parents=True)
    named = "resourceType: Topic, resourceName: '{{topic}}', patternType: LITERAL, host: '*'"
    role = f"roles: [{{name: auditor, acls: [{{{named}, operation: READ, permissionType: ALLOW}}]}}]\n"
    (topologies / place).write_text(role, encoding="utf-8")
    (topologies / "more" / "other.yaml").write_text("context: b\nprojects: []\n", encoding="utf-8")
    use = "auditor: [{principal: 'User:x', topic: audit}]"
    (topologies / "a.yaml").write_text(f"context: a\nprojects: [{{name: p, {use}}}]\n", encoding="utf-8")
    (tmp_path / "julie.properties").write_text(f"julie.roles={place}\n", encoding="utf-8")
    source = [str(topologies), "--config", str(tmp_path / "julie.properties")]
    assert run(["convert", "--from", "julie", *source, "--out", str(tmp_path / "out")]) == status
    texts = "".join(file.read_text(encoding="utf-8") for file in (tmp_path / "out").rglob("*.yaml"))
    assert ("User:x" in texts and "audit" in texts) is (status == 2)


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (
            "topology.topic.prefix.separator=-\ntopology.connector.allow.topic.create=false\n",
            {"topic corp-orders-placed-avro - -", "User:reader ALLOW READ on TOPIC corp-orders-placed-avro"},
        ),
        ("topology.topic.prefix.format=name\n", {"topic placed - -", "User:own ALLOW READ on TOPIC placed"}),
        (
            "topology.topic.prefix.format={{project}}_{{ topic }}.{{dataType}}\n"
            "topology.project.prefix.format={{context}}_{{project}}.\n"
            "topology.acls.optimized=true\n",
            {
                "topic orders_placed.avro - -",
                "User:reader ALLOW READ on TOPIC PREFIXED corp_orders.",
                "User:writer ALLOW WRITE on TOPIC PREFIXED corp_orders.",
                "User:own ALLOW READ on TOPIC orders_placed.avro",
            },
        ),
    ],
)
def test_julie_settings_decide_names_and_reach(properties: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "topology.yaml").write_text(JULIE, encoding="utf-8")
    (tmp_path / "julie.properties").write_text(properties, encoding="utf-8")
    source = [str(tmp_path / "topology.yaml"), "--config", str(tmp_path / "julie.properties")]
    assert run(["convert", "--from", "julie", *source, "--out", str(tmp_path / "out")]) == 0
    found = _declared(tmp_path / "out")
    assert expected <= found
    creates = "User:connect ALLOW CREATE on CLUSTER kafka-cluster" in found
    assert creates is ("create=false" not in properties)
    optimized = "User:reader ALLOW READ on TOPIC orders_placed.avro" in found
    assert not ("optimized" in properties and optimized)


@pytest.mark.parametrize(
    ("source_format", "name", "text", "message"),
    [
        ("julie", "t.yaml", "projects: []", "there is no topology"),
        ("julie", "t.yaml", "context: a\nprojects: {}", "expected a list as projects"),
        ("kafka-gitops", "state.yaml", "topics: [a]", "expected a mapping"),
        ("kafka-gitops", "state.yaml", "topics: {a: {partitions: 1}\n", "this is not YAML"),
        ("kafka-gitops", "state.yaml", "topics: {a: {}, a: {}}", "a appears twice there"),
        ("kafka-gitops", "state.yaml", "settings: {files: {users: ../users.yaml}}", "is outside"),
        ("kafka-gitops", "state.yaml", "settings: {files: {users: users.yaml}}", "cannot be read"),
        ("jikkou", "a.yaml", "name: {{ value }}", "this is a template"),
        ("terraform", "s.json", '{"version": 3}', "this is not a Terraform state"),
        ("terraform", "s.json", '{"version": 4, "version": 4}', "a key appears twice"),
        (
            "confluent",
            "a.json",
            '{"kind": "KafkaAclList", "data": [], "metadata": {"next": "x"}}',
            "one page of several",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    source_format: str, name: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert run(["convert", "--from", source_format, str(tmp_path / name), "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "properties",
    [
        "topology.topic.managed.prefixes=a",
        "topology.dlq.topics.generate=true",
        "topology.builder.access.control.class=com.purbon.kafka.topology.roles.RBACProvider",
        "topology.topic.prefix.format={% if a %}b{% endif %}",
    ],
)
def test_julie_settings_that_are_not_followed_are_refused(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "topology.yaml").write_text(JULIE, encoding="utf-8")
    (tmp_path / "julie.properties").write_text(properties, encoding="utf-8")
    source = [str(tmp_path / "topology.yaml"), "--config", str(tmp_path / "julie.properties")]
    assert run(["convert", "--from", "julie", *source]) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("source_format", "name", "one", "other"),
    [
        (
            "strimzi",
            "users.yaml",
            "kind: KafkaTopic\nmetadata: {name: a, labels: {strimzi.io/cluster: east}}\nspec: {partitions: 1}\n---\n",
            "kind: KafkaTopic\nmetadata: {name: b, labels: {strimzi.io/cluster: west}}\nspec: {partitions: 1}\n",
        ),
        (
            "confluent",
            "acls.json",
            '{"kind": "KafkaAclList", "data": [{"cluster_id": "east", "resource_type": "TOPIC", "resource_name": "a", '
            '"pattern_type": "LITERAL", "principal": "User:a", "operation": "READ", "permission": "ALLOW"}, ',
            '{"cluster_id": "west", "resource_type": "TOPIC", "resource_name": "b", "pattern_type": "LITERAL", '
            '"principal": "User:a", "operation": "READ", "permission": "ALLOW"}]}',
        ),
        (
            "terraform",
            "terraform.tfstate",
            '{"version": 4, "resources": [{"mode": "managed", "type": "kafka_topic", "name": "a", "provider": "east", '
            '"instances": [{"attributes": {"name": "a", "partitions": 1, "replication_factor": 1}}]}, ',
            '{"mode": "managed", "type": "kafka_topic", "name": "b", "provider": "west", '
            '"instances": [{"attributes": {"name": "b", "partitions": 1, "replication_factor": 1}}]}]}',
        ),
    ],
)
def test_several_clusters_are_never_made_one(
    source_format: str, name: str, one: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(one + other, encoding="utf-8")
    convert = ["convert", "--from", source_format, str(tmp_path / name)]
    assert run(convert) == 1
    assert "choose one of east, west" in capsys.readouterr().err
    assert run([*convert, "--source-cluster", "north"]) == 1
    assert run([*convert, "--source-cluster", "west", "--out", str(tmp_path / "out")]) == 0
    [only] = _declared(tmp_path / "out")
    assert only in ("topic b 1 -", "topic b 1 1", "User:a ALLOW READ on TOPIC b")
    assert "it belongs to east" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--from", "strimzi", "--config", "FILE"],
        ["--from", "julie", "--source-cluster", "x"],
        ["--from", "kafka-gitops", "--name", "a\u202eb"],
        ["--from", "unknown"],
    ],
)
def test_options_that_would_say_nothing_are_refused(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "state.yaml").write_text("context: a\ntopics: {}\n", encoding="utf-8")
    (tmp_path / "FILE").write_text("", encoding="utf-8")
    arguments = [str(tmp_path / "FILE") if option == "FILE" else option for option in options]
    assert run(["convert", str(tmp_path / "state.yaml"), *arguments]) == 64


def test_an_account_that_the_file_does_not_name_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = "settings: {ccloud: {enabled: true}}\nservices: {shop: {type: application, produces: [a]}}\n"
    (tmp_path / "state.yaml").write_text(state, encoding="utf-8")
    assert run(["convert", "--from", "kafka-gitops", str(tmp_path)]) == 2
    assert "Confluent Cloud gives the account its id" in capsys.readouterr().err


def test_a_setting_that_no_manifest_can_have_leaves_its_topic_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "---\n".join(
        f"kind: KafkaTopic\nmetadata: {{name: {name}}}\n"
        f"spec: {{partitions: 1, replicas: {replicas}, config: {config}}}\n"
        for name, replicas, config in (
            ("a", 3, "{cleanup.policy: [delete, compact], preallocate: True}"),
            ("b", 3, "{retention.ms: 7d}"),
            ("c", 3, "{segment.bytes: 1}"),
            ("d", 99999, "{}"),
        )
    )
    (tmp_path / "topics.yaml").write_text(text, encoding="utf-8")
    assert run(["convert", "--from", "strimzi", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert _declared(tmp_path / "out") == {"topic a 1 3 cleanup.policy=compact,delete preallocate=true"}
    told = capsys.readouterr().err
    assert "topic b: retention.ms: '7d' is not how Kafka writes '604800000'" in told
    assert "topic c: segment.bytes: 1 is too small" in told
    assert "topic d: '99999' is not a number of partitions or replicas" in told


#: An empty text is not what was left out: taken for the default, it would widen a rule to every group or host.
EMPTY = {
    "julie": """\
context: corp
projects: [{name: p, topics: [{name: t, consumers: [{principal: "User:a", group: ""}]}]}]
platform:
  control_center: {instances: [{principal: "User:c"}]}
  ksql: {instances: [{principal: "User:k"}]}
""",
    "jikkou": """\
kind: KafkaPrincipalAuthorization
metadata: {name: "User:a"}
spec: {acls: [{resource: {type: topic, pattern: t}, operations: [READ], host: ""}]}
""",
    "strimzi": """\
kind: KafkaUser
metadata: {name: a}
spec: {authorization: {type: simple, acls: [{resource: {type: topic, name: t}, operations: [Read], host: ""}]}}
""",
    "kafka-gitops": """\
services: {a: {type: application, principal: "User:a"}}
customServiceAcls:
  a: {x: {name: t, type: TOPIC, pattern: LITERAL, principal: "User:a", operation: READ, host: ""}}
""",
}


@pytest.mark.parametrize("source_format", EMPTY)
def test_an_empty_text_widens_nothing(source_format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "state.yaml").write_text(EMPTY[source_format], encoding="utf-8")
    assert run(["convert", "--from", source_format, str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    on_topic = {"User:a ALLOW DESCRIBE on TOPIC corp.p.t", "User:a ALLOW READ on TOPIC corp.p.t", "topic corp.p.t - -"}
    assert _declared(tmp_path / "out") == (on_topic if source_format == "julie" else set())
    told = capsys.readouterr().err
    expected = {"julie": ["it names no resource", "it has no appId", "it has no ksqlDbId"]}
    for words in expected.get(source_format, ["no connection has that host"]):
        assert words in told


def test_a_directory_without_a_clear_state_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    service = "services: {%s: {type: application, principal: 'User:a', produces: [t]}}\n"
    for name in ("prod", "staging"):
        (tmp_path / f"{name}.yaml").write_text(service % name, encoding="utf-8")
    convert = ["convert", "--from", "kafka-gitops", str(tmp_path)]
    assert run(convert) == 1
    assert "prod.yaml and staging.yaml could both be the state" in capsys.readouterr().err
    (tmp_path / "state.yaml").write_text("settings: {files: {services: ./prod.yaml}}\n", encoding="utf-8")
    assert run([*convert, "--out", str(tmp_path / "out")]) == 0
    assert _declared(tmp_path / "out") == {"User:a ALLOW WRITE on TOPIC t"}
    told = capsys.readouterr().err
    assert "staging.yaml: a file: state.yaml does not name it" in told
    assert "prod.yaml: a file" not in told


def test_what_strimzi_leaves_alone_or_refuses_grants_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user = """\
kind: KafkaUser
metadata: {name: %s, annotations: {strimzi.io/pause-reconciliation: "%s"}}
spec: {authorization: {type: simple, acls: [{resource: {type: topic, name: t}, operations: [Read], %s}]}}
"""
    users = user % ("paused", "true", "type: allow") + "---\n" + user % ("both", "false", "operation: Write")
    (tmp_path / "users.yaml").write_text(users, encoding="utf-8")
    assert run(["convert", "--from", "strimzi", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert _declared(tmp_path / "out") == set()
    told = capsys.readouterr().err
    assert "KafkaUser paused: strimzi.io/pause-reconciliation is true" in told
    assert "a rule of KafkaUser both: it has operation and operations" in told


def test_what_terraform_is_about_to_destroy_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topic = (
        '{"mode": "%s", "type": "kafka_topic", "address": "kafka_topic.%s", "values": '
        '{"name": "%s", "partitions": 1, "replication_factor": 1}%s}'
    )
    kept = topic % ("managed", "a", "a", "")
    going, read = topic % ("managed", "b", "b", ', "deposed_key": "1f"'), topic % ("data", "c", "c", "")
    text = f'{{"format_version": "1.0", "values": {{"root_module": {{"resources": [{kept}, {going}, {read}]}}}}}}'
    (tmp_path / "state.json").write_text(text, encoding="utf-8")
    assert run(["convert", "--from", "terraform", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert _declared(tmp_path / "out") == {"topic a 1 1"}
    told = capsys.readouterr().err
    assert "kafka_topic.b: a deposed object" in told
    assert "kafka_topic.c: data is read" in told


@pytest.mark.parametrize(
    ("source_format", "text"),
    [
        ("jikkou", "kind: KafkaPrincipalRole\nmetadata: {name: r}\nspec: {acls: []}\n"),
        ("jikkou", "kind: ConfigMap\nmetadata: {name: m}\ndata: {retention.ms: 1}\n"),
        ("julie", "plans: {gold: {config: {retention.ms: 1}}}\n"),
        ("julie", "roles: [{name: r, acls: []}]\n"),
    ],
)
def test_of_two_with_one_name_none_is_lost(
    source_format: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "all.yaml").write_text(f"context: c\nprojects: []\n---\n{text}---\n{text}", encoding="utf-8")
    assert run(["convert", "--from", source_format, str(tmp_path)]) == 1
    assert "duplicate name" in capsys.readouterr().err


@pytest.mark.parametrize("named", ["roles.yaml", "./roles.yaml", "{}/roles.yaml"])
def test_the_roles_that_the_settings_name_are_read_once(named: str, tmp_path: Path) -> None:
    (tmp_path / "topology.yaml").write_text("context: c\nprojects: [{name: p, auditors: [{principal: 'User:a'}]}]\n")
    acl = "{resourceType: Topic, resourceName: t, patternType: LITERAL, host: '*', operation: READ}"
    (tmp_path / "roles.yaml").write_text(f"roles: [{{name: auditors, acls: [{acl}]}}]\n")
    (tmp_path / "julie.properties").write_text(f"julie.roles={named.format(tmp_path)}\n")
    config = ["--config", str(tmp_path / "julie.properties")]
    assert run(["convert", "--from", "julie", str(tmp_path), *config, "--out", str(tmp_path / "out")]) == 0
    assert _declared(tmp_path / "out") == {"User:a ALLOW READ on TOPIC t"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "[" * 100_000 + "]" * 100_000),
        ("a.yaml", "- " * 100_000),
        ("a.yaml", "a: &a [*a]"),
        ("a.json", '{"a":' * 900 + "1" + "}" * 900),
        ("a.json", "[" * 100_000),
    ],
)
def test_no_nesting_is_too_deep_to_be_answered(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert run(["convert", "--from", "strimzi", str(tmp_path)]) == 1
    assert "the nesting is too deep" in capsys.readouterr().err
