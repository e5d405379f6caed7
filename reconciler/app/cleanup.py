"""What an apply that was cut off left on a cluster: found, and removed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from reconciler.app.manifests import desired
from reconciler.app.options import ConnectionOptions, moment
from reconciler.app.reasons import WorkflowError
from reconciler.app.records import RecordOptions, check_clock, command_ledger, new_run
from reconciler.app.session import Target, open_any
from reconciler.apply.audit import about_command, cleaning
from reconciler.apply.cleanup import Leftover, clean_up, leftovers, removable
from reconciler.apply.environment import Identity
from reconciler.apply.lease import LeaseClaim, active_claims, time_of
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.model.acl import AclBinding
from reconciler.model.markers import markers, marks_that_stay
from reconciler.ports import ClusterError, ReadRequest
from reconciler.system.process import SystemClock

_UNKNOWN: Final = "no manifests were read, so whether one of them declares it is not known: give PATH"
_OUTSIDE: Final = "it lies outside the scope of these manifests: whoever manages it decides"
_MARKS: Final = "it marks break-glass access that is there or may still arrive: revoke that first"
_DECLARED: Final = "the manifests declare it: only its marker goes"


@dataclass(frozen=True, slots=True)
class KeptBridge:
    """A bridge, as a marker calls it, or a mark that is not removed; ``known`` is false where that is undecided."""

    binding: AclBinding
    reason: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """The bindings that could not be removed; ``unrecorded`` is why the end is not in the audit log."""

    remaining: tuple[AclBinding, ...] = ()
    unrecorded: str = ""
    audit_head: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether all of it is gone, and that is written down."""
        return not self.remaining and not self.unrecorded


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What runs left on an open cluster, but for those that hold the lease, whose claims are ``held``.

    ``kept`` are bindings that stay although a marker calls them bridges: anybody who may alter ACLs can write a marker.
    So are marks of break-glass access that is there or may still arrive.
    """

    target: Target
    leftovers: tuple[Leftover, ...]
    held: tuple[LeaseClaim, ...]
    kept: tuple[KeptBridge, ...] = ()
    cluster_id: str = ""

    def remove(self, records: RecordOptions = RecordOptions()) -> CleanupResult:
        """Remove all of it. Raises a :class:`WorkflowError` where it is not known what could be removed.

        That is a ``RecordsError`` where it cannot be written down, and then nothing was sent.
        """
        if not self.leftovers:
            return CleanupResult()
        kept = {bridge.binding for bridge in self.kept}
        return remove_written_down(self.target, self.leftovers, kept.__contains__, self.cluster_id, records)


def remove_written_down(
    target: Target,
    remains: Sequence[Leftover],
    keep: Callable[[AclBinding], bool],
    cluster_id: str,
    records: RecordOptions,
) -> CleanupResult:
    """Remove what was found but for the bridges that ``keep`` names, with lines in the audit log before and after.

    Raises as :meth:`Cleanup.remove`.
    """
    clock = SystemClock()
    bridges = {bridge for leftover in remains for bridge in leftover.bridges if not keep(bridge)}
    wanted = sorted(bridges.union(*(leftover.bindings for leftover in remains)))
    with command_ledger(target, records) as ledger:
        about = about_command(Identity(new_run(), records.who()), cluster_id, target.name)
        ledger.intend(cleaning(about, "remove", wanted, clock.now()))
        try:
            remaining = clean_up(target.cluster, remains, clock, keep)
        except ClusterError as error:
            raise WorkflowError(f"whether all is gone is not known: {error}", error.advice) from error
        unrecorded = ledger.conclude(cleaning(about, "left", remaining, clock.now()))
        return CleanupResult(remaining, unrecorded, ledger.head)


@contextmanager
def cleanup(
    path: str | None,
    cluster: str | None,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    run: str | None = None,
) -> Iterator[Cleanup]:
    """Find what runs left on a cluster, or what ``run`` left, even if it holds the lease.

    Nothing is removed before :meth:`Cleanup.remove`, and never what the manifests declare. Raises a
    :class:`WorkflowError`.
    """
    with open_any(path, cluster, connection) as (manifests, target):
        # What is over is so by this machine's clock.
        check_clock(target)
        live = target.read_whole(ReadRequest(all_topics=False))
        at = time_of(SystemClock())
        held = () if run else active_claims(live, at)
        holding = {claim.run for claim in held}
        remains = [item for item in leftovers(live, at) if run in (None, item.run) and item.run not in holding]
        wanted = removable(remains, live, at)
        marks = {binding for item in remains for binding in item.bindings} & marks_that_stay(live.bindings, at)
        kept = (*_kept(wanted, manifests, target), *(KeptBridge(mark, _MARKS) for mark in sorted(marks)))
        stays = {bridge.binding for bridge in kept if bridge.reason != _DECLARED}
        trimmed = (_without(item, stays) for item in wanted)
        yield Cleanup(target, tuple(item for item in trimmed if item.bindings), held, kept, live.cluster_id)


def _kept(remains: Sequence[Leftover], manifests: Manifests | None, target: Target) -> tuple[KeptBridge, ...]:
    """The bridges that stay: what is declared or out of scope, and all of them where nothing says what is declared."""
    bridges = sorted({bridge for leftover in remains for bridge in leftover.bridges})
    if not bridges:
        return ()
    if manifests is None or target.declaration is None:
        return tuple(KeptBridge(bridge, _UNKNOWN, known=False) for bridge in bridges)
    declared = desired(manifests, target.declaration.name, moment()).bindings
    scope = target.declaration.scope
    outside = tuple(KeptBridge(bridge, _OUTSIDE) for bridge in bridges if not scope.owns(bridge))
    meant = tuple(KeptBridge(bridge, _DECLARED) for bridge in bridges if bridge in declared)
    return tuple(sorted((*outside, *meant), key=lambda bridge: bridge.binding))


def _without(leftover: Leftover, bridges: set[AclBinding]) -> Leftover:
    """The same without these bridges and their markers: a bridge that stays has to be recognised later on."""
    marks = {mark for mark, marker in markers(leftover.bindings).items() if marker.bridge in bridges}
    return replace(
        leftover,
        bindings=tuple(binding for binding in leftover.bindings if binding not in marks),
        bridges=tuple(bridge for bridge in leftover.bridges if bridge not in bridges),
    )
