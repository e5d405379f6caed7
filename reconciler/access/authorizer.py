"""Kafka's ``StandardAuthorizer`` for one set of bindings: the same answers, without a broker."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from reconciler.access.broker_defects import BrokerDefects, scan_order
from reconciler.access.group import DENIED, IMPLIED, about, permitted
from reconciler.access.hosts import address_range
from reconciler.access.index import Index
from reconciler.access.interpretation import Interpretation, Interpretations, interpret, of_members
from reconciler.access.names import NameIndex, literal, matches, names_of
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    ResourcePatternFilter,
    ResourceType,
)
from reconciler.model.addresses import address
from reconciler.model.desired import Declaration, Origin
from reconciler.model.flavor import ASSUMED_VERSION, KafkaVersion, known_release, supported

# An answer of the authorizer: allowed or not, by which rule and, on demand, by which binding.


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


# Which bindings decide a request, and what the manifests say about them; looked up on demand.

#: What the manifests say about a binding: its declaration, its line alone, or nothing.
Note: TypeAlias = Declaration | Origin | None


def host_matches(text: str, host: str, version: KafkaVersion) -> bool:
    """Whether an entry's host applies to a connection's."""
    if text in (WILDCARD, host):
        return True
    block = address_range(text, version)
    if block is None:
        return False
    number = address(host)
    return number is not None and block.contains(number)


def covers_operation(entry: AccessControlEntry, operation: AclOperation) -> bool:
    """Whether an entry allows or denies an operation: by name, through ALL, or because an ALLOW implies it."""
    return about(entry, 1 << operation)


def applicable(index: Index, request: AccessRequest) -> Iterator[AclBinding]:
    """The bindings that apply to a request and cover its operation, unordered."""
    name, wanted = request.resource_name, 1 << request.operation
    for principal in dict.fromkeys((request.principal, WILDCARD_PRINCIPAL)):
        for binding in index.bindings(request.resource_type, principal):
            pattern, entry = binding
            # Most are about other names: the first look is at texts alone.
            if not (name.startswith(pattern.name) or pattern.name == WILDCARD) or not about(entry, wanted):
                continue
            if matches(pattern, name) and host_matches(entry.host, request.host, index.version):
                yield binding


class Sources:
    """Where bindings come from: their declarations, and the opaque entries of the cluster."""

    __slots__ = ("notes", "opaque")

    def __init__(self, notes: Mapping[AclBinding, Note], opaque: Iterable[OpaqueBinding]) -> None:
        """``notes`` says what is known about each binding."""
        self.notes = notes
        self.opaque = tuple(opaque)

    def with_changes(self, added: Iterable[AclBinding]) -> "Sources":
        """The same, with the notes of ``added``."""
        notes = {**self.notes, **added} if isinstance(added, Mapping) and added else self.notes
        return Sources(notes, self.opaque)

    def denies(self, index: Index, request: AccessRequest) -> list[AclBinding]:
        """The DENYs that apply, in the broker's scan order."""
        denies = (b for b in applicable(index, request) if b.entry.permission_type is AclPermissionType.DENY)
        return sorted(denies, key=scan_order)

    def deciding(self, index: Index, decision: Decision) -> Evidence:
        """The deciding bindings: DENYs in scan order, or ALLOWs, the most specific first."""
        request = decision.request
        if decision.rule is DecisionRule.DENY:
            return self.evidence(self.denies(index, request))
        if decision.rule not in (DecisionRule.ALLOW, DecisionRule.IMPLIED_ALLOW):
            return Evidence()
        allows = [b for b in applicable(index, request) if b.entry.permission_type is AclPermissionType.ALLOW]
        return self.evidence(sorted(allows, key=lambda binding: _nearness(binding, request)))

    def evidence(self, bindings: Iterable[AclBinding]) -> Evidence:
        """Bindings with what the manifests say about the first."""
        deciding = tuple(bindings)
        note = self.notes.get(deciding[0]) if deciding else None
        if isinstance(note, Declaration):
            return Evidence(deciding, note, note.origin)
        return Evidence(deciding, None, note)


def _nearness(binding: AclBinding, request: AccessRequest) -> tuple[int, bool, int, AclBinding]:
    operation = binding.entry.operation
    # The exact operation before ALL, before an implying one; the principal's own binding before User:*; then longer
    # names. Brokers do not rank ALLOWs; this only picks the most telling one to show.
    rank = 0 if operation is request.operation else 1 if operation is AclOperation.ALL else 2
    return (rank, binding.entry.principal != request.principal, -len(binding.pattern.name), binding)


# ``Authorizer.authorizeByResourceType``: whether a principal may do something on at least one resource of a type.
#
# Brokers ask it for WRITE on TOPIC when an idempotent producer starts (``KafkaApis.handleInitProducerIdRequest``).

#: The resource name that the default method authorizes first (``Authorizer.authorizeByResourceType``).
PROBE: Final = "hardcode"


class ResourceTypeDecision(NamedTuple):
    """Whether some resource is allowed, and the bindings that allow it (or that deny all of them)."""

    allowed: bool
    bindings: tuple[AclBinding, ...]


def on_some_resource(
    interpretation: Interpretation, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
) -> ResourceTypeDecision:
    """The second half of the default method, which compares patterns. ALL counts; implied operations do not.

    A DENY on LITERAL ``*`` denies all; an ALLOW counts unless a DENY prefix contains it or, for a literal, an equal
    literal DENY. A literal DENY never cancels a prefixed ALLOW.
    """
    matching = [
        binding
        for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL))
        for binding in interpretation.index.bindings(resource_type, who)
        if binding.entry.operation in (operation, AclOperation.ALL)
        and host_matches(binding.entry.host, host, interpretation.index.version)
    ]
    denies = [binding for binding in matching if binding.entry.permission_type is AclPermissionType.DENY]
    everything = sorted(binding for binding in denies if binding.pattern.is_wildcard)
    if everything:
        return ResourceTypeDecision(False, tuple(everything))
    # A prefix index answers both rules at once: a DENY prefix that contains the ALLOW, or an equal literal.
    denied = NameIndex({names_of(binding.pattern): 1 for binding in denies})
    allows = [
        binding
        for binding in matching
        if binding.entry.permission_type is AclPermissionType.ALLOW and not denied.at_names(names_of(binding.pattern))
    ]
    return ResourceTypeDecision(bool(allows), tuple(sorted(allows)))


def may_on_some_resource(
    interpretation: Interpretation, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
) -> bool:
    """The whole method in one interpretation; ignores super users and broker defects."""
    if interpretation.access(principal, host, resource_type, literal(PROBE)) >> operation & 1:
        return True
    # The same as on_some_resource, by the compiled tables: a comparison asks this for each of hundreds of hosts.
    compiled = (
        interpretation.index.group(resource_type, who) for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL))
    )
    groups = [group for group in compiled if group is not None]
    tables = [table for group in groups for table in group.of_host(host)]
    deny = 1 << operation + DENIED
    if any(table.base & deny for table in tables):
        return False
    return any(
        not any(table.at_names(key) & deny for table in tables)
        for group in groups
        for key in group.allowed(host, operation)
    )


#: Bindings, optionally with what the manifests say about each.
Bindings: TypeAlias = Iterable[AclBinding] | Mapping[AclBinding, Note]
#: Since 4.0 ``StandardAuthorizerData`` calls ``Set.of(principal, User:*)``, which throws for the principal ``User:*``.
_SET_OF_SINCE: Final = (4, 0)
_FIRST_OPERATION: Final = AclOperation.READ
_FIRST_TYPE: Final = ResourceType.TOPIC
# Builds a named tuple without its Python-level constructor, which takes a third of the time of a decision.
_new: Final = tuple.__new__


class UndecidedAccessError(Exception):
    """One of several requested operations could not be decided; ``decision`` says which and why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"{decision.request}: {decision.rule}")
        self.decision = decision


class Authorizer:
    """Answers requests as a broker with these bindings does. Immutable; compiled tables are cached.

    ``allow_everyone_if_no_acl_found=None`` means unknown: answers that depend on it are ``undecided``, and so are
    answers that an ``opaque`` entry could change. Opaque entries whose codes are all known count as bindings.
    ``kafka_version=None`` means unknown, and so does a release after the newest that is known here: what depends on a
    host that only 4.4 takes as a range is then undecided.
    """

    __slots__ = (
        "_careful",
        "_index",
        "_without_members",
        "broker_defects",
        "interpretations",
        "kafka_version",
        "sources",
        "super_users",
    )

    def __init__(
        self,
        bindings: Bindings,
        super_users: Iterable[str] = (),
        allow_everyone_if_no_acl_found: bool | None = False,
        kafka_version: KafkaVersion | None = None,
        *,
        opaque: Iterable[OpaqueBinding] = (),
        notes: Mapping[AclBinding, Note] | None = None,
    ) -> None:
        """Index the bindings: about 0.25 s for 100,000. Name tables are compiled on first use.

        ``notes`` are about some of the bindings, where ``bindings`` itself is no mapping to them.
        """
        opaque = tuple(opaque)
        collected = bindings if isinstance(bindings, Mapping | frozenset) else frozenset(bindings)
        version = known_release(kafka_version)
        interpretations = interpret(collected, opaque, version, allow_everyone_if_no_acl_found)
        sources = Sources(notes or (bindings if isinstance(bindings, Mapping) else {}), opaque)
        self._setup(interpretations, frozenset(super_users), sources, BrokerDefects(interpretations.bindings))

    def _setup(
        self,
        interpretations: Interpretations,
        super_users: frozenset[str],
        sources: Sources,
        broker_defects: BrokerDefects,
    ) -> None:
        self.interpretations = interpretations
        self.super_users = super_users
        self.sources = sources
        self.broker_defects = broker_defects
        self._index = interpretations.certain
        self.kafka_version = self._index.version
        # Resource types that need the slow path; an empty set on a healthy cluster without unknowns.
        self._careful = frozenset(ResourceType) if not interpretations.known else self.broker_defects.types
        self._without_members: tuple[Authorizer, frozenset[str]] | None = None

    def with_members(self, types: frozenset[str]) -> "Authorizer":
        """The same where principals of these types stand for others, and nobody knows for whom.

        What a binding of such a principal could change is undecided for everybody, super users apart.
        """
        if not types:
            return self
        least, most = (reading.default_allow for reading in self.interpretations.both)
        authorizer = Authorizer(
            self.bindings,
            self.super_users,
            least if least is most else None,
            self.kafka_version if self.interpretations.doubtful is None else None,
            opaque=(*self.sources.opaque, *of_members(self.bindings, types)),
            notes=self.sources.notes,
        )
        authorizer._without_members = self, types
        return authorizer

    def with_changes(self, added: Bindings = (), removed: Iterable[AclBinding] = ()) -> "Authorizer":
        """An authorizer without ``removed`` and with ``added``; shares everything that did not change."""
        removed = tuple(removed)
        if self._without_members is not None:
            plain, types = self._without_members
            return plain.with_changes(added, removed).with_members(types)
        notes = self.sources.with_changes(added)
        added = tuple(added)
        interpretations = self.interpretations.with_changes(added, removed)
        copy = Authorizer.__new__(Authorizer)
        copy._setup(
            interpretations,
            self.super_users,
            notes,
            self.broker_defects.with_changes(added, removed, interpretations.bindings),
        )
        return copy

    def doubting(self, super_users: Iterable[str] = (), *, default_allow: bool = False) -> "Authorizer":
        """The same where these are perhaps no super users, and with ``default_allow`` that setting is not known."""
        super_users = tuple(super_users)
        if self._without_members is not None:
            plain, types = self._without_members
            return plain.doubting(super_users, default_allow=default_allow).with_members(types)
        interpretations = self.interpretations.doubting_default_allow() if default_allow else self.interpretations
        copy = Authorizer.__new__(Authorizer)
        copy._setup(interpretations, self.super_users.difference(super_users), self.sources, self.broker_defects)
        return copy

    @property
    def has_members(self) -> bool:
        """Whether principals may stand for others (:meth:`with_members`)."""
        return self._without_members is not None

    @property
    def bindings(self) -> frozenset[AclBinding]:
        """Every binding that is known for certain to exist."""
        return frozenset(self.interpretations.bindings)

    @property
    def covering_version(self) -> KafkaVersion:
        """The release by whose rules a binding covers another for certain: where it is unknown, none has ranges."""
        return self.kafka_version if self.interpretations.doubtful is None else ASSUMED_VERSION

    def authorize(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: ResourceType,
        resource_name: str,
    ) -> Decision:
        """The answer to one request, as ``StandardAuthorizerData.authorize`` gives it.

        ``principal`` is ``Type:Name``, ``host`` what ``InetAddress.getHostAddress`` prints. Raises ``ValueError`` for
        ANY, ALL and UNKNOWN, which no request can ask for.
        """
        if operation < _FIRST_OPERATION or resource_type < _FIRST_TYPE:
            raise ValueError(f"{operation.name} on {resource_type.name} cannot be requested")
        request = _new(AccessRequest, (principal, host, operation, resource_type, resource_name))
        # StandardAuthorizerData checks super users before any ACL, even before DENYs.
        if principal in self.super_users:
            return Decision(True, DecisionRule.SUPER_USER, request, self._find_evidence)
        if resource_type in self._careful or principal == WILDCARD_PRINCIPAL:
            return self._authorize_carefully(request)
        # The fast path: everything is known and nothing is defective, so one OR over a few tables (this principal and
        # User:*, any host and this host) holds every rule that applies.
        mask = 0
        for table in self._index.view(resource_type, principal, host):
            literal_mask = table.literals.get(resource_name)
            mask |= table.under(resource_name) if literal_mask is None else literal_mask
        # DENY wins over every ALLOW, whatever is more specific (StandardAuthorizerData.checkSection).
        if mask >> operation + DENIED & 1:
            return Decision(False, DecisionRule.DENY, request, self._find_evidence)
        if mask >> operation & 1:
            return Decision(True, DecisionRule.ALLOW, request, self._find_evidence)
        if mask >> operation + IMPLIED & 1:
            return Decision(True, DecisionRule.IMPLIED_ALLOW, request, self._find_evidence)
        # Default-allow applies only to resources without any ACL: an ACL of another principal closes them too.
        if (
            mask
            or not self.interpretations.least.default_allow
            or self._index.coverage(resource_type).covers_name(resource_name)
        ):
            return Decision(False, DecisionRule.DEFAULT_DENY, request, self._find_evidence)
        return Decision(True, DecisionRule.DEFAULT_ALLOW, request, self._find_evidence)

    def permits(self, requests: Iterable[AccessRequest]) -> list[bool | None]:
        """``authorize(...).allowed`` of many requests at once, in order."""
        index, careful, super_users = self._index, self._careful, self.super_users
        default_allow = self.interpretations.least.default_allow
        answers: list[bool | None] = []
        for request in requests:
            principal, host, operation, resource_type, name = request
            if principal in super_users or resource_type in careful or principal == WILDCARD_PRINCIPAL:
                answers.append(self.authorize(*request).allowed)
                continue
            mask = 0
            for table in index.view(resource_type, principal, host):
                literal_mask = table.literals.get(name)
                mask |= table.under(name) if literal_mask is None else literal_mask
            # Any matching entry proves that the resource has ACLs, so default-allow is out.
            if mask:
                answers.append(permitted(mask) >> operation & 1 == 1)
            else:
                answers.append(default_allow and not index.coverage(resource_type).covers_name(name))
        return answers

    def _authorize_carefully(self, request: AccessRequest) -> Decision:
        """The slow path: a broker may fail on some bindings, or not everything is known."""
        search = self._find_evidence
        if self._is_named_like_the_wildcard(request.principal):
            return Decision(None, DecisionRule.BROKER_ERROR, request, search)
        if request.resource_type in self.broker_defects.types and self._breaking(request) is not None:
            return Decision(None, DecisionRule.BROKER_ERROR, request, search)
        least, most = (_rule(interpretation, request) for interpretation in self.interpretations.both)
        if (least in _ALLOWING) != (most in _ALLOWING):
            return Decision(None, DecisionRule.UNDECIDED, request, search)
        # Both interpretations agree on the outcome: report the rule that holds for certain.
        rule = most if least in (DecisionRule.DENY, DecisionRule.DEFAULT_DENY) else least
        return Decision(rule in _ALLOWING, rule, request, search)

    def _is_named_like_the_wildcard(self, principal: str) -> bool:
        return principal == WILDCARD_PRINCIPAL and self.kafka_version >= _SET_OF_SINCE

    def _breaking(self, request: AccessRequest) -> AclBinding | None:
        # A scan ends at the first DENY that applies, so only defects before it are reached.
        denies = self.sources.denies(self._index, request)
        return self.broker_defects.breaking(request.resource_type, request.resource_name, denies[0] if denies else None)

    def _find_evidence(self, decision: Decision) -> Evidence:
        """The bindings that a decision rests on."""
        if decision.rule is DecisionRule.BROKER_ERROR:
            breaking = self._breaking(decision.request)
            return self.sources.evidence(() if breaking is None else (breaking,))
        return self.sources.deciding(self._index, decision)

    def authorize_by_resource_type(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> Decision:
        """Whether the operation is allowed on at least one resource of the type (``Authorizer``'s default method).

        Kafka first authorizes the made-up resource name ``hardcode``. The decision's ``resource_name`` is that name if
        this already allows the operation, else ``""``.
        """
        probe = self.authorize(principal, host, operation, resource_type, PROBE)
        if probe.allowed or probe.rule is DecisionRule.BROKER_ERROR:
            return probe
        request = AccessRequest(principal, host, operation, resource_type, "")
        # This method compares entries of all names, so an unparsable principal of any name can break it.
        if any(
            binding.pattern.resource_type is resource_type
            and host_matches(binding.entry.host, host, self.kafka_version)
            for binding in self.broker_defects.unparsable
        ):
            return Decision(None, DecisionRule.BROKER_ERROR, request, self._find_evidence)
        # The made-up name is denied or unknown; now look at the patterns, as the default method does.
        asked = (principal, host, operation, resource_type)
        least, most = (may_on_some_resource(interpretation, *asked) for interpretation in self.interpretations.both)
        if least != most:
            return Decision(None, DecisionRule.UNDECIDED, request, self._find_evidence)
        verdict = on_some_resource(self.interpretations.least, *asked)
        denied = DecisionRule.DENY if verdict.bindings else DecisionRule.DEFAULT_DENY
        rule = DecisionRule.ALLOW if verdict.allowed else denied
        return Decision(verdict.allowed, rule, request, lambda _: self.sources.evidence(verdict.bindings))

    def authorized_operations(
        self, principal: str, host: str, resource_type: ResourceType, resource_name: str
    ) -> frozenset[AclOperation]:
        """The supported operations that are allowed (KIP-430, ``AuthHelper.authorizedOperations``).

        DescribeCluster returns an empty set to callers without DESCRIBE on CLUSTER; this ignores that check. Raises
        :class:`UndecidedAccessError` if one answer is ``None``.
        """
        allowed = []
        for operation in sorted(supported(resource_type, self.kafka_version)):
            decision = self.authorize(principal, host, operation, resource_type, resource_name)
            if decision.allowed is None:
                raise UndecidedAccessError(decision)
            if decision.allowed:
                allowed.append(operation)
        return frozenset(allowed)

    def matching(self, selection: AclBindingFilter | ResourcePatternFilter) -> tuple[AclBinding, ...]:
        """The bindings that a filter selects, sorted (KIP-140, KIP-290): LITERAL, PREFIXED, ANY and MATCH."""
        if isinstance(selection, ResourcePatternFilter):
            selection = AclBindingFilter(selection)
        return tuple(sorted(binding for binding in self.bindings if selection.matches(binding)))


_ALLOWING: Final = frozenset({DecisionRule.ALLOW, DecisionRule.IMPLIED_ALLOW, DecisionRule.DEFAULT_ALLOW})


def _rule(interpretation: Interpretation, request: AccessRequest) -> DecisionRule:
    """The rule that decides in one interpretation."""
    principal, host, operation, resource_type, name = request
    mask = 0
    for table in interpretation.index.view(resource_type, principal, host):
        mask |= table.at(name)
    if mask >> operation + DENIED & 1:
        return DecisionRule.DENY
    if mask >> operation & 1:
        return DecisionRule.ALLOW
    if mask >> operation + IMPLIED & 1:
        return DecisionRule.IMPLIED_ALLOW
    # A match by a guessed binding does not prove that the name is covered; see Interpretation.access.
    covered = bool(mask) and interpretation.index is interpretation.cover
    if covered or not interpretation.default_allow or interpretation.coverage(resource_type).covers(literal(name)):
        return DecisionRule.DEFAULT_DENY
    return DecisionRule.DEFAULT_ALLOW
