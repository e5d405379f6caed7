"""Bindings that other bindings make superfluous: redundant ones, ALLOWs under a DENY, DENYs of nothing."""

from collections.abc import Collection, Iterator

from reconciler.access.lint.covering import IdleDenies
from reconciler.access.lint.rule import LintFinding, LintState, lint_rule
from reconciler.model.acl import AclBinding, AclPermissionType


@lint_rule(
    "KA001",
    "warning",
    "One or several other bindings already grant (or deny) the same, on at least these names, hosts and operations. "
    "*Evidence:* the bindings that cover it. A DESCRIBE next to the READ or WRITE that implies it is only counted: "
    "roles and `kafka-acls.sh` write it out.",
    "Remove it; access stays the same.",
    "same",
)
def redundant(state: LintState) -> Iterator[LintFinding]:
    """Bindings that others cover."""
    for binding, by in state.redundant.items():
        yield redundant.found(
            binding, f"{_listed(by)} already says this", "remove it: access stays the same", related=by
        )


@lint_rule(
    "KA002",
    "warning",
    "One or several DENYs take everything that this ALLOW grants, so it has no effect. *Evidence:* the DENYs.",
    "Remove it, or narrow the DENY if the ALLOW is meant.",
    "asked",
)
def shadowed(state: LintState) -> Iterator[LintFinding]:
    """ALLOWs that DENYs cover."""
    for binding, by in state.shadowed.items():
        message = f"{_listed(by)} denies everything that this allows"
        yield shadowed.found(binding, message, "remove it, or narrow the DENY", related=by)


@lint_rule(
    "KA003",
    "warning",
    "Nothing allows what this DENY takes. Not reported where default-allow is on or unknown, because the DENY may "
    "have an effect there.",
    "Remove it, unless it protects against later ALLOWs; then write an exception with that reason.",
    "asked",
    on_facts=True,
)
def idle_deny(state: LintState) -> Iterator[LintFinding]:
    """DENYs that take nothing away."""
    idle = IdleDenies(state.authorizer)
    for binding in state.bindings:
        denies = binding.entry.permission_type is AclPermissionType.DENY
        if denies and binding not in state.redundant and idle.is_idle(binding):
            advice = "remove it, unless it protects against later ALLOWs"
            yield idle_deny.found(binding, "nothing allows what this denies", advice)


def _listed(bindings: Collection[AclBinding]) -> str:
    first = str(next(iter(bindings)))
    return first if len(bindings) == 1 else f"{first} and {len(bindings) - 1} more together"
