"""What a campaign says of a right: whether its holder breaks a separation of duties, or may act as others."""

import re
import shutil
from pathlib import Path

import pytest

from reconciler.access.reach import ACTS_AS
from reconciler.cli.main import run
from reconciler.model.acl import ResourceType
from tests.integration.test_certify import (
    DIR,
    DUE,
    LAPSE,
    answered,
    bank,
    closed,
    opened,
    signed,
    write_cluster,
)
from tests.worlds import bindings

__all__ = ["bank"]

_DUTIES = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: duties}
spec:
  tests:
    - name: nobody books and audits
      separate: [{can: WRITE, topics: [ledger.book]}, {can: READ, topics: [pii.audit]}]
      principals: ["User:*"]
      through: THROUGH
"""


@pytest.mark.parametrize("accepted", [False, True])
def test_rights_of_who_breaks_a_separation_of_duties_come_first(bank: Path, accepted: bool) -> None:
    exception = f"  exceptions: [{{check: nobody books and audits, expires: {LAPSE}, reason: x}}]\n" if accepted else ""
    Path("manifests/duties.yaml").write_text(_DUTIES.replace("THROUGH", "acl") + exception, encoding="utf-8")
    write_cluster(
        *bindings(
            "User:a ALLOW READ on TOPIC ledger.other",
            "User:z ALLOW WRITE on TOPIC PREFIXED ledger.",
            "User:z ALLOW READ on TOPIC pii.audit",
            "User:y ALLOW WRITE on TOPIC ledger.book",
            "User:y DENY READ on TOPIC pii.audit",
            "User:y ALLOW READ on TOPIC PREFIXED pii.",
        )
    )
    campaign = opened()
    note = "breaks: nobody books and audits" + (" (accepted)" if accepted else "")
    flagged = {right.right.split()[0] for right in campaign.rights if note in right.notes}
    assert flagged == {"User:z"}
    for owner in ("ledger", "payments"):
        rights = campaign.of(owner).rights
        assert rights[0].group == "breaks a separation of duties: User:z"
        assert re.search(r"- about: '?breaks.*\n  decision: each", (DIR / f"{owner}.yaml").read_text())
    # What was kept last time is asked about again at the top.
    answered("keep", "ledger", "payments")
    signed("ledger", "payments")
    assert closed() == 0
    shutil.rmtree(DIR)
    assert opened("--base", "pack.tar").of("ledger").rights[0].group.startswith("breaks")


def test_duties_that_cannot_be_decided_are_a_gap(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("manifests/duties.yaml").write_text(_DUTIES.replace("THROUGH", "flow"), encoding="utf-8")
    assert run(["certify", "open", "--due", str(DUE), "--out", str(DIR)]) == 1
    assert "nobody can say who breaks nobody books and audits: the configs of groups" in capsys.readouterr().err


def test_owners_are_told_of_each_right_by_which_somebody_acts_as_others(bank: Path) -> None:
    """By a control topic too, which only manifests name."""
    test = "{name: t, principals: [User:a], mustNot: READ, topics: [none]}"
    control = "{topics: [connect-configs], acts: User:connect}"
    Path("manifests/controls.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: AccessTests\nmetadata: {name: controls}\n"
        f"spec: {{tests: [{test}], controls: [{control}]}}\n",
        encoding="utf-8",
    )
    rights = {
        f"{kind.name}:L:{'kafka-cluster' if kind is ResourceType.CLUSTER else '*'}": operations
        for kind, operations in ACTS_AS.items()
    }
    held = [f"{where} User:ci@* ALLOW {one.name}" for where, operations in rights.items() for one in operations]
    quiet = ["TOPIC:L:connect-status User:ci@* ALLOW WRITE", "CLUSTER:L:kafka-cluster User:q@* ALLOW DESCRIBE"]
    write_cluster(*bindings(*held, "TOPIC:P:connect- User:w@* ALLOW WRITE", *quiet))
    notes = {binding: right.notes for right in opened().rights for binding in right.through}
    said = {binding for binding, words in notes.items() if "may act as others" in words}
    assert said == notes.keys() - bindings(*quiet)
