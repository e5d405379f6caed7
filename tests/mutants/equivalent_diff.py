"""Faults of comparisons that change nothing that anybody may rely on, each with the reason."""

from typing import Final

_ACL: Final = "reconciler/plan/kinds/acl.py"
_TOPIC: Final = "reconciler/plan/kinds/topic.py"
_REPLICAS: Final = "reconciler/plan/replicas.py"
_END: Final = "the end of the function, which returns None"
_PLACED: Final = "for the type checker: what is compared at all has a number or brokers, and a layout"

#: As :data:`tests.mutants.equivalent.EQUIVALENT`, which has them too.
EQUIVALENT_DIFF: Final[dict[tuple[str, str, str, str], str]] = {
    (
        _TOPIC,
        "_partition_changes",
        "after < before",
        "after <= before",
    ): "as many are no difference, which was decided before",
    (
        _TOPIC,
        "Topics.differences",
        "if isinstance(possible, Create): taken[collision_key(name)] = name",
        "if True: taken[collision_key(name)] = name",
    ): "what else is changed is there already, and so its name is taken",
    (_REPLICAS, "unplaceable", "return None", "pass"): _END,
    (_TOPIC, "Topics.objection", "return None", "pass"): _END,
    (_ACL, "Acls.objection", "return None", "pass"): _END,
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
        _ACL,
        "Acls.differences",
        "live.bindings.difference(others) if others else live.bindings",
        "live.bindings.difference(others)",
    ): "a shortcut: less nothing it is the same set",
    (
        _ACL,
        "_apart",
        "[] if all_wanted else sorted(filterfalse(wanted.__contains__, owned))",
        "sorted(filterfalse(wanted.__contains__, owned))",
    ): "a shortcut: where all that is owned is wanted, nothing is not",
    (
        _TOPIC,
        "_config_changes",
        "silent or new == old or (new is not None and old is not None and (normal_form(key, new) == "
        "normal_form(key, old)))",
        "silent or (new is not None and old is not None and (normal_form(key, new) == normal_form(key, old)))",
    ): "a shortcut: one side has the config, and equal values have one normal form",
    (
        _TOPIC,
        "_undeclared",
        "not scope.holds_topics or not desired.topics",
        "not desired.topics",
    ): "a shortcut: a scope without items that speak of topics owns no undeclared topic",
    (
        _TOPIC,
        "_undeclared",
        "False",
        "True",
    ): "of `owns_topic`: a scope that holds topics has an include, which alone decides then",
}
