"""Campaigns as use cases: open one, sign a file, look how far it is, close it into a pack, check a pack."""

import datetime
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from reconciler.access.authorizer import Authorizer
from reconciler.access.hosts import ANY_HOST
from reconciler.access.names import NameSet, names_of
from reconciler.access.reach import ACTS_AS
from reconciler.app.access_checks import CheckContext, separations_broken
from reconciler.app.approvals import detached_signature, signatures_next_to, signers_of
from reconciler.app.manifests import sound
from reconciler.app.options import ConnectionOptions, StateRequest, Tell, ignore, moment
from reconciler.app.reasons import RequestError, StaleError, WorkflowError
from reconciler.app.states import AccessState, live_access
from reconciler.app.terms import SAYS_DEAD_LETTERS, dead_letters
from reconciler.codec.codec import SchemaError, document_text
from reconciler.codec.document import compact, load
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.safeguards import control_topics, follows_records, guardrail_ownership, ownership
from reconciler.model.acl import AclBinding, AclOperation, ResourceType
from reconciler.model.desired import Expiry, instant_of
from reconciler.model.frozen import without_collector
from reconciler.model.locks import denials_of_locks
from reconciler.parts.certify.campaign import (
    CAMPAIGN,
    NAMESPACE,
    UNSIGNED,
    UNUSED,
    Answers,
    AnswersError,
    Campaign,
    CertifiedRight,
    OwnedPattern,
    OwnerAnswers,
    OwnerFile,
    answers_of,
    digest_of,
    fates_of,
    file_text,
    of_different_people,
    pattern_of,
    read_answers,
)
from reconciler.parts.certify.rights import AccessRight, OwnedNames, Standing, rights_of
from reconciler.results.findings import ClaimResult, ClaimStatus
from reconciler.results.words import binding_words, why_words
from reconciler.snapshot.document import snapshot_text
from reconciler.system.files import write_atomically
from reconciler.system.git import GitError, line_authors
from reconciler.system.openssh import AllowedSigners

if TYPE_CHECKING:
    from reconciler.parts.history.app import HeldFact, KnownPast

#: Since when ACLs of a cluster are there, and by whom, where a store of readings says it.
Past = Callable[[str, Collection[AclBinding]], "KnownPast"]
CAMPAIGN_FILE, SNAPSHOT_FILE = "campaign.json", "snapshot.json"


class KeptRights(NamedTuple):
    """The rights that a campaign of a cluster kept."""

    cluster_id: str
    rights: Collection[str]


class CampaignTerms(NamedTuple):
    """Until when owners answer, how long rights last between campaigns, and how long after it what nobody answered.

    ``kept`` are the rights that the campaign before kept.
    """

    due: Expiry
    interval: datetime.timedelta
    grace: datetime.timedelta
    kept: KeptRights | None = None

    def end(self, span: datetime.timedelta) -> Expiry:
        """So long after it is due: days after a day."""
        until = self.due.until
        if isinstance(until, datetime.datetime) or not span % datetime.timedelta(days=1):
            return Expiry(until + span)
        return Expiry(self.due.end + span)


@dataclass(frozen=True, slots=True)
class OpenedCampaign:
    """A campaign that was opened just now, and its files."""

    campaign: Campaign
    files: tuple[str, ...]


# Open: what the cluster has becomes rights, and rights become a file for each owner.


def open_campaign(
    request: StateRequest,
    connection: ConnectionOptions,
    terms: CampaignTerms,
    out: str,
    past: Past | None = None,
    tell: Tell = ignore,
) -> OpenedCampaign:
    """Read the cluster, and write what there is to confirm into the new directory ``out``.

    Raises a :class:`WorkflowError`.
    """
    directory = Path(out)
    if directory.exists() and any(directory.iterdir()):
        raise RequestError(f"{out} is not empty", "give each campaign a directory of its own")
    path = request.path or connection.default_path
    if directory.resolve().is_relative_to(Path(path).resolve()):
        raise RequestError(f"{out} is among the manifests below {path}, and would be read as one", "put it elsewhere")
    if terms.due.over(request.at):
        raise RequestError(f"it would be due on {terms.due}, which is over", "name a day to come")
    request = replace(request, path=path)
    seen = live_access(request, connection, tell=tell)
    if seen.manifests is not None and seen.declaration is not None and _asks_flow(seen.manifests, seen.declaration):
        seen = live_access(request, connection, listings=(SAYS_DEAD_LETTERS,))
    if seen.state is None or seen.manifests is None or seen.declaration is None:
        raise RequestError("no manifests declare the cluster", "give PATH, the directory of its manifests")
    if terms.kept is not None and terms.kept.cluster_id != seen.state.cluster_id:
        raise RequestError(f"the base is a campaign of the cluster {terms.kept.cluster_id}, this is another one")
    kept = terms.kept.rights if terms.kept is not None else ()
    with without_collector():
        snapshot = snapshot_text(seen.state)
        owned = _owned(seen.manifests, seen.view.cluster)
        rights = rights_of(seen.view.authorizer, OwnedNames(owned))
        broken = _broken_separations(seen, request.at)
        asked = _BindingFacts(seen, path, past, kept, request.at, broken)
        campaign = Campaign(
            directory.name,
            seen.view.cluster,
            seen.state.cluster_id,
            Expiry(instant_of(request.at)),
            terms.due,
            terms.end(terms.grace),
            terms.end(terms.interval + terms.grace),
            digest_of(snapshot.encode("utf-8")),
            tuple(sorted(seen.view.authorizer.super_users)),
            _default_allow(seen.view.authorizer),
            tuple(sorted(seen.declaration.flavor.membership_types)),
            owned,
            (*gaps_of(seen), *_undecided(seen, broken)),
            tuple(sorted(map(asked.certified, rights), key=lambda right: (right.owner, _place(right), right.id))),
        )
        text = document_text(CAMPAIGN.write(campaign), compact)
        digest = digest_of(text.encode("utf-8", "surrogatepass"))
        files = {CAMPAIGN_FILE: text, SNAPSHOT_FILE: snapshot}
        for owner, own in campaign.by_owner().items():
            files[f"{owner}.yaml"] = file_text(replace(campaign, rights=tuple(own)), digest, owner)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_atomically(content, str(directory / name))
    except OSError as error:
        raise WorkflowError(f"the campaign cannot be written: {error}") from error
    return OpenedCampaign(campaign, tuple(str(directory / name) for name in files))


def _asks_flow(manifests: Manifests, declaration: ClusterDeclaration) -> bool:
    with sound():
        return follows_records(manifests, declaration.name)


def _place(right: CertifiedRight) -> tuple[int, str]:
    """Broken duties are asked about first, then unused and new rights; what no answer changes comes last."""
    return next(place for place, title in enumerate(_GROUPS) if right.group.startswith(title)), right.group


def _owned(manifests: Manifests, cluster: str) -> tuple[OwnedPattern, ...]:
    with sound():
        owners = [owner for of in (ownership, guardrail_ownership) for owner in of(manifests, cluster)[0]]
    users = ResourceType.USER
    return tuple(
        OwnedPattern(pattern, owner.team)
        for owner in owners
        for pattern in (*owner.patterns, *(owner.principals.patterns(users) if owner.principals else ()))
    )


def gaps_of(seen: AccessState) -> Iterator[str]:
    """What of the cluster nobody can certify."""
    state, view = seen.state, seen.view
    if state is not None and state.opaque:
        yield f"cluster {view.cluster}: {len(state.opaque):,} of its ACLs cannot be read"
    if _default_allow(view.authorizer) is None:
        yield (
            f"cluster {view.cluster}: nobody states allow.everyone.if.no.acl.found; "
            "set allowEveryoneIfNoAclFound in its Cluster document"
        )
    yield from (f"cluster {view.cluster}: {fact}" for fact in view.unseen)


def _broken_separations(seen: AccessState, at: datetime.date) -> tuple[ClaimResult, ...]:
    if seen.manifests is None or seen.declaration is None or seen.state is None:
        return ()
    besides = CheckContext(denials_of_locks(seen.state.bindings), dead_letters(seen.state))
    return separations_broken(seen.manifests, seen.declaration, seen.view.authorizer, at, besides)


def _undecided(seen: AccessState, broken: Iterable[ClaimResult]) -> Iterator[str]:
    """Duties of which nobody can say who breaks them: their flag is missing, and that is no good sign."""
    for claim in broken:
        if claim.combinations is not None and not claim.combinations.breaking:
            reason = claim.combinations.reason or "it is undecided"
            yield f"cluster {seen.view.cluster}: nobody can say who breaks {claim.test.name}: {reason}"


def _default_allow(facts: Authorizer) -> bool | None:
    least, most = (world.default_allow for world in facts.interpretations.both)
    return least if least == most else None


_TOXIC, _NEW, _ELSEWHERE = "breaks a separation of duties", "new", "decided elsewhere"
#: Of a right: an ACL behind it was on the cluster alone when it was opened.
UNDECLARED: Final = "not declared"
_UNUSED: Final = f"not used for {UNUSED.days} days"
_AS_LAST_TIME: Final = "kept last time, and the same now"
_GROUPS: Final = (_TOXIC, _UNUSED, _NEW, _AS_LAST_TIME, _ELSEWHERE)
_REST: Final = "everybody else"
_ACTS_AS_OTHERS: Final = "may act as others"


class _BindingFacts:
    """What is known of the ACLs behind rights, to say it to their owners."""

    def __init__(
        self,
        seen: AccessState,
        path: str,
        past: Past | None,
        kept: Collection[str],
        at: datetime.date,
        broken: Iterable[ClaimResult],
    ) -> None:
        self.found, self.kept, self.at = seen, kept, at
        self.declared = seen.desired.bindings if seen.desired is not None else {}
        locks = denials_of_locks(seen.state.bindings) if seen.state is not None else frozenset()
        self.locked = {item.entry.principal for item in locks}
        #: The names of topics whose records a service obeys.
        self.controlled: list[NameSet] = []
        if seen.manifests is not None:
            with sound():
                controls = control_topics(seen.manifests, seen.view.cluster)
            self.controlled = [names_of(pattern) for control in controls for pattern in control.patterns]
        bindings = seen.view.authorizer.bindings
        self.past: dict[str, HeldFact] = {}
        self.asked_past, self.logged = past is not None, False
        if past is not None:
            self._learn(past(seen.view.cluster, bindings))
        self.root = Path(path) if Path(path).is_dir() else Path(path).parent
        self.authors: dict[str, dict[int, str]] = {}
        self.toxic: dict[str | None, list[str]] = defaultdict(list)
        for claim in broken:
            for item in claim.combinations.breaking if claim.combinations is not None else ():
                words = f"{'' if item.certain else 'perhaps '}breaks: {claim.test.name}"
                accepted = " (accepted)" if claim.standing is ClaimStatus.EXCEPTED else ""
                self.toxic[None if item.everybody else item.principal].append(f"{words}{accepted}")
        # An ACL for every name is behind a right of each owner.
        self.lines: dict[AclBinding, tuple[str, list[str]]] = {}

    def certified(self, right: AccessRight) -> CertifiedRight:
        """The right in words, with what is known of the ACLs behind it."""
        who, group = right.principal or _REST, _ELSEWHERE
        if right.through:
            unused = all(self._unused(binding) for binding in right.through)
            group = f"{_UNUSED}: {who}" if unused else f"{_NEW}: {who}"
            group = _AS_LAST_TIME if right.id in self.kept and not unused else group
        if self._breaks(right):
            group = f"{_TOXIC}: {who}" if right.through else f"{_TOXIC}, {_ELSEWHERE}: {who}"
        known_of = [self._line_and_people(binding) for binding in right.through]
        proposers = {who for _, people in known_of for who in people}
        return CertifiedRight(
            right.id,
            right.owner,
            right.standing,
            group,
            sentence(right),
            tuple(self._notes(right)),
            tuple(line for line, _ in known_of),
            tuple(sorted(proposers)),
            right.through,
            pattern_of(right),
        )

    def _learn(self, past: "KnownPast") -> None:
        """Take what readings and logs say of the ACLs; those that were gone in the last reading came later."""
        if self.found.state is not None and past.cluster_id != self.found.state.cluster_id:
            raise RequestError(f"the store's readings are of the cluster {past.cluster_id}, this is another one")
        self.past = {item.what: item for item in past.held if item.ended is None}
        today = instant_of(self.at).date()
        days = range(1, UNUSED.days + 1)
        # A day without a line may be one whose logs were not given, or do not have what is permitted.
        self.logged = all(today - datetime.timedelta(days=day) in past.logged for day in days)

    def _unused(self, binding: AclBinding) -> bool:
        """Whether it was there and not used for so long, by logs of every day of that time."""
        facts, first = self.past.get(str(binding)), (instant_of(self.at) - UNUSED).date().isoformat()
        if facts is None or not (facts.use_known and self.logged):
            return False
        there = facts.began is None or (facts.began.exactly or facts.began.before or "9") < first
        return there and (facts.last_used or "") < first

    def _breaks(self, right: AccessRight) -> list[str]:
        """Which separations of duties whoever has the right breaks."""
        return self.toxic.get(right.principal, []) if right.standing.has_effect else []

    def _notes(self, right: AccessRight) -> Iterator[str]:
        yield from self._breaks(right)
        yield from warnings(right, self.locked)
        resources = right.resources
        if resources and resources.resource_type is ResourceType.TOPIC and AclOperation.WRITE in right.operations:
            yield from [_ACTS_AS_OTHERS] if any(map(resources.meets, self.controlled)) else []
        if any(item not in self.declared for item in right.through):
            yield UNDECLARED

    def _line_and_people(self, binding: AclBinding) -> tuple[str, list[str]]:
        if binding not in self.lines:
            people = self._proposers(binding)
            self.lines[binding] = self._line(binding, people), people
        return self.lines[binding]

    def _line(self, binding: AclBinding, people: Iterable[str]) -> str:
        """Where an ACL is declared, since when it is there, by whom, until when, and when it was used."""
        note, past, given = (
            self.declared.get(binding),
            self.past.get(str(binding)),
            self.found.view.break_glass.get(binding),
        )
        words = [binding_words(binding)]
        if note is not None:
            ends = f"until {note.expires}" if note.expires is not None else ""
            words += [str(note.origin), ends, why_words(note.reason, note.ticket)]
        if given is not None:
            words.append(given.words)
        if self.asked_past:
            words += [*_since_words(past), self._use_words(binding, past)]
        # What is not known keeps nobody from judging a proposal of his own: the owner and the auditor see that.
        words += [f"proposed by {item}" for item in people] or ["who proposed it is not known"]
        return ", ".join(filter(None, words))

    def _use_words(self, binding: AclBinding, past: "HeldFact | None") -> str:
        if past is not None and past.last_used:
            return f"last used {past.last_used}"
        return _UNUSED if self._unused(binding) else "last use is not known"

    def _proposers(self, binding: AclBinding) -> list[str]:
        """Who proposed an ACL: the run's commit, else the author of the line that declares it."""
        past, note = self.past.get(str(binding)), self.declared.get(binding)
        if past is not None and past.began is not None and past.began.proposer:
            return [past.began.proposer]
        if note is None:
            return []
        file = note.origin.file
        if file not in self.authors:
            try:
                self.authors[file] = line_authors(self.root, file)
            except GitError:
                # No repository, or the file is not in it: nothing is known of who wrote it.
                self.authors[file] = {}
        author = self.authors[file].get(note.origin.line)
        return [author] if author else []


def _since_words(past: "HeldFact | None") -> Iterator[str]:
    """Since when an ACL is there and by whom, as far as readings and runs say."""
    if past is None:
        yield "since when is not known"
    elif past.began is None:
        yield "since before the first reading"
    else:
        began = past.began
        yield f"since {began.exactly or f'between {began.after} and {began.before}'}"
        yield f"approved by {', '.join(began.approved_by)}" if began.approved_by else ""
        yield "" if began.run else "by no known run"


def warnings(right: AccessRight, locked: Collection[str]) -> Iterator[str]:
    """What is unusual about a right by the reading alone; ``locked`` are the principals of locks."""
    if not right.certain:
        yield "perhaps: it depends on what is not known of the cluster"
    if any(item.pattern.is_wildcard for item in right.through):
        yield "every name"
    if right.resources and not ACTS_AS.get(right.resources.resource_type, frozenset()).isdisjoint(right.operations):
        yield _ACTS_AS_OTHERS
    if right.principal in locked:
        yield "locked"


def sentence(right: AccessRight) -> str:
    """A right in words."""
    who = right.principal or _REST
    if right.resources is None:
        return f"{who} may do everything: it is a super user"
    operations = ", ".join(operation.name for operation in right.operations)
    on = f"{operations} on {right.resources.describe()}" + ("" if right.hosts == ANY_HOST else f" from {right.hosts}")
    match right.standing:
        case Standing.NO_EFFECT:
            return f"{who} would have {on}: without effect now, because of a DENY or a name that nothing can have"
        case Standing.DENY:
            return f"{who} is denied {on}"
        case Standing.DEFAULT:
            return f"{who} may {on}: no ACL is needed there, by allow.everyone.if.no.acl.found"
        case Standing.FOLLOWS:
            return f"{who} may {on}: it follows from ACLs of User:*, or on another resource"
    return f"{who} may {on}"


# Sign, and look how far it is.


@dataclass(frozen=True, slots=True)
class SignedAnswers:
    """A file that was signed just now: its owner, the signature's file, the key, and how many rights have no answer."""

    owner: str
    file: str
    key: str
    namespace: str
    unanswered: int


def sign_answers(file: str, key_file: str, as_of: datetime.date | None = None) -> SignedAnswers:
    """Sign the answers of an owner's file, and write the day into it before; raises a :class:`WorkflowError`."""
    path, today = Path(file), instant_of(as_of or moment()).date()
    campaign, digest = read_campaign(path.parent)
    if campaign.due.over(as_of or moment()):
        raise StaleError(f"{file} was due on {campaign.due}: nobody answers it any more", "answer the next campaign")
    owner, data = path.name.removesuffix(".yaml"), content_of(path)
    own = campaign.of(owner)
    answers = _answers(file, data, own, digest, owner)
    if conflicts := fates_of(own, answers.decisions).conflicts:
        advice = "give them the same answer, or narrow: then you write a narrower rule"
        raise WorkflowError("\n  ".join(["answers contradict each other", *conflicts]), advice)
    if answers.signed is None:
        data = _stamped(data, today)
        if _answers(file, data, own, digest, owner) != answers._replace(signed=today):
            raise WorkflowError(f"{file}: the day cannot be written into it", f"write signed: {today} yourself")
        _write(path, data)
    elif campaign.due.over(answers.signed) or answers.signed > today:
        raise StaleError(
            f"{file} says that it was signed on {answers.signed}", f"write signed: {UNSIGNED}, and sign again"
        )
    namespace = f"{NAMESPACE}/{owner}"
    signature, key = detached_signature(data, file, key_file, namespace)
    unanswered = sum(bool(right.through) and right.id not in answers.decisions for right in own.rights)
    return SignedAnswers(owner, signature, key, namespace, unanswered)


def _answers(file: str, data: bytes, campaign: Campaign, digest: str, owner: str) -> Answers:
    try:
        return read_answers(file, data, campaign, digest, owner)
    except AnswersError as error:
        raise RequestError("\n  ".join([f"{file} cannot be used", *error.reasons])) from error


def _stamped(data: bytes, day: datetime.date) -> bytes:
    return re.sub(
        rb"(\bsigned[\"']?[ \t]*:[ \t]*)(\"not yet\"|'not yet'|not yet)", rb"\g<1>%s" % str(day).encode(), data, count=1
    )


def read_campaign(directory: Path) -> tuple[Campaign, str]:
    """A campaign and its digest; raises :class:`RequestError`."""
    return campaign_of(content_of(directory / CAMPAIGN_FILE), str(directory / CAMPAIGN_FILE))


def campaign_of(data: bytes, file: str) -> tuple[Campaign, str]:
    """The campaign in a file, and its digest; raises :class:`RequestError`."""
    try:
        return CAMPAIGN.read(load(data.decode("utf-8", "surrogatepass"))), digest_of(data)
    except (SchemaError, ValueError) as error:
        raise RequestError(f"{file} is no campaign: {error}", "name a directory that certify open wrote") from error


def content_of(path: Path) -> bytes:
    """The bytes of a file; raises :class:`RequestError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from error


def _write(path: Path, data: bytes) -> None:
    try:
        write_atomically(data, str(path))
    except OSError as error:
        raise WorkflowError(f"{path} cannot be written: {error.strerror}") from error


def owner_files(directory: Path, campaign: Campaign) -> dict[str, OwnerFile]:
    """The files of owners that are there, with the signatures next to them."""
    seen = {}
    for owner in campaign.by_owner():
        path = directory / f"{owner}.yaml"
        if path.exists():
            signatures = {Path(item).name: content_of(Path(item)) for item in signatures_next_to(str(path))}
            seen[owner] = OwnerFile(path.name, content_of(path), signatures)
    return seen


def campaign_status(
    directory: str, allowed_signers: str, as_of: datetime.date | None = None
) -> tuple[Campaign, list[OwnerAnswers]]:
    """What each owner answered so far, and what of it counts; raises a :class:`WorkflowError`."""
    campaign, digest = read_campaign(Path(directory))
    signers, _ = signers_of(allowed_signers)
    at = instant_of(as_of or moment())
    return campaign, all_answers(campaign, digest, owner_files(Path(directory), campaign), signers, at)


def all_answers(
    campaign: Campaign, digest: str, files: Mapping[str, OwnerFile], signers: AllowedSigners, at: datetime.datetime
) -> list[OwnerAnswers]:
    """The answers of all owners."""
    seen = [
        answers_of(replace(campaign, rights=tuple(own)), digest, owner, files.get(owner), signers, at)
        for owner, own in campaign.by_owner().items()
    ]
    return of_different_people(seen)
