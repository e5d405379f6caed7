"""Whoever writes another tool's files decides what they convert to, and nothing else."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.cli.main import run
from reconciler.manifest.manifests import load
from reconciler.model.acl import WILDCARD
from reconciler.system.files import read_manifest_files

LAYOUTS = ("principal", "source", "team", "single")
INJECTION = 'x"]\napiVersion: reconciler/v1\nkind: Ownership\nmetadata: {name: mine}\nspec: {owners: []}\n#'


def _state(*instances: dict[str, Any], module: str = "module.a") -> str:
    resource = {"mode": "managed", "type": "kafka_acl", "name": "x", "module": module, "instances": list(instances)}
    return json.dumps({"version": 4, "resources": [resource]})


def _acl(principal: str = "User:a", name: str = "t", key: str = "k") -> dict[str, Any]:
    attributes = {"acl_principal": principal, "acl_host": WILDCARD, "acl_operation": "Read", "resource_name": name}
    attributes |= {"acl_permission_type": "Allow", "resource_type": "Topic"}
    return {"index_key": key, "attributes": attributes}


def _kinds(directory: Path) -> set[str]:
    """The kinds of all documents, as any reader of YAML finds them."""
    texts = (path.read_text(encoding="utf-8") for path in directory.rglob("*.yaml"))
    return {document["kind"] for text in texts for document in yaml.safe_load_all(text) if document}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_address_in_a_source_writes_no_document(layout: str, tmp_path: Path) -> None:
    """A key of ``for_each`` holds line breaks and a manifest: it stands in a comment, escaped."""
    (tmp_path / "a.tfstate").write_text(_state(_acl(key=INJECTION), _acl("User:b")), encoding="utf-8")
    source = ["convert", "--from", "terraform", str(tmp_path / "a.tfstate"), "--layout", layout]
    assert run([*source, "--out", str(tmp_path / "out")]) == 0
    assert _kinds(tmp_path / "out") == {"Cluster", "Acls"}
    load(read_manifest_files(tmp_path / "out"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_comment_in_a_source_writes_no_document(layout: str, tmp_path: Path) -> None:
    """A comment above a rule ends its line by what only some readers take for a line break."""
    breaks = "".join(f"{end}kind: Ownership{end}" for end in ("\r", "\x85", "\u2028", "\u2029", "\x0b", "\x0c"))
    script = f"# fine {breaks}\nkafka-acls --add --allow-principal User:a --operation Read --topic t\n"
    (tmp_path / "a.sh").write_text(script, encoding="utf-8", newline="")
    source = ["convert", "--from", "kafka-acls-script", str(tmp_path / "a.sh"), "--layout", layout]
    assert run([*source, "--out", str(tmp_path / "out")]) == 0
    assert _kinds(tmp_path / "out") == {"Cluster", "Acls"}
    load(read_manifest_files(tmp_path / "out"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["../../up", "/etc/up", "..", "CON", "cluster", "a/../../up", "~/up", "\\\\up"])
def test_no_name_in_a_source_leads_out_of_the_directory(layout: str, name: str, tmp_path: Path) -> None:
    """Principals, modules and topics are called like paths: every file is written below the directory."""
    above, tmp_path = tmp_path, tmp_path / "one" / "two"
    tmp_path.mkdir(parents=True)
    (tmp_path / "a.tfstate").write_text(_state(_acl(f"User:{name}"), module=f"module.{name}"), encoding="utf-8")
    source = ["convert", "--from", "terraform", str(tmp_path / "a.tfstate"), "--layout", layout]
    before = {path for path in above.rglob("*") if (tmp_path / "out") not in path.parents}
    assert run([*source, "--out", str(tmp_path / "out")]) in (0, 2)
    after = {path for path in above.rglob("*") if (tmp_path / "out") not in path.parents}
    assert after - before == {tmp_path / "out"}
    assert _kinds(tmp_path / "out") <= {"Cluster", "Acls"}
    assert (tmp_path / "out" / "cluster.yaml").read_text("utf-8").count("kind: Cluster") == 1


def test_a_password_in_a_script_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command holds a secret in a place that is not read: no remark repeats it."""
    script = """\
kafka-configs --alter --add-config 'SCRAM-SHA-512=[password=geheim-1]' --entity-type users --entity-name u
kafka-acls --add --password geheim-2 --allow-principal User:a --operation Read --topic t
kafka-acls geheim-3 --add --allow-principal User:a --operation Read --topic t
ssh -p geheim-4 host "kafka-acls --add --allow-principal User:a"
"""
    (tmp_path / "a.sh").write_text(script, encoding="utf-8")
    assert run(["convert", "--from", "kafka-acls-script", str(tmp_path / "a.sh")]) == 2
    told = capsys.readouterr()
    assert "geheim" not in told.out + told.err


@pytest.mark.parametrize("quote", ["'", '"', "$(", "<("])
def test_a_script_is_never_run_and_always_ends(quote: str, tmp_path: Path) -> None:
    """A quotation or a bracket that never ends, very often: an answer in time, and no file made by a command in it."""
    made = tmp_path / "made"
    script = f"touch {made}; kafka-acls --add --topic $(touch {made}) --allow-principal User:a\n"
    (tmp_path / "a.sh").write_text(script + f"kafka-acls --add {quote}x " * 3_000, encoding="utf-8")
    assert run(["convert", "--from", "kafka-acls-script", str(tmp_path / "a.sh")]) in (1, 2)
    assert not made.exists()


def test_references_in_circles_end(tmp_path: Path) -> None:
    """Locals that name each other: named as what only Terraform evaluates."""
    text = """\
locals {
  a = local.b
  b = "${local.a}${local.a}"
}
resource "aiven_kafka_native_acl" "x" {
  principal = "User:${local.a}"
  operation = "Read"
  permission_type = "ALLOW"
  pattern_type = "LITERAL"
  resource_name = "t"
  resource_type = "Topic"
}
"""
    (tmp_path / "a.tf").write_text(text, encoding="utf-8")
    assert run(["convert", "--from", "terraform", str(tmp_path / "a.tf")]) == 2


def test_references_that_multiply_end(tmp_path: Path) -> None:
    """Each local holds the one before ten times over: no more than a long name is ever built."""
    chain = "\n".join(f'  l{index} = "{f"${{local.l{index + 1}}}" * 10}"' for index in range(15))
    resource = 'resource "kafka_topic" "x" {\n  name = "${local.l0}"\n  partitions = 1\n  replication_factor = 1\n}\n'
    (tmp_path / "a.tf").write_text(f'locals {{\n{chain}\n  l15 = "xxxxxxxx"\n}}\n{resource}', encoding="utf-8")
    assert run(["convert", "--from", "terraform", str(tmp_path / "a.tf")]) == 2


def test_a_long_script_with_many_comments_is_read_in_time(tmp_path: Path) -> None:
    """Tens of thousands of comments and commands: each is looked at once."""
    lines = (
        f"# {'x' * 60}\nkafka-acls --add --allow-principal User:a --operation Read --topic t{index % 5}\n"
        for index in range(5_000)
    )
    (tmp_path / "a.sh").write_text("".join(lines), encoding="utf-8")
    begun = time.process_time()
    assert run(["convert", "--from", "kafka-acls-script", str(tmp_path / "a.sh"), "--out", str(tmp_path / "out")]) == 0
    assert time.process_time() - begun < 30


STRIMZI = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {name: u}
spec: {authentication: {type: scram-sha-512, password: {value: geheim-3}}}
"""
JIKKOU = """\
apiVersion: kafka.jikkou.io/v1
kind: KafkaUser
metadata: {name: u}
spec: {authentications: [{type: scram-sha-512, iterations: 4096, password: geheim-3, salt: geheim-3}]}
"""
TERRAFORM = """\
resource "random_password" "p" { length = 20 }
resource "kafka_user_scram_credential" "u" {
  username        = "u"
  scram_mechanism = "SCRAM-SHA-512"
  password        = "geheim-3${random_password.p.result}"
}
"""


@pytest.mark.parametrize(
    ("source_format", "file", "text"),
    [("strimzi", "u.yaml", STRIMZI), ("jikkou", "u.yaml", JIKKOU), ("terraform", "u.tf", TERRAFORM)],
)
def test_a_user_comes_along_without_its_password(
    source_format: str, file: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / file).write_text(text, encoding="utf-8")
    assert run(["convert", "--from", source_format, str(source), "--out", str(tmp_path / "out")]) == 0
    users = (tmp_path / "out" / "users.yaml").read_text(encoding="utf-8")
    assert "SCRAM-SHA-512: {iterations: 4096}" in users
    shown = capsys.readouterr()
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").rglob("*.yaml"))
    assert "geheim" not in shown.out + shown.err + written


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("{type: scram-sha-1, password: geheim-3}", "there is no mechanism 'scram-sha-1'"),
        ("{type: scram-sha-512, iterations: 16383}", "16383 iterations mark users that are disabled"),
        ("{type: scram-sha-512, iterations: many}", "'many' is not a number of iterations"),
        ("{type: scram-sha-512, iterations: 20000}", "Kafka takes 16384 or fewer"),
    ],
)
def test_a_user_that_no_manifest_can_have_is_named(
    method: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = JIKKOU.partition("[")[0] + f"[{method}]}}\n"
    (tmp_path / "u.yaml").write_text(text, encoding="utf-8")
    assert run(["convert", "--from", "jikkou", str(tmp_path / "u.yaml"), "--out", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr()
    assert why in " ".join(shown.err.split())
    assert "geheim" not in shown.out + shown.err
