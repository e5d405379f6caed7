"""An answer of the authorizer: allowed or not, by which rule and, on demand, by which binding."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from reconciler.model import AclBinding, AclOperation, Declaration, Origin, ResourceType


class DecisionRule(StrEnum):
    """The rule that decided a request."""

    SUPER_USER = "super_user"
    DENY = "deny"
    ALLOW = "allow"
    IMPLIED_ALLOW = "implied_allow"
    DEFAULT_ALLOW = "default_allow"
    DEFAULT_DENY = "default_deny"
    BROKER_ERROR = "broker_error"
    UNDECIDED = "undecided"


class AccessRequest(NamedTuple):
    """One request of one connection; ``host`` as ``getHostAddress`` prints it."""

    principal: str
    host: str
    operation: AclOperation
    resource_type: ResourceType
    resource_name: str

    def __str__(self) -> str:
        """``User:alice READ TOPIC payments from 10.0.0.1``."""
        return f"{self.principal} {self.operation.name} {self.resource_type.name} {self.resource_name} from {self.host}"


class Evidence(NamedTuple):
    """The bindings that decide a request, with what the manifests say about the first of them."""

    bindings: tuple[AclBinding, ...] = ()
    declaration: Declaration | None = None
    origin: Origin | None = None


class Decision:
    """The answer to one request. Decisions are equal if request, answer and rule are equal.

    ``allowed`` is ``None`` if a broker would fail (``broker_error``), or if something unknown could change the answer
    (``undecided``). The deciding bindings are looked up on first access.
    """

    __slots__ = ("_evidence", "_search", "allowed", "request", "rule")

    def __init__(
        self, allowed: bool | None, rule: DecisionRule, request: AccessRequest, search: "Callable[[Decision], Evidence]"
    ) -> None:
        self.allowed = allowed
        self.rule = rule
        self.request = request
        self._search = search
        self._evidence: Evidence | None = None

    @property
    def evidence(self) -> Evidence:
        """The bindings that decide; none for super users and defaults."""
        if self._evidence is None:
            self._evidence = self._search(self)
        return self._evidence

    @property
    def binding(self) -> AclBinding | None:
        """The binding that decides: the most specific of several."""
        return self.evidence.bindings[0] if self.evidence.bindings else None

    @property
    def bindings(self) -> tuple[AclBinding, ...]:
        """All bindings that would decide the same on their own."""
        return self.evidence.bindings

    @property
    def declaration(self) -> Declaration | None:
        """Where and why the deciding binding is declared, if the manifests declare it."""
        return self.evidence.declaration

    @property
    def origin(self) -> Origin | None:
        """The manifest line of the deciding binding, if there is one."""
        return self.evidence.origin

    def __eq__(self, other: object) -> bool:
        """Compares request, answer and rule."""
        if not isinstance(other, Decision):
            return NotImplemented
        return (self.request, self.allowed, self.rule) == (other.request, other.allowed, other.rule)

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash((self.request, self.allowed, self.rule))

    def __repr__(self) -> str:
        """Shows request, answer and rule."""
        return f"Decision({self.request}: {self.allowed}, {self.rule})"
