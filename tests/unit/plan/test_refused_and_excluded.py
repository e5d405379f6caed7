"""What a safety check refuses can be left out by ``--only FIELD!=NAME``, and the others are performed."""

from dataclasses import replace

from reconciler.plan.proposal import Options, Selection, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import Guard
from tests.faults.scenario import DAY, before, wish


def test_without_the_refused_topics_the_rest_is_a_plan_of_its_own() -> None:
    live, desired = before(2), wish(2)
    request = Request(DAY, Options(allow_deletes=True))
    whole = propose(desired, live, Terms("c", default_allow=False), request)
    refused = [one.object for one in whole.refusals if one.guard is Guard.TOPIC_DELETE]
    assert refused
    chosen = Selection(exclude=tuple(f"topics={name}" for name in refused))
    without = Options(allow_deletes=True, selection=chosen)
    rest = propose(desired, live, Terms("c", default_allow=False), replace(request, options=without))
    assert rest.refusals == ()
    assert rest.steps
    assert len(rest.steps) < len(whole.steps)
