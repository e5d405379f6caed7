"""A lock is of one name: what may be the same principal under another one, or a login that stays, is said."""

import json
from contextlib import nullcontext

import pytest

from reconciler.app.lock import LockTerms, lockable, refuse_unlockable
from reconciler.app.reasons import RequestError
from reconciler.app.session import Target
from reconciler.cli.main import run
from reconciler.kafka.settings import ClientSettings
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.desired import Origin
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Listing
from reconciler.model.locks import LockMark, lock_denials
from reconciler.model.state import ClusterState
from reconciler.ports import ReadRequest
from reconciler.snapshot.document import snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.security.test_locks import ACLS, CLUSTER, NAME, NOW, OTHER, STAYS, WHY, Stage, found_marks, stage
from tests.worlds import binding

__all__ = ["stage"]

_NAMES = """\
---
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
    - {team: pay, principals: [User:svc, User:pay-batch], topics: {prefix: team.}, files: ["*.yaml"]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: host}
spec: {principal: "User:svc/h1@EXAMPLE.COM", rules: [{allow: READ, topics: [team.orders]}]}
"""


def test_other_names_of_the_same_are_listed_with_their_signs_and_left(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    there = ("User:CN=svc,OU=eu", "User:SVC", "User:svc@EXAMPLE.COM", "User:svc2", "User:OU=svc,CN=other")
    stage.write(*(binding("User:x ALLOW READ on TOPIC team.orders")._replace(
        entry=OTHER.entry._replace(principal=name)) for name in there))  # fmt: skip
    locked = LockMark("User:svc@EXAMPLE.COM", NOW, None, "anna")
    stage.write(*lock_denials(locked.principal), locked.binding)
    stage.declare(ACLS + _NAMES, CLUSTER.replace("---\n", '  superUsers: ["User:cn=svc,o=ops"]\n---\n'))
    before = stage.live()
    with lockable(stage.path, stage.cluster, WHY, stage.connection) as found:
        done = found.lock(stage.records)
    assert {one.principal: one.signs for one in done.others} == {
        "User:CN=svc,OU=eu": ("has ACLs",),
        "User:SVC": ("has ACLs",),
        "User:cn=svc,o=ops": ("is a super user, whom no lock stops",),
        "User:pay-batch": ("team pay lists both",),
        "User:svc/h1@EXAMPLE.COM": ("declared at all.yaml:27:77",),
    }
    assert stage.live() - before == {*lock_denials(NAME), *(mark.binding for mark in found_marks(stage))}
    words = ["lock", NAME, "-f", stage.path, "-c", stage.cluster, "--connections", str(stage.connections)]
    assert run([*words, "--reason", "x", "--yes"]) == 0
    assert "perhaps the same, and not locked: User:SVC (has ACLs)" in capsys.readouterr().out
    assert run([*words, "--reason", "x", "--yes", "-o", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["others"]) == 5


@pytest.mark.parametrize(
    ("users", "said"),
    [
        (Listing(gap="not authorised"), "is not known: not authorised"),
        (Listing(frozenset({ScramUser(NAME.removeprefix("User:"), {"SCRAM-SHA-512": 4096})})), "login stays"),
        (Listing(frozenset()), ""),
    ],
    ids=["unread", "there", "none"],
)
def test_a_login_that_stays_is_told_also_where_nobody_knows(stage: Stage, users: Listing[ScramUser], said: str) -> None:
    live = ClusterState("abc", frozenset({STAYS})).with_listing(ScramUser, users)
    stage.snapshot.write_text(snapshot_text(live), encoding="utf-8")
    with lockable(stage.path, stage.cluster, WHY, stage.connection) as found:
        notes = [one for one in found.lock(stage.records).notes if "SCRAM" in one]
    assert len(notes) == bool(said)
    assert all(said in one for one in notes)


def test_names_that_could_not_be_read_are_told(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise RequestError("a variable has no value")

    stage.declare(ACLS + _NAMES)
    monkeypatch.setattr("reconciler.app.lock.desired", refused)
    with lockable(stage.path, stage.cluster, WHY, stage.connection) as found:
        done = found.lock(stage.records)
    assert done.lock.whole
    assert "other names that the manifests have are not known: a variable has no value" in done.notes


@pytest.mark.parametrize(
    ("settings", "ours"),
    [
        ({}, True),
        ({"security.protocol": "PLAINTEXT"}, True),
        ({"security.protocol": "SSL"}, True),
        ({"security.protocol": "ssl", "ssl.certificate.location": "us.pem", "ssl.key.location": "us.key"}, False),
        ({"security.protocol": "SSL", "ssl.certificate.pem": "...", "ssl.key.pem": "..."}, False),
        ({"security.protocol": "SASL_SSL", "sasl.username": "us"}, False),
    ],
    ids=["no protocol", "plaintext", "TLS", "certificate in files", "certificate", "password"],
)
def test_who_has_no_login_does_not_lock_everybody_without_one(
    stage: Stage, settings: dict[str, str], *, ours: bool
) -> None:
    """With TLS alone, and without a certificate, a client is ``User:ANONYMOUS`` as well."""
    cluster = SnapshotCluster(stage.snapshot)
    declared = ClusterDeclaration("prod", Origin("c.yaml", 1, 1), allow_everyone_if_no_acl_found=False)
    target = Target("prod", cluster, declared, settings=ClientSettings(settings))
    live = target.read_whole(ReadRequest(all_topics=False))
    refused = pytest.raises(RequestError, match="is our own login") if ours else nullcontext()
    with refused:
        refuse_unlockable(LockTerms("User:ANONYMOUS", "x"), target, live)
