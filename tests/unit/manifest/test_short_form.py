"""``owns``, ``reads`` and ``writes`` are the rules that a person would write with built-in roles."""

import datetime
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration

HEAD = "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n  principals: [User:a, User:b]\n"
CLUSTER = Source("c.yaml", "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {vars: {env: dev}}\n")
OWN = (
    "{role: owner, topics: {prefix: pay.}}, {role: transactional-producer, topics: {prefix: pay.}, "
    "groups: {prefix: pay.}, transactionalIds: {prefix: pay.}}"
)


def declared(spec: str) -> dict[AclBinding, Declaration]:
    return dict(desired_state(load([Source("a.yaml", HEAD + spec), CLUSTER]), "c", datetime.date(2027, 1, 1)).bindings)


@pytest.mark.parametrize(
    ("short", "rules"),
    [
        ("  owns: {prefix: pay.}\n", OWN),
        ("  owns: {prefix: pay.}\n  reads: x\n", f"{OWN}, {{role: consumer, topics: x, groups: {{prefix: pay.}}}}"),
        ("  writes: [x, y]\n", "{role: producer, topics: [x, y]}"),
        ("  writes: {prefix: x}\n", "{role: producer, topics: {prefix: x}}"),
        (
            "  owns: [{prefix: pay.}]\n  reads: {any: true}\n",
            f"{OWN}, {{role: consumer, topics: {{any: true}}, groups: {{prefix: pay.}}}}",
        ),
        ("  owns: {prefix: pay.}\n  rules: [{deny: READ, topics: pay.x}]\n", f"{OWN}, {{deny: READ, topics: pay.x}}"),
        ("  owns: {prefix: [pay., pay-]}\n", f"{OWN}, {OWN.replace('pay.', 'pay-')}"),
        ("  owns: {prefix: '${vars.env}-'}\n", OWN.replace("pay.", "dev-")),
    ],
)
def test_the_short_form_is_what_it_stands_for(short: str, rules: str) -> None:
    assert declared(short).keys() == declared(f"  rules: [{rules}]\n").keys()


def test_each_binding_has_the_place_of_its_name() -> None:
    found = declared("  owns:\n    - {prefix: pay.}\n  reads: [x, y]\n")
    places = {str(binding.pattern): str(one.origin) for binding, one in found.items()}
    assert places["TOPIC y"] == "a.yaml:8:14"
    assert places["GROUP PREFIXED pay."] == "a.yaml:7:16"


@pytest.mark.parametrize(("prefix", "status"), [("pay.", 0), ("pay.cards.", 0), ("pay-", 3), ("p.", 3)])
def test_what_a_team_calls_its_own_is_what_ownership_says(
    prefix: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ownership = "{owners: [{team: pay, topics: {prefix: pay.}, files: pay.yaml}, {team: log, files: log.yaml}]}"
    head = "---\napiVersion: reconciler/v1\nkind: Ownership\nmetadata: {name: o}\n"
    (tmp_path / "cluster.yaml").write_text(f"{CLUSTER.text}{head}spec: {ownership}\n", encoding="utf-8")
    (tmp_path / "pay.yaml").write_text(f"{HEAD}  owns: {{prefix: {prefix}}}\n", encoding="utf-8")
    assert run(["validate", str(tmp_path)]) == status
    told = f"pay.yaml:6:18: a file of pay owns every topic starting with {prefix}, and no Ownership document says so"
    assert (told in capsys.readouterr().out) is (status == 3)
    (tmp_path / "pay.yaml").rename(tmp_path / "platform.yaml")
    assert run(["validate", str(tmp_path)]) == (0 if status == 3 else 3)


def test_a_short_form_owns_nothing_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    owners = "{team: ledger, topics: {prefix: pay.}, files: ledger.yaml}, {team: pay, files: pay.yaml}"
    ownership = (
        f"---\napiVersion: reconciler/v1\nkind: Ownership\nmetadata: {{name: o}}\nspec: {{owners: [{owners}]}}\n"
    )
    (tmp_path / "cluster.yaml").write_text(CLUSTER.text + ownership, encoding="utf-8")
    (tmp_path / "pay.yaml").write_text(HEAD + "  owns: {prefix: pay.}\n", encoding="utf-8")
    assert run(["validate", str(tmp_path)]) == 3
    assert "on every topic starting with pay. of ledger" in capsys.readouterr().out
