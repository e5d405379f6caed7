"""What was declared about ``allow.everyone.if.no.acl.found``, held against what a barrier saw of it."""

from reconciler.apply.barriers.interface import DefaultAllow, UnprovenError
from reconciler.apply.preflight import Preflight, UndeclaredDefaultError


def compare(observed: DefaultAllow, preflight: Preflight, cluster: str, *, declared: bool | None) -> None:
    """Raise :class:`UnprovenError` for a contradiction, ``UndeclaredDefaultError`` where the plan needs to know."""
    if declared is not None and observed is not DefaultAllow.UNSEEN and (observed is DefaultAllow.ON) is not declared:
        raise UnprovenError(
            f"brokers have allow.everyone.if.no.acl.found={observed}, and the declaration says otherwise",
            f"write into the operator's connections file: allowEveryoneIfNoAclFound: {observed}, and plan again",
        )
    if declared is None and preflight.undeclared and observed is not DefaultAllow.OFF:
        seen = None if observed is DefaultAllow.UNSEEN else str(observed)
        raise UndeclaredDefaultError(cluster, preflight.undeclared, seen)
