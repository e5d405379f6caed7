"""What ``adopt`` writes, of each kind of difference and by each option, and what it says is left."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import AclBinding
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec:
  bootstrapServers: ["b:9092"]
  allowEveryoneIfNoAclFound: false
  scope: {include: [{topics: {any: true}}, {principals: {any: true}}]}
  prune: [topics]
"""
ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
    - {allow: READ, topics: [orders]}
    - {allow: WRITE, topics: [orders], expires: 2026-11-10}
"""
TOPICS = """\
apiVersion: reconciler/v1
kind: Topics
metadata: {name: t}
spec:
  topics:
    - {name: orders, partitions: 3, replicationFactor: 1}
"""
DECLARED = binding("User:a ALLOW READ on TOPIC orders")
NEW_A, NEW_B = binding("User:a ALLOW READ on TOPIC paid"), binding("User:b ALLOW READ on TOPIC orders")
ORDERS, PAID = Topic("orders", 3, 1), Topic("paid", 2, 1)


class World:
    """Manifests, and a snapshot of a cluster that has other things."""

    def __init__(self, root: Path) -> None:
        """Write both."""
        self.manifests, self.snapshot = root / "m", root / "live.json"
        self.manifests.mkdir()
        for name, text in (("cluster", CLUSTER), ("acls", ACLS), ("topics", TOPICS)):
            (self.manifests / f"{name}.yaml").write_text(text, encoding="utf-8")

    def adopt(
        self, bindings: set[AclBinding], topics: tuple[Topic, ...], *words: str, quotas: tuple[ClientQuota, ...] = ()
    ) -> int:
        """What the command exits with."""
        state = ClusterState("demo", frozenset(bindings), {topic.name: topic for topic in topics})
        state = state.with_listing(ClientQuota, Listing(frozenset(quotas)))
        self.snapshot.write_text(snapshot_text(state), encoding="utf-8")
        live = f"snapshot:{self.snapshot}"
        return run(["adopt", str(self.manifests), "-c", live, "--as-of", "2026-11-23", *words])

    def text(self, name: str) -> str:
        """A file of the manifests."""
        return (self.manifests / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


_BECAUSE = "reason: adopted from demo on 2026-11-23"


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ((), _BECAUSE),
        (("--reason", "seen"), "reason: seen"),
        (("--ticket", "T-1"), f"{_BECAUSE}, ticket: T-1"),
        (("--reason", "seen", "--ticket", "T-1"), "reason: seen, ticket: T-1"),
    ],
)
def test_what_is_new_says_why_and_where_it_was_agreed(world: World, words: tuple[str, ...], more: str) -> None:
    assert world.adopt({DECLARED, NEW_A}, (ORDERS,), "--all", "--write", *words) == Exit.OK
    assert world.text("acls") == f"{ACLS}    - {{allow: READ, topics: [paid], {more}}}\n"


def test_a_day_decides_what_has_expired(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Before its end the cluster lacks the rule, which goes from the manifests; after it nothing differs."""
    state = ClusterState("demo", frozenset({DECLARED}), {"orders": ORDERS})
    world.snapshot.write_text(snapshot_text(state), encoding="utf-8")
    live = f"snapshot:{world.snapshot}"
    for day, differences in (("2026-11-10", 1), ("2026-11-11", 0)):
        status = run(["adopt", str(world.manifests), "-c", live, "--as-of", day, "--all"])
        assert (status, bool(capsys.readouterr().out)) == (Exit.OK, bool(differences))


@pytest.mark.parametrize(
    ("words", "kept", "left"),
    [
        (("--all",), ("a", "b", "paid"), "none"),
        (("--only", "principals=User:a"), ("a",), "2"),
        (("--only", "principals=User:b"), ("b",), "2"),
        (("--only", "topics=paid"), ("a", "paid"), "1"),
        (("--only", "principals!=User:a"), ("b", "paid"), "1"),
    ],
)
def test_only_what_is_selected_is_kept(
    world: World, words: tuple[str, ...], kept: tuple[str, ...], left: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert world.adopt({DECLARED, NEW_A, NEW_B}, (ORDERS, PAID), *words, "--write") == Exit.OK
    files = [file.read_text(encoding="utf-8") for file in world.manifests.rglob("*.yaml")]
    assert ("paid" in world.text("acls")) is ("a" in kept)
    assert any("User:b" in text for text in files) is ("b" in kept)
    assert any("name: paid" in text for text in files) is ("paid" in kept)
    assert f"3 differences, {len(kept)} kept; a plan then finds {left}" in capsys.readouterr().err


def test_what_the_cluster_lacks_goes_from_the_manifests(world: World) -> None:
    assert world.adopt(set(), (PAID, ORDERS), "--all", "--write") == Exit.OK
    assert not (world.manifests / "acls.yaml").exists() or "allow: READ" not in world.text("acls")
    assert world.adopt(set(), (PAID,), "--all", "--write") == Exit.OK
    assert "orders" not in world.text("topics")


@pytest.mark.parametrize(
    ("live", "item"),
    [
        (Topic("orders", 6, 1), "{name: orders, partitions: 6, replicationFactor: 1}"),
        (
            Topic("orders", 3, 1, {"retention.ms": "86400000"}),
            "{name: orders, partitions: 3, replicationFactor: 1, configs: {retention.ms: 1d}}",
        ),
    ],
)
def test_a_topic_is_declared_as_it_is(world: World, live: Topic, item: str) -> None:
    assert world.adopt({DECLARED}, (live,), "--all", "--write") == Exit.OK
    assert world.text("topics") == TOPICS.replace("{name: orders, partitions: 3, replicationFactor: 1}", item)


def test_what_no_manifest_can_say_is_named_and_exits_with_another_status(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = [binding("User:a ALLOW READ on TOPIC paid").pattern._replace(name=f"a\u200b{at}") for at in range(3)]
    some = {AclBinding(pattern, DECLARED.entry) for pattern in odd}
    assert world.adopt({DECLARED, NEW_A, *some}, (ORDERS,), "--all", "--write") == Exit.DIFFERENT
    said = capsys.readouterr().err
    assert said.count("not adopted: ") == 3
    assert "4 differences, 1 kept; a plan then finds 3" in said
    assert "topics: [paid]" in world.text("acls")


def test_without_a_terminal_it_asks_for_a_selection(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert world.adopt({DECLARED, NEW_A}, (ORDERS,)) == Exit.USAGE
    assert "give --all, or --only FIELD=NAME" in capsys.readouterr().err
    assert world.adopt({DECLARED, NEW_A}, (ORDERS,), "--all", "--reason", "a\nb") == Exit.USAGE
    assert world.adopt({DECLARED}, (ORDERS,), "--all") == Exit.OK
    assert "Nothing to adopt." in capsys.readouterr().err


def test_a_rename_names_the_users_of_the_old_name_alone(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """A user's password is nobody else's."""
    users = """\
apiVersion: reconciler/v1
kind: Users
metadata: {name: u}
spec:
  users:
    - {name: a, mechanisms: {SCRAM-SHA-512: {}}}
    - {name: other, mechanisms: {SCRAM-SHA-512: {}}}
"""
    (world.manifests / "users.yaml").write_text(users, encoding="utf-8")
    assert run(["rename", "User:a", "User:new", "--path", str(world.manifests)]) == Exit.OK
    said = [line for line in capsys.readouterr().err.splitlines() if "change that yourself" in line]
    assert ["users.yaml:6" in line for line in said] == [True]


def test_a_new_topic_is_declared_with_its_settings(world: World) -> None:
    live = replace(PAID, configs={"retention.ms": "86400000", "cleanup.policy": "compact"})
    assert world.adopt({DECLARED}, (ORDERS, live), "--all", "--write") == Exit.OK
    texts = [file.read_text(encoding="utf-8") for file in world.manifests.rglob("*.yaml")]
    (text,) = [text for text in texts if "name: paid" in text]
    assert "configs: {cleanup.policy: compact, retention.ms: 1d}" in text
    assert world.adopt({DECLARED}, (ORDERS, live), "--all") == Exit.OK, "and then nothing differs"


def test_a_quota_is_as_the_cluster_has_it_and_keeps_why_it_exists(world: World) -> None:
    text = """\
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: q}
spec:
  quotas:
    - {user: a, limits: {producer_byte_rate: 1MiB/s}, reason: why, ticket: T-1}
    - {user: gone, absent: true}
"""
    (world.manifests / "quotas.yaml").write_text(text, encoding="utf-8")
    live = tuple(
        ClientQuota(QuotaEntity.of(user, None), {"producer_byte_rate": float(rate << 20)})
        for user, rate in (("a", 2), ("gone", 3), ("new", 4))
    )
    assert world.adopt({DECLARED}, (ORDERS,), "--all", "--write", "--reason", "seen", quotas=live) == Exit.OK
    lines = world.text("quotas").splitlines()
    assert "    - {user: a, limits: {producer_byte_rate: 2097152}, reason: why, ticket: T-1}" in lines
    for user, rate in (("gone", 3), ("new", 4)):
        assert [line for line in lines if f"user: {user}," in line] == [
            f"    - {{user: {user}, limits: {{producer_byte_rate: {rate << 20}}}, reason: seen}}"
        ]
