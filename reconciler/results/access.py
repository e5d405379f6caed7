"""The state that an answer is of, and how that is said: an answer never claims more than was looked at."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Final, TypeVar

from reconciler.access.authorizer import Authorizer
from reconciler.access.effective import Access
from reconciler.access.names import ResourceSet
from reconciler.access.questions import GivenBy
from reconciler.access.reach import Hop
from reconciler.codec.values import BINDING
from reconciler.dataclass import dataclass
from reconciler.model.acl import ANONYMOUS, WILDCARD_PRINCIPAL, AclBinding, ResourcePattern, ResourceType
from reconciler.model.characters import as_name, counted, safe
from reconciler.model.desired import DesiredState, moment_text
from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds.quota import ClientQuota, levels, limit_text, limits
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Change, items_after
from reconciler.model.locks import Lock
from reconciler.model.markers import BreakGlass
from reconciler.model.state import ClusterState, DelegationToken, DelegationTokens
from reconciler.plan.proposal import Plan
from reconciler.plan.review.topics import BrokerAnswer, Ruling
from reconciler.results.findings import Check, CheckStatus, Finding, Level
from reconciler.results.words import copies_words


class Basis(StrEnum):
    """What was looked at."""

    DECLARED = "declared"
    LIVE = "live"
    SNAPSHOT = "snapshot"
    #: What is live, with everything in scope as declared.
    DESIRED = "desired"
    #: What is live, with the steps of a saved plan done.
    PLANNED = "planned"
    #: What was there at a past time.
    PAST = "past"


_WORDS: Final = {
    Basis.DECLARED: "As declared for cluster {}; the cluster itself was not read.",
    Basis.LIVE: "Cluster {}, as seen by one broker.",
    Basis.SNAPSHOT: "Snapshot of cluster {}.",
    Basis.DESIRED: "Cluster {} as seen by one broker, with everything in scope as declared.",
    Basis.PLANNED: "Cluster {} as seen by one broker, with the plan applied.",
    Basis.PAST: "Cluster {} in the past.",
}


@dataclass(frozen=True, slots=True)
class PastState:
    """What is known of a cluster at a past time: what was perhaps there is in ``state.opaque``.

    ``words`` say what that rests on. ``unknown`` are what was perhaps there, a sentence each. ``break_glass`` is what a
    run had given at once. ``state.stated`` is what was stated then, ``None``: nothing is known of that. Of it
    ``perhaps`` are no super users for certain, and ``perhaps_allowed``: the setting may have been another one.
    """

    state: ClusterState
    words: str
    unknown: tuple[str, ...] = ()
    break_glass: Mapping[AclBinding, BreakGlass] = field(default_factory=dict)
    perhaps: frozenset[str] = frozenset()
    perhaps_allowed: bool = False


#: So many of what is not known are said with an answer.
_UNKNOWN: Final = 3


@dataclass(frozen=True, slots=True)
class StateView:
    """One state of a cluster."""

    cluster: str
    basis: Basis

    @property
    def words(self) -> str:
        """What was looked at, in a sentence."""
        return self._looked_at("")

    def _looked_at(self, as_of: str) -> str:
        when = f" What had ended is as of {as_of}." if as_of else ""
        return _WORDS[self.basis].format(self.cluster) + when

    def document(self) -> dict[str, object]:
        """What was looked at, for programs."""
        return {"cluster": self.cluster, "basis": self.basis.value}


@dataclass(frozen=True, slots=True)
class ClaimedFacts:
    """What only the manifests state about a cluster, so that the author of a change may have made it up.

    ``default_allow`` is the stated value; ``None``: the manifests do not state it, or the operator does too. With
    ``vendor`` nobody states it, and it is the default there. With ``past`` it is not known whether that was so then.
    """

    super_users: frozenset[str] = frozenset()
    default_allow: bool | None = None
    vendor: str = ""
    past: bool = False


@dataclass(frozen=True, slots=True)
class AccessView(StateView):
    """Its access. ``topics`` exist (of DECLARED: are declared), as far as they can be seen; ``None``: nobody asked.

    ``authorizer`` takes ``claimed`` facts as they are stated. ``condition`` says on which of them the answer rests; see
    :func:`with_condition`. ``unseen`` is what decides access at this make of Kafka besides
    ACLs, a clause each: no answer can take it into account. ``beside`` is what is known of logins and quotas, where it
    was asked for. ``as_of`` is the time that decided what had ended, where that is not now. ``owners`` gives the teams
    that own a name. ``past`` is what an answer about a past time rests on. ``break_glass`` are the bindings that stand
    by it and that no manifest declares. ``locks`` are those that are there, by principal. ``dead_letters`` is by share
    group the topic that gets copies of its records; that nothing is known of them is in ``unseen``.
    """

    authorizer: Authorizer
    topics: tuple[str, ...] | None = None
    claimed: ClaimedFacts = ClaimedFacts()
    condition: str = ""
    unseen: tuple[str, ...] = ()
    beside: "Logins | None" = None
    as_of: str = ""
    owners: Callable[[ResourcePattern], tuple[str, ...]] = lambda _: ()
    past: PastState | None = None
    break_glass: Mapping[AclBinding, BreakGlass] = field(default_factory=dict)
    locks: Mapping[str, Lock] = field(default_factory=dict)
    dead_letters: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What was looked at, and what has to be true for the answer to hold."""
        unseen = [f"Not seen: {fact}." for fact in self.unseen]
        if self.past is not None:
            unknown = self.past.unknown
            more = [f"And {len(unknown) - _UNKNOWN:,} more."] if len(unknown) > _UNKNOWN else []
            return " ".join([self.past.words, *unknown[:_UNKNOWN], *more, *unseen])
        held = [f"This holds {self.condition}."] if self.condition else []
        return " ".join([self._looked_at(self.as_of), *held, *unseen])

    def document(self) -> dict[str, object]:
        """The same for programs; ``condition`` is null where the answer rests on no claim."""
        # Not super(): a dataclass with slots is another class than the one in which this is compiled.
        unseen: dict[str, object] = {"unseen": list(self.unseen)} if self.unseen else {}
        if self.past is not None:
            unseen |= {"past": self.past.words, "unknown": list(self.past.unknown)}
        if self.break_glass:
            unseen |= {"breakGlass": [_break_glass_document(item) for _, item in sorted(self.break_glass.items())]}
        if self.locks:
            unseen |= {"locked": sorted(self.locks)}
        if self.dead_letters:
            unseen |= {"deadLetters": dict(sorted(self.dead_letters.items()))}
        return {**StateView.document(self), "condition": self.condition or None, **unseen}

    def lock_words(self, principal: str | None) -> str:
        """Since when a principal is locked, by whom and why; empty where it is not."""
        lock = self.locks.get(principal or "")
        return f"locked {lock.marks[-1].words}: only “reconciler unlock” ends it" if lock is not None else ""

    def emergency_lines(self, principal: str | None) -> list[str]:
        """Whether it is locked; which access stands by break-glass, until when, and over which access tests."""
        mine = (item for _, item in sorted(self.break_glass.items()) if item.binding.entry.principal == principal)
        return [*filter(None, [self.lock_words(principal)]), *(f"{item.binding}: {item.words}" for item in mine)]

    def letter_lines(self, concerned: Callable[[ResourceType, str], bool]) -> list[str]:
        """Whose records dead letter queues show to whom: those with a topic or a share group that is concerned."""
        return [
            copies_words(group, topic)
            for group, topic in sorted(self.dead_letters.items())
            if concerned(ResourceType.TOPIC, topic) or concerned(ResourceType.GROUP, group)
        ]

    def login_lines(self, principal: str | None) -> list[str]:
        """What is known of a principal's login and quota."""
        return [] if self.beside is None else list(self.beside.lines(principal))

    def login_document(self, principal: str | None) -> dict[str, object]:
        """The same for programs; nothing where nobody asked."""
        return {} if self.beside is None else self.beside.document(principal)

    def doubting(self, *, super_users: bool = False, default_allow: bool = False) -> "AccessView":
        """The same state where these claims are perhaps not true."""
        doubted = self.authorizer.doubting(self.claimed.super_users if super_users else (), default_allow=default_allow)
        return replace(self, authorizer=doubted)


def _break_glass_document(access: BreakGlass) -> dict[str, object]:
    return {
        "binding": BINDING.write(access.binding),
        "until": moment_text(access.end),
        "since": None if access.since is None else moment_text(access.since),
        "overrode": list(access.overrode),
    }


def times(states: Sequence[object]) -> tuple[str, ...]:
    """What begins the answer for each state: nothing if there is one, else before and after a plan."""
    return ("before: ", "after:  ") if len(states) > 1 else ("",)


# As whom a principal could act.


@dataclass(frozen=True, slots=True)
class ActedAs:
    """As whom a principal could act, by which hops, and what that principal may do; ``None``: as anybody.

    Without hops it is the principal itself. ``certain`` is false where it depends on something that is not known.
    ``like_everybody``: what everybody else may do on names that no ACL of its own covers is left out of ``access``.
    """

    principal: str | None
    hops: tuple[Hop, ...]
    access: tuple[Access, ...] = ()
    certain: bool = True
    like_everybody: bool = False


@dataclass(frozen=True, slots=True)
class ReachAnswer:
    """As whom a principal could act in one state, and how records could be moved by others to what it reads.

    ``coming`` are topics whose records it could get so, ``going`` those that could get its own; each with the moves.
    ``evidence`` has the bindings behind each right. ``gap``: why nothing is known of dead letter queues. ``tokens`` are
    delegation tokens that are there, ``None`` where nobody asked.
    """

    principal: str
    identities: tuple[ActedAs, ...]
    coming: tuple[tuple[ResourceSet, tuple[Hop, ...]], ...]
    going: tuple[tuple[ResourceSet, tuple[Hop, ...]], ...]
    evidence: GivenBy
    gap: str = ""
    tokens: DelegationTokens | None = None

    @property
    def anything(self) -> bool:
        """Whether it could do anything."""
        return any(item.principal is None and item.certain for item in self.identities)


# Findings and checks of what a cluster said when it was asked about a plan's steps, each at its line.

_LEVELS: Final = {Ruling.REFUSED: Level.ERROR, Ruling.UNKNOWN: Level.ERROR, Ruling.AFTER_GRANT: Level.NOTE}
_STANDINGS: Final = {Ruling.REFUSED: CheckStatus.FAILED, Ruling.UNKNOWN: CheckStatus.UNDECIDED}
_ANSWER_WORDS: Final = {
    Ruling.REFUSED: "the cluster refuses this step",
    Ruling.UNKNOWN: "the cluster gave no answer about this step",
    Ruling.AFTER_GRANT: "the cluster could not be asked, because the plan grants the right first",
}


def answer_findings(plan: Plan) -> tuple[Finding, ...]:
    """One for each step that was not simply accepted; none where nobody asked."""
    return tuple(
        Finding(
            f"broker-{answer.ruling}",
            f"broker-{answer.ruling}",
            _LEVELS[answer.ruling],
            _broker_words(answer),
            "",
            plan.terms.cluster,
            answer.subject,
            answer.origin,
            checked=answer.ruling in _STANDINGS,
        )
        for answer in _answers(plan)
        if answer.ruling in _LEVELS
    )


def answer_checks(plan: Plan) -> tuple[Check, ...]:
    """One for each step without the cluster's consent; one that passed where all have it; none where nobody asked."""
    validation = plan.topics.validation
    if validation is None:
        return ()
    if not any(answer.ruling in _STANDINGS for answer in validation.answers):
        message = f"asked at {validation.asked} about {len(validation.answers):,} steps, the cluster refuses none"
        return (Check("Broker", "validated", plan.terms.cluster, CheckStatus.PASSED, message),)
    return tuple(
        Check(
            "Broker",
            answer.subject,
            plan.terms.cluster,
            _STANDINGS[answer.ruling],
            _broker_words(answer),
            (),
            answer.origin,
        )
        for answer in validation.answers
        if answer.ruling in _STANDINGS
    )


def _answers(plan: Plan) -> Iterator[BrokerAnswer]:
    if plan.topics.validation is not None:
        yield from plan.topics.validation.answers


def _broker_words(answer: BrokerAnswer) -> str:
    return f"{_ANSWER_WORDS[answer.ruling]}: {answer.code}: {answer.message}"


# What bears on a principal's access beside ACLs, as far as it is known: whether it can log in, and its quota.
#
# That there is no SCRAM user says nothing about other ways to log in, which no API tells. The operator can state that
# there are none.

_USER: Final = "User:"
_ONLY: Final = "and the operator states that SCRAM is the only way"


@dataclass(frozen=True, slots=True)
class Logins:
    """SCRAM users by name and client quotas; ``None``: not known, and ``gaps`` say why, in words about what.

    ``whole``: there are no others. What is declared is not: others may exist that no manifest names. ``absent`` are
    users that are declared so. ``only_scram``: the operator states that nobody logs in otherwise than with SCRAM.
    ``tokens`` are delegation tokens, ``None`` where nobody asked.
    """

    users: Mapping[str, ScramUser] | None = None
    quotas: frozenset[ClientQuota] | None = None
    gaps: Mapping[str, str] = FrozenMap()
    whole: bool = True
    absent: frozenset[str] = frozenset()
    only_scram: bool = False
    tokens: DelegationTokens | None = None

    def after(self, changes: Iterable[Change]) -> "Logins":
        """With the steps of a plan done."""
        steps = list(changes)
        users, quotas = self.users, self.quotas
        if users is not None:
            users = {user.name: user for user in items_after(ScramUser, users.values(), steps)}
        if quotas is not None:
            quotas = items_after(ClientQuota, quotas, steps)
        return replace(self, users=users, quotas=quotas)

    def lines(self, principal: str | None) -> Iterator[str]:
        """What is known of one principal; nothing of everybody else."""
        if principal is not None and self.tokens is not None:
            yield from token_lines(self.tokens, principal)
        name = _name(principal)
        if name is None:
            return
        if (words := self._login(name)) is not None and principal != ANONYMOUS:
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
        prefix = "" if self.whole else "declared "
        if works:
            return f"login: {prefix}SCRAM user {name} with {' and '.join(works)}"
        if self.only_scram:
            return f"login: cannot log in, because {prefix}SCRAM user {name} is disabled {_ONLY}"
        return f"login: {prefix}SCRAM user {name} is disabled, nobody knows its password"

    def can_log_in(self, principal: str) -> bool | None:
        """``None`` where it is not known, as of everybody who may have another way."""
        name = _name(principal)
        if self.users is None or name is None or principal in (ANONYMOUS, WILDCARD_PRINCIPAL):
            return None
        user = self.users.get(name)
        if user is not None and user.values.keys() - user.disabled:
            return True
        is_known = user is not None or self.whole or name in self.absent
        return False if is_known and self.only_scram else None

    def _limits(self, name: str) -> dict[str, ClientQuota]:
        return {key: quotas[0] for key, quotas in limits(self.quotas or (), levels(name, "")).items()}

    def notes(self) -> Iterator[str]:
        """What could not be read."""
        yield from (safe(f"The {words} could not be read: {gap}") for words, gap in self.gaps.items())
        if self.tokens is not None and self.tokens.gap:
            yield safe(f"Not every delegation token is known: {self.tokens.gap}")

    def document(self, principal: str | None) -> dict[str, Any]:
        """For programs: ``scramUser`` and ``canLogIn`` are null where that is not known; ``tokens`` where none is."""
        tokens = None if self.tokens is None or principal is None else token_documents(self.tokens, principal)
        name = _name(principal)
        if name is None:
            return {"tokens": tokens} if tokens else {}
        user = (self.users or {}).get(name)
        is_known = user is not None or (self.users is not None and (self.whole or name in self.absent))
        quotas = self._limits(name).items()
        return {
            "login": {
                "scramUser": user is not None if is_known else None,
                "mechanisms": sorted(user.values.keys() - user.disabled) if user else [],
                "canLogIn": self.can_log_in(f"{_USER}{name}"),
                "disabled": bool(user and user.disabled == user.values.keys()),
            },
            "quota": None
            if self.quotas is None
            else [{"key": key, "value": item.values[key], "entity": str(item.entity)} for key, item in quotas],
            "tokens": tokens,
        }


#: What of a cluster is read for it.
WITH_LOGINS: Final = (ScramUser.KIND, ClientQuota.KIND)
#: And of that, for who can log in.
WHO_LOGS_IN: Final = ScramUser.KIND


def live_logins(state: ClusterState, *, only_scram: bool = False) -> Logins:
    """As a cluster or a snapshot has it; ``only_scram``: the operator states that nobody logs in otherwise."""
    users, quotas = state.listing(ScramUser), state.listing(ClientQuota)
    by_name = None if users.items is None else dict(users.by_key)
    gaps = {ScramUser.WORDS: users.gap, ClientQuota.WORDS: quotas.gap}
    present = {words: gap for words, gap in gaps.items() if gap is not None}
    return Logins(by_name, quotas.items, present, only_scram=only_scram, tokens=state.tokens)


def declared_logins(wanted: DesiredState, *, only_scram: bool = False) -> Logins:
    """As manifests declare it."""
    users, quotas = wanted.of(ScramUser), wanted.of(ClientQuota)
    there = {name: user.item for name, user in users.items() if not user.goes}
    limited = frozenset(quota.item for quota in quotas.values() if not quota.goes)
    absent = frozenset(users.keys() - there.keys())
    return Logins(there, limited, whole=False, absent=absent, only_scram=only_scram)


def token_lines(tokens: DelegationTokens, principal: str, *, held: bool = True) -> Iterator[str]:
    """Which delegation tokens log in as a principal; with ``held``, also as whom it may log in by tokens of others."""
    own = [token for token in tokens.items if token.owner == principal]
    if own:
        others = sorted({who for token in own for who in token.holders})
        readers = f"; {' and '.join(map(as_name, others))} may read the secret too" if others else ""
        yield safe(f"delegation tokens: {counted(len(own), 'token')} of it {_ends(own)}{readers}")
    for owner in sorted({token.owner for token in tokens.items if held and principal in token.holders}):
        there = [token for token in tokens.items if token.owner == owner and principal in token.holders]
        name = as_name(owner)
        yield safe(
            f"delegation tokens: it may read the secret of {counted(len(there), 'token')} of {name} without an ACL, "
            f"and so log in as {name}, {_ends(there)}"
        )


def _ends(tokens: Sequence[DelegationToken]) -> str:
    last, latest = max(token.ends for token in tokens), max(token.latest_end for token in tokens)
    renewed = f", renewed until {moment_text(latest)} at most" if latest > last else ""
    return f"until {moment_text(last)}{renewed}"


def token_documents(tokens: DelegationTokens, principal: str) -> list[dict[str, Any]] | None:
    """The same for programs; null where none was seen and there may be some."""
    items = [token for token in tokens.items if token.owner == principal or principal in token.holders]
    if not items and tokens.gap:
        return None
    return [
        {
            "id": token.id,
            "owner": token.owner,
            "requester": token.requester,
            "renewers": sorted(token.renewers),
            "ends": moment_text(token.ends),
            "latestEnd": moment_text(token.latest_end),
        }
        for token in items
    ]


def _name(principal: str | None) -> str | None:
    """The user name of a principal that can have one."""
    return principal.removeprefix(_USER) if principal is not None and principal.startswith(_USER) else None


_Answer = TypeVar("_Answer")
#: Of very many super users, so many are named.
_NAMED: Final = 5


def with_condition(
    view: AccessView,
    ask: Callable[[AccessView], _Answer],
    *,
    compared: Callable[[_Answer], Any] = lambda answer: answer,
    about: str | None = None,
) -> tuple[AccessView, _Answer]:
    """What ``ask`` answers for a state, and the state with the condition under which that holds.

    Answers are equal if ``compared`` gives equal values for them. A question ``about`` one principal rests on no claim
    that others are super users.
    """
    answer = ask(view)
    named = view.claimed.super_users if about is None else view.claimed.super_users & {about}
    doubts = [{"super_users": True}] if named else []
    doubts += [{"default_allow": True}] if view.claimed.default_allow is not None else []

    def rests_on(*which: dict[str, bool]) -> bool:
        doubt = {name: value for part in which for name, value in part.items()}
        return bool(compared(ask(view.doubting(**doubt))) != compared(answer))

    if not doubts or not rests_on(*doubts):
        return view, answer
    facts = [*([_super_users(named)] if named else []), *_default_allow(view.claimed.default_allow)]
    # Both claims may give the same access, so that each alone is enough: then neither matters by itself.
    needed = facts if len(facts) == 1 else [fact for fact, doubt in zip(facts, doubts, strict=True) if rests_on(doubt)]
    joined = " and ".join(needed) if needed else " or ".join(facts)
    whose = f"as only {view.claimed.vendor} has it by default" if view.claimed.vendor else "as only the manifests say"
    whose = "which is not known of that time" if view.claimed.past else whose
    return replace(view, condition=f"if {joined}, {whose}"), answer


def _super_users(principals: frozenset[str]) -> str:
    names, more = sorted(principals)[:_NAMED], len(principals) - _NAMED
    listed = ", ".join(map(as_name, names)) + (f" and {more:,} more" if more > 0 else "")
    return f"{listed} {'is a super user' if len(principals) == 1 else 'are super users'}"


def _default_allow(value: bool | None) -> list[str]:
    return [] if value is None else [f"allow.everyone.if.no.acl.found is {str(value).lower()}"]
