"""Another tool's ACLs into manifests that are there: what they lack is added, and what they say stays."""

from pathlib import Path

from reconciler.cli.main import run
from reconciler.parts.convert.app import ConversionSource, convert_into

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec: {bootstrapServers: ["b:9092"]}
"""
ACLS = """\
# Ours.
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a   # the app
  rules:
    - {allow: READ, topics: [x], reason: agreed}
"""
LISTING = """\
Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=x, patternType=LITERAL)`:
 \t(principal=User:a, host=*, operation=READ, permissionType=ALLOW)
 \t(principal=User:a, host=*, operation=WRITE, permissionType=ALLOW)
"""


def test_what_is_missing_is_added_to_the_principals_document(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "m" / "acls.yaml").write_text(ACLS, encoding="utf-8")
    (tmp_path / "acls.txt").write_text(LISTING, encoding="utf-8")
    found = convert_into(ConversionSource("kafka-acls", str(tmp_path / "acls.txt")), str(tmp_path / "m"), None)
    assert found.edit.files == {"acls.yaml": ACLS + "    - {allow: WRITE, topics: [x]}\n"}
    command = ["convert", "--from", "kafka-acls", str(tmp_path / "acls.txt"), "--path", str(tmp_path / "m")]
    assert run([*command, "--write"]) == 0
    assert (tmp_path / "m" / "acls.yaml").read_text(encoding="utf-8") == ACLS + "    - {allow: WRITE, topics: [x]}\n"
