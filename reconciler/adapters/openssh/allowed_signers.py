"""The file of allowed signers (``ssh-keygen``'s ALLOWED SIGNERS): which key is whose, for which purpose, and when.

Stricter than ``ssh-keygen``, which asks about one person at a time: here people are counted, so whatever leaves open
who somebody is makes the file unusable. Patterns in the place of principals, certificate authorities, unknown options,
a key of two people, people who look alike and invisible characters are refused. Never wider: a line ends only at a line
feed, as it does for ``ssh-keygen``.
"""

import base64
import binascii
import datetime
import re
from collections.abc import Iterable, Iterator
from typing import Final

from reconciler.adapters.openssh.keys import key_type
from reconciler.adapters.openssh.wire import WireError
from reconciler.dataclass import dataclass
from reconciler.model.characters import is_visible, named
from reconciler.model.confusables import look_alikes
from reconciler.model.glob import name_glob

_LINE: Final = re.compile(r'(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+))[ \t]+(?P<rest>\S.*)')
_OPTION: Final = re.compile(r'([A-Za-z-]+)(?:="([^"]*)")?(,|[ \t]+|$)')
_TIME: Final = re.compile(r"(\d{8})(\d{4}(?:\d{2})?)?(Z?)", re.ASCII)
_KEY: Final = re.compile(r"(\S+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t].*)?")


class SignersError(Exception):
    """The file does not say clearly who may sign; ``str()`` says where and why."""


@dataclass(frozen=True, slots=True)
class AllowedSigner:
    """One line: a key, whose it is, and what it may sign when. ``None``: without limit."""

    principals: tuple[str, ...]
    blob: bytes
    namespaces: tuple[str, ...] | None
    valid_after: datetime.datetime | None
    valid_before: datetime.datetime | None

    def allows(self, namespace: str, at: datetime.datetime) -> bool:
        """Whether it may sign for that purpose at that time; of a time without an offset, it is local."""
        if self.namespaces is not None and not any(name_glob(glob)(namespace) for glob in self.namespaces):
            return False
        early = self.valid_after is not None and at < self.valid_after
        return not early and (self.valid_before is None or at < self.valid_before)


@dataclass(frozen=True, slots=True)
class AllowedSigners:
    """A file: its lines, and for each principal, as :func:`same`, all principals of the same person."""

    lines: tuple[AllowedSigner, ...]
    people: dict[str, frozenset[str]]

    def who(self, principal: str) -> frozenset[str] | None:
        """The person who is called that; ``None``: nobody."""
        return self.people.get(same(principal))

    def signer(self, blob: bytes, namespace: str, at: datetime.datetime) -> frozenset[str] | None:
        """The person whose key may sign for that purpose at that time; ``None``: nobody."""
        found = (line for line in self.lines if line.blob == blob and line.allows(namespace, at))
        return next((self.people[same(line.principals[0])] for line in found), None)

    def knows(self, blob: bytes) -> bool:
        """Whether the key is anybody's, for whatever purpose and time."""
        return any(line.blob == blob for line in self.lines)


def same(principal: str) -> str:
    """What two spellings of one person have in common: case tells nobody apart."""
    return principal.casefold()


def parse_allowed_signers(text: str) -> AllowedSigners:
    """The signers of a file; raises :class:`SignersError`."""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if (stripped := _shown(line)) and not stripped.startswith("#"):
                lines.append(_signer(stripped))
        except (ValueError, WireError) as error:
            raise SignersError(f"line {number}: {error}") from error
    people = _people(lines)
    _tell_apart(people)
    for signer in lines:
        owners = {people[same(other.principals[0])] for other in lines if other.blob == signer.blob}
        if len(owners) > 1:
            names = ", ".join(sorted(min(owner) for owner in owners))
            raise SignersError(f"one key is the key of several people: {names}")
    return AllowedSigners(tuple(lines), people)


def _shown(line: str) -> str:
    """The line without what surrounds it. A reviewer has to see all of it, also a key's comment, and as one line."""
    text = line.removesuffix("\r").replace("\t", " ")
    if not is_visible(text):
        hidden = next(character for character in text if not is_visible(character))
        raise ValueError(f"it has an invisible or separating character: {named(hidden)}")
    return line.strip(" \t\r")


def _tell_apart(people: dict[str, frozenset[str]]) -> None:
    for alike in look_alikes(people):
        if len({people[name] for name in alike}) > 1:
            names = ", ".join(map(ascii, alike))
            raise SignersError(f"people whose names look alike: {names}. List the names of one person in one line")


def _signer(line: str) -> AllowedSigner:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError("it is not: principals, options, type of key, key")
    principals = tuple((match["quoted"] if match["quoted"] is not None else match["plain"]).split(","))
    for principal in principals:
        # OpenSSH matches patterns here. An approval has to name one person, so that two people cannot be one.
        if not principal or not is_visible(principal) or set(principal) & set("*?! "):
            raise ValueError(f"{principal!r} is not the name of one person: patterns are not supported")
    options, rest = _options(match["rest"])
    key = _KEY.fullmatch(rest)
    if key is None:
        raise ValueError("there is no type of key and key in base64")
    try:
        blob = base64.b64decode(key[2], validate=True)
    except binascii.Error as error:
        raise ValueError("the key is not base64") from error
    if key_type(blob) != key[1]:
        raise ValueError(f"the key is of type {key_type(blob)}, not {key[1]}")
    namespaces = options.get("namespaces")
    return AllowedSigner(
        principals,
        blob,
        None if namespaces is None else _namespaces(namespaces),
        _time(options.get("valid-after")),
        _time(options.get("valid-before")),
    )


def _options(text: str) -> tuple[dict[str, str], str]:
    """Options by name, and what follows them: they begin where no type of key stands."""
    first = re.split(r"[\s,=]", text, maxsplit=1)[0].lower()
    found: dict[str, str] = {}
    if first not in ("namespaces", "valid-after", "valid-before", "cert-authority"):
        return found, text
    more = True
    while more:
        match = _OPTION.match(text)
        if match is None:
            raise ValueError('options are name="value", with commas between them')
        name, value = match[1].lower(), match[2]
        if name == "cert-authority":
            raise ValueError("cert-authority is not supported: list the key of each person")
        if name not in ("namespaces", "valid-after", "valid-before") or value is None or name in found:
            raise ValueError(f"the option {name!r} is unknown, has no value or stands there twice")
        found[name], more, text = value, match[3] == ",", text[match.end() :]
    return found, text


def _namespaces(text: str) -> tuple[str, ...]:
    found = tuple(text.split(","))
    if not all(found) or any(one.startswith("!") for one in found):
        raise ValueError("namespaces are names with commas between them, without negation")
    return found


def _time(text: str | None) -> datetime.datetime | None:
    """``YYYYMMDD[HHMM[SS]][Z]``; without ``Z`` in local time, as ``ssh-keygen`` has it."""
    if text is None:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time: write YYYYMMDDHHMMSSZ")
    clock = (match[2] or "").ljust(6, "0")
    found = datetime.datetime.strptime(match[1] + clock, "%Y%m%d%H%M%S")
    return found.replace(tzinfo=datetime.UTC) if match[3] else found.astimezone()


def _people(lines: Iterable[AllowedSigner]) -> dict[str, frozenset[str]]:
    """Lines that share a principal are of one person."""
    found: dict[str, frozenset[str]] = {}
    for line in lines:
        names = frozenset(map(same, line.principals))
        whole = names.union(*_known(names, found))
        found.update(dict.fromkeys(whole, whole))
    return found


def _known(names: Iterable[str], found: dict[str, frozenset[str]]) -> Iterator[frozenset[str]]:
    return (found[name] for name in names if name in found)
