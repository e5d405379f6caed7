"""Applications that are called alike: principals whose rules differ in one id alone, as uses of one role.

The id is the principal's own name, without what names a kind of account or a domain, or else what its names have in
common: accounts of a cloud are called by numbers. A role is only written where it says much: at least three principals
with at least three rules each, of which two names hold the id.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from reconciler.report.export.roles import ExportedRule

#: Of principals that share a role and of rules, and of names that begin with the id.
_FEWEST: Final = 3
_FEWEST_NAMES: Final = 2
_KIND: Final = "svc|sa|srv|service|app|user|usr|client"
_ACCOUNT: Final = re.compile(rf"(?:{_KIND})[._-](?=.)|(?<=.)[._-](?:{_KIND})(?=\.|$)", re.I)
_ID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
#: What can stand around an id in a name: a letter or a digit behind it would go on with the word in the role's name.
_ENDS: Final = "._-"
#: So many labels at the start of the commonest name may be in an id.
_MOST_LABELS: Final = 4
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
    alike: dict[tuple[ExportedRule, ...], dict[str, tuple[int, str]]] = defaultdict(dict)
    for principal, own in sorted(rules.items()):
        names = [pattern.name for rule in own for pattern in rule.patterns]
        if len(own) < _FEWEST or len({rule.hosts for rule in own}) > 1 or any("$" in name for name in names):
            continue
        for rank, named in enumerate(dict.fromkeys(_ids(principal, names))):
            # Names are sorted by the id in them: the same names in another order are the same role.
            alike[tuple(sorted(_shape(rule, named) for rule in own))].setdefault(principal, (rank, named))
    roles: dict[str, tuple[ExportedRule, ...]] = {}
    uses: dict[str, Application] = {}
    # A principal is tried under several ids. First comes the shape that most share, and of those the likeliest id.
    for shape, users in sorted(
        alike.items(), key=lambda item: (-len(item[1]), sum(rank for rank, _ in item[1].values()), item[0])
    ):
        left = {principal: named for principal, (_, named) in users.items() if principal not in uses}
        if len(left) >= _FEWEST and len(set(left.values())) == len(left):
            title = "application" if not roles else f"application-{len(roles) + 1}"
            roles[title] = shape
            uses |= {one: Application(title, named, rules[one][0].hosts) for one, named in left.items()}
    return Applications(roles, uses)


def _ids(principal: str, names: Sequence[str]) -> Iterator[str]:
    """What may be the id of an application: of the principal's own name, or, where none is, of those that it uses."""
    kind, _, name = principal.partition(":")
    plain = _ACCOUNT.sub("", name.removeprefix("CN=").partition(",")[0])
    own = (plain, plain.partition(".")[0], *(plain[at.end() :] for at in re.finditer(rf"[{_ENDS}]", plain)))
    found = [one for one in own if sum(_with_word(name, one) != name for name in names) >= _FEWEST_NAMES]
    if not found:
        common, count = Counter(name.strip(_ENDS) for name in names).most_common(1)[0]
        ends = [0, *(at.end() for at in re.finditer(rf"[{_ENDS}]", common)), len(common) + 1][: _MOST_LABELS + 1]
        parts = sorted((common[a : b - 1] for a, b in combinations(ends, 2)), key=len)
        found = parts if count >= _FEWEST_NAMES else []
    yield from (one for one in found if kind == "User" and _ID.fullmatch(one))


def _with_word(name: str, named: str) -> str:
    """A name with the word wherever it holds the id and no letter or digit stands beside that."""
    start = 0
    while named and (at := name.find(named, start)) >= 0:
        end = at + len(named)
        if (at and name[at - 1] not in _ENDS) or (end < len(name) and name[end] not in _ENDS):
            start = at + 1
        else:
            name, start = f"{name[:at]}{_WORD}{name[end:]}", at + len(_WORD)
    return name


def _shape(rule: ExportedRule, named: str) -> ExportedRule:
    patterns = (pattern._replace(name=_with_word(pattern.name, named)) for pattern in rule.patterns)
    return rule._replace(patterns=tuple(sorted(patterns)))
