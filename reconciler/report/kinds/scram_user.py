"""SCRAM users in reports: iterations, and where passwords come from."""

from collections.abc import Sequence
from typing import Final

from reconciler.model import Change, resource_of
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS
from reconciler.plan import TopicReview
from reconciler.plan.kinds import scram_user
from reconciler.plan.kinds.scram_user import passwords_set
from reconciler.report.kinds.interface import Detail, Kind, Words
from reconciler.report.kinds.listed import ListedKind

_OPEN: Final = "connections that are open stay open until they have to log in again (connections.max.reauth.ms)"


class _ScramUsers(ListedKind):
    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """Also which references the passwords are read from, and what a new or deleted password does not do."""
        change = changes[0]
        user, found = resource_of(change), super().words(changes, review)
        lines = tuple(
            Detail("dim", f"{name}: password from {', '.join(user.sources[name].references)}")
            for name in passwords_set(change)
            if name in user.sources
        )
        notes = () if change.before is None else (_OPEN,)
        return found._replace(details=(*found.details, *lines), notes=notes)


def _credential(mechanism: str, iterations: int) -> str:
    disabled = iterations == DISABLED_ITERATIONS
    return f"disabled ({iterations} iterations)" if disabled else f"{iterations} iterations"


KIND: Final[Kind] = _ScramUsers(scram_user.KIND, "SCRAM user", _credential, "nobody can log in with its passwords")
