"""Whether a resource without any binding is open to everyone: observed by a difference, never by one answer.

"Unknown topic" for a name that nothing covers is what an open cluster says, and also what anybody hears who may see
every topic. Only if somebody else's binding on that very name turns the answer is it default-allow.
"""

from enum import StrEnum
from typing import Final

from reconciler.apply.barrier import UnprovenError
from reconciler.apply.preflight import Preflight, UndeclaredDefaultError
from reconciler.apply.proof import Proof
from reconciler.apply.run import StoppedError
from reconciler.model import (
    NOBODY,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ClusterState,
    ResourcePattern,
    ResourceType,
)
from reconciler.plan import covering_patterns
from reconciler.ports import CONTROLLER, Visibility

FLAG_PREFIX: Final = "__kr-flag."


class Observed(StrEnum):
    """What ``allow.everyone.if.no.acl.found`` was seen to be on every broker; ``UNSEEN`` where nothing shows it."""

    ON = "true"
    OFF = "false"
    UNSEEN = "unseen"


def observe(proof: Proof, live: ClusterState) -> Observed:
    """Ask every broker about a name that nothing covers, and again once a stranger's binding covers it."""
    nonce = ResourcePattern(ResourceType.TOPIC, f"{FLAG_PREFIX}{proof.name}")
    whole = {*proof.expected, CONTROLLER} <= proof.started
    if not whole or live.opaque or any(pattern.contains(nonce) for pattern in covering_patterns(live)):
        return Observed.UNSEEN
    first = _seen(proof, nonce.name)
    if first == {Visibility.REFUSED}:
        return Observed.OFF
    if first != {Visibility.PERMITTED}:
        return Observed.UNSEEN
    entry = AccessControlEntry(NOBODY, WILDCARD, AclOperation.DESCRIBE, AclPermissionType.ALLOW)
    try:
        proof.place((AclBinding(nonce, entry),))
        proof.stand()
    except StoppedError:  # the barrier before anything destructive will say it again
        return Observed.UNSEEN
    return Observed.ON if _seen(proof, nonce.name) == {Visibility.REFUSED} else Observed.UNSEEN


def compare(observed: Observed, preflight: Preflight, cluster: str, *, declared: bool | None) -> None:
    """Raise :class:`UnprovenError` for a contradiction, ``UndeclaredDefaultError`` where the plan needs to know."""
    if declared is not None and observed is not Observed.UNSEEN and (observed is Observed.ON) is not declared:
        raise UnprovenError(
            f"brokers have allow.everyone.if.no.acl.found={observed}, and the declaration says otherwise",
            f"write into the Cluster document: allowEveryoneIfNoAclFound: {observed}, and plan again",
        )
    if declared is None and preflight.undeclared and observed is not Observed.OFF:
        seen = None if observed is Observed.UNSEEN else str(observed)
        raise UndeclaredDefaultError(cluster, preflight.undeclared, seen)


def _seen(proof: Proof, name: str) -> set[Visibility]:
    return {answer.visibility for answer in proof.probe_setup.probe.ask(name, proof.expected).values()}
