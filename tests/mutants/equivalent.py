"""Faults that change nothing that anybody may rely on, each with the reason: the score leaves them out."""

from typing import Final

from tests.mutants.equivalent_access import EQUIVALENT_ACCESS

_BINDINGS: Final = "reconciler/plan/kinds/acl.py"
_BRIDGING: Final = "reconciler/plan/default_allow/bridging.py"

#: File, function, before, after (as ``tests.mutants.sites.Site.key``): why.
EQUIVALENT: Final[dict[tuple[str, str, str, str], str]] = {
    (
        _BINDINGS,
        "created_bindings",
        "isinstance(c, Create) and isinstance(c.after, AclBinding)",
        "isinstance(c.after, AclBinding)",
    ): "no binding is updated: what has one after the change creates it",
    (
        _BRIDGING,
        "_Ground._moved",
        "return pattern.name if pattern.name in self.moving else None",
        "pass",
    ): "a shortcut: the search behind it finds the one topic that a literal pattern matches",
    (
        _BRIDGING,
        "_Sweep._bridge",
        "self.side is Side.CLOSING and binding in self.ground.created",
        "binding in self.ground.created",
    ): "what the plan creates exists afterwards, so the other side never opens its pattern",
    (
        "reconciler/plan/propose.py",
        "_refuse_unsafe_selection",
        "if not excluded: return",
        "if False: return",
    ): "a shortcut: nothing is held back by nothing",
    (
        "reconciler/plan/file/identity.py",
        "PlanDigest._step_text",
        "3",
        "2",
    ): "a shortcut: the text without it is the same, and every effect has a place",
    (
        "reconciler/apply/leftovers.py",
        "without_live_bridges",
        "frozenset((marker.bridge for marker in marks.values())) & live.bindings",
        "frozenset((marker.bridge for marker in marks.values()))",
    ): "a shortcut: they are taken from the live bindings, and what is not there is not taken",
    (
        "reconciler/apply/reassignments.py",
        "cancel",
        "True",
        "False",
    ): "of zip: `answered` answers each place once, whatever the cluster does",
    (
        _BINDINGS,
        "touched_binding",
        "change.before if isinstance(change, Delete) else None",
        "change.before",
    ): "no binding is updated, and what an impossible change has before is a text",
    (
        "reconciler/plan/coverage.py",
        "_not_in",
        "if not candidates: return ()",
        "if False: return ()",
    ): "a shortcut: of no patterns none is left over",
    (
        "reconciler/plan/review/proof.py",
        "_suspicions",
        "work.spend(1)",
        "pass",
    ): "a bound by which work is cut short",
    (
        "reconciler/plan/review/proof.py",
        "_suspicions",
        "moved(row) & back(other)",
        "moved(row)",
    ): "more is asked: the authorizers' answers decide, and whatever they call wrong is among what is asked already",
    (
        "reconciler/plan/review/unreviewed.py",
        "_GainedRows.__init__",
        "if row.principal is not None: self._zones.setdefault(row.principal, set()).add(row.region)",
        "if True: self._zones.setdefault(row.principal, set()).add(row.region)",
    ): "the zones of everybody else are asked for nowhere",
    (
        "reconciler/apply/bridges.py",
        "BridgeLifecycle._start_polling",
        "run.start.bindings | bindings_after(run.start.bindings, run.plan.steps)",
        "bindings_after(run.start.bindings, run.plan.steps)",
    ): "what is there at the start and not afterwards the plan deletes: it is among the bindings before any step",
    (
        "reconciler/apply/throttled_replicas.py",
        "brokers_of",
        "not followers or not leaders or followers.keys() != leaders.keys()",
        "not followers or followers.keys() != leaders.keys()",
    ): "without leaders their partitions are others than those of the followers",
    (
        "reconciler/apply/throttled_replicas.py",
        "_fits",
        "old == replicas and (not added & replicas)",
        "old == replicas",
    ): "no replica is both added and old, and the old ones are the replicas",
    (
        "reconciler/diff/kinds/topic.py",
        "_partitions",
        "after < before",
        "after <= before",
    ): "as many are no difference, which was decided before",
    (
        "reconciler/diff/kinds/topic.py",
        "differences",
        "if isinstance(possible, Create): taken[collision_key(name)] = name",
        "if True: taken[collision_key(name)] = name",
    ): "what else is changed is there already, and so its name is taken",
    **EQUIVALENT_ACCESS,
    (
        "reconciler/plan/review/in_force.py",
        "_holds",
        "row.region in regions or not any((True for _ in less([row.region], regions)))",
        "not any((True for _ in less([row.region], regions)))",
    ): "a shortcut: nothing is left of a region less itself",
    (
        "reconciler/plan/review/unreviewed.py",
        "_within",
        "region in others or not any((True for _ in less([region], others)))",
        "not any((True for _ in less([region], others)))",
    ): "a shortcut: nothing is left of a region less itself",
    (
        "reconciler/apply/verification.py",
        "_lasting",
        "for binding in bindings if not is_reserved(binding.pattern.name)",
        "for binding in bindings",
    ): "a shortcut: where only ours moved, access is computed, and what was found before the first step is found again",
}
