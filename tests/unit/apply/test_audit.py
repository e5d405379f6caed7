"""What the audit log says of a step: complete in itself, with who asked for it and why."""

import datetime
from collections.abc import Mapping
from typing import Any

from reconciler.apply.environment import Identity, Progress
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.desired import Declaration, DesiredState, Expiry, Origin
from reconciler.model.state import ClusterState
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock
from tests.property.transitions import DAY
from tests.worlds import acl


class Audit(list[Mapping[str, Any]]):
    def write(self, *records: Mapping[str, Any]) -> None:
        self.extend(records)


def test_a_step_is_audited_with_the_reason_the_ticket_and_the_last_day_of_its_rule() -> None:
    live, audit = ClusterState("cluster"), Audit()
    rule = Declaration(Origin("team.yaml", 4, 5), "nightly export", "OPS-7", Expiry(datetime.date(2026, 3, 1)))
    desired = DesiredState({acl("orders", "User:a"): rule}, {})
    plan = propose(desired, live, Terms("c", default_allow=False), Request(DAY, Options(allow_deletes=True)))
    environment = ApplyEnvironment(
        MemoryCluster(live), StillClock(), Progress(), identity=Identity("run", "dana"), audit=audit
    )
    assert perform(plan, live, check(plan, live, plan.terms), environment).succeeded
    (step,) = (record for record in audit if record["record"] == "step")
    told = {key: step[key] for key in ("operator", "action", "origin", "reason", "ticket", "expires", "outcome")}
    assert told == {
        "operator": "dana",
        "action": "CreateAcl",
        "origin": "team.yaml:4:5",
        "reason": "nightly export",
        "ticket": "OPS-7",
        "expires": "2026-03-01",
        "outcome": "done",
    }
