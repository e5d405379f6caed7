"""What bears on a principal's access beside ACLs, as far as it is known: whether it can log in, and its quota.

That there is no SCRAM user says nothing about other ways to log in, which no API tells. The operator can state that
there are none.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from reconciler.dataclass import dataclass
from reconciler.model import WILDCARD_PRINCIPAL, FrozenMap
from reconciler.model.kinds.quota import ClientQuota, levels, limit_text, limits
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.report.style import safe

_USER: Final = "User:"
#: Kafka's name for whoever does not log in.
_ANONYMOUS: Final = "User:ANONYMOUS"
_ONLY: Final = "and the operator states that SCRAM is the only way"


@dataclass(frozen=True, slots=True)
class BesideAcls:
    """SCRAM users by name and client quotas; ``None``: not known, and ``gaps`` say why, in words about what.

    ``whole``: there are no others. What is declared is not: others may exist that no manifest names. ``absent`` are
    users that are declared so. ``only_scram``: the operator states that nobody logs in otherwise than with SCRAM.
    """

    users: Mapping[str, ScramUser] | None = None
    quotas: frozenset[ClientQuota] | None = None
    gaps: Mapping[str, str] = FrozenMap()
    whole: bool = True
    absent: frozenset[str] = frozenset()
    only_scram: bool = False

    def lines(self, principal: str | None) -> Iterator[str]:
        """What is known of one principal; nothing of everybody else."""
        name = _name(principal)
        if name is None:
            return
        if (words := self._login(name)) is not None and principal != _ANONYMOUS:
            yield safe(words)
        for key, quota in self._limits(name).items():
            yield safe(f"quota without a client id: {key} = {limit_text(key, quota.values[key])} by {quota.entity}")

    def _login(self, name: str) -> str | None:
        if self.users is None:
            return None
        user = self.users.get(name)
        if user is None:
            if name in self.absent:
                return (
                    f"login: SCRAM user {name} is declared absent{', and so cannot log in' if self.only_scram else ''}"
                )
            if self.whole and self.only_scram:
                return f"login: cannot log in, because there is no SCRAM user {name} {_ONLY}"
            # Of a cluster without any, it would say the same of everybody, who all log in in another way.
            return "login: no SCRAM user; any other way to log in is not seen" if self.whole and self.users else None
        works = [mechanism for mechanism in user.values if mechanism not in user.disabled]
        said = "" if self.whole else "declared "
        if works:
            return f"login: {said}SCRAM user {name} with {' and '.join(works)}"
        if self.only_scram:
            return f"login: cannot log in, because {said}SCRAM user {name} is disabled {_ONLY}"
        return f"login: {said}SCRAM user {name} is disabled, nobody knows its password"

    def can_log_in(self, principal: str) -> bool | None:
        """``None`` where it is not known, as of everybody who may have another way."""
        name = _name(principal)
        if self.users is None or name is None or principal in (_ANONYMOUS, WILDCARD_PRINCIPAL):
            return None
        user = self.users.get(name)
        if user is not None and user.values.keys() - user.disabled:
            return True
        known = user is not None or self.whole or name in self.absent
        return False if known and self.only_scram else None

    def _limits(self, name: str) -> dict[str, ClientQuota]:
        return {key: found[0] for key, found in limits(self.quotas or (), levels(name, "")).items()}

    def notes(self) -> Iterator[str]:
        """What could not be read."""
        yield from (safe(f"The {words} could not be read: {gap}") for words, gap in self.gaps.items())

    def document(self, principal: str | None) -> dict[str, Any]:
        """For programs: ``scramUser`` and ``canLogIn`` are null where that is not known."""
        name = _name(principal)
        if name is None:
            return {}
        user = (self.users or {}).get(name)
        known = user is not None or (self.users is not None and (self.whole or name in self.absent))
        quotas = self._limits(name).items()
        return {
            "login": {
                "scramUser": user is not None if known else None,
                "mechanisms": sorted(user.values.keys() - user.disabled) if user else [],
                "canLogIn": self.can_log_in(f"{_USER}{name}"),
                "disabled": bool(user and user.disabled == user.values.keys()),
            },
            "quota": None
            if self.quotas is None
            else [{"key": key, "value": one.values[key], "entity": str(one.entity)} for key, one in quotas],
        }


def _name(principal: str | None) -> str | None:
    """The user name of a principal that can have one."""
    return principal.removeprefix(_USER) if principal is not None and principal.startswith(_USER) else None
