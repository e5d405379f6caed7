"""Remove secret values from texts, including errors of the client library."""

import base64
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

PLACEHOLDER = "[redacted]"


def redact(text: str, secrets: Iterable[str]) -> str:
    """``text`` without any of ``secrets``, in plain, URL, base64 or escaped form; longest forms first."""
    forms = {form for secret in secrets if secret for form in _forms(secret)}
    # Longest first: replacing a part of a longer form would leave the rest of it readable.
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, PLACEHOLDER)
    return text


def _forms(secret: str) -> Iterable[str]:
    raw = secret.encode()
    yield secret
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield secret.encode("unicode_escape").decode()
    for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
        yield encoded.decode()
        yield encoded.decode().rstrip("=")
