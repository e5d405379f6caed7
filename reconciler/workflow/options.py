"""What a caller may say about a plan, and about reaching clusters and secrets. Light: a command line starts with it."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from reconciler.apply import PastRun
    from reconciler.apply.cleanup import Leftover
    from reconciler.manifest import Problem
    from reconciler.plan import GuardAcknowledgement

#: What a person should know and no result holds: an entry of the manifests that has expired, what another run left on
#: the cluster (it is in no answer), an earlier run of the same plan that did not end.
Note: TypeAlias = "Problem | Leftover | PastRun"
#: Told of each note, as soon as it is known.
Tell: TypeAlias = Callable[[Note], None]


def ignore(note: Note) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """How the operator lets use cases reach clusters and secrets.

    ``connections`` is a file with Cluster documents whose connection part replaces the manifests' own; references to
    secrets are followed into the environment variables ``allow_env`` and the directories ``secrets_dirs`` only.
    """

    connections: str | None = None
    allow_env: tuple[str, ...] = ()
    secrets_dirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What a plan may hold.

    ``as_of`` decides what has expired (today, UTC, if ``None``). Without ``allow_deletes`` nothing is deleted.
    ``accept`` lets guards pass the objects that they name. ``only`` and ``exclude`` select steps, each as
    ``FIELD=NAME`` (``principals=User:svc-*``, ``topics=payments.orders``). ``baseline`` is an earlier snapshot file:
    an empty listing where it has bindings is refused.
    """

    as_of: datetime.date | None = None
    allow_deletes: bool = False
    accept: "tuple[GuardAcknowledgement, ...]" = ()
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: str | None = None


def today() -> datetime.date:
    """Today in UTC; the one place that asks."""
    return datetime.datetime.now(datetime.UTC).date()


@dataclass(frozen=True, slots=True)
class StateRequest:
    """Of which state something is asked: of ``cluster`` as it is, or ``offline`` or without one, as it is declared.

    ``path`` is the directory of manifests (the working directory if ``None``), ``plan`` a saved plan: the states before
    and after it.
    """

    path: str | None = None
    cluster: str | None = None
    offline: bool = False
    plan: str | None = None
    as_of: datetime.date | None = None

    @property
    def day(self) -> datetime.date:
        """The day that decides what has expired."""
        return self.as_of or today()

    @property
    def live(self) -> bool:
        """Whether a cluster is asked."""
        return self.cluster is not None and not self.offline
