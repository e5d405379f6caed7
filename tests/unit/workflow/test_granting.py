"""Grant, revoke and rename: exactly these bindings, in the file where they belong."""

import subprocess
from datetime import date
from pathlib import Path

import pytest

from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import AmbiguousClusterError, RequestError, WorkflowError
from reconciler.model.acl import AclOperation, PatternType, ResourcePattern, ResourceType
from reconciler.model.desired import Expiry
from reconciler.parts.edit.app.editing import EditRefusedError
from reconciler.parts.edit.app.grant import AskedAccess, GrantEdit, GrantTerms, grant, rename, revoke

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo, labels: {env: prod}}
spec: {bootstrapServers: ["b:9092"], allowEveryoneIfNoAclFound: false}
"""
OTHER = "---\n" + CLUSTER.replace("demo", "dev").replace("prod", "dev")
ORDERS = """\
# Orders, by its team.
apiVersion: reconciler/v1
kind: Acls
metadata: {name: orders}
spec:
  principal: User:orders   # in prod
  rules:
    # what it keeps
    - {role: producer, topics: [orders.a, orders.b]}
"""
OWNERSHIP = """\
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
    - {team: pay, files: ["teams/pay/**"], principals: {prefix: "User:pay"}, topics: {prefix: pay.}}
    - {team: orders, files: ["teams/orders/**"], principals: ["User:orders"], topics: {prefix: orders.}}
"""
SCOPED = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec:
  bootstrapServers: ["b:9092"]
  scope:   # managed
    include:
      - principals: NAMES
      - topics: {prefix: orders.}
  protect: [{principals: ["User:orders"]}]
"""
DAY = date(2026, 11, 23)
NO_TERMS = GrantTerms()
READ, WRITE = AclOperation.READ, AclOperation.WRITE


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "teams" / "orders").mkdir(parents=True)
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "teams" / "orders" / "acls.yaml").write_text(ORDERS, encoding="utf-8")
    return tmp_path


def topic(name: str, *, prefix: bool = False) -> ResourcePattern:
    return ResourcePattern(ResourceType.TOPIC, name, PatternType.PREFIXED if prefix else PatternType.LITERAL)


def granted(place: Path, principal: str, pattern: ResourcePattern, terms: GrantTerms = NO_TERMS) -> GrantEdit:
    return grant(str(place), None, AskedAccess(principal, (READ,), pattern), terms, DAY)


def test_a_grant_goes_to_the_principals_document(place: Path) -> None:
    terms = GrantTerms(Expiry(date(2026, 12, 7)), "why: #1", "SEC-1")
    found = granted(place, "User:orders", topic("pay.", prefix=True), terms)
    line = "    - {allow: READ, topics: {prefix: pay.}, expires: 2026-12-07, reason: 'why: #1', ticket: SEC-1}\n"
    assert found.edit.files == {"teams/orders/acls.yaml": ORDERS + line}
    assert [row.principal for row in found.edit.access["demo"].access_changes] == ["User:orders"]


def test_a_new_principal_gets_a_file_of_the_team_that_owns_it(place: Path) -> None:
    (place / "ownership.yaml").write_text(OWNERSHIP, encoding="utf-8")
    found = granted(place, "User:pay-app", topic("pay.x"))
    assert list(found.edit.files) == ["teams/pay/pay-app.yaml"]
    assert found.edit.breaches == ()


def test_who_is_named_in_a_file_of_others_gets_one_of_its_own_team(place: Path) -> None:
    """Beside the other document, where that team has no say about it, nobody of its own would review the grant."""
    (place / "ownership.yaml").write_text(OWNERSHIP, encoding="utf-8")
    shared = ORDERS.replace("principal: User:orders", "principals: [User:orders, User:pay-app]")
    (place / "teams" / "orders" / "acls.yaml").write_text(shared, encoding="utf-8")
    assert list(granted(place, "User:pay-app", topic("pay.x")).edit.files) == ["teams/pay/pay-app.yaml"]
    (place / "ownership.yaml").unlink()
    assert list(granted(place, "User:pay-app", topic("pay.x")).edit.files) == ["teams/orders/acls.yaml"]


def test_what_needs_the_consent_of_others_is_said(place: Path) -> None:
    (place / "ownership.yaml").write_text(OWNERSHIP, encoding="utf-8")
    (breach,) = granted(place, "User:orders", topic("pay.x")).edit.breaches
    assert breach.owners == ("pay",)


def test_what_is_declared_already_is_said_and_what_ends_sooner_is_extended(place: Path) -> None:
    granted(place, "User:orders", topic("x"), GrantTerms(Expiry(date(2026, 12, 1)))).edit.write()
    again = granted(place, "User:orders", topic("x"), GrantTerms(Expiry(date(2026, 11, 30))))
    assert again.edit.files == {}
    assert "until 2026-12-01" in again.notes[0]
    same = granted(place, "User:orders", topic("x"), GrantTerms(Expiry(date(2026, 12, 1)), "once more"))
    assert (same.edit.files, len(same.notes)) == ({}, 1)
    (text,) = granted(place, "User:orders", topic("x"), GrantTerms(Expiry(date(2027, 1, 1)))).edit.files.values()
    assert text == ORDERS + "    - {allow: READ, topics: [x], expires: 2027-01-01}\n"


def test_several_clusters_have_to_be_told_apart(place: Path) -> None:
    (place / "cluster.yaml").write_text(CLUSTER + OTHER, encoding="utf-8")
    with pytest.raises(AmbiguousClusterError):
        granted(place, "User:orders", topic("x"))
    found = grant(str(place), "dev", AskedAccess("User:orders", (READ,), topic("x")), as_of=DAY)
    (text,) = found.edit.files.values()
    assert text is not None
    # The document that is there is for both clusters, so the grant gets one of its own beside it.
    assert text.startswith(ORDERS + "---\n")
    assert "clusters: {matchLabels: {env: dev}}" in text


def test_a_revocation_keeps_the_rest_of_the_rule(place: Path) -> None:
    found = revoke(str(place), None, AskedAccess("User:orders", pattern=topic("orders.a")), DAY)
    assert found.edit.files == {"teams/orders/acls.yaml": ORDERS.replace("[orders.a, orders.b]", "[orders.b]")}


def test_revoking_everything_keeps_a_document_with_comments(place: Path) -> None:
    (text,) = revoke(str(place), None, AskedAccess("User:orders"), DAY).edit.files.values()
    assert text is not None
    assert "# what it keeps" in text
    assert "rules: []" in text


def test_revoking_everything_removes_a_document_of_which_nothing_is_left(place: Path) -> None:
    file, asked = place / "teams" / "orders" / "acls.yaml", AskedAccess("User:orders")
    bare = "\n".join(line for line in ORDERS.splitlines() if "#" not in line) + "\n  principal: User:orders\n"
    file.write_text(bare, encoding="utf-8")
    assert revoke(str(place), None, asked, DAY).edit.files == {"teams/orders/acls.yaml": None}
    file.write_text(bare + "  exceptions: [{check: KA007, reason: r, expires: 2027-01-01}]\n", encoding="utf-8")
    (text,) = revoke(str(place), None, asked, DAY).edit.files.values()
    assert "exceptions:" in (text or "")


def test_a_deny_that_stays_grants_nothing(place: Path) -> None:
    file, asked = place / "teams" / "orders" / "acls.yaml", AskedAccess("User:orders", (READ,), topic("orders.a"))
    denied = "    - {deny: READ, topics: {prefix: orders.}, hosts: [10.0.0.1]}\n"
    file.write_text(ORDERS + denied, encoding="utf-8")
    with pytest.raises(RequestError, match="no manifest declares that"):
        revoke(str(place), None, AskedAccess("User:orders", (READ,), topic("x")), DAY)
    granted(place, "User:orders", topic("orders.a")).edit.write()
    assert not [note for note in revoke(str(place), None, asked, DAY).notes if "still granted" in note]


def test_what_still_grants_the_same_is_named(place: Path) -> None:
    granted(place, "User:orders", topic("orders.", prefix=True)).edit.write()
    asked = AskedAccess("User:orders", (READ,), topic("orders.a"))
    with pytest.raises(RequestError, match="no manifest declares that") as caught:
        revoke(str(place), None, asked, DAY)
    assert "PREFIXED orders." in caught.value.advice


def test_a_rename_has_both_names_for_a_time(place: Path) -> None:
    first = rename(str(place), "User:orders", "User:CN=orders, O=x", as_of=DAY)
    both = ORDERS.replace("principal: User:orders ", "principals: [User:orders, 'User:CN=orders, O=x'] ")
    assert first.edit.files == {"teams/orders/acls.yaml": both}
    assert not any(row.lost for row in first.edit.access["demo"].access_changes)
    first.edit.write()
    second = rename(str(place), "User:orders", "User:CN=orders, O=x", finish=True, as_of=DAY)
    assert second.edit.files == {"teams/orders/acls.yaml": both.replace("User:orders, ", "")}
    assert any("are refused once this is applied" in note for note in second.notes)


@pytest.mark.parametrize(
    ("names", "after"),
    [
        ("[User:orders]", "[User:orders, User:new]"),
        ("[User:a, User:orders, {prefix: User:b}]", "[User:a, User:orders, {prefix: User:b}, User:new]"),
        ("User:orders", "[User:orders, User:new]"),
        ("{literal: User:orders}", "{literal: [User:orders, User:new]}"),
        ("{literal: [User:orders]}", "{literal: [User:orders, User:new]}"),
        (
            "\n          - User:orders   # ours\n          # next",
            "\n          - User:orders   # ours\n          - User:new\n          # next",
        ),
        ("[User:orders, User:new]", "[User:orders, User:new]"),
    ],
)
def test_the_scope_follows_a_rename(place: Path, names: str, after: str) -> None:
    """What `init` writes manages the principals that it names: nothing could be declared for another one."""
    text = SCOPED.replace("NAMES", names)
    (place / "cluster.yaml").write_text(text, encoding="utf-8")
    first = rename(str(place), "User:orders", "User:new", as_of=DAY)
    assert first.edit.files.get("cluster.yaml", text) == SCOPED.replace("NAMES", after)
    (note,) = first.notes
    assert note.startswith("User:orders is also named at cluster.yaml:"), "what is protected stays policy"
    assert "," not in note
    first.edit.write()
    last = rename(str(place), "User:orders", "User:new", finish=True, as_of=DAY)
    assert "cluster.yaml" not in last.edit.files, "outside the scope, its ACLs would stay on the cluster for ever"
    assert any(note.startswith("the scope at cluster.yaml:") for note in last.notes)


def test_a_rename_takes_quotas_with_it_and_names_users(place: Path) -> None:
    """A quota of the old name holds nobody who logs in under the new one."""
    quotas = (
        "apiVersion: reconciler/v1\nkind: Quotas\nmetadata: {name: q}\nspec:\n  quotas:\n"
        "    - {user: orders, limits: {request_percentage: 50}, reason: batch}   # slow\n"
        "    - {user: orders, clientId: x, limits: {request_percentage: 5}}\n"
    )
    users = (
        "apiVersion: reconciler/v1\nkind: Users\nmetadata: {name: u}\nspec:\n  users:\n"
        "    - {name: orders, mechanisms: {SCRAM-SHA-512: {iterations: 4096}}}\n"
    )
    (place / "quotas.yaml").write_text(quotas, encoding="utf-8")
    (place / "users.yaml").write_text(users, encoding="utf-8")
    first = rename(str(place), "User:orders", "User:new", as_of=DAY)
    text = first.edit.files["quotas.yaml"]
    assert text == quotas + (
        "    - {user: new, clientId: x, limits: {request_percentage: 5}}\n"
        "    - {user: new, limits: {request_percentage: 50}, reason: batch}\n"
    )
    assert any("the SCRAM user orders is declared at users.yaml:6:" in note for note in first.notes)
    first.edit.write()
    second = rename(str(place), "User:orders", "User:new", finish=True, as_of=DAY)
    assert second.edit.files["quotas.yaml"] == text.replace(quotas.partition("  quotas:\n")[2], "")
    assert second.edit.files.keys() == {"quotas.yaml", "teams/orders/acls.yaml"}


def test_a_rename_names_other_places_and_what_the_new_name_lacks(place: Path) -> None:
    (place / "ownership.yaml").write_text(OWNERSHIP, encoding="utf-8")
    found = rename(str(place), "User:orders", "User:new", finish=True, as_of=DAY)
    assert any("ownership.yaml:7:" in note for note in found.notes)
    assert any("User:new lacks WRITE on TOPIC orders.a" in note for note in found.notes)


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31mred", "${env:X}", "zero\u200bwidth"])
def test_text_that_a_reviewer_could_not_see_is_refused(place: Path, text: str) -> None:
    with pytest.raises(RequestError, match="cannot be written"):
        granted(place, "User:orders", topic("x"), GrantTerms(reason=text))
    with pytest.raises(RequestError, match="cannot be declared"):
        granted(place, f"User:{text}", topic("x"))


@pytest.mark.parametrize("name", ["a: b", "- x", "{y}", "'q'", '"', "#c", "[z", "yes", "1e3", "&a", "!t", "a,b"])
def test_principals_that_look_like_yaml_are_quoted(place: Path, name: str) -> None:
    granted(place, f"User:{name}z", topic("x")).edit.write()
    again = granted(place, f"User:{name}z", topic("x"))
    assert again.edit.files == {}


def test_an_edit_that_is_not_proven_is_refused(place: Path) -> None:
    (place / "other.yaml").write_text(
        ORDERS.replace("name: orders", "name: again").replace("orders.a", "orders.c"), encoding="utf-8"
    )
    (place / "cluster.yaml").write_text(CLUSTER + OTHER.replace("env: dev", "env: prod"), encoding="utf-8")
    with pytest.raises(EditRefusedError, match="no labels tell demo from the other clusters"):
        grant(str(place), "demo", AskedAccess("User:orders", (READ,), topic("x")), as_of=DAY)


def git(place: Path, *words: str, stdin: str = "") -> str:
    command = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, input=stdin).stdout


def test_a_connections_file_among_the_manifests_is_none_of_them(place: Path) -> None:
    file = place / "connections.yaml"
    file.write_text(CLUSTER.replace("b:9092", "real:9092"), encoding="utf-8")
    options = ConnectionOptions(connections=str(file))
    asked = AskedAccess("User:orders", (READ,), topic("x"))
    assert list(grant(str(place), None, asked, as_of=DAY, connection=options).edit.files) == ["teams/orders/acls.yaml"]


def test_a_branch_has_the_commit_and_the_files_stay(place: Path) -> None:
    file = place / "teams" / "orders" / "acls.yaml"
    git(place, "init", "-q", "-b", "main")
    git(place, "config", "user.name", "a")
    git(place, "config", "user.email", "a@example.org")
    file.chmod(0o755)
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    found = granted(place, "User:orders", topic("x")).edit
    made = found.commit("grant-x", "Grant it")
    assert git(place, "rev-parse", "grant-x").strip() == made
    assert git(place, "status", "--porcelain") == ""
    assert git(place, "ls-tree", "grant-x", "teams/orders/acls.yaml").startswith("100755 ")
    assert git(place, "show", "grant-x:teams/orders/acls.yaml") == found.files["teams/orders/acls.yaml"]
    with pytest.raises(WorkflowError, match="git update-ref"):
        found.commit("grant-x", "Again")
    file.write_text(ORDERS + "# mine\n", encoding="utf-8")
    with pytest.raises(RequestError, match="not as it was committed"):
        granted(place, "User:orders", topic("x")).edit.commit("other", "Grant it")
    git(place, "checkout", "-q", ".")
    git(place, "apply", "-p1", stdin=found.patch().replace(f"{str(place)[1:]}/", ""))
    assert file.read_text(encoding="utf-8") == found.files["teams/orders/acls.yaml"]
