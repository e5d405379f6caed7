"""``validate`` says everything at once, also what only some of the clusters show."""

import json
from pathlib import Path

import pytest

from reconciler.cli.main import run

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: %s}
spec: {scope: {include: [{topics: {prefix: %s.}}]}}
---
"""
RULES = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
    - {allow: READ, topics: [pay.orders]}
    - {allow: READ, topics: [log.lines]}
"""


@pytest.fixture
def manifests(tmp_path: Path) -> str:
    clusters = "".join(CLUSTER % pair for pair in (("pay", "pay"), ("log", "log"), ("pay-too", "pay")))
    (tmp_path / "all.yaml").write_text(clusters + RULES, encoding="utf-8")
    return str(tmp_path)


def test_the_problems_of_every_cluster_are_shown(manifests: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", manifests]) == 1
    told = capsys.readouterr().err
    assert "3 problems" in told
    for name in ("pay", "log", "pay-too"):
        assert f"is outside the scope of the cluster {name}\n" in told


def test_the_problems_of_every_cluster_are_in_the_json(manifests: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", manifests, "--output", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["valid"] is False
    assert [problem["line"] for problem in document["problems"]] == [22, 23, 23]


VARIABLES = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {vars: {env: prod}}
---
apiVersion: reconciler/v1
kind: Role
metadata: {name: reader}
spec: {parameters: [topics], rules: [{allow: READ, topics: $topics}]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec: {principal: "User:svc-${vars.env}", rules: [{role: reader, topics: {prefix: "${vars.env}.orders."}}]}
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: t}
spec: {topics: [{name: "${vars.env}.old", absent: true}, {name: "${vars.env}.new", partitions: 3}]}
---
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: q}
spec: {quotas: [{user: "svc-${vars.env}", limits: {producer_byte_rate: 1}}, {clientId: x, absent: true}]}
"""


def test_expand_shows_what_variables_and_roles_stand_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "all.yaml").write_text(VARIABLES, encoding="utf-8")
    assert run(["validate", str(tmp_path), "--expand"]) == 0
    assert capsys.readouterr().out.splitlines()[:6] == [
        "cluster prod: 1 ACL, 2 topics, 2 quotas declared",
        "    User:svc-prod ALLOW READ on TOPIC PREFIXED prod.orders.  all.yaml:14:83  by the Role at all.yaml:9:38",
        "    topic prod.new: 3 partitions, broker default replicas  all.yaml:19:65",
        "    topic prod.old: absent  all.yaml:19:24",
        "    quota of client-id x: absent  all.yaml:24:88",
        "    quota of user svc-prod  all.yaml:24:24",
    ]
    assert run(["validate", str(tmp_path), "--expand", "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["clusters"]["prod"]
    assert [one["binding"]["name"] for one in found["declared"]] == ["prod.orders."]
    assert found["declared"][0]["role"] == "all.yaml:9:38"
    assert [(one["name"], one["absent"]) for one in found["declaredTopics"]] == [
        ("prod.new", False),
        ("prod.old", True),
    ]


def test_a_fleet_fits_a_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Clusters of which the same is said share a line; the one that differs has its own."""
    names = [f"site-{number:03}" for number in range(200)]
    clusters = [CLUSTER % (name, "pay") for name in names]
    clusters[7] = clusters[7].replace("{topics: {prefix: pay.}}", "{topics: {prefix: pay.}}, {topics: {prefix: log.}}")
    clusters[7] = clusters[7].replace("{name: site-007}", "{name: site-007, labels: {odd: 'yes'}}")
    rules = RULES.replace("    - {allow: READ, topics: [log.lines]}\n", "")
    one_more = "---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: b}\nspec:\n"
    one_more += (
        "  clusters: {matchLabels: {odd: 'yes'}}\n  principal: User:b\n  rules: [{allow: READ, topics: [log.lines]}]\n"
    )
    (tmp_path / "all.yaml").write_text("".join(clusters) + rules + one_more, encoding="utf-8")
    assert run(["validate", str(tmp_path)]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if line.endswith("declared")]
    assert shown == [
        "199 clusters (site-000, site-001, site-002, site-003, site-004 and 194 more): 1 ACL, 0 topics declared",
        "cluster site-007: 2 ACLs, 0 topics declared",
    ]
    assert run(["validate", str(tmp_path), "--expand"]) == 0
    assert sum(line.startswith("cluster site-") for line in capsys.readouterr().out.splitlines()) == 200


def test_a_change_touches_the_clusters_of_the_files_that_it_edits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = "apiVersion: reconciler/v1\nkind: "
    clusters = "---\n".join(
        f"{kinds}Cluster\nmetadata: {{name: {name}, labels: {{env: {name}}}}}\nspec: {{}}\n" for name in ("dev", "prod")
    )
    acls = f"{kinds}Acls\nmetadata: {{name: a}}\nspec: {{principal: User:a, rules: [{{allow: READ, topics: [t]}}]}}\n"
    role = f"{kinds}Role\nmetadata: {{name: r}}\nspec: {{rules: [{{allow: READ, topics: [t]}}]}}\n"
    chosen = acls.replace("{principal", "{clusters: {matchLabels: {env: prod}}, principal")
    for number, (file, text, touched) in enumerate(
        [
            ("b.yaml", chosen, ["prod"]),
            ("b.yaml", acls, ["dev", "prod"]),
            ("b.yaml", role, ["dev", "prod"]),
            ("b.yaml", "# nothing\n", []),
            ("clusters.yaml", clusters.replace("env: dev", "env: development"), ["dev", "prod"]),
            (".b.yaml", acls, []),
        ]
    ):
        base, after = tmp_path / f"base{number}", tmp_path / f"after{number}"
        for place in (base, after):
            place.mkdir()
            (place / "clusters.yaml").write_text(clusters, encoding="utf-8")
        (after / file).write_text(text, encoding="utf-8")
        assert run(["validate", str(after), "--base", str(base), "--output", "json"]) in (0, 3)
        assert json.loads(capsys.readouterr().out)["touched"] == touched, (file, text)


OVER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec: {principal: User:a, rules: [{allow: READ, topics: [x], expires: 2020-01-31}]}
---
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: q}
spec: {quotas: [{user: a, limits: {producer_byte_rate: 1}, expires: 2020-01-31}]}
"""


def test_what_is_over_is_counted_whatever_its_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "all.yaml").write_text(OVER, encoding="utf-8")
    assert run(["validate", str(tmp_path)]) == 0
    assert "0 ACLs, 0 topics, 0 quotas declared, 2 expired" in capsys.readouterr().out
    assert run(["validate", str(tmp_path), "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"]["prod"]["expired"] == 2
