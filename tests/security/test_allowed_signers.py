"""The file of allowed signers is never read more widely than by ``ssh-keygen`` (Debian's package openssh-client)."""

import base64
import datetime
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.app.approvals import NAMESPACE
from reconciler.system.openssh import AllowedSigners, SignersError, parse_allowed_signers, private_key, same, sign

MESSAGE: Final = b"a plan"
NOW: Final = datetime.datetime.now(datetime.UTC)
#: What ends a line for some readers, and for ``ssh-keygen`` does not.
SEPARATORS: Final = ("\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
HIDDEN: Final = ("\0", "\x1b", "\u200b", "\u202e", "\u00a0", "\ufeff", "\u00ad")


class Key(NamedTuple):
    """A public key as a line has it, and its signature of the message."""

    public: str
    signature: str

    @property
    def blob(self) -> bytes:
        return base64.b64decode(self.public.split()[1])


def _key(seed: int) -> Key:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    loaded = private_key(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    return Key(public, sign(loaded, MESSAGE, NAMESPACE))


KEYS: Final = tuple(map(_key, range(1, 4)))


@cache
def ssh_keygen() -> str:
    found = shutil.which("ssh-keygen")
    assert found, "ssh-keygen is missing: install Debian's package openssh-client"
    return found


def openssh_accepts(place: Path, text: str, principal: str, key: Key) -> bool:
    """Whether ``ssh-keygen`` takes the key's signature for that person's."""
    (place / "allowed").write_bytes(text.encode("utf-8", "surrogatepass"))
    (place / "sig").write_text(key.signature, encoding="ascii")
    command = [ssh_keygen(), "-Y", "verify", "-f", "allowed", "-I", principal, "-n", NAMESPACE, "-s", "sig"]
    return subprocess.run(command, input=MESSAGE, cwd=place, capture_output=True, check=False).returncode == 0


def ours(text: str) -> AllowedSigners | None:
    try:
        return parse_allowed_signers(text)
    except SignersError:
        return None


@pytest.mark.parametrize("character", [*SEPARATORS, *HIDDEN])
def test_one_line_is_one_person(character: str, tmp_path: Path) -> None:
    """A pasted key's comment goes on with another person and their key: the file is refused."""
    text = f"eve@example.com {KEYS[0].public} laptop{character}boss@example.com {KEYS[1].public}\n"
    assert not openssh_accepts(tmp_path, text, "boss@example.com", KEYS[1])
    with pytest.raises(SignersError, match="line 1: it has an invisible or separating character"):
        parse_allowed_signers(text)
    with pytest.raises(SignersError, match="line 2: it has an invisible"):
        parse_allowed_signers(
            f"alice@example.com {KEYS[0].public}\n# words{character}boss@example.com {KEYS[1].public}\n"
        )


def test_lines_may_end_as_windows_writes_them(tmp_path: Path) -> None:
    text = f"alice@example.com {KEYS[0].public}\r\n\tbob@example.com\t{KEYS[1].public} a comment\r\n"
    found = parse_allowed_signers(text)
    for name, key in (("alice@example.com", KEYS[0]), ("bob@example.com", KEYS[1])):
        assert found.signer(key.blob, NAMESPACE, NOW) == frozenset({name})
        assert openssh_accepts(tmp_path, text, name, key)


@pytest.mark.parametrize(
    "names",
    [
        ("zo\u00eb@example.com", "zoe\u0308@example.com"),
        ("boss@example.com", "b\u043ess@example.com"),
        ("boss@example.com", "BO\u0405S@example.com"),
        ("admin1@example.com", "adminl@example.com"),
    ],
)
def test_people_who_look_alike_are_not_two(names: tuple[str, str]) -> None:
    lines = [f"{name} {key.public}\n" for name, key in zip(names, KEYS, strict=False)]
    with pytest.raises(SignersError, match="look alike"):
        parse_allowed_signers("".join(lines))
    # One person may be written in two ways, where one line says so.
    assert parse_allowed_signers(f"{','.join(names)} {KEYS[0].public}\n").who(names[1]) == frozenset(map(same, names))


_names = st.sampled_from(
    ["alice@example.com", "bob@example.com", '"carl c@x"', "dora,dora@example.com", "*", "!eve", '"frank']
)
_options = st.sampled_from(
    [
        "",
        f'namespaces="{NAMESPACE}"',
        'namespaces="git,file"',
        'namespaces="kafka-*"',
        'valid-before="20200101Z"',
        'valid-after="20200101",namespaces="*"',
        'Namespaces="git"',
        'valid-before="20991231235959Z"',
        'namespaces="a\\"b"',
        "cert-authority",
    ]
)
_gaps = st.sampled_from([" ", "  ", "\t", " \t "])
_ends = st.sampled_from(["\n", "\r\n", "\n\n", "", *SEPARATORS])
_lines = st.builds(
    "{}{}{}{}{}{}".format,
    st.sampled_from(["", " ", "\t", "#"]),
    _names,
    _gaps,
    _options.flatmap(lambda options: _gaps.map(lambda gap: options + gap if options else "")),
    st.sampled_from([key.public for key in KEYS]),
    st.one_of(
        st.just(""), st.text(max_size=8).map(" {}".format), st.sampled_from(KEYS).map(lambda key: f" bob {key.public}")
    ),
)


@given(st.lists(st.tuples(_lines, _ends), max_size=4))
@settings(max_examples=60, deadline=None)
def test_no_file_makes_more_signers_than_for_openssh(lines: list[tuple[str, str]]) -> None:
    text = "".join(part for line in lines for part in line)
    found = ours(text)
    with TemporaryDirectory() as place:
        for key in KEYS if found else ():
            person = found.signer(key.blob, NAMESPACE, NOW) if found else None
            if person is not None:
                names = {name for name in person for line in found.lines if name in line.principals} if found else set()
                assert any(openssh_accepts(Path(place), text, name, key) for name in names)
