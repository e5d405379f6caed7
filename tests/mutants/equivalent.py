"""Faults that change nothing that anybody may rely on, each with the reason: the score leaves them out."""

from typing import Final

from tests.mutants.equivalent_access import EQUIVALENT_ACCESS

_TOPICS: Final = "reconciler/diff/kinds/topic.py"
_REPLICAS: Final = "reconciler/diff/replicas.py"
_END: Final = "the end of the function, which returns None"
_PLACED: Final = "for the type checker: what is compared at all has a number or brokers, and a layout"
_EFFECTS: Final = "reconciler/plan/review/effects.py"
_TWICE: Final = "which rows a binding bears on is asked twice, and the other place decides"
_PROOF: Final = "reconciler/plan/review/proof.py"
_ASKED: Final = (
    "more is asked: the authorizers' answers decide, and whatever they call wrong is among what is asked already"
)
_WITHIN: Final = (
    "more is asked: within a phase access moves one way, so no state inside it is worse than both of its ends"
)
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
        _PROOF,
        "_suspicions",
        "work.spend(1)",
        "pass",
    ): "a bound by which work is cut short",
    (
        _PROOF,
        "_suspicions",
        "moved(row) & back(other)",
        "moved(row)",
    ): _ASKED,
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
        _TOPICS,
        "_partitions",
        "after < before",
        "after <= before",
    ): "as many are no difference, which was decided before",
    (
        _TOPICS,
        "differences",
        "if isinstance(possible, Create): taken[collision_key(name)] = name",
        "if True: taken[collision_key(name)] = name",
    ): "what else is changed is there already, and so its name is taken",
    (_REPLICAS, "_obstacle", "return None", "pass"): _END,
    (_TOPICS, "objection", "return None", "pass"): _END,
    ("reconciler/diff/kinds/acl.py", "objection", "return None", "pass"): _END,
    (
        _REPLICAS,
        "_target",
        "if wanted.replication_factor is None or state.layout is None: return there",
        "if False: return there",
    ): _PLACED,
    (
        _REPLICAS,
        "_target",
        "wanted.replication_factor is None or state.layout is None",
        "wanted.replication_factor is None and state.layout is None",
    ): _PLACED,
    (
        _REPLICAS,
        "_target",
        "wanted.replication_factor is None or state.layout is None",
        "state.layout is None",
    ): _PLACED,
    (
        _REPLICAS,
        "_target",
        "wanted.replication_factor is None or state.layout is None",
        "wanted.replication_factor is None",
    ): _PLACED,
    (_REPLICAS, "_target", "return there", "pass"): _PLACED,
    (
        _REPLICAS,
        "_impossible",
        "live.replica_assignments or ()",
        "live.replica_assignments",
    ): "where brokers are not known the numbers are, and they differ: that case comes first",
    (
        _REPLICAS,
        "replica_changes",
        "layout is None or not partitions",
        "not partitions",
    ): "without a layout there are no partitions",
    (
        "reconciler/diff/kinds/acl.py",
        "differences",
        "live.bindings.difference(others) if others else live.bindings",
        "live.bindings.difference(others)",
    ): "a shortcut: less nothing it is the same set",
    (
        _TOPICS,
        "_configs",
        "silent or new == old or (new is not None and old is not None and (normal_form(key, new) == "
        "normal_form(key, old)))",
        "silent or (new is not None and old is not None and (normal_form(key, new) == normal_form(key, old)))",
    ): "a shortcut: one side has the config, and equal values have one normal form",
    (
        _TOPICS,
        "_configs",
        "if after: yield Update(TopicConfigs(live.name, before, live.topic_id), TopicConfigs(live.name, after, "
        "live.topic_id))",
        "if True: yield Update(TopicConfigs(live.name, before, live.topic_id), TopicConfigs(live.name, after, "
        "live.topic_id))",
    ): "a shortcut: of an update of no config `_accepted` keeps nothing",
    (
        _TOPICS,
        "_undeclared",
        "not scope.holds_topics or not desired.topics",
        "not desired.topics",
    ): "a shortcut: a scope without items that speak of topics owns no undeclared topic",
    (
        "reconciler/apply/bridges.py",
        "BridgeLifecycle._remove",
        "if not bridges: return",
        "if False: return",
    ): "a shortcut: of no bridges none is removed, and no record is written of none",
    (
        _PROOF,
        "_suspicions",
        "moved(row) & back(other)",
        "moved(row) | back(other)",
    ): _ASKED,
    (
        _PROOF,
        "_suspicions",
        "moved(row) & back(other)",
        "back(other)",
    ): _ASKED,
    (
        _PROOF,
        "_states",
        "if phase is not None and step.phase is not phase: state = state.with_changes(add … hase, state) added, "
        "removed = ([], [])",
        "if True: state = state.with_changes(added, removed) yield (phase, state) added, removed = ([], [])",
    ): _WITHIN,
    (
        _EFFECTS,
        "_effect",
        "not created and rows.opens(binding)",
        "rows.opens(binding)",
    ): "what is created covers its names afterwards",
    (
        _EFFECTS,
        "_effect",
        "created and rows.closes(binding)",
        "rows.closes(binding)",
    ): "what is deleted covered its names before",
    (
        _EFFECTS,
        "_TransitionRows._near",
        "None if host == WILDCARD or '/' in host else host",
        "None",
    ): "a shortcut: more rows are looked at, and whether hosts meet decides",
    (
        "reconciler/apply/preflight.py",
        "_at_start",
        "return live",
        "pass",
    ): "a shortcut: where nothing is done nothing is put back, and it is the same state",
    (
        _TOPICS,
        "_undeclared",
        "False",
        "True",
    ): "of `owns_topic`: a scope that holds topics has an include, which alone decides then",
    (
        "reconciler/apply/kinds/topic.py",
        "next_batch",
        "True",
        "False",
    ): "of zip: of two with the same arguments the other one raises",
    (
        "reconciler/apply/kinds/acl.py",
        "foreign_changes",
        "return ()",
        "pass",
    ): "a shortcut: where nothing was found nothing is told",
    (
        _EFFECTS,
        "_TransitionRows._near",
        "kind is ResourceType.CLUSTER and (not spoken.isdisjoint(_ON_EVERY_TOPIC))",
        "kind is ResourceType.CLUSTER or not spoken.isdisjoint(_ON_EVERY_TOPIC)",
    ): _TWICE,
    (
        _EFFECTS,
        "_TransitionRows._near",
        "kind is ResourceType.CLUSTER and (not spoken.isdisjoint(_ON_EVERY_TOPIC))",
        "not spoken.isdisjoint(_ON_EVERY_TOPIC)",
    ): _TWICE,
    (
        _EFFECTS,
        "_TransitionRows._near",
        "kind is ResourceType.CLUSTER and (not spoken.isdisjoint(_ON_EVERY_TOPIC))",
        "kind is ResourceType.CLUSTER",
    ): _TWICE,
    (
        _EFFECTS,
        "_TransitionRows._near",
        "kind is ResourceType.TOPIC and AclOperation.WRITE in spoken",
        "kind is ResourceType.TOPIC or AclOperation.WRITE in spoken",
    ): _TWICE,
    (
        _EFFECTS,
        "_TransitionRows._near",
        "kind is ResourceType.TOPIC and AclOperation.WRITE in spoken",
        "AclOperation.WRITE in spoken",
    ): _TWICE,
    (
        _EFFECTS,
        "_TransitionRows._near",
        "kind is ResourceType.TOPIC and AclOperation.WRITE in spoken",
        "kind is ResourceType.TOPIC",
    ): _TWICE,
    (
        _EFFECTS,
        "_TransitionRows._near",
        "if kind is ResourceType.TOPIC and AclOperation.WRITE in spoken: yield from "
        "index.on(ResourceType.CLUSTER, one)",
        "if True: yield from index.on(ResourceType.CLUSTER, one)",
    ): _TWICE,
    (
        _EFFECTS,
        "_speaks_of",
        "AclOperation.WRITE in spoken and AclOperation.IDEMPOTENT_WRITE in moved",
        "AclOperation.IDEMPOTENT_WRITE in moved",
    ): _TWICE,
    (
        _EFFECTS,
        "_speaks_of",
        "return False",
        "pass",
    ): _TWICE,
    (
        _EFFECTS,
        "_speaks_of",
        "False",
        "True",
    ): _TWICE,
    (
        "reconciler/plan/review/confusable.py",
        "_names",
        "for what, names in found.items() if names",
        "for what, names in found.items()",
    ): "a shortcut: of no names nothing is told",
    (
        _PROOF,
        "prove",
        "2",
        "1",
    ): "a shortcut: of one state none is between two phases",
    (
        _PROOF,
        "_states",
        "phase is not None and step.phase is not phase",
        "phase is not None or step.phase is not phase",
    ): _WITHIN,
    (
        _PROOF,
        "_states",
        "phase is not None and step.phase is not phase",
        "step.phase is not phase",
    ): _WITHIN,
    (
        _PROOF,
        "_states",
        "phase is not None and step.phase is not phase",
        "phase is not None",
    ): _WITHIN,
    (
        _PROOF,
        "_states",
        "if phase is not None: yield (phase, state.with_changes(added, removed))",
        "if True: yield (phase, state.with_changes(added, removed))",
    ): "without a step it is the only state, and one proves nothing",
    (
        _PROOF,
        "_suspicions",
        "for row in second if back(row)",
        "for row in second",
    ): _ASKED,
    (
        _PROOF,
        "_suspicions",
        "if moved(row): for other in index.overlapping(pattern_of(row.region)): work.spen … (row, other, moved(row) & "
        "back(other))",
        "if True: for other in index.overlapping(pattern_of(row.region)): work.spend(1) y … (row, other, moved(row) & "
        "back(other))",
    ): _ASKED,
    (
        _PROOF,
        "_suspicions",
        "1",
        "0",
    ): "a bound by which work is cut short",
    (
        _PROOF,
        "_shared",
        "if None not in (row.principal, other.principal) and row.principal != other.principal: return",
        "if False: return",
    ): _ASKED,
    (
        _PROOF,
        "_shared",
        "key is None or not operations",
        "key is None",
    ): "a shortcut: nothing is asked about no operation",
    (
        "reconciler/apply/answers.py",
        "answered",
        "True",
        "False",
    ): "of zip: another number of answers than items was replaced just before",
    (
        "reconciler/apply/moving.py",
        "_look",
        "if left is None: return ('', None, part.observed(live))",
        "if False: return ('', None, part.observed(live))",
    ): "for the type checker: what goes on in brokers is read with its layout, or the reading fails",
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
