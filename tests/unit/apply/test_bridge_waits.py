"""A bridge goes only after every broker enforces what it bridged, also where nothing else of the plan follows."""

import pytest

from reconciler.apply.environment import Outcome
from reconciler.model.acl import AclBinding
from reconciler.model.scope import is_reserved
from tests.unit.apply.bridge_stage import CLOSED, OPEN, Stage


@pytest.mark.parametrize(("live", "wanted"), [(OPEN, CLOSED), (CLOSED, OPEN)])
@pytest.mark.parametrize("lags", [False, True])
def test_a_broker_that_lags_behind_the_last_step_is_waited_for_before_a_bridge_goes(
    live: frozenset[AclBinding], wanted: frozenset[AclBinding], lags: bool
) -> None:
    stage = Stage(live, wanted)

    def through() -> None:
        lasting = {one for one in stage.bindings if not is_reserved(one.pattern.name)}
        if lags and not stage.nodes.stuck and wanted <= lasting and not (live - wanted) & lasting:
            stage.nodes.stick(2)

    stage.cluster.between = through
    result = stage.apply()
    assert {item.outcome for item in result.outcomes} == {Outcome.DONE}
    assert ("broker 2" in result.stopped, result.succeeded) == (lags, not lags)
