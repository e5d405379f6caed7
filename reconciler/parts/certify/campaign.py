"""A campaign: which rights are to be confirmed until when; a file for each owner, its answers, and what they come to.

What flows: rights, a file for each owner that people answer and sign, the answers that count, the ends of ACLs.
"""

import datetime
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple

from reconciler.codec.annotated import record_of
from reconciler.dataclass import dataclass
from reconciler.manifest.read.documents import read_documents
from reconciler.manifest.read.findings import Findings, MappingNode, Node, ScalarNode, SequenceNode, Source
from reconciler.manifest.write.text import scalar
from reconciler.model.acl import AclBinding, PatternType, ResourcePattern
from reconciler.model.characters import safe
from reconciler.model.desired import Expiry
from reconciler.model.says import AnyText, Says
from reconciler.parts.certify.rights import AccessRight, Standing
from reconciler.results.words import binding_words
from reconciler.system.openssh import AllowedSigners, SignatureError, fingerprint, same, verify

#: What a signature is for, before the owner: OpenSSH's namespace.
NAMESPACE: Final = "kafka-reconciler-certify"
#: An answer that is still to be given: of a right, and of a group.
UNANSWERED, EACH = "unanswered", "each"
UNSIGNED: Final = "not yet"
#: So long without use, and a right is asked about first.
UNUSED: Final = datetime.timedelta(days=90)


class RightAnswer(StrEnum):
    """What an owner says of a right."""

    KEEP = "keep"
    REVOKE = "revoke"
    #: It ends, as without an answer, unless a narrower rule is written until then.
    NARROW = "narrow"


@dataclass(frozen=True, slots=True)
class CertifiedRight:
    """A right as its owner reads it."""

    id: Annotated[str, Says("The right, the same in each campaign.", "0123456789abcdef")]
    owner: Annotated[AnyText, Says("The teams that own the names; platform where none does.", "payments")]
    standing: Annotated[Standing, Says("What it rests on.", "acls")]
    group: Annotated[AnyText, Says("Under which heading it is asked about.", "new: User:svc-risk")]
    right: Annotated[AnyText, Says("Who may do what.", "User:svc-risk may READ on topic payments.orders")]
    notes: Annotated[tuple[AnyText, ...], Says("What is unusual about it.", ("not declared",))]
    by: Annotated[tuple[AnyText, ...], Says("The ACLs behind it: where, since when, by whom, until when.")]
    proposers: Annotated[tuple[AnyText, ...], Says("Who proposed them, and so does not judge them.")]
    through: Annotated[tuple[AclBinding, ...], Says("The ACLs that an answer decides about.")]
    pattern: Annotated[ResourcePattern | None, Says("The pattern around the names; null: there is none.")] = None

    @property
    def shown(self) -> dict[str, Any]:
        """What its owner reads, as the file has it."""
        texts = {"id": self.id, "right": self.right, "notes": "; ".join(self.notes)}
        return {**{key: text for key, text in texts.items() if text}, **({"by": list(self.by)} if self.by else {})}


class OwnedPattern(NamedTuple):
    """A pattern that a team owns."""

    pattern: Annotated[ResourcePattern, Says("The pattern.")]
    team: Annotated[AnyText, Says("The team.", "payments")]


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is to be confirmed, and when what ends."""

    name: Annotated[AnyText, Says("The campaign.", "2026Q4")]
    cluster: Annotated[AnyText, Says("The cluster.", "prod")]
    cluster_id: Annotated[AnyText, Says("Its id.", "MkU3OEVBNTcwNTJENDM2Qk")]
    opened: Annotated[Expiry, Says("When the cluster was read.", "2026-11-27T10:00:00Z")]
    due: Annotated[Expiry, Says("Until when owners answer.", "2026-12-15")]
    lapse: Annotated[Expiry, Says("When a right without an answer ends.", "2026-12-29")]
    renewed: Annotated[Expiry, Says("When a right that is kept ends, unless it is kept again.", "2027-03-29")]
    snapshot: Annotated[str, Says("The digest of the reading.", "sha256:0123")]
    super_users: Annotated[tuple[AnyText, ...], Says("The super users that are stated.")]
    default_allow: Annotated[bool | None, Says("allow.everyone.if.no.acl.found; null: not known.")]
    members: Annotated[tuple[AnyText, ...], Says("Types of principals that stand for others.", ("Group",))]
    owned: Annotated[tuple[OwnedPattern, ...], Says("Who owns what.")]
    gaps: Annotated[tuple[AnyText, ...], Says("What of the cluster could not be read.")]
    rights: Annotated[tuple[CertifiedRight, ...], Says("The rights of all owners.")]

    def by_owner(self) -> dict[str, list[CertifiedRight]]:
        """The rights of each owner; owners are sorted."""
        owners: dict[str, list[CertifiedRight]] = {}
        for right in sorted(self.rights, key=lambda right: right.owner):
            owners.setdefault(right.owner, []).append(right)
        return owners

    def of(self, owner: str) -> "Campaign":
        """The campaign with the rights of one owner."""
        return replace(self, rights=tuple(right for right in self.rights if right.owner == owner))


CAMPAIGN: Final = record_of(Campaign)


def digest_of(data: bytes) -> str:
    """The digest of a file, as campaigns and packs name it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


# The file of an owner.

_HEAD: Final = """\
# {name}: what others may do on cluster {cluster} with what {owner} owns. Answer through {due}.
# Each right: keep, revoke, or narrow (it ends, and you write a narrower rule before). A group's answer counts for its
# rights without one of their own; "each" is none. A right without an answer ends: {lapse}. One that you keep
# lasts: {renewed}. Then sign:
#   reconciler certify sign {owner}.yaml --key KEY
"""


def file_text(campaign: Campaign, digest: str, owner: str) -> str:
    """The file that an owner answers; ``campaign`` has the rights of this owner alone, in their order."""
    groups: dict[str, list[CertifiedRight]] = defaultdict(list)
    for right in campaign.rights:
        groups[right.group].append(right)
    ends = {"due": campaign.due, "lapse": campaign.lapse, "renewed": campaign.renewed}
    head = _HEAD.format(name=safe(campaign.name), cluster=safe(campaign.cluster), owner=owner, **ends)
    heading = {"campaign": campaign.name, "digest": digest, "owner": owner, "signed": UNSIGNED}
    lines = [*(f"{key}: {scalar(text)}" for key, text in heading.items()), "groups:"]
    for title, rights in groups.items():
        lines += [f"- about: {scalar(title)}", *([f"  decision: {EACH}"] if rights[0].through else []), "  rights:"]
        lines += (line for right in rights for line in _right_lines(right))
    return head + "".join(f"{line}\n" for line in lines)


def _right_lines(right: CertifiedRight) -> Iterator[str]:
    before = "  - "
    for key, text in right.shown.items():
        if isinstance(text, list):
            yield f"{before}{key}:"
            yield from (f"    - {scalar(line)}" for line in text)
        else:
            yield f"{before}{key}: {scalar(text)}"
        before = "    "
    if right.through:
        yield f"    decision: {UNANSWERED}"


class AnswersError(Exception):
    """A file whose answers do not count; ``reasons`` say why, a sentence each."""

    def __init__(self, reasons: Sequence[str]) -> None:
        """Keeps the reasons."""
        self.reasons = tuple(reasons)
        super().__init__("; ".join(reasons))


class Answers(NamedTuple):
    """What an owner's file says: an answer by right, and on which day it was signed by its own word."""

    decisions: Mapping[str, RightAnswer]
    signed: datetime.date | None


def read_answers(file: str, data: bytes, campaign: Campaign, digest: str, owner: str) -> Answers:
    """The answers of a file; ``campaign`` has the rights of the owner alone.

    Raises :class:`AnswersError` where it is not the file that the campaign gave the owner.
    """
    root = _root(file, data)
    if root.text("digest") != digest:
        name = root.text("campaign") or "no name"
        raise AnswersError([f"it is of another campaign ({name}), or this one was opened again: answer its new file"])
    if root.text("owner") != owner:
        raise AnswersError([f"it is the file of {root.text('owner')}, in the place of that of {owner}"])
    if "decision" in root.keys:
        raise AnswersError(["one answer for the whole file does not count: answer each group, or each right"])
    reading = _AnswerReading({right.id: right for right in campaign.rights})
    reading.fields(root, {"campaign", "digest", "owner", "signed", "groups"})
    for group in _items(root.get("groups")):
        reading.group(group)
    missing = [right for right in reading.rights.values() if right.id not in reading.seen]
    reasons = [*reading.reasons, *(f"right {item.id} was removed, put it back: {item.right}" for item in missing)]
    signed = root.text("signed") or UNSIGNED
    day = None
    if signed != UNSIGNED:
        try:
            day = datetime.date.fromisoformat(signed)
        except ValueError:
            reasons.append(f"signed: {safe(signed)} is no day: write YYYY-MM-DD")
    if reasons:
        raise AnswersError(reasons)
    return Answers(reading.decisions, day)


def _root(file: str, data: bytes) -> MappingNode:
    try:
        findings = Findings(Source(file, data.decode("utf-8")))
    except UnicodeDecodeError as error:
        raise AnswersError(["it is not UTF-8"]) from error
    roots = list(read_documents(findings))
    if findings.problems:
        raise AnswersError([f"{problem.origin}: {problem.message}" for problem in findings.problems])
    if len(roots) != 1 or not isinstance(roots[0], MappingNode):
        raise AnswersError(["it is not one document of fields, as the campaign wrote it"])
    return roots[0]


def _items(node: Node | None) -> Iterator[Node]:
    yield from node.items if isinstance(node, SequenceNode) else ()


class _AnswerReading:
    """The groups and rights of a file against those of the campaign."""

    def __init__(self, rights: Mapping[str, CertifiedRight]) -> None:
        self.rights = rights
        self.decisions: dict[str, RightAnswer] = {}
        self.seen: set[str] = set()
        self.reasons: list[str] = []

    def fields(self, node: MappingNode, allowed: set[str]) -> None:
        for key in node.keys.keys() - allowed:
            self.reasons.append(f"line {node.keys[key].line + 1}: no field is called {safe(key)}")

    def group(self, node: Node) -> None:
        if not isinstance(node, MappingNode):
            self.reasons.append(f"line {node.line + 1}: a group has fields: about, decision, rights")
            return
        self.fields(node, {"about", "decision", "rights"})
        word = self._decision(node, EACH)
        for item in _items(node.get("rights")):
            if isinstance(item, MappingNode) and isinstance(item.get("id"), ScalarNode):
                self.right(item, node.text("about") or "", word)
            else:
                self.reasons.append(f"line {item.line + 1}: a right has an id")

    def right(self, node: MappingNode, title: str, word: RightAnswer | None) -> None:
        own = self._decision(node, UNANSWERED)
        name = node.text("id") or ""
        right = self.rights.get(name)
        if right is None:
            self.reasons.append(f"line {node.line + 1}: right {safe(name)} is not of this campaign: who added it?")
        elif name in self.seen:
            self.reasons.append(f"line {node.line + 1}: right {name} is there twice")
        elif right.group != title:
            self.reasons.append(f"line {node.line + 1}: right {name} was moved to another group")
        elif {key: text for key, text in node.plain.items() if key != "decision"} != right.shown:
            self.reasons.append(f"line {node.line + 1}: right {name} was changed: the campaign says: {right.right}")
        elif not right.through and own is not None:
            self.reasons.append(f"line {node.line + 1}: right {name} is decided elsewhere: no answer changes it")
        elif right.through and (answer := own or word) is not None:
            self.decisions[name] = answer
        self.seen.add(name)

    def _decision(self, node: MappingNode, none: str) -> RightAnswer | None:
        result = node.get("decision")
        if result is None or (isinstance(result, ScalarNode) and result.plain == none):
            return None
        try:
            return RightAnswer(result.plain if isinstance(result, ScalarNode) else "")
        except ValueError:
            text = safe(result.plain) if isinstance(result, ScalarNode) else "that"
            self.reasons.append(f"line {result.line + 1}: {text} is no answer: write keep, revoke or narrow")
            return None


# Whose answers count.


@dataclass(frozen=True, slots=True)
class OwnerAnswers:
    """What an owner answered: the decisions that count, and what does not count and why, a sentence each.

    ``given`` are the answers of the file, signed or not; ``unjudged`` are rights whose proposer alone answered.
    """

    owner: str
    rights: tuple[CertifiedRight, ...]
    decisions: Mapping[str, RightAnswer]
    given: Mapping[str, RightAnswer]
    people: frozenset[frozenset[str]]
    refused: tuple[str, ...]

    @property
    def unanswered(self) -> list[CertifiedRight]:
        """The rights without an answer that counts."""
        return [right for right in self.rights if right.through and right.id not in self.decisions]


class OwnerFile(NamedTuple):
    """The file of an owner: its bytes, and those of the signatures next to it, by name."""

    name: str
    data: bytes
    signatures: Mapping[str, bytes]


def answers_of(
    campaign: Campaign, digest: str, owner: str, file: OwnerFile | None, signers: AllowedSigners, at: datetime.datetime
) -> OwnerAnswers:
    """What an owner answered and people signed who may, until it was due; ``campaign`` has its rights alone."""
    rights = campaign.rights
    if file is None:
        return OwnerAnswers(owner, rights, {}, {}, frozenset(), ("its file is not there",))
    try:
        answers = read_answers(file.name, file.data, campaign, digest, owner)
    except AnswersError as error:
        return OwnerAnswers(owner, rights, {}, {}, frozenset(), error.reasons)
    people: set[frozenset[str]] = set()
    refused: list[str] = []
    for name, text in sorted(file.signatures.items()):
        try:
            people.add(_person(file.data, text, owner, signers, at))
        except SignatureError as error:
            refused.append(f"{name}: {error}")
    if people and (late := _late(campaign, answers.signed)):
        refused.append(late)
        people.clear()
    decisions = {}
    for right in rights:
        if people and right.id in answers.decisions:
            if all(person & _people(right.proposers, signers) for person in people):
                who = ", ".join(sorted(map(min, people)))
                refused.append(f"{who} proposed right {right.id}, so somebody else has to answer it: {right.right}")
            else:
                decisions[right.id] = answers.decisions[right.id]
    return OwnerAnswers(owner, rights, decisions, answers.decisions, frozenset(people), tuple(refused))


def _late(campaign: Campaign, signed: datetime.date | None) -> str:
    if signed is None:
        return "it does not say on which day it was signed: sign it with reconciler certify sign"
    return f"it was signed on {signed}, after it was due on {campaign.due}" if campaign.due.over(signed) else ""


def _people(names: Iterable[str], signers: AllowedSigners) -> frozenset[str]:
    return frozenset().union(*((signers.who(name) or {same(name)}) for name in names))


def namespaces_of(owner: str) -> list[str]:
    """The namespaces that the operator's file gives people who answer for an owner: one for each of its teams."""
    return [f"{NAMESPACE}/{team}" for team in owner.split("+")]


def _person(message: bytes, text: bytes, owner: str, signers: AllowedSigners, at: datetime.datetime) -> frozenset[str]:
    """Who signed; raises :class:`SignatureError` with a sentence for each way in which a signature does not count."""
    try:
        blob = verify(text.decode("ascii"), message, f"{NAMESPACE}/{owner}")
    except UnicodeDecodeError as error:
        raise SignatureError("it is no signature") from error
    except SignatureError as error:
        if "namespace" in str(error):
            raise SignatureError(
                f"it is no signature for {owner} alone: each owner signs its own file ({error})"
            ) from error
        if "over these bytes" in str(error):
            raise SignatureError("the file was edited after it was signed: sign it again") from error
        raise
    wanted = set(namespaces_of(owner))
    for line in signers.lines:
        # Not by a glob: who may sign for an owner is said of that owner.
        if line.blob == blob and any(line.allows(name, at) for name in wanted & set(line.namespaces or ())):
            return signers.people[same(line.principals[0])]
    raise SignatureError(
        f"its key {fingerprint(blob)} is of no owner of these rights: the allowed signers give it no "
        f'namespaces="{" or ".join(sorted(wanted))}"'
    )


def of_different_people(all_answers: Sequence[OwnerAnswers]) -> list[OwnerAnswers]:
    """The same; nobody's answers count where one person signed for every owner that has to answer."""
    asked = [item for item in all_answers if any(right.through for right in item.rights)]
    alone = frozenset().intersection() if not asked else frozenset.intersection(*(item.people for item in asked))
    others = {person for item in asked for person in item.people} - alone
    if len(asked) < 2 or not alone or others:
        return list(all_answers)
    who = ", ".join(sorted(map(min, alone)))
    why = f"{who} signed for all {len(asked)} owners: one person does not confirm a whole cluster"
    return [
        OwnerAnswers(item.owner, item.rights, {}, item.given, item.people, (*item.refused, why))
        if item in asked
        else item
        for item in all_answers
    ]


# What the answers come to: the end of each ACL.


class Fates(NamedTuple):
    """When ACLs end; ``None``: at once. ``narrower`` are ACLs for parts that last longer, each with the one it is of.

    ``conflicts`` are answers that no ACL can follow, ``notes`` what is left for people, a sentence each.
    """

    ends: Mapping[AclBinding, Expiry | None]
    narrower: Mapping[AclBinding, tuple[AclBinding, Expiry]]
    conflicts: tuple[str, ...]
    notes: tuple[str, ...]


_RANK: Final = {RightAnswer.REVOKE: 0, RightAnswer.NARROW: 1, None: 1, RightAnswer.KEEP: 2}


def fates_of(campaign: Campaign, decisions: Mapping[str, RightAnswer]) -> Fates:
    """When each ACL ends by the answers to the rights that rest on it.

    Where they differ, the ACL ends as the first of them, and a narrower one keeps what is kept; where none is narrow
    enough, it ends as without an answer.
    """
    resting: dict[AclBinding, list[CertifiedRight]] = defaultdict(list)
    for right in campaign.rights:
        for binding in right.through:
            resting[binding].append(right)
    ends: dict[AclBinding, Expiry | None] = {}
    narrower: dict[AclBinding, tuple[AclBinding, Expiry]] = {}
    conflicts: list[str] = []
    moments = {0: None, 1: campaign.lapse, 2: campaign.renewed}
    for binding, rights in sorted(resting.items()):
        ranks = {right.id: _RANK[decisions.get(right.id)] for right in rights}
        least = min(ranks.values())
        parts, whole = _parts(binding, rights, ranks, least)
        if not whole:
            answers = ", ".join(f"{right.id} ({decisions.get(right.id, UNANSWERED)})" for right in rights)
            conflicts.append(
                f"{binding_words(binding)} ends on {campaign.lapse}: no narrower ACL does what the answers to rights "
                f"by it say: {answers}"
            )
            least = max(least, 1)
        ends[binding] = moments[least]
        for part, rank in parts.items():
            end = moments[rank]
            if end is not None and rank > least:
                narrower[part] = (binding, end)
    return Fates(ends, narrower, tuple(conflicts), tuple(_narrow_notes(campaign, decisions)))


def _parts(
    binding: AclBinding, rights: Sequence[CertifiedRight], ranks: Mapping[str, int], least: int
) -> tuple[dict[AclBinding, int], bool]:
    """Narrower ACLs for what lasts longer than the least, and whether there is one for all of that.

    There is none where it would last too long for a part of its names.
    """
    parts: dict[AclBinding, int] = {}
    whole = True
    for right in rights:
        pattern, rank = right.pattern, ranks[right.id]
        if rank == least:
            continue
        fits = pattern is not None and binding.pattern.contains(pattern)
        others = (item.pattern for item in rights if ranks[item.id] < rank)
        if pattern is None or not fits or any(item is None or pattern.contains(item) for item in others):
            whole = False
            continue
        part = AclBinding(pattern, binding.entry)
        parts[part] = max(rank, parts.get(part, 0))
    return parts, whole


def _narrow_notes(campaign: Campaign, decisions: Mapping[str, RightAnswer]) -> Iterator[str]:
    for right in campaign.rights:
        if decisions.get(right.id) is RightAnswer.NARROW:
            yield (
                f"narrow {right.id}: it ends on {campaign.lapse}; until then grant what is needed "
                f"(reconciler grant PRINCIPAL OPERATION RESOURCE --until {campaign.renewed}): {right.right}"
            )


def pattern_of(right: AccessRight) -> ResourcePattern | None:
    """The pattern around the names of a right."""
    if right.resources is None or right.resources.names.kind > 1:
        return None
    kind, names = right.resources.resource_type, right.resources.names
    if names.literal:
        return ResourcePattern(kind, names.text)
    return ResourcePattern(kind, names.text, PatternType.PREFIXED) if names.text else ResourcePattern(kind, "*")
