"""The end of a campaign: answers become ends of ACLs in the manifests, and all of it a pack that proves itself."""

import datetime
import io
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from reconciler.access.authorizer import Authorizer
from reconciler.app.approvals import signers_of
from reconciler.app.audit import verify_audit
from reconciler.app.options import ConnectionOptions, PlanOptions, StateRequest, Tell, ignore
from reconciler.app.plan import plan
from reconciler.app.reasons import RequestError, StaleError
from reconciler.app.records import save_plan
from reconciler.app.states import AccessState, live_access, with_effect
from reconciler.codec.annotated import record_of
from reconciler.codec.codec import SchemaError, document_text
from reconciler.codec.document import compact, load
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.characters import counted, safe
from reconciler.model.desired import UNWRITTEN, Declaration, DesiredState, Expiry, instant_of
from reconciler.model.locks import denials_of_locks
from reconciler.model.markers import standing_bridges
from reconciler.model.says import AnyText, Says
from reconciler.model.state import ClusterState
from reconciler.parts.certify.app import (
    CAMPAIGN_FILE,
    SNAPSHOT_FILE,
    UNDECLARED,
    KeptRights,
    all_answers,
    campaign_of,
    content_of,
    gaps_of,
    owner_files,
    read_campaign,
    sentence,
    warnings,
)
from reconciler.parts.certify.campaign import (
    Campaign,
    OwnerAnswers,
    OwnerFile,
    RightAnswer,
    digest_of,
    fates_of,
    pattern_of,
)
from reconciler.parts.certify.rights import OwnedNames, Standing, rights_of
from reconciler.parts.edit.app.editing import ManifestEdit, edit, gain_of
from reconciler.parts.edit.app.grant import on_cluster
from reconciler.results.words import binding_words
from reconciler.snapshot.document import SnapshotError, parse_snapshot
from reconciler.system.openssh import SignersError, parse_allowed_signers

_CLOSING, _SUMS, _SIGNERS = "closing.json", "SHA256SUMS", "allowed_signers"
_PATCH, _PLAN = "changes.patch", "plan.json"


# Close: answers become ends of ACLs, in the manifests; all of it becomes a pack.


@dataclass(frozen=True, slots=True)
class Closing:
    """What a campaign came to."""

    closed: Annotated[Expiry, Says("When it was closed.", "2026-12-16T09:00:00Z")]
    complete: Annotated[bool, Says("Whether all of the cluster could be read and every answer was followed.", True)]
    decisions: Annotated[Mapping[str, RightAnswer], Says("The answers that count, by right.")]
    signed: Annotated[Mapping[str, tuple[AnyText, ...]], Says("Who signed, by owner.")]
    refused: Annotated[tuple[AnyText, ...], Says("What did not count, and why.")]
    conflicts: Annotated[tuple[AnyText, ...], Says("Answers that no ACL can follow.")]
    notes: Annotated[tuple[AnyText, ...], Says("What is left for people to do.")]
    plan: Annotated[str, Says("The digest of the plan that follows.", "sha256:0123")]
    audit_head: Annotated[str, Says("The digest of the last line of the audit log; empty: none was given.", "")]


CLOSING: Final = record_of(Closing)


class ClosedCampaign(NamedTuple):
    """A campaign, what it came to, the edit that does it, and its pack; ``gaps`` are what could not be read."""

    campaign: Campaign
    closing: Closing
    edit: ManifestEdit
    pack: bytes
    gaps: tuple[str, ...]


def close_campaign(
    directory: str,
    request: StateRequest,
    connection: ConnectionOptions,
    allowed_signers: str,
    audit: str | None = None,
    tell: Tell = ignore,
) -> ClosedCampaign:
    """What the answers that count come to; nothing is written. Raises a :class:`WorkflowError`."""
    place, at = Path(directory), instant_of(request.at)
    campaign, digest = read_campaign(place)
    path = request.path or connection.default_path
    request = replace(request, path=path, cluster=request.cluster or campaign.cluster)
    signers, _ = signers_of(allowed_signers)
    files = owner_files(place, campaign)
    outcome = _outcome(campaign, all_answers(campaign, digest, files, signers, at))
    live = live_access(request, connection, tell=tell)
    if live.state is None or live.state.cluster_id != campaign.cluster_id:
        raise RequestError(f"the campaign is of the cluster {campaign.cluster_id}, this is another one")
    ends = _Ends(campaign, outcome.decisions, live, at)
    later = tuple(gap for gap in gaps_of(live) if gap not in campaign.gaps)
    keeps = {binding.entry.principal for binding, end in ends.fates.ends.items() if end is not None}
    result = edit(
        path,
        lambda book: on_cluster(book, live.view.cluster, ends.wanted),
        gain_of(*keeps),
        at,
        connection=connection,
    )
    planned = _plan_after(result, request, connection, at)
    head = _audit_head(audit) if audit is not None else ""
    closing = Closing(
        Expiry(at),
        not (campaign.gaps or later or outcome.conflicts),
        *outcome,
        (*ends.fates.notes, *ends.notes(), *(f"when it was closed: {gap}" for gap in later)),
        digest_of(planned),
        head,
    )
    entries = {
        CAMPAIGN_FILE: content_of(place / CAMPAIGN_FILE),
        SNAPSHOT_FILE: content_of(place / SNAPSHOT_FILE),
        _SIGNERS: content_of(Path(allowed_signers)),
        _CLOSING: document_text(CLOSING.write(closing), compact).encode("utf-8", "surrogatepass"),
        _PATCH: result.patch().encode("utf-8", "surrogatepass"),
        _PLAN: planned,
        **{file.name: file.data for file in files.values()},
        **{name: text for file in files.values() for name, text in file.signatures.items()},
    }
    return ClosedCampaign(campaign, closing, result, packed(entries), (*campaign.gaps, *later))


class _Outcome(NamedTuple):
    """What follows from the files of owners and their signatures, and from nothing else: fields of a closing."""

    decisions: dict[str, RightAnswer]
    signed: dict[str, tuple[str, ...]]
    refused: tuple[str, ...]
    conflicts: tuple[str, ...]


def _outcome(campaign: Campaign, answers: Sequence[OwnerAnswers]) -> _Outcome:
    decisions = {name: answer for owner in answers for name, answer in owner.decisions.items()}
    signed = {item.owner: tuple(sorted(map(min, item.people))) for item in answers if item.people}
    refused = tuple(f"{item.owner}: {reason}" for item in answers for reason in item.refused)
    return _Outcome(decisions, signed, refused, fates_of(campaign, decisions).conflicts)


class _Ends:
    """The declared state of a cluster with the ends that answers come to."""

    def __init__(
        self, campaign: Campaign, decisions: Mapping[str, RightAnswer], live: AccessState, at: datetime.datetime
    ) -> None:
        self.campaign, self.live, self.at = campaign, live, at
        self.fates = fates_of(campaign, decisions)
        self.there = live.state.bindings if live.state is not None else frozenset()
        self.given = live.view.break_glass
        self.bridges = standing_bridges(self.there)
        self.decisions, self.declared = decisions, live.desired.bindings if live.desired is not None else {}
        # Declared when it was opened, and not any more: a merge took it away, and no answer brings it back.
        was_declared = {item for right in campaign.rights if UNDECLARED not in right.notes for item in right.through}
        self.removed = was_declared - self.declared.keys()

    def wanted(self, state: DesiredState) -> DesiredState:
        """The same with the end of each ACL; one that only the cluster has is declared with its end."""
        bindings, before = dict(state.bindings), state.bindings
        for binding, end in self.fates.ends.items():
            if end is None or end.over(self.at):
                bindings.pop(binding, None)
            elif binding in before:
                bindings[binding] = before[binding]._replace(expires=self._end(before[binding], end))
            elif self._is_ours(binding):
                bindings[binding] = Declaration(UNWRITTEN, self._reason, None, end)
        for part, (whole, end) in self.fates.narrower.items():
            if part in bindings:
                # Of an earlier close; one that was there when it was opened has answers of its own.
                if part not in self.fates.ends:
                    bindings[part] = bindings[part]._replace(expires=self._end(bindings[part], end))
            elif (whole in before or self._is_ours(whole)) and not end.over(self.at):
                note = before.get(whole, Declaration(UNWRITTEN, self._reason))
                bindings[part] = Declaration(UNWRITTEN, note.reason, note.ticket, self._end(note, end))
        for part, end in self._narrowed_before():
            if end is None or end.over(self.at):
                bindings.pop(part, None)
            elif part in bindings:
                bindings[part] = bindings[part]._replace(expires=end)
        return replace(state, bindings=bindings)

    def _narrowed_before(self) -> Iterator[tuple[AclBinding, Expiry | None]]:
        """Narrower ACLs of an earlier close that the answers do not keep any more, with their ends now."""
        for right in self.campaign.rights:
            answer = self.decisions.get(right.id)
            if right.pattern is None or answer in (RightAnswer.KEEP, RightAnswer.NARROW):
                continue
            for binding in right.through:
                part = AclBinding(right.pattern, binding.entry)
                written = self.declared.get(part)
                ours = part not in self.fates.ends and part not in self.fates.narrower
                if ours and written is not None and written.expires == self.campaign.renewed:
                    yield part, None if answer is RightAnswer.REVOKE else self.campaign.lapse

    @property
    def _reason(self) -> str:
        return f"certified in {self.campaign.name}"

    def _end(self, note: Declaration, end: Expiry) -> Expiry:
        """What is kept is renewed; nothing else lasts longer than it did."""
        if end == self.campaign.renewed or note.expires is None:
            return end
        return min(note.expires, end, key=lambda item: item.end)

    def _is_ours(self, binding: AclBinding) -> bool:
        """Whether a plan ends an ACL that only the cluster has."""
        declaration = self.live.declaration
        owns = declaration is not None and declaration.scope.owns(binding)
        here = binding in self.there and binding not in self.removed
        return owns and here and binding not in self.given and binding not in self.bridges

    def notes(self) -> Iterator[str]:
        """What no edit of these manifests ends, what changed after the campaign was opened, and what is still open."""
        unanswered = sum(bool(right.through) and right.id not in self.decisions for right in self.campaign.rights)
        if unanswered and not self.campaign.due.over(self.at):
            yield (
                f"closed before it was due on {self.campaign.due}: {counted(unanswered, 'right')} without an answer; "
                "until then owners may answer, and you close it again"
            )
        for binding, end in self.fates.ends.items():
            if binding in self.given:
                yield f"{binding_words(binding)}: {self.given[binding].words}; it ends by itself"
            elif binding in self.bridges:
                yield f"{binding_words(binding)} is a temporary allow-all ACL of a run: reconciler cleanup ends it"
            elif binding in self.declared:
                yield from self._changes(binding, end)
            elif binding not in self.there:
                yield f"{binding_words(binding)} went from the cluster after the campaign was opened"
            elif binding in self.removed:
                yield f"{binding_words(binding)} went from the manifests after the campaign was opened: a plan ends it"
            elif not self._is_ours(binding):
                yield f"{binding_words(binding)} is outside of the scope of these manifests: no plan ends it"
        asked = {*self.fates.ends, *self.fates.narrower, *(part for part, _ in self._narrowed_before())}
        later = sorted(item for item in self.there - asked if item.entry.permission_type is AclPermissionType.ALLOW)
        yield from (f"{binding_words(item)} came after the campaign was opened: nobody was asked" for item in later)
        for right in self.campaign.rights:
            if right.standing in (Standing.SUPER_USER, Standing.DEFAULT):
                yield f"no ACL gives it, so none ends: {right.right}"

    def _changes(self, binding: AclBinding, end: Expiry | None) -> Iterator[str]:
        """What is to be said of an ACL that is declared: it went by hand, or it had a later end."""
        if end is None or end.over(self.at):
            return
        if binding not in self.there:
            yield f"{binding_words(binding)} went from the cluster after the campaign was opened: a plan adds it again"
        former = self.declared[binding].expires
        if former is not None and former.end > end.end:
            whose = "as it was declared, maybe by another campaign"
            yield f"{binding_words(binding)} ends: {end}, and not, {whose}: {former}"


def _plan_after(
    result: ManifestEdit, request: StateRequest, connection: ConnectionOptions, at: datetime.datetime
) -> bytes:
    """The plan of the manifests as they are after the edit, as it is saved."""
    with tempfile.TemporaryDirectory() as directory:
        for name, text in result.after.items():
            path = Path(directory, "manifests", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
        options = PlanOptions(as_of=at, allow_deletes=True, guardrails=request.guardrails)
        planned = plan(str(Path(directory, "manifests")), request.cluster, options, connection, again=True)
        file = Path(directory, _PLAN)
        save_plan(planned.plan, str(file))
        return file.read_bytes()


def _audit_head(audit: str) -> str:
    result = verify_audit(audit)
    if not result.intact:
        raise StaleError(f"the audit log {audit} is not as it was written: {result.problems[0]}")
    return result.head


# The pack: one archive that is the same bytes for the same content, so that no byte of it is free.


def packed(entries: Mapping[str, bytes]) -> bytes:
    """An archive of files; the last one has the digests of all others."""
    sums = "".join(f"{digest_of(entries[name])[7:]}  {name}\n" for name in sorted(entries))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in (*sorted(entries.items()), (_SUMS, sums.encode())):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _unpacked(data: bytes) -> dict[str, bytes]:
    """The files of a pack; raises :class:`StaleError` where a byte of it was changed."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            entries = {item.name: file.read() for item in archive if (file := archive.extractfile(item)) is not None}
        entries.pop(_SUMS, None)
        same = {CAMPAIGN_FILE, SNAPSHOT_FILE, _CLOSING, _SIGNERS, _PLAN} <= entries.keys() and packed(entries) == data
    except (tarfile.TarError, ValueError, OSError, KeyError, OverflowError, UnicodeError) as error:
        raise StaleError(f"the pack is damaged: {error}") from error
    if not same:
        raise StaleError("the pack is not as it was written: its bytes are not those of its files and digests")
    return entries


#: What a pack cannot prove: its signatures bind owners to what they were shown, not that to the cluster.
PACKER_ONLY: Final = (
    "the reading of the cluster, its super users and who owns what",
    "where ACLs are declared, who proposed and approved them, since when, when they were used, and which break a duty",
    "when the campaign was opened and closed; the day of a signature is its signer's",
    "that the edit and the plan follow from the answers",
)


class VerifiedPack(NamedTuple):
    """A pack whose bytes are as they were written: what it holds, what is wrong with it, and what it could not do.

    ``signed`` is who signed, by owner, by the signers whose file has the digest ``signers``.
    """

    campaign: Campaign
    closing: Closing
    signed: Mapping[str, tuple[str, ...]]
    signers: str
    problems: tuple[str, ...]
    incomplete: tuple[str, ...]


def verify_pack(file: str, allowed_signers: str | None = None) -> VerifiedPack:
    """Check a pack with nothing but itself: digests, signatures, answers, and that its rights are those of its reading.

    ``allowed_signers`` is the operator's file; without one, signers are those of the copy in the pack, which proves
    nothing against who packed it. Raises :class:`StaleError`.
    """
    entries = _unpacked(content_of(Path(file)))
    campaign, digest = campaign_of(entries[CAMPAIGN_FILE], CAMPAIGN_FILE)
    try:
        closing = CLOSING.read(load(entries[_CLOSING].decode("utf-8", "surrogatepass")))
        signers = parse_allowed_signers(entries[_SIGNERS].decode("utf-8"))
        state = parse_snapshot(entries[SNAPSHOT_FILE].decode("utf-8"))
    except (SchemaError, SignersError, SnapshotError, ValueError) as error:
        raise StaleError(f"the pack is not as it was written: {error}") from error
    files = {
        owner: OwnerFile(f"{owner}.yaml", entries[f"{owner}.yaml"], _signatures(entries, f"{owner}.yaml"))
        for owner in campaign.by_owner()
        if f"{owner}.yaml" in entries
    }
    at, named = instant_of(closing.closed.until), digest_of(entries[_SIGNERS])
    by_pack = outcome = _outcome(campaign, all_answers(campaign, digest, files, signers, at))
    if allowed_signers is not None:
        signers, named = signers_of(allowed_signers)
        outcome = _outcome(campaign, all_answers(campaign, digest, files, signers, at))
    expected = {CAMPAIGN_FILE, SNAPSHOT_FILE, _CLOSING, _SIGNERS, _PATCH, _PLAN}
    expected.update(name for item in files.values() for name in (item.name, *item.signatures))
    problems = [f"no campaign writes a file {safe(name)}" for name in sorted(entries.keys() - expected)]
    if digest_of(entries[SNAPSHOT_FILE]) != campaign.snapshot or state.cluster_id != campaign.cluster_id:
        problems.append("the reading is another one than the campaign's")
    if digest_of(entries[_PLAN]) != closing.plan:
        problems.append("the plan is another one than the closing names")
    if outcome.decisions != dict(closing.decisions):
        problems.append("the answers that count by the signatures are others than those that the closing followed")
    if CLOSING.write(replace(closing, **by_pack._asdict())) != CLOSING.write(closing):
        problems.append("the closing does not say who signed, what did not count, or what no ACL can follow")
    if closing.complete and (campaign.gaps or closing.conflicts):
        problems.append("the closing calls itself complete, and is not")
    problems += _other_rights(campaign, state)
    incomplete = (*campaign.gaps, *closing.conflicts)
    if not (closing.complete or incomplete):
        incomplete = ("the cluster could not be read whole when the campaign was closed",)
    return VerifiedPack(campaign, closing, outcome.signed, named, tuple(problems), incomplete)


def _other_rights(campaign: Campaign, state: ClusterState) -> Iterator[str]:
    """Whether owners were asked about the rights of the reading, in words that say them."""
    derived = rights_of(_as_read(campaign, state), OwnedNames(campaign.owned))
    locked = {item.entry.principal for item in denials_of_locks(state.bindings)}
    asked = {right.id: right for right in campaign.rights}
    if sorted(right.id for right in derived) != sorted(right.id for right in campaign.rights):
        yield "the rights are not those of the reading: some were left out, added or changed"
        return
    for right in derived:
        written = asked[right.id]
        wanted = (right.owner, right.standing, sentence(right), right.through, pattern_of(right))
        warned = set(warnings(right, locked)) <= set(written.notes)
        if wanted != (written.owner, written.standing, written.right, written.through, written.pattern) or not warned:
            yield f"right {right.id} was asked about in other words, or of another owner: {safe(sentence(right))}"


def _as_read(campaign: Campaign, state: ClusterState) -> Authorizer:
    """The cluster of a reading, by the facts that were stated when it was read."""
    bindings, _ = with_effect(state.bindings)
    facts = (bindings, campaign.super_users, campaign.default_allow, state.kafka_version)
    return Authorizer(*facts, opaque=state.opaque).with_members(frozenset(campaign.members))


def _signatures(entries: Mapping[str, bytes], file: str) -> dict[str, bytes]:
    return {name: data for name, data in entries.items() if name.startswith(f"{file}.") and name.endswith(".sig")}


def kept_in(base: str) -> KeptRights:
    """The rights that were kept in the campaign of a pack; raises :class:`StaleError`."""
    result = verify_pack(base)
    if result.problems:
        raise StaleError(f"{base} is not as it was written: {result.problems[0]}")
    kept = (name for name, item in result.closing.decisions.items() if item is RightAnswer.KEEP)
    return KeptRights(result.campaign.cluster_id, frozenset(kept))
