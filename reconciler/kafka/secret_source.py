"""Where secrets may come from: only the variables and directories that the operator named.

``reconciler.model.secrets`` has the syntax of the references.
"""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model.secrets import REFERENCE, has_reference

_LARGEST_FILE: Final = 1024 * 1024


class SecretError(Exception):
    """A reference that cannot be resolved, with the flag or the change that would help."""

    def __init__(self, message: str, advice: str = "") -> None:
        """Neither text contains a secret value."""
        super().__init__(message)
        self.message, self.advice = message, advice


def private_directory(file: Path) -> tuple[Path, ...]:
    """The directory of ``file`` if nobody else can reach into it, as OpenSSH asks of ``~/.ssh``; else nothing.

    A connections file in such a directory may refer to the files beside it: whoever could put either of them there
    is the operator.
    """
    directory = Path(os.path.realpath(file)).parent
    try:
        status = directory.stat()
    except OSError:
        return ()
    own = status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
    return (directory,) if own else ()


@dataclass(frozen=True, slots=True, repr=False)
class SecretSource:
    """What the operator permits to read: ``--allow-env`` and ``--secrets-dir``, or ``userSecrets`` by prefixes."""

    allow_env: frozenset[str] = frozenset()
    secrets_dirs: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    env_prefixes: tuple[str, ...] = ()

    def resolve(self, text: str) -> tuple[str, frozenset[str]]:
        """``text`` with every reference replaced, and the values inserted; raises :class:`SecretError`.

        What begins like a reference and is none is an error: it would be sent as the password otherwise.
        """
        values: set[str] = set()
        if has_reference(REFERENCE.sub("", text)):
            raise SecretError(
                "cannot read the reference: it is not closed, or of an unknown form",
                "References are ${env:NAME}, ${file:PATH:KEY} and ${dir:DIR:FILE}.",
            )

        def value(match: re.Match[str]) -> str:
            secret = self._value(match[1])
            values.add(secret)
            return secret

        return REFERENCE.sub(value, text), frozenset(values)

    def _value(self, reference: str) -> str:
        provider, _, rest = reference.partition(":")
        place, _, name = rest.rpartition(":")
        match provider:
            case "env":
                return self._variable(rest)
            case "file":
                return self._property(Path(place), name)
            case _:
                return self._file(Path(place), name)

    def _variable(self, name: str) -> str:
        if name not in self.allow_env and not any(map(name.startswith, self.env_prefixes)):
            raise SecretError(f"reading the environment variable {name} is not permitted", f"Add --allow-env {name}.")
        if name not in self.environment:
            raise SecretError(f"the environment variable {name} is not set")
        return self.environment[name]

    def _property(self, path: Path, key: str) -> str:
        import javaproperties  # noqa: PLC0415 - it loads an HTTP client, a mail parser and XML, for few files' sake

        try:
            properties = javaproperties.loads(self._read(path))
        except javaproperties.InvalidUEscapeError:
            # The error quotes the text after \u, which may be the secret.
            message = f"{path} is not a file of Java properties: \\u is not followed by four hex digits"
            raise SecretError(message) from None
        if key not in properties:
            raise SecretError(f"{path} has no key {key!r}")
        return properties[key]

    def _file(self, directory: Path, name: str) -> str:
        if Path(name).name != name or name in ("", ".", ".."):
            raise SecretError(f"{name!r} is not the plain name of a file in {directory}")
        return self._read(directory / name).rstrip("\r\n")

    def _read(self, path: Path) -> str:
        """The file's text, if the file is in a permitted directory after all links are resolved."""
        # Resolved once: the path that is checked is the path that is opened, even if a link changes meanwhile.
        real = Path(os.path.realpath(path))
        if not self._permitted(real):
            raise SecretError(
                f"reading {path} is not permitted: it is not inside a secrets directory",
                f"Add --secrets-dir {path.parent}, if that is where secrets are.",
            )
        if not real.is_file():
            raise SecretError(f"there is no file {path}")
        try:
            with real.open("rb") as opened:
                raw = opened.read(_LARGEST_FILE + 1)
        except OSError as error:
            raise SecretError(f"{path} cannot be read: {error.strerror}") from None
        if len(raw) > _LARGEST_FILE:
            raise SecretError(f"{path} is larger than a secret can be (1 MiB)")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise SecretError(f"{path} is not UTF-8 text") from None

    def _permitted(self, real: Path) -> bool:
        return any(real.is_relative_to(os.path.realpath(directory)) for directory in self.secrets_dirs)

    def __repr__(self) -> str:
        """What may be read; no values."""
        return f"SecretSource(allow_env={sorted(self.allow_env)}, secrets_dirs={[str(d) for d in self.secrets_dirs]})"


@dataclass(frozen=True, slots=True, repr=False)
class AnySecret(SecretSource):
    """Stands for every secret where only the form of references is judged: nothing is read."""

    def _value(self, reference: str) -> str:
        return "a-secret"
