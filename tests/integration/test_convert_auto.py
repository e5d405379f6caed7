"""``convert --from auto``: each file is recognised by what it holds, and nothing in a directory passes unnamed."""

import json
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.parts.convert.recognition import FORMATS, reader
from tests.integration.test_convert import _declared

USER = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {name: u}
spec: {authorization: {type: simple, acls: [{resource: {type: topic, name: t}, operations: [Read]}]}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: acls}
spec:
  template:
    spec:
      containers:
        - command: [kafka-acls, --add, --allow-principal, "User:job", --operation, Read, --topic, t]
"""
SCRIPT = "#!/bin/sh\nkafka-acls --add --allow-principal User:script --operation Read --topic t\n"
CALL = "kafka-acls --bootstrap-server b:9092 --add --allow-principal User:shown --operation Read --topic t"


def _files(tmp_path: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return ["convert", str(tmp_path / "in"), "--out", str(tmp_path / "out")]


def _beside(tmp_path: Path, name: str, text: str) -> list[str]:
    """A user of Strimzi, and beside it a file that may be no text."""
    command = _files(tmp_path, {"users.yaml": USER, name: ""})
    (tmp_path / "in" / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    return command


def test_every_format_has_a_reader() -> None:
    assert all(callable(reader(name)) for name in FORMATS)


def test_it_says_how_it_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_files(tmp_path, {"users.yaml": USER})) == 0
    assert "recognised as strimzi: kafka.strimzi.io KafkaUser in users.yaml:1\n" in capsys.readouterr().err
    assert _declared(tmp_path / "out") == {"User:u ALLOW READ on TOPIC t"}
    text = (tmp_path / "out" / "acls" / "u.yaml").read_text("utf-8")
    assert text.startswith("# Converted from strimzi.\n")
    assert run(["convert", str(tmp_path / "in"), "--output", "json"]) == 0
    [sign] = json.loads(capsys.readouterr().out)["recognised"]
    assert sign == {"format": "strimzi", "words": "kafka.strimzi.io KafkaUser", "where": "users.yaml:1"}


def test_several_formats_are_converted_together_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "users.yaml": f"{USER}---\n{JOB}",
        "acls.sh": SCRIPT,
        "acls.csv": "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
        "User:csv,Topic,LITERAL,t,Read,Allow,*\n",
    }
    assert run(_files(tmp_path, files)) == 0
    names = ("u", "job", "script", "csv")
    assert _declared(tmp_path / "out") == {f"User:{name} ALLOW READ on TOPIC t" for name in names}
    told = capsys.readouterr().err
    for form in ("strimzi", "kafka-acls-script", "kafka-security-manager"):
        assert f"recognised as {form}: " in told
    assert "taken together as one cluster: to convert only one of these, name it with --from" in told


def test_nothing_recognised_says_what_would_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_files(tmp_path, {"a.yaml": "a: 1\n", "b.py": "print(1)\n"})) == 2
    told = capsys.readouterr().err
    assert all(f"{name} ({form.holds})" in told for name, form in FORMATS.items())
    assert "not managed here: a.yaml:1: a document: no sign of a format that is known" in told
    assert "not managed here: b.py: a file: no sign of a format that is known" in told


BESIDE = pytest.mark.parametrize(
    ("name", "text", "status", "said"),
    [
        ("README.md", "# ACLs\n", 0, "not managed here: README.md: a file: no sign of a format"),
        ("README.md", f"```\n{CALL}\n```\n", 0, "not managed here: README.md: a file: a text for people"),
        ("Makefile", f"acls:\n\t{CALL}\n", 2, "not converted: Makefile: a file: it calls Kafka's tools"),
        ("chart/Chart.yaml", "name: {{ .Values.name }}\n", 0, "not managed here: chart/Chart.yaml: "),
        ("t.yaml", "name: {{ .Values.acl }}\n", 2, "not converted: t.yaml"),
        ("picture.png", "\x89PNG\x00\udcff", 0, "not managed here: picture.png: a file: no sign of a format"),
        ("acls.tsv", "User:a\tREAD\tt\n", 2, "not converted: acls.tsv: a file: it names principals of Kafka"),
        ("own.yaml", "grants: [{who: 'User:a', may: READ}]\n", 2, "not converted: own.yaml:1: "),
        ("ci.yml", f"jobs: {{a: {{script: ['{CALL}']}}}}\n", 2, "not converted: ci.yml:1: "),
        ("compose.yaml", f"services: {{a: {{command: {CALL}}}}}\n", 2, "not converted: compose.yaml:1: "),
    ],
)


@BESIDE
def test_what_stands_beside_is_named(
    name: str, text: str, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_beside(tmp_path, name, text)) == status
    assert _declared(tmp_path / "out") == {"User:u ALLOW READ on TOPIC t"}
    assert said in capsys.readouterr().err


@BESIDE
def test_a_named_format_passes_nothing_by(
    name: str, text: str, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own reader reads all YAML, and judges a template or an unknown document by itself."""
    found = run([*_beside(tmp_path, name, text), "--from", "strimzi"])
    assert _declared(tmp_path / "out") == {"User:u ALLOW READ on TOPIC t"}
    told = capsys.readouterr().err
    if name.endswith((".yaml", ".yml")):
        assert found >= status
        assert f": {name}" in told
    else:
        assert found == status
        assert said in told


@pytest.mark.parametrize(
    ("name", "text"),
    [("acls.sh", SCRIPT), ("job.yaml", JOB), ("acls.txt", "Current ACLs for resource `Topic:t`:\n")],
)
def test_a_named_format_says_how_to_ask_for_the_others(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*_files(tmp_path, {"users.yaml": USER, name: text}), "--from", "strimzi"]) == 2
    told = capsys.readouterr().err
    assert f"not converted: {name}" in told
    assert "--from kafka-acls" in told


def test_a_document_without_a_sign_is_given_to_no_reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = "kind: KafkaUser\nmetadata: {name: a}\nspec: {authorization: {acls: []}}\n"
    assert run(_files(tmp_path, {"users.yaml": f"{USER}---\n{other}"})) == 2
    assert _declared(tmp_path / "out") == {"User:u ALLOW READ on TOPIC t"}
    assert "not converted: users.yaml:6: KafkaUser" in capsys.readouterr().err


def test_options_of_one_format_need_it_among_those_recognised(tmp_path: Path) -> None:
    command = _files(tmp_path, {"acls.sh": SCRIPT})
    assert run([*command, "--source-cluster", "east"]) == 1
    (tmp_path / "julie.properties").write_text("topology.topic.prefix.separator=.\n", encoding="utf-8")
    assert run([*command, "--config", str(tmp_path / "julie.properties")]) == 1


def test_topics_and_their_configs_come_from_two_lists(tmp_path: Path) -> None:
    topic = "Topic: t\tTopicId: x\tPartitionCount: 3\tReplicationFactor: 2\tConfigs: segment.bytes=1073741824\n"
    source = "sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000}"
    config = f"Dynamic configs for topic t are:\n  retention.ms=1000 {source}\n"
    entry = "User:a has Allow permission for operations: Read from hosts: *"
    acl = f"Current ACLs for resource `Topic:LITERAL:t`:\n\t{entry}\n"
    assert run(_files(tmp_path, {"topics": topic, "configs": config, "acls": acl})) == 0
    assert _declared(tmp_path / "out") == {"topic t 3 2 retention.ms=1000", "User:a ALLOW READ on TOPIC t"}
