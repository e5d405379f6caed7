"""A declared cluster, as the planner, the adapters and the other kinds see it."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.document import Heading
from reconciler.manifest.parts.selectors import LintException
from reconciler.manifest.parts.topic_settings import Layer
from reconciler.model.desired import Expiry, Origin
from reconciler.model.flavor import APACHE, Flavor
from reconciler.model.frozen import FrozenMap
from reconciler.model.scope import Scope, Selector
from reconciler.model.secrets import NOTHING_PERMITTED, SecretPermit
from reconciler.model.state import NO_SOURCES, FactSources

DEFAULT_BARRIER_WAIT: Final = 2.0
DEFAULT_BARRIER_TIMEOUT: Final = 30.0


@dataclass(frozen=True, slots=True)
class GuardExceptionDeclaration:
    """A guard that may be passed for one named object, until ``expires``."""

    guard: str
    object: str
    reason: str
    expires: Expiry | None
    origin: Origin
    ticket: str | None = None


#: A mass deletion is a mistake more often than it is meant, so without a word about it this is refused.
DEFAULT_DELETE_PERCENT: Final = 20
#: Of few bindings, some are soon a large share: so many may go by default.
DEFAULT_PERCENT_ABOVE: Final = 10


class Limits(NamedTuple):
    """How much one plan may delete; ``None`` where nothing is said.

    The share counts where more than ``percent_above`` bindings go.
    """

    max_deletes: int | None = None
    max_delete_percent: int | None = None
    percent_above: int | None = None

    @property
    def effective(self) -> "Limits":
        """The limits with what holds where nothing is said: a share that is said holds from the first binding on."""
        if self.max_delete_percent is not None:
            return self._replace(percent_above=self.percent_above or 0)
        above = DEFAULT_PERCENT_ABOVE if self.percent_above is None else self.percent_above
        return self._replace(max_delete_percent=DEFAULT_DELETE_PERCENT, percent_above=above)


NO_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class ProbeDeclaration:
    """As whom every broker is asked what it enforces; ``client`` is as written, ``seconds`` how long they may take."""

    principal: str
    client: Mapping[str, str] = FrozenMap()
    seconds: float = DEFAULT_BARRIER_TIMEOUT
    client_origins: Mapping[str, Origin] = field(default=FrozenMap(), compare=False)


@dataclass(frozen=True, slots=True)
class Emergency:
    """What the operator rules for emergencies.

    ``locked`` are the principals that no plan gives anything; an unlock needs ``unlock_approvals`` signatures, and with
    ``locks_end`` a server ends a lock at the end that was named. Break-glass access may be given over failed checks
    of the names in ``override``, with ``override_approvals`` signatures and for ``override_seconds`` at most.
    """

    locked: tuple[str, ...] = ()
    unlock_approvals: int = 0
    locks_end: bool = False
    override: tuple[str, ...] = ()
    override_approvals: int = 0
    override_seconds: float = 0.0


NO_EMERGENCY: Final = Emergency()


@dataclass(frozen=True, slots=True)
class ClusterDeclaration:
    """One declared cluster. ``client`` values are as written: ``${env:…}`` is not read here.

    ``allow_everyone_if_no_acl_found`` is ``None`` where unknown; ``barrier_wait`` is in seconds, and
    ``short_wait`` is what only the manifests state where the flavor needs longer, which then counts.
    ``kafka_version`` is (major, minor) as stated; what the cluster itself tells counts first.
    ``guardrail`` is the place of the guardrails' document that holds it, if any: its terms are then the tighter ones.
    ``ignore_origins`` are the items of ``ignore`` in its document, each with its place.
    ``flavor`` is the vendor of Kafka: ``with_flavor`` has put its facts where nothing
    else was stated. ``fact_origins`` are the places of the facts that are written, by field; ``sources`` say whose word
    each fact is. ``secret_permit`` is the operator's word alone: which references of manifests are followed.
    So is ``only_scram_logins``: nobody logs in otherwise than with SCRAM. So is ``emergency``.
    """

    name: str
    origin: Origin
    labels: Mapping[str, str] = FrozenMap()
    bootstrap_servers: tuple[str, ...] = ()
    client: Mapping[str, str] = FrozenMap()
    client_origins: Mapping[str, Origin] = FrozenMap()
    principal: str | None = None
    super_users: tuple[str, ...] = ()
    allow_everyone_if_no_acl_found: bool | None = None
    scope: Scope = Scope()
    limits: Limits = NO_LIMITS
    barrier_wait: float = DEFAULT_BARRIER_WAIT
    short_wait: float | None = None
    prune: frozenset[str] = frozenset()
    ignore_configs: tuple[str, ...] = ()
    guard_exceptions: tuple[GuardExceptionDeclaration, ...] = ()
    vars: Mapping[str, str] = FrozenMap()
    var_origins: Mapping[str, Origin] = field(default=FrozenMap(), compare=False)
    protect: tuple[Selector, ...] = ()
    inter_broker_principals: tuple[str, ...] = ()
    lint_exceptions: tuple[LintException, ...] = ()
    brokers: tuple[int, ...] = ()
    probe: ProbeDeclaration | None = None
    topic_defaults: tuple[Layer, ...] = ()
    fact_origins: Mapping[str, Origin] = FrozenMap()
    sources: FactSources = NO_SOURCES
    guardrail: Origin | None = None
    kafka_version: tuple[int, int] | None = None
    ignore_origins: tuple[tuple[Selector, Origin], ...] = field(default=(), compare=False)
    flavor: Flavor = APACHE
    secret_permit: SecretPermit = NOTHING_PERMITTED
    only_scram_logins: bool = False
    emergency: Emergency = NO_EMERGENCY

    def ignoring(self, selects: Callable[[Selector], bool]) -> Origin | None:
        """The place of the first item of ``ignore`` that selects something; ``None`` where none does."""
        item = next(filter(selects, self.scope.ignore), None)
        # One that the guardrails add is not written in the cluster's own document.
        return None if item is None else dict(self.ignore_origins).get(item, self.guardrail or self.origin)

    @property
    def scope_origins(self) -> tuple[Origin, ...]:
        """The places that say what is in scope."""
        return (self.origin,) if self.guardrail is None else (self.origin, self.guardrail)

    @property
    def heading(self) -> Heading:
        """Its document's heading."""
        return Heading("Cluster", self.name, *self.origin, self.labels)
