"""Principals that Kafka can know (``KafkaPrincipal``, ``StandardAuthorizerData``; nothing is trimmed there)."""

from typing import Final

from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Trouble
from reconciler.manifest.reader.source import quoted
from reconciler.model import WILDCARD_PRINCIPAL
from reconciler.model.characters import is_visible

#: Stands for a star that is a pattern, while the rest of a text is checked as a principal.
_STAR: Final = "\u2217"


def principal_problem(text: str, *, may_be_everyone: bool = True) -> Trouble | None:
    """Why ``text`` is not a principal, or one that no connection can have; ``None`` if it is fine."""
    if text == WILDCARD_PRINCIPAL:
        return None if may_be_everyone else _NOT_EVERYONE
    principal_type, colon, name = text.partition(":")
    if not colon:
        message = f"{quoted(text)} is not a principal: a principal is Type:name"
        return Trouble(Code.PRINCIPAL, message, f"write User:{text.strip()}" if text.strip() else "write User:name")
    if not name.strip():
        return Trouble(Code.PRINCIPAL, f"the principal {quoted(text)} has no name", f"write {principal_type}:name")
    if not is_visible(text) or text != text.strip() or name != name.lstrip() or not principal_type.isalnum():
        message = f"the principal {quoted(text)} has spaces or other characters that no principal has"
        return Trouble(Code.PRINCIPAL, message, "Kafka compares every character; write Type:name")
    # A rule for `user:alice` would be accepted and match nobody.
    if principal_type != "User" and principal_type.lower() == "user":
        message = f"{quoted(text)} is not User:{name}: Kafka compares the case of the type too"
        return Trouble(Code.PRINCIPAL, message, f"write User:{name}")
    return _wildcard_problem(text, principal_type, name)


def principal_glob_problem(text: str) -> Trouble | None:
    """Why ``text`` is neither a principal nor a pattern of principals, where ``*`` stands for any text."""
    principal_type, colon, name = text.partition(":")
    if colon and "*" in principal_type:
        message = f"{quoted(text)}: the type of a principal is written out"
        return Trouble(Code.PRINCIPAL, message, f"write User:{name or '*'}")
    trouble = principal_problem(text.replace("*", _STAR))
    if trouble is None:
        return None
    return trouble._replace(message=trouble.message.replace(_STAR, "*"), advice=trouble.advice.replace(_STAR, "*"))


def _wildcard_problem(text: str, principal_type: str, name: str) -> Trouble | None:
    if name == "*":
        message = (
            f"{text} does not exist: only {WILDCARD_PRINCIPAL} is a wildcard, and it covers principals of every type"
        )
        return Trouble(Code.DEAD_PRINCIPAL, message, f"write {WILDCARD_PRINCIPAL}, or name the {principal_type}s")
    # A distinguished name may well hold a star: CN=*.example.com,O=Example.
    if name.endswith("*") or (name.startswith("*") and "=" not in name):
        message = (
            f"{quoted(text)} matches no principal: Kafka has no patterns for principals, only {WILDCARD_PRINCIPAL}"
        )
        return Trouble(Code.DEAD_PRINCIPAL, message, "name each principal: principals: [User:a, User:b]")
    return None


_NOT_EVERYONE = Trouble(
    Code.DEAD_PRINCIPAL, f"{WILDCARD_PRINCIPAL} is not a wildcard here", "name each principal: User:name"
)
