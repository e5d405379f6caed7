"""Faults of ``reconciler/apply`` that change nothing that anybody may rely on, each with the reason."""

from typing import Final

_BRIDGES: Final = "reconciler/apply/bridges.py"

_CHAIN: Final = "reconciler/apply/audit.py"
_LINK: Final = "no line has the digest GENESIS, or none: what follows that is not reached"

_END: Final = "the end of the function, which returns None"

#: As :data:`tests.mutants.equivalent.EQUIVALENT`, which has them too.
EQUIVALENT_APPLY: Final[dict[tuple[str, str, str, str], str]] = {
    (
        "reconciler/apply/sending.py",
        "_send_alone",
        "gradual and (problem := begin(run, batch))",
        "(problem := begin(run, batch))",
    ): "a shortcut: what is not gradual copies nothing that a throttle could be for",
    (
        "reconciler/apply/cleanup.py",
        "without_live_bridges",
        "frozenset((marker.bridge for marker in marks.values())) & live.bindings",
        "frozenset((marker.bridge for marker in marks.values()))",
    ): "a shortcut: they are taken from the live bindings, and what is not there is not taken",
    (
        "reconciler/apply/moves.py",
        "cancel",
        "True",
        "False",
    ): "of zip: `answered` answers each place once, whatever the cluster does",
    (
        _BRIDGES,
        "BridgeLifecycle._start_polling",
        "run.start.bindings | bindings_after(run.start.bindings, run.plan.steps)",
        "bindings_after(run.start.bindings, run.plan.steps)",
    ): "what is there at the start and not afterwards the plan deletes: it is among the bindings before any step",
    (
        "reconciler/apply/moves.py",
        "brokers_of",
        "not followers or not leaders or followers.keys() != leaders.keys()",
        "not followers or followers.keys() != leaders.keys()",
    ): "without leaders their partitions are others than those of the followers",
    (
        "reconciler/apply/moves.py",
        "_fits",
        "old == replicas and (not added & replicas)",
        "old == replicas",
    ): "no replica is both added and old, and the old ones are the replicas",
    (
        _BRIDGES,
        "BridgeLifecycle._remove",
        "if not bridges: return",
        "if False: return",
    ): "a shortcut: of no bridges none is removed, and no record is written of none",
    (
        "reconciler/apply/preflight.py",
        "_at_start",
        "return live",
        "pass",
    ): "a shortcut: where nothing is done nothing is put back, and it is the same state",
    (
        "reconciler/apply/kinds/topic.py",
        "Topics.next_batch",
        "True",
        "False",
    ): "of zip: of two with the same arguments the other one raises",
    (
        "reconciler/apply/kinds/interface.py",
        "Kind.foreign_changes",
        "return ()",
        "pass",
    ): "a shortcut: where nothing was found nothing is told",
    (
        "reconciler/apply/run.py",
        "answered",
        "True",
        "False",
    ): "of zip: another number of answers than items was replaced just before",
    (
        "reconciler/apply/moves.py",
        "_look",
        "if remaining is None: return ('', None, observed)",
        "if False: return ('', None, observed)",
    ): "for the type checker: what goes on in brokers is read with its layout, or the reading fails",
    (
        _BRIDGES,
        "BridgeLifecycle.take_over",
        "if self.live: self._record('taken over', self.live) self._start_polling()",
        "if True: self._record('taken over', self.live) self._start_polling()",
    ): "a shortcut: where no bridge is built none is looked at",
    (
        _BRIDGES,
        "BridgeLifecycle.build",
        "for bridge in planned.wanted if bridge.means is not Means.BRIDGE",
        "for bridge in planned.wanted",
    ): "what the run creates itself as a bridge no step of the plan touches",
    (
        _BRIDGES,
        "BridgeLifecycle.build",
        "if not planned.wanted: return",
        "if False: return",
    ): "a shortcut: where no bridge is built none is looked at",
    (
        _BRIDGES,
        "BridgeLifecycle.build",
        "return",
        "pass",
    ): "a shortcut: where no bridge is built none is looked at",
    (
        _BRIDGES,
        "BridgeLifecycle.poll",
        "self._polling = True",
        "pass",
    ): "a reading does not wait by this clock, and a removal looks at nothing by itself",
    (
        _BRIDGES,
        "BridgeLifecycle.poll",
        "True",
        "False",
    ): "a reading does not wait by this clock, and a removal looks at nothing by itself",
    (
        _BRIDGES,
        "BridgeLifecycle._start",
        "self.run.start.bindings - created | deleted",
        "deleted",
    ): "what stays is in the state after, which is asked too; it is known from the start",
    (
        _BRIDGES,
        "BridgeLifecycle._start",
        "self.run.start.bindings - created",
        "self.run.start.bindings",
    ): "what is created is in the state after, which is asked too",
    (
        _BRIDGES,
        "BridgeLifecycle._remove",
        "return",
        "pass",
    ): "a shortcut: of no bridges none is removed, and no record is written of none",
    (
        "reconciler/apply/run.py",
        "_lasting",
        "for binding in bindings if not is_reserved(binding.pattern.name)",
        "for binding in bindings",
    ): "a shortcut: where only ours moved, access is computed, and what was found before the first step is found again",
    (
        _CHAIN,
        "_check_copy",
        "1",
        "0",
    ): "no line comes before the first",
    (
        _CHAIN,
        "_linked",
        "if previous is not None and previous != GENESIS: after.setdefault(previous, []).append(digest)",
        "if True: after.setdefault(previous, []).append(digest)",
    ): _LINK,
    (
        _CHAIN,
        "_linked",
        "previous is not None and previous != GENESIS",
        "previous is not None or previous != GENESIS",
    ): _LINK,
    (
        _CHAIN,
        "_linked",
        "previous is not None and previous != GENESIS",
        "previous != GENESIS",
    ): _LINK,
    (
        _CHAIN,
        "_linked",
        "previous is not None and previous != GENESIS",
        "previous is not None",
    ): _LINK,
    (
        _CHAIN,
        "_linked",
        "if digest not in linked: linked.add(digest) reached.append(digest)",
        "if True: linked.add(digest) reached.append(digest)",
    ): "a line follows one line, so it is reached once",
    (
        "reconciler/apply/sending.py",
        "_send_alone",
        "gradual and run.environment.throttle is not None and (not unchanged(run, batch))",
        "gradual and (not unchanged(run, batch))",
    ): "a second look at once: without a throttle nothing was waited for since the first",
    (
        "reconciler/apply/kinds/__init__.py",
        "request_for",
        "True",
        "False",
    ): "of zip: the sides are made of the changes, one of each",
    ("reconciler/apply/kinds/interface.py", "Kind.lacking_right", "return None", "pass"): _END,
    ("reconciler/apply/kinds/interface.py", "Kind.right", "return None", "pass"): _END,
}
