"""``users``: what is declared of one user changes, in the file where it is, and passwords are seen by nobody."""

import stat
from pathlib import Path

import pytest

from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import AmbiguousClusterError, RequestError
from reconciler.cli.main import run
from reconciler.model.kinds.scram_user import DEFAULT_ITERATIONS, DISABLED_ITERATIONS
from reconciler.parts.edit.app.editing import ManifestEdit
from reconciler.parts.edit.app.grant import GrantTerms
from reconciler.parts.edit.app.users import PasswordPlace, disable, generate

NO_TERMS = GrantTerms()

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo, labels: {env: prod}}
spec: {bootstrapServers: ["b:9092"]}
"""
OTHER = "---\n" + CLUSTER.replace("demo", "dev").replace("prod", "dev")
USERS = """\
# Orders, by its team.
apiVersion: reconciler/v1
kind: Users
metadata: {name: orders}
spec:
  users:
    - name: orders   # in prod
      mechanisms:
        SCRAM-SHA-512: {password: "${env:KAFKA_USER_ORDERS}", passwordVersion: 3}   # rotated
      reason: the shop
    - {name: gone, absent: true}
"""
OWNERSHIP = """\
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
    - {team: pay, files: ["teams/pay/**"], principals: {prefix: "User:pay"}}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "users.yaml").write_text(USERS, encoding="utf-8")
    return tmp_path


def test_a_disabled_user_keeps_its_references_for_the_day_it_comes_back(place: Path) -> None:
    found = disable(str(place), None, "User:orders", GrantTerms(ticket="INC-1"))
    added = "      reason: the shop\n      ticket: INC-1\n      disabled: true\n"
    assert found.edit.files == {"users.yaml": USERS.replace("      reason: the shop\n", added)}
    found.edit.write()
    assert disable(str(place), None, "User:orders", NO_TERMS).edit.files == {}


def test_a_user_that_nobody_declares_is_disabled_in_a_file_of_its_team(place: Path) -> None:
    (place / "ownership.yaml").write_text(OWNERSHIP, encoding="utf-8")
    (text,) = disable(str(place), "demo", "User:pay-app", NO_TERMS).edit.files.values()
    assert text is not None
    assert "    - name: pay-app\n      mechanisms: {SCRAM-SHA-256: {}, SCRAM-SHA-512: {}}\n" in text
    assert text.endswith("      disabled: true\n")
    assert list(disable(str(place), "demo", "User:pay-app", NO_TERMS).edit.files) == ["teams/pay/users.yaml"]


def test_without_a_cluster_it_is_disabled_wherever_it_is_declared(place: Path) -> None:
    with (place / "cluster.yaml").open("a", encoding="utf-8") as file:
        file.write(OTHER)
    assert disable(str(place), None, "User:orders", NO_TERMS).edit.patch().count("+      disabled: true") == 1
    with pytest.raises(AmbiguousClusterError):
        disable(str(place), None, "User:new", NO_TERMS)
    with pytest.raises(RequestError, match="gone is declared absent"):
        disable(str(place), None, "User:gone", NO_TERMS)
    with pytest.raises(RequestError, match="is not the principal of a SCRAM user"):
        disable(str(place), None, "Group:a", NO_TERMS)


def test_what_is_disabled_is_below_the_path_that_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["users", "disable", "User:orders", "--path", str(place), "--write"]) == 0
    assert "disabled: true" in (place / "users.yaml").read_text(encoding="utf-8")
    assert f"reconciler apply --path {place}" in capsys.readouterr().err


def test_a_reference_is_to_be_permitted_by_the_clusters_that_declare_the_user(place: Path) -> None:
    """Or by the one that is asked for, or by any where it is new."""
    with (place / "cluster.yaml").open("a", encoding="utf-8") as file:
        file.write(OTHER)
    declared = USERS.replace("spec:\n", "spec:\n  clusters: {matchLabels: {env: prod}}\n")
    (place / "users.yaml").write_text(declared, encoding="utf-8")
    connections = place.parent / "connections.yaml"
    connections.write_text(
        CLUSTER.replace('"]}', '"], userSecrets: {envPrefixes: [KAFKA_USER_]}}').replace(", labels: {env: prod}", "")
        + OTHER.replace(", labels: {env: dev}", ""),
        encoding="utf-8",
    )

    def objections(cluster: str | None, principal: str, reference: str) -> int:
        asked = PasswordPlace(reference=reference)
        connection = ConnectionOptions(str(connections))
        return len(generate(str(place), cluster, principal, asked, NO_TERMS, connection=connection).notes)

    assert objections(None, "User:orders", "${env:KAFKA_USER_ORDERS}") == 0
    assert objections(None, "User:orders", "${env:OTHER}") == 1
    assert objections("demo", "User:orders", "${env:KAFKA_USER_ORDERS}") == 0
    assert objections("dev", "User:new", "${env:KAFKA_USER_ORDERS}") == 1
    assert objections("demo", "User:new", "${env:KAFKA_USER_ORDERS}") == 0


def generated(place: Path, principal: str, reference: str, mechanism: str | None = None) -> ManifestEdit:
    return generate(str(place), None, principal, PasswordPlace(reference=reference), NO_TERMS, mechanism=mechanism).edit


def test_a_new_password_is_the_next_version_of_its_reference(place: Path) -> None:
    line = '        SCRAM-SHA-512: {password: "${env:KAFKA_USER_ORDERS}", passwordVersion: 3}   # rotated\n'
    assert line in USERS
    found = generated(place, "User:orders", "${env:KAFKA_USER_ORDERS}")
    assert found.files == {"users.yaml": USERS.replace("passwordVersion: 3", "passwordVersion: 4")}
    found = generated(place, "User:orders", "${env:NEW}", "SCRAM-SHA-256")
    more = "        SCRAM-SHA-256: {password: '${env:NEW}', passwordVersion: 1}\n"
    assert found.files == {"users.yaml": USERS.replace(line, line + more)}
    assert (
        "+    - {name: new, mechanisms: {SCRAM-SHA-512: {password: '${env:NEW}', passwordVersion: 1}}}"
        in generated(place, "User:new", "${env:NEW}").patch()
    )


def test_a_password_is_for_the_clusters_that_are_named(place: Path) -> None:
    """Of a user that two clusters declare, each in its own words, one cluster's changes where that is named."""
    with (place / "cluster.yaml").open("a", encoding="utf-8") as file:
        file.write(OTHER)
    for name, env in (("users", "prod"), ("dev", "dev")):
        text = USERS.replace("spec:\n", f"spec:\n  clusters: {{matchLabels: {{env: {env}}}}}\n")
        (place / f"{name}.yaml").write_text(text.replace("{name: orders}", f"{{name: {env}}}"), encoding="utf-8")

    def changed(cluster: str | None) -> list[str]:
        asked = PasswordPlace(reference="${env:NEW}")
        return sorted(generate(str(place), cluster, "User:orders", asked, NO_TERMS).edit.files)

    assert changed(None) == ["dev.yaml", "users.yaml"]
    assert changed("demo") == ["users.yaml"]
    assert changed("dev") == ["dev.yaml"]


def test_a_password_has_no_version_beyond_what_kafka_takes(place: Path) -> None:
    """The last number marks users that are disabled."""
    text = USERS.replace("passwordVersion: 3", f"passwordVersion: {DISABLED_ITERATIONS - DEFAULT_ITERATIONS - 2}")
    (place / "users.yaml").write_text(text, encoding="utf-8")
    generated(place, "User:orders", "${env:KAFKA_USER_ORDERS}").write()
    with pytest.raises(RequestError, match="are 16382 together, and Kafka takes 16384 at most"):
        generated(place, "User:orders", "${env:KAFKA_USER_ORDERS}")


@pytest.mark.parametrize("reference", ["hunter2", "${env:A}x", "${vault:a}", ""])
def test_what_is_no_reference_is_never_written_nor_repeated(place: Path, reference: str) -> None:
    with pytest.raises(RequestError) as refused:
        generated(place, "User:orders", reference)
    assert "hunter2" not in str(refused.value)


def test_a_password_is_in_one_file_of_its_owner_and_seen_nowhere_else(
    place: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path_factory.mktemp("vault") / "orders"
    words = ["users", "generate", "User:orders", "--path", str(place), "--out", str(secret)]
    assert run(words) == 0
    assert not secret.exists(), "a preview makes no password"
    sent = f"to send it: reconciler apply --path {place} --only principals=User:orders"
    assert sent in capsys.readouterr().err
    assert run([*words, "--write"]) == 0
    first = secret.read_text(encoding="utf-8")
    assert len(first) == 32
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    text = (place / "users.yaml").read_text(encoding="utf-8")
    assert f"SCRAM-SHA-512: {{password: '${{dir:{secret.parent}:orders}}', passwordVersion: 4}}" in text
    assert run([*words, "--write"]) != 0
    assert (secret.read_text(encoding="utf-8"), (place / "users.yaml").read_text(encoding="utf-8")) == (first, text)
    assert run([*words, "--write", "--overwrite"]) == 0
    second = secret.read_text(encoding="utf-8")
    assert len(second) == 32
    assert list(secret.parent.iterdir()) == [secret]
    shown = capsys.readouterr()
    assert f"reading ${{dir:{secret.parent}:orders}} is not permitted" in shown.err
    told = shown.out + shown.err + (place / "users.yaml").read_text(encoding="utf-8")
    assert first not in told
    assert second not in told


def test_a_password_for_a_secret_manager_is_all_that_stdout_has(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["users", "generate", "User:orders", "--path", str(place), "--out", "-", "--write"]
    assert run(words) != 0
    assert capsys.readouterr().out == ""
    assert run([*words, "--reference", "${env:KAFKA_USER_ORDERS}"]) == 0
    printed = capsys.readouterr()
    assert len(printed.out) == 32
    assert printed.out.isalnum()
    assert printed.out not in printed.err
    assert "passwordVersion: 4" in (place / "users.yaml").read_text(encoding="utf-8")


def test_a_file_among_the_manifests_is_refused_and_one_that_cannot_be_written_changes_nothing(place: Path) -> None:
    for file, why in ((place / "secret", "lies among the manifests"), (place.parent / "no" / "secret", "no password")):
        before = (place / "users.yaml").read_text(encoding="utf-8")
        assert run(["users", "generate", "User:orders", "--path", str(place), "--out", str(file), "--write"]) != 0, why
        assert (place / "users.yaml").read_text(encoding="utf-8") == before
    with pytest.raises(RequestError, match="is declared absent"):
        generated(place, "User:gone", "${env:A}")
