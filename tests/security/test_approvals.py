"""The two-person rule: who counts as an approver, and what is no signature of a plan."""

import base64
import datetime
import hashlib
import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from reconciler.app.approvals import NAMESPACE, approve, check_approvals
from reconciler.app.options import ApprovalRule
from reconciler.app.reasons import NotApprovedError, RequestError, StaleError, WorkflowError
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.plan.file import file_digest, plan_text
from reconciler.snapshot.document import snapshot_text
from reconciler.system.openssh import (
    KeyFileError,
    SignatureError,
    SignersError,
    fingerprint,
    parse_allowed_signers,
    private_key,
    sign,
    verify,
)
from tests.security.test_audit import MANIFESTS
from tests.unit.apply.test_perform import EMPTY, acl, planned

OPENSSH = Path(__file__).parent / "openssh"
MESSAGE = (OPENSSH / "message").read_bytes()
KINDS = ("ed25519", "ecdsab256", "ecdsab384", "ecdsab521", "rsab2048")
NOW = datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC)
Key = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Place:
    """A saved plan, people with keys, and a file of allowed signers."""

    def __init__(self, directory: Path) -> None:
        """Saves a plan."""
        self.plan = directory / "plan.json"
        self.signers = directory / "allowed_signers"
        self.plan.write_text(plan_text(planned(EMPTY, acl("x"))), encoding="utf-8")
        self._directory = directory
        self.lines: list[str] = []

    def person(self, name: str, principals: str | None = None, options: str = f'namespaces="{NAMESPACE}"') -> Path:
        """A new key of a person, which is allowed; returns its file."""
        key = ed25519.Ed25519PrivateKey.generate()
        file = self._directory / name
        file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        self.lines.append(" ".join(filter(None, (principals or f"{name}@example.com", options, public))))
        return file

    def count(self, required: int = 1, *not_author: str, at: datetime.datetime = NOW) -> list[str]:
        """Who approved, as the rule counts them."""
        self.signers.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        rule = ApprovalRule(required, str(self.signers), not_author)
        digest = file_digest(self.plan.read_text(encoding="utf-8"))
        return [one.name for one in check_approvals(str(self.plan), digest, rule, at).approvers]

    def approve(self, *keys: Path) -> None:
        """Sign as each of them."""
        for key in keys:
            approve(str(self.plan), str(key))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_what_openssh_signed_is_verified(kind: str) -> None:
    """Somebody signs with ssh-keygen, whatever the key: it is that key's signature, and over these bytes only."""
    text = (OPENSSH / f"{kind}.sig").read_text(encoding="ascii")
    public = (OPENSSH / f"{kind}.pub").read_text(encoding="ascii").split()
    assert verify(text, MESSAGE, NAMESPACE) == base64.b64decode(public[1])
    with pytest.raises(SignatureError, match="not a signature over these bytes"):
        verify(text, MESSAGE + b" ", NAMESPACE)


def test_a_signature_for_another_purpose_is_none_of_a_plan() -> None:
    """The attacker takes a signature that was made for a file or a commit: it does not count."""
    text = (OPENSSH / "ed25519-namespace-file.sig").read_text(encoding="ascii")
    assert verify(text, MESSAGE, "file")
    with pytest.raises(SignatureError, match="made for the namespace 'file'"):
        verify(text, MESSAGE, NAMESPACE)


@pytest.mark.parametrize(
    "key",
    [
        ed25519.Ed25519PrivateKey.generate(),
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP384R1()),
        ec.generate_private_key(ec.SECP521R1()),
        rsa.generate_private_key(65537, 2048),
    ],
    ids=["ed25519", "p256", "p384", "p521", "rsa"],
)
def test_our_signatures_are_what_the_format_says(key: Key) -> None:
    """What approve writes is taken apart here by other code, straight from PROTOCOL.sshsig."""
    loaded = private_key(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    lines = sign(loaded, MESSAGE, NAMESPACE).split("\n")
    assert (lines[0], lines[-2:]) == ("-----BEGIN SSH SIGNATURE-----", ["-----END SSH SIGNATURE-----", ""])
    assert max(map(len, lines[1:-2])) <= 70
    whole = base64.b64decode("".join(lines[1:-2]))
    assert whole[:10] == b"SSHSIG\x00\x00\x00\x01"
    public, namespace, reserved, digest, signature = _strings(whole[10:])
    assert public == base64.b64decode(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).split()[1])
    assert (namespace, reserved, digest) == (NAMESPACE.encode(), b"", b"sha512")
    parts = (namespace, b"", digest, hashlib.sha512(MESSAGE).digest())
    to_sign = b"SSHSIG" + b"".join(struct.pack(">I", len(part)) + part for part in parts)
    algorithm, value = _strings(signature)
    if isinstance(key, rsa.RSAPrivateKey):
        assert algorithm == b"rsa-sha2-512"
        key.public_key().verify(value, to_sign, padding.PKCS1v15(), hashes.SHA512())
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        first, second = (int.from_bytes(part, "big", signed=True) for part in _strings(value))
        by_size = {256: hashes.SHA256(), 384: hashes.SHA384(), 521: hashes.SHA512()}
        der = utils.encode_dss_signature(first, second)
        key.public_key().verify(der, to_sign, ec.ECDSA(by_size[key.curve.key_size]))
    else:
        key.public_key().verify(value, to_sign)


def _strings(data: bytes) -> list[bytes]:
    found = []
    while data:
        (size,) = struct.unpack(">I", data[:4])
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


def test_every_changed_byte_of_a_signature_is_refused() -> None:
    """The attacker alters a signature file anywhere: it is no longer a signature of that key over these bytes."""
    text = (OPENSSH / "ed25519.sig").read_text(encoding="ascii")
    key = verify(text, MESSAGE, NAMESPACE)
    armor = text.split("\n")
    whole = base64.b64decode("".join(armor[1:-2]))
    for at in range(len(whole)):
        other = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        with pytest.raises(SignatureError):
            verify(_armored(other), MESSAGE, NAMESPACE)
    for other in (whole + b"\x00", whole[:-1], b""):
        with pytest.raises(SignatureError):
            verify(_armored(other), MESSAGE, NAMESPACE)
    assert verify(_armored(whole), MESSAGE, NAMESPACE) == key
    for written in (text + text, "x" + text, text.replace("BEGIN", "END"), text[:-40]):
        with pytest.raises(SignatureError):
            verify(written, MESSAGE, NAMESPACE)


def _armored(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    return f"-----BEGIN SSH SIGNATURE-----\n{text}\n-----END SSH SIGNATURE-----\n"


def test_two_people_are_two(place: Place) -> None:
    """Two people sign: the plan is approved by both, in whatever order the files lie there."""
    place.approve(place.person("alice"), place.person("bob"))
    assert sorted(place.count(2)) == ["alice@example.com", "bob@example.com"]
    with pytest.raises(NotApprovedError):
        place.count(3)


def test_one_person_with_two_keys_counts_once(place: Place) -> None:
    """The attacker signs with two keys of their own: that is one approval, also where only one principal is shared."""
    place.approve(place.person("alice"), place.person("laptop", "Alice@Example.com,al"), place.person("third", "al"))
    assert len(place.count(1)) == 1
    with pytest.raises(NotApprovedError) as refused:
        place.count(2)
    assert sum("has signed already" in one for one in refused.value.others) == 2


def test_the_same_signature_twice_counts_once(place: Place) -> None:
    """The attacker copies a colleague's signature: that is one approval."""
    place.approve(place.person("alice"))
    [file] = place.plan.parent.glob("plan.json.*.sig")
    (place.plan.parent / "plan.json.copy.sig").write_bytes(file.read_bytes())
    with pytest.raises(NotApprovedError):
        place.count(2)


def test_an_unknown_signer_does_not_count(place: Place) -> None:
    """The attacker signs with a key that nobody allowed: it is named, and does not count."""
    place.approve(place.person("alice"), place.person("mallory"))
    place.lines.pop()
    assert place.count(1) == ["alice@example.com"]
    with pytest.raises(NotApprovedError) as refused:
        place.count(2)
    assert "is not among the allowed signers" in refused.value.others[0]


def test_the_author_does_not_count(place: Place) -> None:
    """Authors sign their own change, under any of their principals and with any of their keys: it does not count."""
    place.approve(place.person("alice", "alice@example.com,alice"), place.person("other", "alice"), place.person("bob"))
    assert place.count(1, "ALICE") == ["bob@example.com"]
    with pytest.raises(NotApprovedError) as refused:
        place.count(2, "alice@example.com")
    assert sum("is an author of the change" in one for one in refused.value.others) == 2


def test_an_author_whom_the_file_does_not_name_is_refused(place: Place) -> None:
    """The pipeline spells the author in another way than the file: nobody can tell whether they signed."""
    place.approve(place.person("alice"))
    with pytest.raises(RequestError, match="is not a principal"):
        place.count(1, "alice-gh")


def test_a_signature_over_other_bytes_does_not_count(place: Place) -> None:
    """The attacker puts another plan under the approved name, which even has the same id: it is not approved."""
    place.approve(place.person("alice"))
    plan = planned(EMPTY, acl("x"))
    place.plan.write_text(plan_text(replace(plan, created_at="2030-01-01T00:00:00Z")), encoding="utf-8")
    with pytest.raises(NotApprovedError) as refused:
        place.count(1)
    assert "not a signature over these bytes" in refused.value.others[0]


def test_a_plan_that_is_exchanged_after_it_was_read_is_refused(place: Place) -> None:
    """The attacker exchanges the file between reading and checking: the bytes that count are those that were read."""
    place.approve(place.person("alice"))
    place.count(1)
    rule = ApprovalRule(1, str(place.signers))
    with pytest.raises(StaleError, match="was changed while it was read"):
        check_approvals(str(place.plan), file_digest("{}"), rule, NOW)


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ("", True),
        ('namespaces="git"', False),
        ('namespaces="git,kafka-reconciler-*"', True),
        ('valid-after="20261123Z"', False),
        ('valid-after="20261122115959Z"', True),
        ('valid-before="20261122Z"', False),
        ('valid-before="202611221201Z"', True),
        ('valid-after="20250101Z",valid-before="20260101Z"', False),
    ],
)
def test_a_key_counts_for_its_purpose_and_time_only(place: Place, options: str, counts: bool) -> None:
    """The attacker uses a key that is for commits, has expired or is not valid yet: it does not count."""
    place.approve(place.person("alice", options=options))
    if counts:
        assert place.count(1) == ["alice@example.com"]
    else:
        with pytest.raises(NotApprovedError) as refused:
            place.count(1)
        assert "may not sign plans now" in refused.value.others[0]


@pytest.mark.parametrize(
    "line",
    [
        "* KEY",
        "*@example.com KEY",
        "!eve@example.com,alice@example.com KEY",
        "alice@example.com, KEY",
        "alice@example.com cert-authority KEY",
        'alice@example.com namespaces="!git" KEY',
        'alice@example.com namespaces="" KEY',
        'alice@example.com namespaces="git",namespaces="file" KEY',
        'alice@example.com valid-before="tomorrow" KEY',
        'alice@example.com valid-before="20261399Z" KEY',
        'alice@example.com namespaces="git",sudo="yes" KEY',
        "alice@example.com",
        "alice@example.com ssh-ed25519 AAAA",
        "alice@example.com ssh-rsa ED25519",
    ],
)
def test_a_file_that_leaves_open_who_signs_is_refused(line: str) -> None:
    """Somebody writes a line that could mean several people or none: no line of the file counts."""
    kind, key, *_ = (OPENSSH / "ed25519.pub").read_text(encoding="ascii").split()
    with pytest.raises(SignersError, match="line 1"):
        parse_allowed_signers(line.replace("KEY", f"{kind} {key}").replace("ED25519", key))


def test_a_key_of_two_people_is_refused() -> None:
    """The attacker adds a colleague's name to the own key: the file is refused, not one of the two believed."""
    key = (OPENSSH / "ed25519.pub").read_text(encoding="ascii")
    with pytest.raises(SignersError, match="several people"):
        parse_allowed_signers(f"alice@example.com {key}bob@example.com {key}")
    assert parse_allowed_signers(f"alice@example.com,al {key}al {key}").who("AL") is not None


def test_records_say_who_approved_and_whose_signature_was_left_out(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The auditor has the audit log and no signature file: it names people, keys, and the author who signed."""
    monkeypatch.chdir(place.plan.parent)
    monkeypatch.delenv("CI", raising=False)
    Path("m").mkdir()
    Path("m/all.yaml").write_text(MANIFESTS, encoding="utf-8")
    Path("live.json").write_text(snapshot_text(EMPTY), encoding="utf-8")
    where = ["--cluster", "snapshot:live.json"]
    assert run(["plan", "m", *where, "--out", "plan.json"]) == 0
    alice, *others = map(place.person, ("alice", "bob", "eve"))
    place.approve(alice)
    place.count(1)
    rule = ["--require-approvals", "2", "--allowed-signers", str(place.signers), "--not-author", "Eve@example.com"]
    # Nobody is there to ask: what is missing are signatures, and where they are there nobody has to agree once more.
    assert run(["apply", "plan.json", "m", *where, "--audit", "audit.jsonl", *rule]) == Exit.REFUSED
    assert "needs the approval of 2" in (said := capsys.readouterr().err)
    assert "--yes" not in said
    assert not Path("audit.jsonl").exists()
    place.approve(*others)
    assert run(["apply", "plan.json", "m", *where, "--audit", "audit.jsonl", *rule]) == 0
    for file in ("audit.jsonl", "plan.json.journal"):
        first = json.loads(Path(file).read_text(encoding="utf-8").splitlines()[0])
        found = first["approvals"]
        assert (first["record"], found["required"], found["authors"]) == ("run", 2, ["eve@example.com"])
        assert found["allowedSigners"] == f"sha256:{hashlib.sha256(place.signers.read_bytes()).hexdigest()}"
        assert {one["name"] for one in found["approvers"]} == {"alice@example.com", "bob@example.com"}
        keys = {line.split()[0]: fingerprint(base64.b64decode(line.split()[-1])) for line in place.lines}
        assert all(one["key"] == keys[one["name"]] and one["verified"] for one in found["approvers"])
        assert ["eve@example.com" in one and "is an author" in one for one in found["leftOut"]] == [True]
    Path("m/all.yaml").write_text(MANIFESTS.replace("topics: [x]", "topics: [x, y]"), encoding="utf-8")
    assert run(["plan", "m", *where, "--out", "other.json"]) == 0
    assert run(["apply", "other.json", "m", *where, "--yes", "--audit", "other.jsonl", "--journal", "j"]) == 0
    assert all(
        json.loads(line)["approvals"] is None
        for line in Path("other.jsonl").read_text(encoding="utf-8").splitlines()
        if json.loads(line)["record"] == "run"
    )


def test_signatures_outlive_the_plan_beside_the_log(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipeline throws the plan and its signatures away: the log keeps them by digest, and finds one that changed."""
    monkeypatch.chdir(place.plan.parent)
    monkeypatch.delenv("CI", raising=False)
    Path("m").mkdir()
    Path("m/all.yaml").write_text(MANIFESTS, encoding="utf-8")
    Path("live.json").write_text(snapshot_text(EMPTY), encoding="utf-8")
    where = ["--cluster", "snapshot:live.json"]
    assert run(["plan", "m", *where, "--out", "plan.json"]) == 0
    place.approve(*map(place.person, ("alice", "bob", "eve")))
    place.count(1)
    rule = ["--require-approvals", "2", "--allowed-signers", str(place.signers), "--not-author", "Eve@example.com"]
    assert run(["apply", "plan.json", "m", *where, "--audit", "audit.jsonl", *rule]) == 0
    approvers = json.loads(Path("audit.jsonl").read_text(encoding="utf-8").splitlines()[0])["approvals"]["approvers"]
    capsys.readouterr()
    for file in Path().glob("plan.json*"):
        file.unlink()
    kept = {Path("audit.jsonl.signatures") / f"{one['signature'].removeprefix('sha256:')}.sig" for one in approvers}
    assert set(Path("audit.jsonl.signatures").iterdir()) == kept
    assert len(kept) == 2
    assert run(["audit", "verify", "audit.jsonl"]) == 0
    assert "signature" not in capsys.readouterr().err
    changed, gone = sorted(kept)
    changed.write_text("-----BEGIN SSH SIGNATURE-----")
    gone.unlink()
    assert run(["audit", "verify", "audit.jsonl"]) == Exit.STALE
    shown = capsys.readouterr()
    assert shown.out.count("was changed") == 1
    assert shown.err.count("is not beside the log") == 1
    for who in ("alice@example.com", "bob@*", approvers[0]["key"]):
        assert run(["audit", "list", "topic/x", "--audit", "audit.jsonl", "--by", who, "--output", "json"]) == 0
        entries = json.loads(capsys.readouterr().out)["entries"]
        assert entries
        for entry in entries:
            assert set(entry["approvedBy"]) == {"alice@example.com", "bob@example.com"}
            assert (entry["authors"], entry["outcome"]) == (["eve@example.com"], "done")
    assert run(["audit", "list", "--audit", "audit.jsonl", "--by", "eve@example.com", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []


def test_a_weak_key_does_not_sign(place: Place) -> None:
    """Somebody has an RSA key of 1,024 bits: it neither signs nor counts."""
    key = rsa.generate_private_key(65537, 1024)  # noqa: S505 - what is refused
    with pytest.raises(KeyFileError, match="1024 bits"):
        private_key(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))


def test_a_key_that_cannot_sign_shows_nothing_of_itself(place: Place) -> None:
    """Somebody names a file that is no key: the message has its name and not its content."""
    file = place.plan.parent / "secret"
    file.write_text("-----BEGIN hunter2-----", encoding="utf-8")
    with pytest.raises(WorkflowError) as refused:
        place.approve(file)
    assert "hunter2" not in str(refused.value)
    assert "ssh-keygen -Y sign" in refused.value.advice


def test_a_fingerprint_is_that_of_ssh_keygen() -> None:
    """The fingerprint that approve prints can be compared with ``ssh-keygen -l``."""
    key = serialization.load_ssh_public_key((OPENSSH / "ed25519.pub").read_bytes())
    blob = base64.b64decode((OPENSSH / "ed25519.pub").read_text(encoding="ascii").split()[1])
    expected = serialization.ssh_key_fingerprint(key, hashes.SHA256())
    assert fingerprint(blob) == "SHA256:" + base64.b64encode(expected).decode().rstrip("=")
