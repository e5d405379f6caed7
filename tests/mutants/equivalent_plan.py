"""Faults of ``reconciler/plan`` that change nothing that anybody may rely on, each with the reason."""

from typing import Final

_END: Final = "the end of the function, which returns None"
_EFFECTS: Final = "reconciler/plan/review/effects.py"
_TWICE: Final = "which rows a binding bears on is asked twice, and the other place decides"
_PROOF: Final = "reconciler/plan/order.py"
_ASKED: Final = (
    "more is asked: the authorizers' answers decide, and whatever they call wrong is among what is asked already"
)
_WITHIN: Final = (
    "more is asked: within a phase access moves one way, so no state inside it is worse than both of its ends"
)
_BINDINGS: Final = "reconciler/plan/kinds/acl.py"
_BRIDGING: Final = "reconciler/plan/bridges.py"

_MEANING: Final = "reconciler/plan/review/callouts.py"
_HOSTS: Final = "more hosts are asked about: on the cluster those are as any other"

#: As :data:`tests.mutants.equivalent.EQUIVALENT`, which has them too.
EQUIVALENT_PLAN: Final[dict[tuple[str, str, str, str], str]] = {
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
        "reconciler/plan/file.py",
        "PlanDigest._step_text",
        "3",
        "2",
    ): "a shortcut: the text without it is the same, and every effect has a place",
    (
        _BINDINGS,
        "touched_binding",
        "change.before if isinstance(change, Delete) else None",
        "change.before",
    ): "no binding is updated, and what an impossible change has before is a text",
    (
        "reconciler/plan/overlap.py",
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
        "reconciler/plan/review/access_review.py",
        "_GainedRows.__init__",
        "if row.principal is not None: self._zones.setdefault(row.principal, set()).add(row.resources)",
        "if True: self._zones.setdefault(row.principal, set()).add(row.resources)",
    ): "the zones of everybody else are asked for nowhere",
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
        "index.on(ResourceType.CLUSTER, item)",
        "if True: yield from index.on(ResourceType.CLUSTER, item)",
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
        "reconciler/plan/review/access_review.py",
        "_names",
        "for what, names in {**by_noun, _PRINCIPAL: principals}.items() if names",
        "for what, names in {**by_noun, _PRINCIPAL: principals}.items()",
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
        "if moved(row): for other in index.overlapping(pattern_of(row.resources)): work.s … (row, other, moved(row) & "
        "back(other))",
        "if True: for other in index.overlapping(pattern_of(row.resources)): work.spend(1 … (row, other, moved(row) & "
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
        "reconciler/plan/review/ends.py",
        "_holds",
        "row.resources in resource_sets or not any((True for _ in less([row.resources], resource_sets)))",
        "not any((True for _ in less([row.resources], resource_sets)))",
    ): "a shortcut: nothing is left of a set less itself",
    (
        "reconciler/plan/review/access_review.py",
        "_within",
        "resources in others or not any((True for _ in less([resources], others)))",
        "not any((True for _ in less([resources], others)))",
    ): "a shortcut: nothing is left of a set less itself",
    (
        "reconciler/plan/review/warnings.py",
        "_orphans",
        "if not deleted: return",
        "if False: return",
    ): "a shortcut: without a topic that goes no binding names one",
    (
        _MEANING,
        "_hosts",
        "named - {WILDCARD}",
        "named",
    ): _HOSTS,
    (
        _MEANING,
        "_names",
        "selector.names is None or selector.resource_type is None",
        "selector.names is None and selector.resource_type is None",
    ): "an item names both or none",
    (
        _MEANING,
        "_names",
        "selector.names is None or selector.resource_type is None",
        "selector.resource_type is None",
    ): "an item names both or none",
    (
        _MEANING,
        "_names",
        "selector.names is None or selector.resource_type is None",
        "selector.names is None",
    ): "an item names both or none",
    (
        "reconciler/plan/order.py",
        "Blockers.blocking",
        "return None",
        "pass",
    ): _END,
    (
        "reconciler/plan/order.py",
        "Blockers._acl",
        "return None",
        "pass",
    ): _END,
    (
        "reconciler/plan/order.py",
        "Blockers._reaching",
        "return None",
        "pass",
    ): _END,
    ("reconciler/plan/bridges.py", "_Ground.barred", "return None", "pass"): _END,
    ("reconciler/plan/file.py", "_touched_twice", "return None", "pass"): _END,
    ("reconciler/plan/kinds/interface.py", "Kind.obstacle", "return None", "pass"): _END,
    ("reconciler/plan/kinds/interface.py", "Kind.irreversible", "return None", "pass"): _END,
    ("reconciler/plan/kinds/interface.py", "Kind.lacking_right", "return None", "pass"): _END,
    ("reconciler/plan/kinds/topic.py", "Topics.irreversible", "return None", "pass"): _END,
    ("reconciler/plan/kinds/topic.py", "_topics", "return None", "pass"): _END,
    (
        "reconciler/plan/file.py",
        "PlanDigest._step_text",
        "for name, value in step.items() if name not in sides",
        "for name, value in step.items()",
    ): "a shortcut: the sides are written over what is there",
}
