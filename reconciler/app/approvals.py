"""The two-person rule: people sign a saved plan, and an apply counts who did.

Signatures are OpenSSH's, over the bytes of the plan file, detached from it. They prove who approved these bytes. They
do not prove that the plan is good, nor, without ``not_author``, that nobody approved their own change.
"""

import datetime
import glob
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from reconciler.app.options import ApprovalRule
from reconciler.app.reasons import NotApprovedError, RequestError, StaleError, WorkflowError
from reconciler.app.records import saved_plan
from reconciler.apply.environment import ApprovalEvidence, Approver
from reconciler.dataclass import dataclass
from reconciler.plan.file import file_digest
from reconciler.plan.proposal import Plan
from reconciler.system import openssh
from reconciler.system.files import write_atomically

#: What a signature of a plan is for: OpenSSH's namespace, which keeps it apart from those of commits and mails.
NAMESPACE: Final = "kafka-reconciler-plan"
#: Larger files are no signatures: the largest, by an RSA key of 16,384 bits, takes 8 KB.
_MOST_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Approval:
    """A valid signature: by which of a person's names and which key, and its text."""

    person: frozenset[str]
    key: str
    text: str

    @property
    def digest(self) -> str:
        """The digest of the signature's text."""
        return f"sha256:{hashlib.sha256(self.text.encode()).hexdigest()}"

    def __str__(self) -> str:
        """``alice@example.com (SHA256:…)``."""
        return f"{min(self.person)} ({self.key})"


@dataclass(frozen=True, slots=True)
class SignedPlan:
    """A plan that was signed just now: the signature's file, and the key's fingerprint."""

    plan: Plan
    file: str
    key: str


def approve(plan_file: str, key_file: str, out: str | None = None) -> SignedPlan:
    """Sign the bytes of a saved plan with a private key of OpenSSH; writes ``PLAN.KEY.sig`` unless ``out`` is given.

    Raises a :class:`WorkflowError`.
    """
    plan, digest = saved_plan(plan_file)
    return SignedPlan(plan, *sign_plan(plan_file, digest, key_file, out))


def sign_plan(plan_file: str, digest: str, key_file: str, out: str | None = None) -> tuple[str, str]:
    """Sign a file that was read as a plan with that digest; the signature's file, and the key's fingerprint."""
    return detached_signature(_bytes_of(plan_file, digest), plan_file, key_file, NAMESPACE, out)


def detached_signature(
    message: bytes, signed: str, key_file: str, namespace: str, out: str | None = None
) -> tuple[str, str]:
    """Sign the bytes of a file; the signature's file, next to it unless ``out`` is given, and the key's fingerprint.

    Raises a :class:`WorkflowError`.
    """
    try:
        key = openssh.private_key(Path(key_file).read_bytes())
    except openssh.KeyFileError as error:
        advice = f"sign with OpenSSH, which asks or uses your agent: ssh-keygen -Y sign -n {namespace} -f KEY {signed}"
        raise WorkflowError(f"{key_file} cannot sign: {error}", advice) from error
    except OSError as error:
        raise RequestError(f"{key_file} cannot be read: {error}") from error
    text = openssh.sign(key, message, namespace)
    made_by = openssh.fingerprint(openssh.verify(text, message, namespace))
    short = "".join(filter(str.isalnum, made_by.removeprefix("SHA256:")))[:12]
    file = out or f"{signed}.{short}.sig"
    try:
        write_atomically(text, file)
    except OSError as error:
        raise WorkflowError(f"the signature cannot be written: {error}") from error
    return file, made_by


def check_approvals(plan_file: str, digest: str, rule: ApprovalRule, at: datetime.datetime) -> ApprovalEvidence:
    """Whose signatures the plan has whose file has that digest; raises :class:`NotApprovedError` for too few."""
    signers, signers_digest = signers_of(rule.allowed_signers)
    authors = _authors(rule, signers)
    message = _bytes_of(plan_file, digest)
    approvals: dict[frozenset[str], Approval] = {}
    without: list[str] = []
    for file in rule.signatures or signatures_next_to(plan_file):
        try:
            approval = _approval(file, message, signers, at)
            if approval.person & authors:
                without.append(f"{file}: {approval} is an author of the change")
            elif approvals.setdefault(approval.person, approval) is not approval:
                without.append(f"{file}: {approval} has signed already")
        except (openssh.SignatureError, OSError, UnicodeDecodeError) as error:
            without.append(f"{file}: {error}")
    if len(approvals) < rule.required:
        raise NotApprovedError(rule.required, tuple(map(str, approvals.values())), tuple(without))
    verified = at.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    approvers = tuple(
        Approver(min(approval.person), approval.key, verified, approval.digest) for approval in approvals.values()
    )
    texts = {approval.digest: approval.text for approval in approvals.values()}
    return ApprovalEvidence(rule.required, signers_digest, approvers, tuple(sorted(authors)), tuple(without), texts)


def _approval(file: str, message: bytes, signers: openssh.AllowedSigners, at: datetime.datetime) -> Approval:
    with Path(file).open("rb") as opened:
        content = opened.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise openssh.SignatureError("it is too large for a signature")
    text = content.decode("ascii")
    blob = openssh.verify(text, message, NAMESPACE)
    person = signers.signer(blob, NAMESPACE, at)
    if person is None:
        why = "may not sign plans now" if signers.knows(blob) else "is not among the allowed signers"
        raise openssh.SignatureError(f"its key {openssh.fingerprint(blob)} {why}")
    return Approval(person, openssh.fingerprint(blob), text)


def _authors(rule: ApprovalRule, signers: openssh.AllowedSigners) -> frozenset[str]:
    """All names of the authors.

    A name that the file does not have may be another spelling of somebody in it, who could then approve their own
    change: it is refused.
    """
    names: frozenset[str] = frozenset()
    for author in rule.not_author:
        person = signers.who(author)
        if person is None:
            raise RequestError(
                f"the author {author!r} is not a principal in {rule.allowed_signers}",
                'write the author\'s name there; somebody who must not approve gets namespaces="none"',
            )
        names |= person
    return names


def signers_of(file: str) -> tuple[openssh.AllowedSigners, str]:
    """The allowed signers of a file, and its digest; raises a :class:`WorkflowError`."""
    try:
        content = Path(file).read_bytes()
        return openssh.parse_allowed_signers(content.decode("utf-8")), f"sha256:{hashlib.sha256(content).hexdigest()}"
    except openssh.SignersError as error:
        raise WorkflowError(f"the allowed signers in {file} cannot be used: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"the allowed signers in {file} cannot be read: {error}") from error


def signatures_next_to(file: str) -> Sequence[str]:
    """The files of signatures next to a file: its name, and ``.sig`` at the end."""
    return sorted(_matching(f"{glob.escape(file)}.sig", f"{glob.escape(file)}.*.sig"))


def _matching(*patterns: str) -> Iterator[str]:
    for pattern in patterns:
        yield from glob.glob(pattern)


def _bytes_of(plan_file: str, digest: str) -> bytes:
    """The plan's bytes, if they are still those that were read as a plan."""
    try:
        message = Path(plan_file).read_bytes()
    except OSError as error:
        raise WorkflowError(f"{plan_file} cannot be read: {error}") from error
    if file_digest(message.decode("utf-8", "replace")) != digest:
        raise StaleError(f"{plan_file} was changed while it was read", "apply again")
    return message
