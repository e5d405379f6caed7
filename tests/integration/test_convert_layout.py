"""What a person would keep: a file for each team or module, comments, origins, and a draft of Ownership."""

import datetime
import json
import re
import shutil
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.manifest.manifests import desired_state, load
from reconciler.system.files import read_manifest_files
from tests.integration.test_convert import _declared

STATE = {
    "version": 4,
    "resources": [
        {
            "module": f"module.{team}",
            "mode": "managed",
            "type": "kafka_acl",
            "name": name,
            "instances": [
                {
                    "attributes": {
                        "acl_principal": f"User:CN={team}/{name}",
                        "acl_host": "*",
                        "acl_operation": operation,
                        "acl_permission_type": "Allow",
                        "resource_type": kind,
                        "resource_name": on,
                    }
                }
            ],
        }
        for team, name, operation, kind, on in (
            ("billing", "sender", "Write", "Topic", "billing.mails"),
            ("billing", "reader", "Read", "Topic", "orders.placed"),
            ("billing", "reader", "Read", "Group", "billing.reader"),
            ("orders", "shop", "Write", "Topic", "orders.placed"),
        )
    ]
    + [
        {
            "mode": "managed",
            "type": "kafka_topic",
            "name": name,
            "instances": [{"attributes": {"name": name, "partitions": 3, "replication_factor": 1}}],
        }
        for name in ("billing.mails", "orders.placed", "other")
    ],
}


ROLE = """\
# Converted from terraform.
apiVersion: reconciler/v1
kind: Role
metadata: {name: application}
spec:
  parameters: [id]
  rules:
    - allow: [READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS]
      topics: {prefix: $id.}
    - allow: READ
      topics: [reference.calendar]
    - allow: [READ, DESCRIBE]
      topics: [reference.directory]
      groups: {prefix: $id-}
    - allow: [WRITE, DESCRIBE]
      transactionalIds: {prefix: $id-tx}
"""


def _converted(tmp_path: Path, *options: str) -> dict[str, str]:
    (tmp_path / "terraform.tfstate").write_text(json.dumps(STATE), encoding="utf-8")
    out = tmp_path / "out"
    assert (
        run(["convert", "--from", "terraform", str(tmp_path / "terraform.tfstate"), "--out", str(out), *options]) == 0
    )
    return {path.relative_to(out).as_posix(): path.read_text("utf-8") for path in out.rglob("*.yaml")}


def test_every_layout_declares_the_same(tmp_path: Path) -> None:
    found = []
    for layout in ("principal", "source", "team", "single"):
        (tmp_path / layout).mkdir()
        _converted(tmp_path / layout, "--layout", layout)
        found.append(_declared(tmp_path / layout / "out"))
    assert len(found[0]) == 7
    assert all(declared == found[0] for declared in found)


def test_a_team_has_one_file(tmp_path: Path) -> None:
    files = _converted(tmp_path, "--layout", "team")
    assert files.keys() == {
        "cluster.yaml",
        "ownership-draft.yaml",
        "teams/billing.yaml",
        "teams/orders.yaml",
        "topics.yaml",
    }
    assert files["teams/billing.yaml"].count("kind: Acls") == 2
    assert files["teams/billing.yaml"].count("kind: Topics") == 1


def test_a_module_has_one_file(tmp_path: Path) -> None:
    files = _converted(tmp_path, "--layout", "source")
    assert files.keys() == {"cluster.yaml", "billing.yaml", "orders.yaml", "terraform.yaml"}
    assert "# From terraform.tfstate:module.orders.kafka_acl.shop" in files["orders.yaml"]


def test_the_draft_of_ownership_holds_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draft = _converted(tmp_path, "--layout", "team")["ownership-draft.yaml"]
    active = re.sub(r"(?m)^# ?", "", draft.partition("#\n")[2])
    (tmp_path / "out" / "ownership-draft.yaml").write_text(active, encoding="utf-8")
    assert "to: billing" in active
    assert run(["validate", str(tmp_path / "out")]) == 0, capsys.readouterr().err
    (tmp_path / "out" / "ownership-draft.yaml").write_text(active.replace("[READ]", "[WRITE]"), "utf-8")
    assert run(["validate", str(tmp_path / "out")]) == 3


def test_implied_roles_add_nothing_but_what_is_granted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "exact").mkdir()
    _converted(tmp_path / "exact")
    assert "3 more rules are roles with --roles implied" in capsys.readouterr().err
    files = _converted(tmp_path, "--roles", "implied")
    assert "role: consumer" in files["acls/CN-billing-reader.yaml"]
    assert "role: producer" in files["acls/CN-orders-shop.yaml"]
    more = _declared(tmp_path / "out") - _declared(tmp_path / "exact" / "out")
    assert more == {
        "User:CN=billing/reader ALLOW DESCRIBE on TOPIC orders.placed",
        "User:CN=billing/sender ALLOW DESCRIBE on TOPIC billing.mails",
        "User:CN=orders/shop ALLOW DESCRIBE on TOPIC orders.placed",
    }


def test_comments_and_places_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = """\
kind: KafkaUser
metadata: {name: mm2}
spec:
  authorization:
    type: simple
    acls:
      # Leer todos los t\u00f3picos;
      # see OPS-7 \u202e
      - resource: {type: topic, name: "*"}
        operations: [Read]

      - resource: {type: group, name: g}
        operations: [Read]
"""
    (tmp_path / "users.yaml").write_text(source, encoding="utf-8")
    assert run(["convert", "--from", "strimzi", str(tmp_path / "users.yaml")]) == 0
    told = capsys.readouterr().out
    assert "# From users.yaml:9, 12\n" in told
    assert (
        "    # Leer todos los t\u00f3picos;\n    # see OPS-7 \\u202e\n    - allow: READ\n      topics: {any: true}"
        in told
    )
    assert "\u202e" not in told


@pytest.mark.parametrize("layout", ["source", "team", "single"])
def test_a_source_called_like_a_file_of_ours_overwrites_nothing(layout: str, tmp_path: Path) -> None:
    users = "kind: KafkaUser\nmetadata: {name: %s}\nspec: {authorization: {type: simple, acls: [%s]}}\n"
    rule = "{resource: {type: topic, name: t}, operations: [Read]}"
    for file in ("cluster", "Cluster", "not-converted", "a"):
        (tmp_path / "in" / file).mkdir(parents=True)
        (tmp_path / "in" / f"{file}.yaml").write_text(users % (file.lower(), rule))
    assert (
        run(["convert", "--from", "strimzi", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--layout", layout])
        == 0
    )
    documents = load(read_manifest_files(tmp_path / "out"))
    wanted = desired_state(documents, "my-cluster", datetime.date.max)
    assert {one.entry.principal for one in wanted.bindings} == {"User:cluster", "User:not-converted", "User:a"}


@pytest.mark.parametrize("layout", ["principal", "team", "single"])
def test_an_export_in_any_layout_plans_to_nothing(
    layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = Path(__file__).parents[2] / "examples" / "quickstart"
    live = f"snapshot:{example / 'live.json'}"
    out = tmp_path / "out"
    assert run(["export", "-f", str(example), "-c", live, "--layout", layout, "--out", str(out)]) == 0
    assert (out / "ownership-draft.yaml").exists() is (layout == "team")
    if not (out / "cluster.yaml").exists():
        (out / "cluster.yaml").write_text((example / "manifests.yaml").read_text("utf-8").partition("---")[0], "utf-8")
    capsys.readouterr()
    assert run(["plan", str(out), "-c", live, "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == []


def test_a_comment_above_a_whole_document_is_kept(tmp_path: Path) -> None:
    user = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {{name: {0}}}
spec:
  authorization:
    type: simple
    acls:
      - resource: {{type: topic, name: {0}-orders}}
        operations: [Read]
"""
    shop, mail, bill = (user.format(name) for name in ("shop", "mail", "bill"))
    text = f"# Team of the shop.\n\n# Ask them first.\n{shop}---\n{mail}---\n# Bills.\n{bill}"
    (tmp_path / "users.yaml").write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    assert run(["convert", "--from", "strimzi", str(tmp_path / "users.yaml"), "--out", str(out)]) == 0
    heads = {
        file.stem: file.read_text(encoding="utf-8").partition("apiVersion")[0] for file in (out / "acls").iterdir()
    }
    head = "# Converted from strimzi.\n# From users.yaml:"
    assert heads == {
        "shop": f"{head}11\n# Team of the shop.\n# Ask them first.\n",
        "mail": f"{head}21\n",
        "bill": f"{head}32\n# Bills.\n",
    }


CSV = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"


def _of_csv(tmp_path: Path, lines: list[str], *options: str) -> dict[str, str]:
    (tmp_path / "acls.csv").write_text(CSV + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    out = tmp_path / "out"
    assert run(["convert", str(tmp_path / "acls.csv"), "--out", str(out), *options]) == 0
    found = {path.relative_to(out).as_posix(): path.read_text("utf-8") for path in out.rglob("*.yaml")}
    declared = {
        f"{principal} {effect} {operation} on {kind} {form} {name}".upper().replace("LITERAL ", "")
        for principal, kind, form, name, operation, effect, _ in (line.split(",") for line in lines)
    }
    assert {text.upper() for text in _declared(out)} == declared
    return found


def test_principals_with_equal_rules_share_a_document(tmp_path: Path) -> None:
    lines = [f"User:{name},Topic,LITERAL,orders,Read,Allow,*" for name in ("mail", "shop", "bill")]
    lines += ["User:mail2,Topic,LITERAL,orders,Write,Allow,*", "User:mail3,Topic,LITERAL,orders,Write,Allow,*"]
    files = _of_csv(tmp_path, [*lines, "User:other,Topic,LITERAL,orders,Read,Deny,*"])
    assert files.keys() == {
        "cluster.yaml",
        "acls/bill-and-2-more.yaml",
        "acls/mail2-and-mail3.yaml",
        "acls/other.yaml",
    }
    assert "  principals: [User:bill, User:mail, User:shop]\n" in files["acls/bill-and-2-more.yaml"]
    assert "  principal: User:other\n" in files["acls/other.yaml"]


def test_one_rule_names_topics_and_groups_where_it_allows_the_same(tmp_path: Path) -> None:
    lines = [
        "User:a,Topic,LITERAL,orders,Read,Allow,*",
        "User:a,Group,PREFIXED,mail-,Read,Allow,*",
        "User:a,Transactional_Id,LITERAL,x,Write,Allow,*",
        "User:a,Group,LITERAL,secret,Read,Deny,*",
    ]
    text = _of_csv(tmp_path, lines)["acls/a.yaml"].partition("rules:\n")[2]
    assert text == (
        "    - allow: READ\n      topics: [orders]\n      groups: {prefix: mail-}\n"
        "    - deny: READ\n      groups: [secret]\n"
        "    - allow: WRITE\n      transactionalIds: [x]\n"
    )


def test_no_team_is_invented(tmp_path: Path) -> None:
    lines = [
        f"User:{name},Topic,LITERAL,{topic},Read,Allow,*"
        for name, topic in (
            ("kafka-ui", "orders.placed"),
            ("schema-registry", "_schemas"),
            ("svc-billing-mail", "orders.placed"),
            ("orders-shop", "orders.placed"),
            ("ada", "audit"),
        )
    ]
    files = _of_csv(tmp_path, [*lines, "User:kafka-ui,Group,LITERAL,ui,Read,Allow,*"], "--layout", "team")
    assert {name for name in files if name.startswith("teams/")} == {"teams/orders.yaml"}
    assert {"acls/kafka-ui.yaml", "acls/schema-registry.yaml", "acls/ada.yaml"} <= files.keys()
    draft = files["ownership-draft.yaml"]
    assert "\n#     orders:\n" in draft
    assert "#     ui:" not in draft
    assert "#     schema" not in draft
    assert "needs a decision of yours" not in draft


def _application(number: int, *, host: str = "*") -> list[str]:
    name = f"app{number}"
    return [
        f"User:svc-{name},{kind},{form},{on},{operation},{effect},{host}"
        for kind, form, on, operation, effect in (
            ("Topic", "PREFIXED", f"{name}.", "Read", "Allow"),
            ("Topic", "PREFIXED", f"{name}.", "Write", "Allow"),
            ("Group", "PREFIXED", f"{name}-", "Read", "Allow"),
            ("Group", "LITERAL", name, "Delete", "Allow"),
            ("Transactional_Id", "LITERAL", name, "Write", "Allow"),
            ("Topic", "LITERAL", "audit", "Write", "Allow"),
            ("Topic", "LITERAL", f"{name}0.x", "Read", "Deny"),
        )
    ]


def test_applications_that_differ_in_an_id_are_uses_of_one_role(tmp_path: Path) -> None:
    """In three lines each, instead of seven ACLs."""
    lines = [line for number in (1, 2, 3) for line in _application(number) if "0.x" not in line]
    files = _of_csv(tmp_path, [*lines, "User:other,Topic,LITERAL,t,Read,Allow,*"])
    assert files["acls/svc-app2.yaml"].partition("spec:\n")[2] == (
        "  principal: User:svc-app2\n  rules:\n    - role: application\n      parameters: {id: app2}\n"
    )
    assert files["roles.yaml"].partition("spec:\n")[2].startswith("  parameters: [id]\n  rules:\n")
    assert "topics: {prefix: $id.}" in files["roles.yaml"]
    assert "role:" not in files["acls/other.yaml"]


@pytest.mark.parametrize(
    ("principal", "name"),
    [
        ("svc-{}", "{}."),
        ("{}-svc", "{}."),
        ("{}.apps.example.com", "{}."),
        ("prod-{}", "prod.{}."),
        ("prod-{}", "tx_{}"),
        ("CN={}-app.example.com", "{}-"),
        ("sa-{:x}", "{}."),
        ("sa-{:x}", "team-{}-in"),
    ],
)
def test_the_id_is_found_in_principals_and_names_of_many_forms(principal: str, name: str, tmp_path: Path) -> None:
    """Accounts of a cloud have numbers for names: then the names of what they use say which application it is."""
    apps = ("billing", "shipping", "order-entry")
    lines = []
    for number, app in enumerate(apps, 40_000):
        who, on = principal.format(number if "x" in principal.partition("{")[2][:3] else app), name.format(app)
        for kind, operation in (
            ("Topic", "Read"),
            ("Topic", "Write"),
            ("Group", "Read"),
            ("Transactional_Id", "Write"),
        ):
            lines.append(f"User:{who},{kind},PREFIXED,{on},{operation},Allow,*")
        lines.append(f"User:{who},Topic,LITERAL,reference.directory,Read,Allow,*")
    files = _of_csv(tmp_path, lines)
    uses = [text for path, text in files.items() if path.startswith("acls/")]
    assert sorted(re.findall(r"- role: application\n      parameters: {id: (\S+)}", "\n".join(uses))) == sorted(apps)
    assert f"prefix: {name.format('$id')}" in files["roles.yaml"]


@pytest.mark.parametrize("numbers", [(1, 2), (1, 2, 3)])
def test_what_is_no_shape_of_three_is_written_out(numbers: tuple[int, ...], tmp_path: Path) -> None:
    """``app10.x`` does not begin with the id ``app1``: with such a name each application is one of its own."""
    files = _of_csv(tmp_path, [line for number in numbers for line in _application(number)])
    assert "roles.yaml" not in files


def test_no_roles_means_none(tmp_path: Path) -> None:
    lines = [line for number in (1, 2, 3) for line in _application(number) if "0.x" not in line]
    assert "roles.yaml" not in _of_csv(tmp_path, lines, "--roles", "none")


def test_a_module_for_applications_becomes_a_role_that_a_person_would_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A module of 156 lines is a role of 16, and a use of it two lines below its principal."""
    source = Path(__file__).parent / "moving" / "terraform-application"
    shutil.copytree(source, tmp_path / "in", ignore=shutil.ignore_patterns("expected.txt"))
    assert run(["convert", str(tmp_path / "in"), "--out", str(tmp_path / "out")]) == 0, capsys.readouterr().err
    assert (tmp_path / "out" / "roles.yaml").read_text(encoding="utf-8") == ROLE
    for use in (tmp_path / "out" / "acls").iterdir():
        assert len([line for line in use.read_text(encoding="utf-8").splitlines() if line[0] != "#"]) == 8
