"""Applications that are called alike: principals whose rules differ in one id alone, as uses of one role.

The id is the principal's own name, without what names a kind of account. A role is only written where it says much: at
least three principals with at least three rules each, of which two names begin with the id.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from reconciler.report.export.roles import ExportedRule

#: Of principals that share a role and of rules, and of names that begin with the id.
_FEWEST: Final = 3
_FEWEST_NAMES: Final = 2
_ACCOUNT: Final = re.compile(r"(?:svc|sa|srv|service|app|user|usr|client)[._-](?=.)", re.I)
_ID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
#: What can follow an id in a name: a letter or a digit would go on with the word in the role's name.
_ENDS: Final = (".", "-", "_")
#: The id in names of the role.
_WORD: Final = "$id"


class Application(NamedTuple):
    """A use of a role: its name, the id, and the hosts of all its rules."""

    role: str
    id: str
    hosts: tuple[str, ...]


class Applications(NamedTuple):
    """The rules of each role, with the word in their names, and the principals that use one."""

    roles: Mapping[str, tuple[ExportedRule, ...]]
    uses: Mapping[str, Application]


def applications(rules: Mapping[str, Sequence[ExportedRule]]) -> Applications:
    """The roles that say the rules of several principals; ``rules`` are those of each."""
    alike: dict[tuple[ExportedRule, ...], list[tuple[str, str]]] = defaultdict(list)
    for principal, own in sorted(rules.items()):
        named = _id(principal)
        if named is not None and len(own) >= _FEWEST and len({rule.hosts for rule in own}) == 1:
            shape = tuple(_with_word(rule, named) for rule in own)
            names = [pattern.name for rule in shape for pattern in rule.patterns]
            plain = not any("$" in pattern.name for rule in own for pattern in rule.patterns)
            if plain and sum(name.startswith(_WORD) for name in names) >= _FEWEST_NAMES:
                # Names are sorted by the id in them: the same names in another order are the same role.
                alike[tuple(sorted(shape))].append((principal, named))
    shared = [(shape, users) for shape, users in alike.items() if len(users) >= _FEWEST]
    titles = ["application", *(f"application-{number}" for number in range(2, len(shared) + 1))]
    roles = {title: shape for title, (shape, _) in zip(titles, shared, strict=False)}
    uses = {
        principal: Application(title, named, rules[principal][0].hosts)
        for title, (_, users) in zip(titles, shared, strict=False)
        for principal, named in users
    }
    return Applications(roles, uses)


def _id(principal: str) -> str | None:
    kind, _, name = principal.partition(":")
    named = _ACCOUNT.sub("", name.removeprefix("CN=").partition(",")[0], count=1)
    return named if kind == "User" and _ID.fullmatch(named) else None


def _with_word(rule: ExportedRule, named: str) -> ExportedRule:
    patterns = (
        pattern._replace(name=_WORD + pattern.name[len(named) :])
        if pattern.name == named or pattern.name.startswith(tuple(named + end for end in _ENDS))
        else pattern
        for pattern in rule.patterns
    )
    return rule._replace(patterns=tuple(sorted(patterns)))
