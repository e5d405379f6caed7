"""Roles: named bundles of rules that take resources, and how rules use them."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.document import Heading
from reconciler.manifest.parts.names import FIELDS, name_problem
from reconciler.manifest.parts.operations import Permission
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Trouble
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.suggest import did_you_mean, one_of
from reconciler.model import Origin, PatternType, ResourcePattern, ResourceType

#: The field of a rule that names a resource type.
FIELD_OF: Final = {kind: field for field, kind in FIELDS.items()}


#: A word of a role in a name, ``$id``: a letter or digit after it belongs to it.
WORD: Final = re.compile(r"\$([A-Za-z][A-Za-z0-9]*)", re.ASCII)
#: What no value of a word can hold, as no value of a variable can: it would become a wildcard, or a word itself.
_NEVER: Final = "*?$"


class NameTemplate(NamedTuple):
    """A name in a role with words in it, which every use replaces; ``spelled_out`` as in :func:`name_problem`."""

    kind: ResourceType
    pattern_type: PatternType
    text: str
    spelled_out: bool = False

    def filled(self, values: Mapping[str, str]) -> ResourcePattern:
        """The pattern with each word replaced once; a word without a value stays."""
        text = WORD.sub(lambda found: values.get(found[1], found[0]), self.text)
        return ResourcePattern(self.kind, text, self.pattern_type)

    def problem(self, values: Mapping[str, str]) -> Trouble | None:
        """Why what results cannot be the name of such a pattern."""
        return name_problem(self.kind, self.filled(values).name, self.pattern_type, spelled_out=self.spelled_out)


@dataclass(frozen=True, slots=True)
class RoleRule:
    """What a role does to the resources it takes (``takes``) and to those it names itself (``names``).

    ``templates`` are names that only a use completes. ``origin`` is its place, ``None`` in a built-in role.
    """

    permission: Permission
    takes: tuple[ResourceType, ...]
    names: tuple[ResourcePattern, ...] = ()
    origin: Origin | None = None
    templates: tuple[NameTemplate, ...] = ()

    def named(self, use: RoleUse) -> tuple[ResourcePattern, ...]:
        """What the rule names itself in one use of its role."""
        values = dict(use.values)
        return (*self.names, *(template.filled(values) for template in self.templates))


@dataclass(frozen=True, slots=True)
class RoleDeclaration:
    """A role; every use names each of ``required`` and may name ``optional`` ones, at least one resource in all.

    ``words`` are parameters that stand in names of the role: every use gives each of them a value.
    """

    name: str
    required: tuple[ResourceType, ...]
    optional: tuple[ResourceType, ...]
    rules: tuple[RoleRule, ...]
    heading: Heading | None = None
    words: tuple[str, ...] = ()


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
    return _values_problem(role, dict(use.values))


def _values_problem(role: RoleDeclaration, values: Mapping[str, str]) -> Trouble | None:
    """Why the words of a role cannot have these values."""
    missing = [word for word in role.words if word not in values]
    if missing:
        shown = ", ".join(f"{word}: …" for word in missing)
        message = f"the role {role.name} needs a value for {' and '.join(missing)}"
        return Trouble(Code.ROLE_PARAMETERS, message, f"add parameters: {{{shown}}} to the rule")
    surplus = [word for word in values if word not in role.words]
    if surplus:
        message = f"the role {role.name} has no parameter {quoted(surplus[0])}"
        return Trouble(Code.ROLE_PARAMETERS, message, did_you_mean(surplus[0], role.words, "remove it"))
    for word, value in values.items():
        bad = next((f"holds {letter!r}" for letter in _NEVER if letter in value), "" if value else "is empty")
        if bad:
            message = f"the value of {word} {bad}, so that it cannot be part of a name"
            return Trouble(Code.ROLE_PARAMETERS, message, "give another value, or write the rule without the role")
    templates = (template for part in role.rules for template in part.templates)
    return next(filter(None, (template.problem(values) for template in templates)), None)
