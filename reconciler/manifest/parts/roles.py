"""Roles: named bundles of rules that take resources, and how rules use them."""

from collections.abc import Mapping
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.document import Heading
from reconciler.manifest.parts.names import FIELDS
from reconciler.manifest.parts.operations import Permission
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Trouble
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.suggest import did_you_mean, one_of
from reconciler.model import Origin, ResourcePattern, ResourceType

#: The field of a rule that names a resource type.
FIELD_OF: Final = {kind: field for field, kind in FIELDS.items()}


@dataclass(frozen=True, slots=True)
class RoleRule:
    """What a role does to the resources it takes (``takes``) and to those it names itself (``names``).

    ``origin`` is its place, ``None`` in a built-in role.
    """

    permission: Permission
    takes: tuple[ResourceType, ...]
    names: tuple[ResourcePattern, ...] = ()
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class RoleDeclaration:
    """A role; every use names each of ``required`` and may name ``optional`` ones, at least one resource in all."""

    name: str
    required: tuple[ResourceType, ...]
    optional: tuple[ResourceType, ...]
    rules: tuple[RoleRule, ...]
    heading: Heading | None = None


def use_problem(rule: RuleDeclaration, use: RoleUse, roles: Mapping[str, RoleDeclaration]) -> Trouble | None:
    """Why a rule cannot use the role it names; ``None`` if it can."""
    role = roles.get(use.name)
    if role is None:
        return Trouble(
            Code.UNKNOWN_ROLE, f"there is no role {quoted(use.name)}", did_you_mean(use.name, roles, one_of(roles))
        )
    given = set(rule.kinds)
    needs = ", ".join(FIELD_OF[kind] for kind in role.required)
    may = ", ".join(FIELD_OF[kind] for kind in role.optional)
    takes = " and, if wanted, ".join(part for part in (needs, may) if part) or "no resources"
    advice = f"{role.name} takes {takes}"
    missing = [FIELD_OF[kind] for kind in role.required if kind not in given]
    if missing:
        message = f"the role {role.name} needs {' and '.join(missing)}"
        return Trouble(Code.ROLE_PARAMETERS, message, f"add {' and '.join(missing)} to the rule: {advice}")
    surplus = sorted(FIELD_OF[kind] for kind in given.difference(role.required, role.optional))
    if surplus:
        return Trouble(Code.ROLE_PARAMETERS, f"the role {role.name} does not take {' or '.join(surplus)}", advice)
    if not given and role.optional:
        return Trouble(Code.ROLE_PARAMETERS, f"the role {role.name} needs a resource", advice)
    return None
