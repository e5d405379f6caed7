"""Certification: owners answer and sign, answers become ends of ACLs, and a pack proves it without a network."""

import datetime
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from reconciler.app.approvals import detached_signature
from reconciler.app.manifests import desired, load
from reconciler.app.options import today
from reconciler.cli.main import run
from reconciler.codec.codec import document_text
from reconciler.codec.document import compact
from reconciler.kafka.cluster import connect
from reconciler.model.acl import AclBinding, PatternType
from reconciler.model.state import ClusterState
from reconciler.parts.certify.app import read_campaign
from reconciler.parts.certify.campaign import CAMPAIGN, Campaign, CertifiedRight, digest_of, file_text
from reconciler.parts.certify.pack import verify_pack
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from reconciler.results.words import binding_words
from reconciler.snapshot.document import parse_snapshot, snapshot_text
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import job
from tests.worlds import bindings

_ROOT = Path(__file__).parents[2]
DUE = today() + datetime.timedelta(days=14)
LAPSE = DUE + datetime.timedelta(days=14)
_RENEWED = LAPSE + datetime.timedelta(days=90)
DIR = Path("certify/2026Q4")
#: Beside what the manifests of the bank declare: by hand, a DENY, and everybody.
_MORE = (
    "User:hand ALLOW READ on TOPIC pii.customers",
    "User:svc-ledger DENY READ on TOPIC pii.x",
    "User:* ALLOW DESCRIBE on TOPIC PREFIXED ledger.",
)
_PEOPLE = {"payments": "alice", "ledger": "carol", "platform": "dave"}


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example's manifests, a cluster that has what they declare and more, and people who may sign."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(_ROOT / "examples" / "access", "manifests")
    wanted = desired(load("manifests"), "bank", today())
    write_cluster(*wanted.bindings, *bindings(*_MORE))
    monkeypatch.setenv("RECONCILER_PATH", "manifests")
    monkeypatch.setenv("RECONCILER_CLUSTER", "bank=snapshot:live.json")
    monkeypatch.setenv("NO_COLOR", "1")
    write_signers({owner: (owner, name) for owner, name in _PEOPLE.items()})
    return tmp_path


def write_cluster(*made: AclBinding, **more: object) -> None:
    state = ClusterState("bank-id", frozenset(made), kafka_version=(4, 4))
    Path("live.json").write_text(snapshot_text(replace(state, **more)), encoding="utf-8")  # type: ignore[arg-type]


def write_signers(owners: dict[str, tuple[str, str]]) -> None:
    """A key of each person, and who signs for which owner: by key, the owner and the name."""
    lines = []
    for key, (owner, name) in owners.items():
        if not Path(key).exists():
            made = Ed25519PrivateKey.generate()
            form = (serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
            Path(key).write_bytes(made.private_bytes(*form))
        private = serialization.load_ssh_private_key(Path(key).read_bytes(), None)
        public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        lines.append(f'{name}@example.com namespaces="kafka-reconciler-certify/{owner}" {public.decode()}\n')
    Path("signers").write_text("".join(lines), encoding="utf-8")


def opened(*options: str) -> Campaign:
    assert run(["certify", "open", "--due", str(DUE), "--out", str(DIR), *options]) == 0
    return read_campaign(DIR)[0]


def edited(owner: str, change: Callable[[str], str]) -> None:
    file = DIR / f"{owner}.yaml"
    before = file.read_bytes().decode()
    after = change(before)
    assert after != before
    file.write_bytes(after.encode())


def answered(word: str, *owners: str) -> None:
    for owner in owners:
        edited(owner, lambda text: text.replace("decision: each", f"decision: {word}"))


def signed(*owners: str) -> None:
    for owner in owners:
        assert run(["certify", "sign", str(DIR / f"{owner}.yaml"), "--key", owner]) == 0


def closed(*options: str) -> int:
    return run(["certify", "close", str(DIR), "--allowed-signers", "signers", "--out", "pack.tar", *options])


def refusals(capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(["certify", "status", str(DIR), "--allowed-signers", "signers"]) == 3
    return capsys.readouterr().err


def ends() -> dict[AclBinding, str]:
    found = desired(load("manifests"), "bank", today()).bindings
    return {binding: str(said.expires) for binding, said in found.items()}


def test_what_is_kept_lasts_what_is_revoked_goes_and_the_rest_lapses(bank: Path) -> None:
    campaign = opened()
    asked = {binding for right in campaign.rights for binding in right.through}
    live = parse_snapshot(Path("live.json").read_text(encoding="utf-8")).bindings
    assert asked == live - set(bindings("User:svc-ledger DENY READ on TOPIC pii.x"))
    answered("keep", "payments", "ledger")
    by_hand = next(right for right in campaign.rights if "User:hand" in right.right)
    edited("payments", lambda text: re.sub(rf"({by_hand.id}(?:.*\n)*?.*decision: )unanswered", r"\1revoke", text))
    signed("payments", "ledger")
    assert closed("--write") == 0
    after = ends()
    kept = {str(one): end for one, end in after.items() if one.entry.principal == "User:svc-payments"}
    assert set(kept.values()) == {str(_RENEWED)}
    # Nobody answered for the platform: what it alone owns ends, what others kept is narrower now.
    auditor = {str(one): end for one, end in after.items() if one.entry.principal == "User:auditor"}
    assert auditor == {
        "User:auditor ALLOW DESCRIBE on CLUSTER kafka-cluster": str(LAPSE),
        "User:auditor ALLOW DESCRIBE on TOPIC *": str(LAPSE),
        **{
            f"User:auditor ALLOW DESCRIBE on TOPIC PREFIXED {prefix}": str(_RENEWED)
            for prefix in ("ledger.", "payments.", "pii.")
        },
    }
    everybody, by_hand_itself = bindings(_MORE[2], _MORE[0])
    assert after[everybody] == str(_RENEWED)
    assert by_hand_itself not in after
    found = verify_pack("pack.tar")
    assert (found.problems, found.incomplete) == ((), ())
    assert run(["certify", "verify", "pack.tar", "--allowed-signers", "signers"]) == 0
    # No plan ends it before, and the one after does.
    for day, ending in ((LAPSE, False), (LAPSE + datetime.timedelta(days=1), True)):
        wanted = desired(load("manifests"), "bank", day)
        assert any(one.entry.principal == "User:auditor" for one in wanted.expired) is ending


def test_what_was_kept_last_time_is_one_group_in_the_next_campaign(bank: Path) -> None:
    opened()
    answered("keep", "payments", "ledger")
    signed("payments", "ledger")
    assert closed("--write") == 0
    shutil.rmtree(DIR)
    campaign = opened("--base", "pack.tar")
    groups = {right.group for right in campaign.of("ledger").rights if right.through}
    assert groups == {"kept last time, and the same now"}
    assert {right.group.partition(":")[0] for right in campaign.of("platform").rights if right.through} == {"new"}


def test_nothing_is_answered_by_one_word_for_a_whole_file(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened()
    edited("ledger", lambda text: text.replace("groups:", "decision: keep\ngroups:"))
    assert "one answer for the whole file does not count" in refusals(capsys)


#: The first of two rights in a group, after what is before it.
_OF_TWO = re.compile(r"(about: 'new: User:svc-ledger'\n(?:.*\n){2})(  - id: (?:.*\n)+?    decision: .*\n)")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda text: _OF_TWO.sub(r"\1", text), "was removed, put it back"),
        (lambda text: re.sub(r"(  - id: (?:.*\n)+?    decision: .*\n)", r"\1\1", text, count=1), "is there twice"),
        (lambda text: re.sub(r"id: '?[0-9a-f]{16}'?", "id: 'feedfeedfeedfeed'", text, count=1), "who added it?"),
        (lambda text: text.replace("may READ", "may WRITE", 1), "was changed"),
        (lambda text: text.replace("digest: sha256:", "digest: sha256:0", 1), "of another campaign"),
        (lambda text: text.replace("owner: ledger", "owner: payments"), "the file of payments"),
        (lambda text: text.replace("decision: keep", "decision: maybe", 1), "is no answer"),
        (lambda text: text.replace("signed: ", "signed: &x ", 1), "anchor"),
        (lambda text: text.replace("signed: ", "signed: never  # ", 1), "is no day"),
        (lambda text: text.replace("about: 'new: User:svc-ledger'", "about: x"), "moved to another group"),
        (lambda text: text + "---\na: b\n", "not one document"),
        (lambda text: text.replace("groups:", "note: x\ngroups:"), "no field is called note"),
    ],
)
def test_a_file_that_is_not_the_campaigns_does_not_count(
    change: Callable[[str], str], sentence: str, bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened()
    answered("keep", "ledger")
    edited("ledger", change)
    assert sentence in refusals(capsys)
    assert run(["certify", "sign", str(DIR / "ledger.yaml"), "--key", "ledger"]) != 0


def test_a_file_is_read_in_every_form_that_people_write(bank: Path) -> None:
    opened()
    answered("keep", "ledger")

    def ugly(text: str) -> str:
        # Reordered in its group.
        text = re.sub(_OF_TWO.pattern + r"(  - id: (?:.*\n)+?    decision: .*\n)", r"\1\3\2", text)
        text = re.sub(r"decision: unanswered", "decision:   'revoke'   # müssen wir nicht behalten ✓", text, count=1)
        text = re.sub(
            r"  - (id: .*)\n    (right: .*)\n    by:\n    - (.*)\n    (decision: .*)\n(?=- about)",
            lambda found: (
                f"  - {{{found[1]}, 'right': {quoted(found[2][7:])}, by: [{quoted(found[3])}],\n     {found[4]}}}\n"
            ),
            text,
            count=1,
        )
        assert "{id:" in text
        return text.replace("\n", "\r\n")

    edited("ledger", ugly)
    signed("ledger")
    assert b"\r\n" in (DIR / "ledger.yaml").read_bytes()
    # One owner takes back its part of an ACL for every name: nothing narrower is left for the others.
    assert closed() == 3
    assert sorted(map(str, set(verify_pack("pack.tar").closing.decisions.values()))) == ["keep", "revoke"]


def quoted(text: str) -> str:
    return text if text.startswith("'") else f"'{text}'"


def test_signatures_that_do_not_count_say_why(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened()
    answered("keep", "payments", "ledger", "platform")
    # Edited after it was signed.
    signed("ledger")
    edited("ledger", lambda text: text.replace("decision: keep", "decision: revoke", 1))
    # By a key of another owner.
    assert run(["certify", "sign", str(DIR / "payments.yaml"), "--key", "ledger"]) == 0
    # For another owner.
    theirs = next(DIR.glob("payments.yaml.*.sig"))
    shutil.copy(theirs, DIR / "platform.yaml.copy.sig")
    text = refusals(capsys)
    assert "edited after it was signed" in text
    assert "is of no owner of these rights" in text
    assert "no signature for platform alone: each owner signs its own file" in text
    assert closed() == 3
    assert verify_pack("pack.tar").closing.decisions == {}


def test_a_key_for_every_owner_and_one_person_for_all_count_for_none(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened()
    answered("keep", "payments", "ledger", "platform")
    write_signers({"ledger": ("*", "carol")})
    for owner in _PEOPLE:
        assert run(["certify", "sign", str(DIR / f"{owner}.yaml"), "--key", "ledger"]) == 0
    assert refusals(capsys).count("is of no owner of these rights") == 3
    write_signers(
        {
            "ledger": (
                ",".join(
                    f"{'' if at == 0 else 'kafka-reconciler-certify/'}{owner}" for at, owner in enumerate(_PEOPLE)
                ),
                "carol",
            )
        }
    )
    assert refusals(capsys).count("carol@example.com signed for all 3 owners") == 3
    assert closed() == 3


def test_whoever_proposed_a_grant_does_not_confirm_it(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree("manifests", "repository/manifests")
    campaign = opened()
    mine = tuple(replace(right, proposers=("carol@example.com",)) for right in campaign.rights)
    text = document_text(CAMPAIGN.write(replace(campaign, rights=mine)), compact)
    (DIR / "campaign.json").write_text(text, encoding="utf-8")
    found, digest = read_campaign(DIR)
    assert digest == digest_of(text.encode())
    (DIR / "ledger.yaml").write_text(file_text(found.of("ledger"), digest, "ledger"), encoding="utf-8")
    answered("keep", "ledger")
    signed("ledger")
    assert refusals(capsys).count("carol@example.com proposed right") == len(
        [one for one in mine if one.owner == "ledger" and one.through]
    )


def asked(*logs: str, audit: bool = True) -> dict[str, CertifiedRight]:
    """The rights of each user in a campaign with this evidence."""
    shutil.rmtree(DIR, ignore_errors=True)
    sources = [*(("--audit", "audit.jsonl") if audit else ()), *(part for name in logs for part in ("--logs", name))]
    campaign = opened("--store", "store", *sources)
    return {one.through[0].entry.principal.removeprefix("User:"): one for one in campaign.rights if one.through}


def notes(capsys: pytest.CaptureFixture[str], *options: str, status: int = 0) -> str:
    """What close says besides."""
    capsys.readouterr()
    assert closed("--write", *options) == status
    return " ".join(line for line in capsys.readouterr().err.splitlines() if line.startswith("note:"))


def apply_all() -> None:
    """The cluster has what the manifests declare, and what no edit of them ends."""
    write_cluster(*ends(), *bindings(_MORE[1]))


def answer_again(owner: str, before: str, after: str) -> None:
    for old in DIR.glob(f"{owner}.yaml.*.sig"):
        old.unlink()
    edited(owner, lambda text: re.sub("signed: .*", "signed: not yet", text).replace(before, after))
    signed(owner)


def test_a_campaign_that_is_closed_twice_comes_to_the_same(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened()
    answered("keep", "payments", "ledger")
    signed("payments", "ledger")
    early = notes(capsys)
    assert f"closed before it was due on {DUE}" in early
    first = ends()
    for _ in range(2):
        again = notes(capsys)
        assert ends() == first
        assert "nobody was asked" not in again
        apply_all()
    # Closed before it was due: an answer that came later counts, and nothing ended sooner for that.
    assert LAPSE.isoformat() in first.values()
    answered("keep", "platform")
    signed("platform")
    assert "closed before" not in notes(capsys)
    assert {end for one, end in ends().items() if one.entry.principal == "User:auditor"} == {str(_RENEWED)}


@pytest.mark.parametrize(("answer", "end"), [("revoke", None), ("each", str(LAPSE))])
def test_what_an_earlier_close_kept_ends_by_a_later_answer(answer: str, end: str | None, bank: Path) -> None:
    opened()
    answered("keep", "payments", "ledger")
    signed("payments", "ledger")
    assert closed("--write") == 0
    (part,) = bindings("User:auditor ALLOW DESCRIBE on TOPIC PREFIXED ledger.")
    assert ends()[part] == str(_RENEWED)
    apply_all()
    answer_again("ledger", "decision: keep", f"decision: {answer}")
    closed("--write")
    assert ends().get(part) == end


def test_close_says_what_changed_since_the_campaign_was_opened(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened()
    answered("keep", "payments", "ledger", "platform")
    signed("payments", "ledger", "platform")
    live = parse_snapshot(Path("live.json").read_text(encoding="utf-8")).bindings
    came, by_hand = bindings("User:new ALLOW READ on TOPIC ledger.a", _MORE[0])
    declared = sorted(one for one in ends() if one.entry.principal == "User:svc-payments")
    gone, dropped = declared[0], declared[1]
    write_cluster(*(live - {gone, by_hand}), came)
    # A merge takes one of its rules away while owners answer.
    assert run(["revoke", *_words(dropped), "--write"]) == 0
    assert dropped not in ends()
    said = notes(capsys)
    assert f"{binding_words(came)} came after the campaign was opened: nobody was asked" in said
    assert f"{binding_words(gone)} went from the cluster after the campaign was opened: a plan adds it again" in said
    assert f"{binding_words(by_hand)} went from the cluster after the campaign was opened" in said
    assert f"{binding_words(dropped)} went from the manifests" in said
    assert not {came, by_hand, dropped} & ends().keys()
    assert ends()[gone] == str(_RENEWED)


def _words(binding: AclBinding) -> list[str]:
    entry, pattern = binding.entry, binding.pattern
    prefix = "*" if pattern.pattern_type is PatternType.PREFIXED else ""
    return [entry.principal, entry.operation.name, f"{pattern.resource_type.name.lower()}/{pattern.name}{prefix}"]


def test_what_was_answered_about_one_cluster_ends_nothing_of_another(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has the same name by now, as after a move."""
    opened()
    answered("revoke", "ledger")
    signed("ledger")
    live = Path("live.json")
    live.write_text(live.read_text(encoding="utf-8").replace('"bank-id"', '"moved-id"'), encoding="utf-8")
    before = ends()
    assert closed("--write") == 64
    assert "the campaign is of the cluster bank-id, this is another one" in capsys.readouterr().err
    assert (ends(), Path("pack.tar").exists()) == (before, False)


def test_a_cluster_that_cannot_be_read_whole_when_it_is_closed_is_told(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened()
    answered("keep", "ledger")
    signed("ledger")
    file = Path("manifests/cluster.yaml")
    file.write_text(file.read_text(encoding="utf-8").replace("allowEveryoneIfNoAclFound: false", ""), encoding="utf-8")
    assert "when it was closed: cluster bank: nobody states" in notes(capsys, status=1)
    found = verify_pack("pack.tar")
    assert (found.closing.complete, found.problems) == (False, ())
    assert run(["certify", "verify", "pack.tar"]) == 1


def test_of_two_campaigns_at_the_same_time_each_has_its_own_answers(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened()
    later, other = DUE + datetime.timedelta(days=30), Path("certify/other")
    assert run(["certify", "open", "--due", str(later), "--out", str(other)]) == 0
    answered("keep", "ledger")
    signed("ledger")
    for name in ("ledger.yaml", *(item.name for item in DIR.glob("ledger.yaml.*.sig"))):
        shutil.copy(DIR / name, other / name)
    status = ["certify", "status", str(other), "--allowed-signers", "signers"]
    capsys.readouterr()
    assert run(status) == 3
    assert "it is of another campaign" in capsys.readouterr().err
    # What nobody answers ends as the first campaign says, and it is told that another one gave it a later end.
    assert notes(capsys)
    first = ends()
    assert run(["certify", "close", str(other), "--allowed-signers", "signers", "--out", "b.tar", "--write"]) == 3
    lapse = str(later + datetime.timedelta(days=14))
    kept = {one for one, end in first.items() if end == str(_RENEWED)}
    assert {ends()[one] for one in kept if one in read_asked(other)} == {lapse}
    assert all(ends()[one] == end for one, end in first.items() if end == str(LAPSE))
    assert (
        f"ends: {lapse}, and not, as it was declared, maybe by another campaign: {_RENEWED}" in capsys.readouterr().err
    )


def read_asked(directory: Path) -> set[AclBinding]:
    return {binding for right in read_campaign(directory)[0].rights for binding in right.through}


def test_after_it_was_due_nobody_answers_any_more(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened()
    answered("keep", "ledger")
    late = DUE + datetime.timedelta(days=1)
    sign = ["certify", "sign", str(DIR / "ledger.yaml"), "--key", "ledger"]
    assert run([*sign, "--as-of", str(late)]) == 4
    edited("ledger", lambda text: text.replace("signed: not yet", f"signed: {late}"))
    assert run(sign) == 4
    file = DIR / "ledger.yaml"
    detached_signature(file.read_bytes(), str(file), "ledger", "kafka-reconciler-certify/ledger")
    assert f"signed on {late}, after it was due" in refusals(capsys)
    edited("ledger", lambda text: text.replace(f"signed: {late}", "signed: not yet"))
    for old in DIR.glob("*.sig"):
        old.unlink()
    detached_signature(file.read_bytes(), str(file), "ledger", "kafka-reconciler-certify/ledger")
    assert "does not say on which day" in refusals(capsys)


def test_answers_that_no_acl_can_follow_are_refused_when_they_are_signed(bank: Path) -> None:
    write_cluster(*bindings("User:x ALLOW READ on TOPIC PREFIXED ledger.", "User:x ALLOW WRITE on TOPIC ledger.a"))
    opened()
    ids = re.findall(r"id: '?([0-9a-f]{16})'?\n    right: User:x may (.*)", (DIR / "ledger.yaml").read_text())
    literal = next(name for name, words in ids if "starting" not in words)
    answered("keep", "ledger")
    edited("ledger", lambda text: re.sub(rf"({literal}(?:.*\n)*?.*decision: )unanswered", r"\1revoke", text))
    assert run(["certify", "sign", str(DIR / "ledger.yaml"), "--key", "ledger"]) == 1
    edited("ledger", lambda text: text.replace("decision: revoke", "decision: narrow"))
    assert run(["certify", "sign", str(DIR / "ledger.yaml"), "--key", "ledger"]) == 1


def test_what_could_not_be_read_is_certified_by_nobody(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("manifests/cluster.yaml").read_text(encoding="utf-8")
    Path("manifests/cluster.yaml").write_text(text.replace("allowEveryoneIfNoAclFound: false", ""), encoding="utf-8")
    assert run(["certify", "open", "--due", str(DUE), "--out", str(DIR)]) == 1
    assert "cluster bank: nobody states allow.everyone.if.no.acl.found" in capsys.readouterr().err
    answered("keep", "ledger")
    signed("ledger")
    assert closed() == 1
    assert run(["certify", "verify", "pack.tar"]) == 1
    assert "incomplete" in capsys.readouterr().err
    Path("live.json").unlink()
    assert run(["certify", "open", "--due", str(DUE), "--out", "certify/other"]) == 1
    assert not Path("certify/other").exists()


@pytest.mark.broker
def test_on_a_broker_what_nobody_answers_ends_and_what_is_kept_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broker: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    team = job(tmp_path, broker, "certify.", capsys)
    team.write(
        "team.yaml",
        "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: team}\nspec:\n  principal: User:svc\n  rules:\n"
        "    - {allow: READ, topics: ['@orders', '@idle']}\n",
    )
    team.write(
        "owners.yaml",
        "apiVersion: reconciler/v1\nkind: Ownership\nmetadata: {name: owners}\nspec:\n"
        "  owners: [{team: ledger, files: team.yaml, topics: ['@orders']}]\n",
    )
    # By the word of manifests alone, a server ends no last ACL of a topic.
    with team.connections.open("a") as connections:
        connections.write("  allowEveryoneIfNoAclFound: false\n")
    kept, idle = bindings(*(f"User:svc ALLOW READ on TOPIC certify.{name}" for name in ("orders", "idle")))
    assert team.run("apply", "--yes").status == 0
    monkeypatch.chdir(tmp_path)
    write_signers({"ledger": ("ledger", "carol")})
    where = ("--path", str(team.directory), "--cluster", "it", "--connections", str(team.connections))
    assert team.bare("certify", "open", *where, "--due", "2d", "--out", str(DIR)).status == 0
    answered("keep", "ledger")
    signed("ledger")
    assert (
        team.bare(
            "certify", "close", str(DIR), *where, "--allowed-signers", "signers", "--out", "pack.tar", "--write"
        ).status
        == 0
    )
    assert run(["certify", "verify", "pack.tar"]) == 0
    with connect(settings_of(broker.settings("admin"))) as admin:
        assert team.run("apply", "--yes").status == 0
        assert team.run("serve", "--once", "--act").status == 0
        assert {kept, idle} <= admin.read(ReadRequest(all_topics=False)).bindings
        # The day of its end has come.
        lapse = str(read_campaign(DIR)[0].lapse)
        for file in tmp_path.joinpath("manifests").glob("*.yaml"):
            file.write_text(file.read_text(encoding="utf-8").replace(lapse, "2026-01-01"), encoding="utf-8")
        assert team.run("serve", "--once", "--act").status == 0
        live = admin.read(ReadRequest(all_topics=False)).bindings
    assert kept in live
    assert idle not in live
