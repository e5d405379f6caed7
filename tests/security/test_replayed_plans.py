"""A genuine plan at the wrong time: replayed, too old, or without the people who have to approve it."""

import datetime
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from reconciler.app.admission import check_override
from reconciler.app.apply import apply_plan
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import RequestError, StaleError
from reconciler.cli.terminal import Terminal
from reconciler.manifest.parts.clusters import Emergency
from reconciler.model.desired import Expiry
from reconciler.model.kinds.quota import ClientQuota
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.app.runs import read_fleet_plan
from reconciler.plan.file import parse_plan
from reconciler.plan.proposal import Options
from reconciler.snapshot.document import snapshot_text
from tests.plan_files import plan_id_of
from tests.unit.cli.test_refusals import CLUSTER, RULES, TOPICS, WISH, Place, place
from tests.unit.fleet.test_same_cluster import saved

__all__ = ["place"]

NOW = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
#: What no manifest asks for.
AT_ONCE = {
    "undo": Options(undo=True),
    "break-glass": Options(break_glass=Expiry(NOW + datetime.timedelta(hours=1))),
    "unlock": Options(unlock="User:a"),
}


@pytest.mark.parametrize(
    ("manifests", "named"),
    [
        pytest.param(RULES % ("a", "User:a") + "    - {allow: READ, topics: [old]}\n", "PREFIXED pay.", id="all else"),
        pytest.param(
            WISH + RULES % ("b", "User:a") + "    - {allow: READ, topics: [old]}\n",
            "delete User:a ALLOW READ on TOPIC old: expected not to be declared",
            id="a delete of what is declared",
        ),
        pytest.param(
            WISH.replace("partitions: 3", "partitions: 4"), "add partitions to topic grows", id="more partitions"
        ),
        pytest.param(WISH.replace("2s", "3s"), "alter configs of topic grows", id="another value"),
        pytest.param(WISH.partition(TOPICS)[0], "alter configs of topic grows", id="no topic"),
        pytest.param(
            WISH.replace("{prefix: pay.}}", "{prefix: pay.}, expires: 2020-01-01}"),
            "create User:a ALLOW READ on TOPIC PREFIXED pay.: expected to be declared, and not over",
            id="an end that was declared since, and is over",
        ),
    ],
)
def test_a_replayed_plan_is_refused(place: Place, manifests: str, named: str) -> None:
    """The attacker applies an approved plan again after the manifests have moved on: every unwanted step is named."""
    place.write(manifests)
    place.assert_refused(4, "the manifests do not want this plan any more", named)


def test_a_delete_of_a_deny_is_not_replayed(place: Place) -> None:
    """The attacker applies an old plan that removes a DENY which the manifests declare by now: refused."""
    place.write(WISH.replace("    - {deny: READ, topics: [pay.secret]}\n", ""))
    assert place.plan().status == 0
    place.write(WISH)
    place.assert_refused(4, "delete User:a DENY READ on TOPIC pay.secret: expected not to be declared")


@pytest.mark.parametrize(
    ("document", "named"),
    [
        (
            "Quotas\nmetadata: {name: q}\nspec: {quotas: [{user: us, limits: {producer_byte_rate: 1}}]}",
            "login-limit=User:us",
        ),
        ("Users\nmetadata: {name: u}\nspec: {users: [{name: us, absent: true}]}", "User:us, which is our own login"),
    ],
    ids=["quota", "user"],
)
def test_a_plan_that_was_made_by_another_login_does_not_lock_out_this_one(
    place: Place, document: str, named: str
) -> None:
    """The plan was made where it was harmless, by the manifests of then."""
    user = ScramUser("us", {"SCRAM-SHA-512": 4096})
    state = ClusterState("id").with_listing(ScramUser, Listing(frozenset({user}), may_alter=True))
    (place.root / "live.json").write_text(snapshot_text(state.with_listing(ClientQuota, Listing(frozenset()))))
    text = f"---\napiVersion: reconciler/v1\nkind: {document}\n"
    (place.root / "m" / "all.yaml").write_text(CLUSTER.replace("User:us", "User:another") + text)
    assert place.plan().status == 0
    place.write(text)
    place.assert_refused(5, named)


@pytest.mark.parametrize("what", AT_ONCE)
def test_a_file_alone_does_not_lift_the_word_of_the_manifests(place: Place, what: str) -> None:
    """The attacker has a plan say that it is none of the manifests: somebody has to vouch for it."""
    place.write("")
    place.altered(lambda plan: replace(plan, options=AT_ONCE[what]))
    place.assert_refused(64, f"{what} ", "needs signatures or its id: no manifest vouches for it")
    if what == "undo":
        name = plan_id_of(str(place.root / "plan.json"))
        assert place.apply("--require-id", name).status == 0


def test_an_undo_is_performed_where_a_person_is_asked(place: Place) -> None:
    place.write("")
    place.altered(lambda plan: replace(plan, options=AT_ONCE["undo"]))
    asked = Terminal(yes=False, expand=False)
    where = ConnectionOptions(connections="operator.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("click.confirm", lambda *_, **__: True)
        assert apply_plan("plan.json", "m", "c=snapshot:live.json", where, supervisor=asked).succeeded


@pytest.mark.parametrize("what", AT_ONCE)
def test_no_plan_of_a_fleet_does_what_no_manifest_asks_for(place: Place, what: str) -> None:
    """The attacker puts it among the plans of a fleet, which are performed by the ids that stand beside them."""
    plan = parse_plan((place.root / "plan.json").read_text())
    saved(place.root, plan)
    read_fleet_plan(place.root)
    saved(place.root, replace(plan, options=AT_ONCE[what]))
    with pytest.raises(StaleError, match="does more than manifests ask for"):
        read_fleet_plan(place.root)


def test_only_break_glass_access_goes_over_an_access_test() -> None:
    """However many have signed the file, and whatever the operator's file permits of break-glass access."""
    with pytest.raises(RequestError, match="only break-glass access"):
        check_override(Options(override=("a test",)), Emergency(override=("access-tests",)), NOW)


def test_a_plan_that_is_still_wanted_is_applied(place: Place) -> None:
    """Manifests that moved on elsewhere do not void a plan."""
    place.write(WISH + RULES % ("b", "User:b") + "    - {allow: READ, topics: [other]}\n")
    assert place.apply().status == 0


def _made(place: Place, ago: datetime.timedelta) -> None:
    at = datetime.datetime.now(datetime.UTC) - ago
    place.altered(lambda plan: replace(plan, created_at=f"{at:%Y-%m-%dT%H:%M:%SZ}"))


def test_an_old_plan_is_refused(place: Place) -> None:
    """The attacker has a pipeline apply an old plan file: it is refused if the age is limited."""
    _made(place, datetime.timedelta(hours=13))
    old = place.apply("--max-age", "12h")
    assert old.status == 4
    assert "ago" in old.err
    assert place.apply("--max-age", "14h").status == 0


def test_a_pipeline_limits_the_age_by_itself(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attacker counts on a pipeline that sets no limit: where CI is set, it is a day."""
    monkeypatch.setenv("CI", "true")
    _made(place, datetime.timedelta(hours=25))
    assert place.apply().status == 4
    assert place.apply("--max-age", "26h").status == 0


@pytest.mark.parametrize("made", [None, "2099-01-01T00:00:00Z"])
def test_a_plan_without_an_honest_time_is_refused(place: Place, made: str | None) -> None:
    """The attacker strips the time, or writes one of the future: the plan is refused where the age is limited."""
    place.altered(lambda plan: replace(plan, created_at=made))
    assert place.apply("--max-age", "12h").status == 4
    assert place.apply().status == 0


def test_another_time_is_another_file(place: Place) -> None:
    """The attacker makes a plan younger: the id to approve is the same, the file's id is not."""
    before = parse_plan((place.root / "plan.json").read_text())
    file = next(word for word in place.run("show", "plan.json").out.split() if word.startswith("file-"))
    _made(place, datetime.timedelta(hours=1))
    after = parse_plan((place.root / "plan.json").read_text())
    assert before.created_at != after.created_at
    assert place.apply("--require-id", file).status == 4


def test_apply_counts_the_people_who_signed(place: Place) -> None:
    """The author signs alone: refused, with nothing sent, until somebody else has signed."""
    lines = []
    for name in ("alice", "bob"):
        key = ed25519.Ed25519PrivateKey.generate()
        (place.root / name).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
        lines.append(f"{name} {key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()}\n")
    (place.root / "signers").write_text("".join(lines))
    rule = ("--require-approvals", "1", "--allowed-signers", "signers", "--not-author", "alice")
    live = (place.root / "live.json").read_bytes()
    assert place.run("approve", "plan.json", "--key", "alice").status == 0
    alone = place.apply(*rule)
    assert (alone.status, "is an author of the change" in alone.err) == (5, True)
    assert (place.root / "live.json").read_bytes() == live
    signed = place.run("approve", "plan.json", "--key", "bob")
    assert (signed.status, "plan-" in signed.out) == (0, True)
    assert place.apply(*rule).status == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--require-approvals", "1"),
        ("--allowed-signers", "signers"),
        ("--not-author", "alice"),
        ("--require-approvals", "0", "--allowed-signers", "signers"),
    ],
)
def test_half_a_rule_is_none(place: Place, words: tuple[str, ...]) -> None:
    """Somebody asks for approvals with an option missing: nothing is applied as if nobody had asked."""
    assert place.apply(*words).status == 64


def test_a_plan_that_is_made_now_cannot_have_been_approved(place: Place) -> None:
    """Somebody plans and applies in one go where approvals are required: refused."""
    Path(place.root / "signers").write_text("")
    rule = ("--require-approvals", "1", "--allowed-signers", "signers")
    ended = place.run("apply", "m", "--cluster", "c=snapshot:live.json", "--yes", *rule)
    assert (ended.status, "saved plan" in ended.err) == (64, True)
