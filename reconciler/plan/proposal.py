"""The plan: a value, complete and ordered, and the only input of apply. What is shown is what is sent."""

import dataclasses
import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Final

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import TEXTS, Codec, converted, word
from reconciler.codec.kinds import PRUNABLE
from reconciler.codec.values import SCOPE
from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD, AclBinding
from reconciler.model.characters import as_name
from reconciler.model.desired import DesiredState, Expiry
from reconciler.model.flavor import APACHE, FLAVORS, Flavor
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Change
from reconciler.model.says import REQUIRED, Apart, Flat, Says
from reconciler.model.scope import RESOURCE_FIELDS, NameSelector, Scope, Selector
from reconciler.model.state import FactSource
from reconciler.plan.difference import DiffRules, DriftCause, Skipped, SkipReason
from reconciler.plan.guards import NO_GUARDRAILS, DeleteLimits, GuardrailReview
from reconciler.plan.kinds import CHANGE, kind_of
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings, is_acl_change
from reconciler.plan.observed import NO_FACTS, Facts
from reconciler.plan.overlap import CoverageChange
from reconciler.plan.phase import Phase, barriers
from reconciler.plan.refusal import AcceptedGuard, Judges, Refusal
from reconciler.plan.review.access_change import GainingPrincipal
from reconciler.plan.review.access_review import AccessReview, AccessTrend
from reconciler.plan.review.topics import TopicReview
from reconciler.plan.step import Bridges, Step, id_of
from reconciler.policy.laws import NewAccess

# ``--only`` and ``--exclude``: a part of the differences, chosen by the names that manifests use.


@dataclass(frozen=True, slots=True)
class Selection:
    """What a plan is limited to: all of ``only`` (or everything, if empty) less all of ``exclude``.

    Items are texts such as ``principals=User:svc-*`` or ``topics=payments.orders``; a final ``*`` makes a prefix,
    ``*`` alone means any name.
    """

    only: Annotated[tuple[str, ...], Says("What the plan was restricted to.", default=REQUIRED)] = ()
    exclude: Annotated[tuple[str, ...], Says("What was left out.", default=REQUIRED)] = ()

    def __post_init__(self) -> None:
        """Check every item; raises ``ValueError`` with what is wrong."""
        for item in (*self.only, *self.exclude):
            parse_selector(item)

    @property
    def items(self) -> tuple[str, ...]:
        """As ``--only`` takes them."""
        return (*self.only, *(item.replace("=", "!=", 1) for item in self.exclude))

    def predicate(self) -> Callable[[Change], bool]:
        """Whether a change stays in the plan."""
        only, exclude = tuple(map(parse_selector, self.only)), tuple(map(parse_selector, self.exclude))

        def stays(change: Change) -> bool:
            return not _selects(exclude, change) and (not only or _selects(only, change))

        return stays


def selection_of(items: Iterable[str]) -> Selection:
    """What ``--only`` says: ``FIELD=NAME`` is chosen, ``FIELD!=NAME`` is left out; raises ``ValueError``."""
    parts = [(item, *item.partition("=")) for item in items]
    return Selection(
        tuple(item for item, field, _, _ in parts if not field.endswith("!")),
        tuple(f"{field[:-1]}={name}" for _, field, _, name in parts if field.endswith("!")),
    )


def parse_selector(text: str) -> Selector:
    """``FIELD=NAME``, ``FIELD=PREFIX*`` or ``FIELD=*``; raises ``ValueError``."""
    field, equals, value = text.partition("=")
    if not equals or not value:
        raise ValueError(f"{text!r} is not a selection: write FIELD=NAME or FIELD=PREFIX*, as in topics=payments.*")
    names = _names(value)
    if field == "principals":
        return Selector(principals=names)
    if field not in RESOURCE_FIELDS:
        raise ValueError(f"{field!r} cannot be selected by: use principals, {', '.join(RESOURCE_FIELDS)}")
    return Selector(resource_type=RESOURCE_FIELDS[field], names=names)


def _names(value: str) -> NameSelector:
    if value == WILDCARD:
        return NameSelector(any_name=True)
    if value.endswith(WILDCARD):
        return NameSelector(prefixes=(value[:-1],))
    return NameSelector(literal=(value,))


def _selects(selectors: Sequence[Selector], change: Change) -> bool:
    kind = kind_of(change)
    return any(kind.is_selected(change, selector) for selector in selectors)


#: Of very many super users that are only claimed, so many are named: the plan holds all.
_NAMED: Final = 5


def _prune(kinds: tuple[str, ...]) -> frozenset[str]:
    if unknown := sorted(set(kinds).difference(PRUNABLE)):
        raise ValueError(f"nothing of the kind {unknown[0]!r} is pruned")
    return frozenset(kinds)


#: A set, in one order.
_PRUNE: Final[Codec[frozenset[str]]] = converted(TEXTS, _prune, sorted)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the cluster's declaration says about planning and applying.

    ``probe`` is the principal as which ``brokers`` are asked between phases, for at most ``barrier_seconds``;
    without one, apply waits ``barrier_wait`` seconds; ``short_wait`` is what the manifests state, where that is too
    short for the flavor. ``facts`` say who stated the facts among these terms, too. ``flavor`` is the make of Kafka.
    """

    # The name stands beside the terms: what is planned for two clusters in one state has one change id.
    cluster: Annotated[str, Apart("")]
    scope: Annotated[Scope, SCOPE, Says("What the manifests answer for.", default=REQUIRED)] = Scope()
    default_allow: Annotated[
        bool | None,
        Says(
            "The brokers' setting as declared; null where nobody declared it.",
            False,
            name="allowEveryoneIfNoAclFound",
            default=REQUIRED,
        ),
    ] = None
    limits: Annotated[DeleteLimits, Says("How much a plan may delete.", default=REQUIRED)] = DeleteLimits()
    prune: Annotated[
        frozenset[str],
        _PRUNE,
        Says("The kinds of which all that no manifest declares is planned to be deleted.", default=REQUIRED),
    ] = frozenset()
    ignore_configs: Annotated[tuple[str, ...], Says("Configs of topics that are left alone.", default=REQUIRED)] = ()
    barrier_wait: Annotated[
        float,
        Says("The fixed wait, where no probe is declared.", 2, name="barrierWaitSeconds", default=REQUIRED),
    ] = 2.0
    short_wait: Annotated[float | None, Apart()] = None
    probe: Annotated[
        str | None,
        Says(
            "As whom every broker is asked; null: a fixed wait.",
            "User:acl-probe",
            name="barrierProbe",
            default=REQUIRED,
        ),
    ] = None
    barrier_seconds: Annotated[float, Says("How long one barrier may take.", 30, default=REQUIRED)] = 30.0
    brokers: Annotated[tuple[int, ...], Says("Ids of the brokers that a barrier waits for.", default=REQUIRED)] = ()
    facts: Annotated[Facts, Apart()] = NO_FACTS
    flavor: Annotated[
        Flavor,
        converted(word(*FLAVORS), FLAVORS.__getitem__, lambda flavor: flavor.name),
        Says("The vendor of Kafka; absent: Apache Kafka.", "confluent-cloud", omit=True),
    ] = APACHE

    @property
    def diff_rules(self) -> DiffRules:
        """How silence is read: every comparison with the manifests takes it from here, the fleet's as well."""
        return DiffRules(self.prune, self.ignore_configs, flavor=self.flavor)

    @property
    def established_default_allow(self) -> bool | None:
        """The default-allow on which a review may rely; ``None``: unknown, or stated by the manifests alone."""
        return self.facts.established_default_allow(self.default_allow)

    @property
    def logins(self) -> Mapping[str, str]:
        """The principals that have to be able to log in as they do now, whoever states them, each with what it is."""
        logins = dict.fromkeys(self.facts.super_users, "a super user")
        logins |= dict.fromkeys(self.facts.inter_broker_principals, "a principal of the brokers")
        logins |= {self.probe: "the probe of the barriers"} if self.probe else {}
        return logins | ({self.facts.principal: "our own login"} if self.facts.principal else {})

    @property
    def claims(self) -> tuple[str, ...]:
        """The facts about access that only the manifests state, each with its value: ``superUsers (User:a)``."""
        claims = []
        if self.facts.super_users != self.facts.established_super_users:
            named, more = self.facts.super_users[:_NAMED], len(self.facts.super_users) - _NAMED
            claims.append(f"superUsers ({', '.join(map(as_name, named))}{f' and {more:,} more' if more > 0 else ''})")
        if self.facts.sources.default_allow is FactSource.MANIFESTS and self.default_allow is not None:
            claims.append(f"allowEveryoneIfNoAclFound ({str(self.default_allow).lower()})")
        return tuple(claims)


#: The terms in JSON, but for the name of the cluster and the facts.
TERMS: Final = record_of(Terms)


@dataclass(frozen=True, slots=True)
class Options:
    """What the person who plans asks for; with ``undo``, to revert what was applied, whatever manifests declare.

    With ``break_glass``, access until then that no manifest need declare: every step creates an ALLOW. With ``unlock``,
    the principal of which it deletes the lock, and nothing else.
    """

    allow_deletes: Annotated[bool, Says("Whether deletions were asked for.", False, default=REQUIRED)] = False
    selection: Annotated[Selection, Flat] = Selection()
    undo: Annotated[
        bool,
        Says("Whether it reverts what was applied, whatever the manifests declare.", False, default=REQUIRED),
    ] = False
    break_glass: Annotated[
        Expiry | None,
        Says(
            "Until when it gives break-glass access, which no manifest need declare; absent: it gives none.",
            "2026-11-23T15:00:00Z",
            omit=True,
            null=True,
        ),
    ] = None
    override: Annotated[
        tuple[str, ...],
        Says("The access tests that break-glass access may break.", ["svc never writes"], omit=True),
    ] = ()
    unlock: Annotated[
        str | None,
        Says("The principal whose lock it ends; absent: it ends none.", "User:svc-orders", omit=True, null=True),
    ] = None

    @property
    def declared(self) -> bool:
        """Whether the manifests ask for all that it does; else somebody has to vouch for it."""
        return not self.undo and self.break_glass is None and self.unlock is None


@dataclass(frozen=True, slots=True)
class Counts:
    """How much was looked at: live bindings by whose they are, opaque entries, live topics, declared things."""

    live_bindings: Annotated[int, Says("Live bindings.", 3, default=REQUIRED)] = 0
    owned: Annotated[int, Says("Live bindings in scope.", 3, default=REQUIRED)] = 0
    ignored: Annotated[int, Says("Live bindings that somebody else manages.", 3, default=REQUIRED)] = 0
    outside: Annotated[int, Says("Live bindings out of scope.", 3, default=REQUIRED)] = 0
    opaque: Annotated[int, Says("Live entries of a kind that the client cannot name.", 3, default=REQUIRED)] = 0
    live_topics: Annotated[int, Says("Live topics.", 3, default=REQUIRED)] = 0
    desired_bindings: Annotated[int, Says("Declared bindings.", 3, default=REQUIRED)] = 0
    desired_topics: Annotated[int, Says("Declared topics.", 3, default=REQUIRED)] = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """A proposal for one cluster in one state on one day.

    ``created_at`` is when it was made, in UTC; ``login_warnings`` are what the login that made it may not do.
    ``skipped`` are the differences that stay; ``access`` is what a reviewer is asked to agree to; ``coverage`` is what
    depends on default-allow; ``gaining`` is empty where client quotas are not known, or there are none. ``refusals``
    are what guards refuse: the steps that they are about are ``refused``, or they are among ``stops``. ``causes`` says
    of a drift report why each difference is there, by :func:`difference_id`; ``None``: what was applied last is not
    known. Nothing here is an address, a setting or a secret.
    """

    cluster_id: str
    terms: Terms
    options: Options
    as_of: datetime.date
    steps: tuple[Step, ...]
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    login_warnings: tuple[str, ...] = ()
    accepted: tuple[AcceptedGuard, ...] = ()
    coverage: CoverageChange = CoverageChange()
    counts: Counts = Counts()
    refusals: tuple[Refusal, ...] = ()
    tool_version: str = ""
    source_commit: str | None = None
    created_at: str | None = None
    access: AccessReview = dataclasses.field(default_factory=AccessReview)
    topics: TopicReview = dataclasses.field(default_factory=TopicReview)
    bridges: Bridges = dataclasses.field(default_factory=Bridges)
    guardrails: GuardrailReview = NO_GUARDRAILS
    gaining: tuple[GainingPrincipal, ...] = ()
    causes: Mapping[str, DriftCause] | None = None
    #: Only for :func:`reconciler.plan.file.ids`, which keeps the ids of this very plan here.
    known_ids: tuple[str, str] | None = dataclasses.field(default=None, init=False, compare=False, repr=False)

    @property
    def stops(self) -> tuple[Refusal, ...]:
        """What guards refuse about the plan as a whole: then it may neither be saved nor be performed."""
        return tuple(refusal for refusal in self.refusals if refusal.judges is Judges.PLAN)

    @property
    def refused(self) -> tuple[Skipped, ...]:
        """The differences that are left out because a guard refuses them, or what they wait for."""
        return tuple(item for item in self.skipped if item.reason is SkipReason.REFUSED)

    @property
    def moves_access(self) -> bool:
        """Whether it creates or deletes bindings."""
        return any(is_acl_change(step.change) for step in self.steps)

    @property
    def gives_access(self) -> bool:
        """Whether somebody gains access, by what ACLs mean together or a password, or keeps what the base ends."""
        if self.access.trend in (AccessTrend.WIDENING, AccessTrend.MIXED) or self.access.kept:
            return True
        kinds = ((kind_of(step.change), step.change) for step in self.steps)
        counted = ((kind, change) for kind, change in kinds if kind.law(change).new_access is NewAccess.PASSWORD)
        return any(True for kind, change in counted for _ in kind.passwords(change))

    @property
    def barriers(self) -> tuple[Phase, ...]:
        """After which phases every broker has to be waited for."""
        return barriers({step.phase for step in self.steps})

    @property
    def estimated_seconds(self) -> float:
        """About how long apply takes, from figures measured on Kafka 4.3 (``docs/order-and-safety.md``)."""
        creates = len(created_bindings(step.change for step in self.steps))
        deletes = len(deleted_bindings(step.change for step in self.steps))
        topics = len(self.steps) - creates - deletes
        bridged = 2 * len(self.bridges.wanted)  # a bridge and its marker, created and deleted
        creates, deletes = creates + bridged, deletes + bridged
        # The controller scans for each filter every binding that is live by then: those created before are there, and
        # each deletion leaves one less for the next. It is given as long a pause as it worked.
        scanned = deletes * max(0.0, self.counts.live_bindings + creates - deletes / 2)
        scan = 2 * 0.35e-6 * scanned
        # A probe's barrier took 5 to 70 ms on three brokers that were well.
        barrier = self.terms.barrier_wait if self.terms.probe is None else 0.1
        return round(1.0 + creates * 1e-4 + scan + topics * 0.02 + len(self.barriers) * barrier, 1)


def difference_id(item: Step | Skipped) -> str:
    """What names a difference in any plan: the id of its change, or the words of what could not be read."""
    if isinstance(item, Step):
        return item.id
    return item.subject if item.change is None else id_of(CHANGE.write(item.change))


def differences_of(plan: Plan) -> Iterator[tuple[str, Change | None]]:
    """Each difference of a drift report with what names it."""
    items: tuple[Step | Skipped, ...] = (*plan.steps, *plan.skipped)
    yield from ((difference_id(item), item.change) for item in items)


def causes_of(now: Plan, applied: Plan, declared: DesiredState) -> Mapping[str, DriftCause]:
    """Why each difference of ``now`` is there; ``applied`` is the same of the manifests that were applied last.

    ``declared`` is what those wanted.
    """
    theirs = dict(differences_of(applied))
    touched = {key for change in theirs.values() if change is not None for key in kind_of(change).touches(change)}

    def cause(name: str, change: Change | None) -> DriftCause:
        if name in theirs:
            ended = change is not None and change.after is None and kind_of(change).has_ended(change, declared)
            return DriftCause.EXPIRED if ended else DriftCause.BY_HAND
        if change is not None and not touched.isdisjoint(kind_of(change).touches(change)):
            return DriftCause.BOTH
        return DriftCause.MERGED

    return FrozenMap({name: cause(name, change) for name, change in differences_of(now)})


def bindings_after(before: Collection[AclBinding], steps: Iterable[Step]) -> frozenset[AclBinding]:
    """The bindings that exist once ``steps`` are through."""
    return frozenset(each_binding_after(frozenset(before), steps))


def each_binding_after(before: frozenset[AclBinding], steps: Iterable[Step]) -> Iterator[AclBinding]:
    """The same one at a time, each once: of a large cluster a further set takes 100 MB."""
    changes = [step.change for step in steps]
    created = frozenset(created_bindings(changes))
    gone = frozenset(deleted_bindings(changes)) - created
    yield from (binding for binding in before if binding not in gone)
    yield from created - before
