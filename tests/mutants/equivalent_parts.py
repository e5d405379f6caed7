"""Faults of parts and policies that change nothing that anybody may rely on, each with the reason."""

from typing import Final

#: As :data:`tests.mutants.equivalent.EQUIVALENT`, which has them too.
EQUIVALENT_PARTS: Final[dict[tuple[str, str, str, str], str]] = {
    (
        "reconciler/parts/edit/kinds/acl.py",
        "declared_units",
        "declared.rules if isinstance(declared, AclsDeclaration | TopicsDeclaration) else ()",
        "declared.rules",
    ): "for the type checker: the documents of these kinds declare nothing else",
    (
        "reconciler/parts/fleet/differences.py",
        "Results._add",
        "sum((table.num_rows for table in self._waiting)) >= _GROUP_ROWS",
        "sum((table.num_rows for table in self._waiting)) > _GROUP_ROWS",
    ): "how large a row group is, one row more or less",
    (
        "reconciler/parts/serve/narrowing.py",
        "ApprovedPlans._performed",
        "self._over.add(digest)",
        "pass",
    ): "a shortcut: the next round reads in the journal that the run has ended",
    (
        "reconciler/policy/topic_checks.py",
        "count_check.check",
        "0",
        "1",
    ): "no topic has fewer partitions or replicas than one",
}
