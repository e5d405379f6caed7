"""What forbids a plan while it is checked or performed, as a reason for whoever asked for it."""

from collections.abc import Iterator
from contextlib import contextmanager

from reconciler.access import TooMuchToDecideError
from reconciler.apply import LeaseHeldError, RefusedError, StalePlanError, UndeclaredDefaultError, UnprovenError
from reconciler.plan import StepState
from reconciler.workflow.reasons import HeldError, PlanRefusedError, StaleError, TooMuchAccessError


@contextmanager
def reasons() -> Iterator[None]:
    """What forbids a plan, as a reason."""
    try:
        yield
    except StalePlanError as error:
        findings = [item for item in error.findings if item.state in (StepState.STALE, StepState.UNREADABLE)]
        raise StaleError(str(error), "plan again; nothing was sent", findings) from error
    except LeaseHeldError as error:
        raise HeldError(f"somebody else is applying: {error}; nothing was sent", error.claims) from error
    except RefusedError as error:
        raise PlanRefusedError("a guard refuses this plan: nothing was sent", refusals=error.refusals) from error
    except UndeclaredDefaultError as error:
        advice = (
            "look at the broker's allow.everyone.if.no.acl.found and write into the operator's connections file, "
            "below spec of this cluster:\n"
        )
        value = f"    allowEveryoneIfNoAclFound: {error.observed or 'false'}"
        raise PlanRefusedError(f"{error}: nothing was sent", advice + value) from error
    except UnprovenError as error:
        raise PlanRefusedError(f"{error}: nothing was sent", error.advice) from error
    except TooMuchToDecideError as error:
        # Raised where the plan is checked, also the second time: perform raises nothing once it has sent a step.
        raise TooMuchAccessError(error.limit, ": nothing was sent") from error
