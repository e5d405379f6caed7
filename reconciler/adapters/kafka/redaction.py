"""Keep secret values out of texts, including errors of the client library.

A text that contains a secret is replaced as a whole. Cutting only the secret out would show where it was: what is left
of a line that everybody knows (``f[redacted]iled``) reveals a short secret, or one that is a common word. So a redacted
text depends on nothing that it contained, neither on the secret nor on its place.
"""

import base64
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

PLACEHOLDER: Final = "[withheld: the text contains a secret]"
#: Shorter lines of a secret, such as the last one of a key, are found in harmless texts.
_SHORTEST_LINE: Final = 16
#: The first line of every PEM text, which is no secret.
_PEM: Final = "-----"


def redact(text: str, secrets: Iterable[str]) -> str:
    """``text`` itself, or ``PLACEHOLDER`` if it contains a secret in plain, URL, base64 or escaped form.

    A line of a secret of several lines, such as a key, counts as a secret too.
    """
    found = any(form in text for secret in secrets for part in _parts(secret) for form in _forms(part))
    return PLACEHOLDER if found else text


def _parts(secret: str) -> Iterator[str]:
    if secret:
        yield secret
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith(_PEM))


def _forms(secret: str) -> Iterator[str]:
    raw = secret.encode()
    yield secret
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield secret.encode("unicode_escape").decode()
    yield repr(secret)[1:-1]
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).decode().rstrip("=")
        # After a user's name, as in basic authentication, the same bytes are encoded in one of three ways. Only groups
        # of three bytes that are all the secret's own look the same there.
        for skipped in (1, 2):
            if inner := encode(raw[skipped : len(raw) - (len(raw) - skipped) % 3]).decode():
                yield inner
