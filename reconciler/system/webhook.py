"""Send a message to a URL of the operator: https only, no proxy, no redirect, signed with a timestamp.

The signature is ``X-Reconciler-Signature: v1=`` and the HMAC-SHA256, in hexadecimal, of ``v1:TIMESTAMP:BODY``, with the
seconds since 1970 in ``X-Reconciler-Timestamp``, so that the receiver can refuse old messages. URLs are often secrets,
so errors name only the host.
"""

import hashlib
import hmac
import http.client
import ssl
from typing import Final
from urllib.parse import urlsplit

from reconciler import __version__
from reconciler.dataclass import dataclass

TIMESTAMP: Final = "X-Reconciler-Timestamp"
SIGNATURE: Final = "X-Reconciler-Signature"
_PATIENCE: Final = 10.0
_MOST_ANSWER: Final = 64 * 1024


class WebhookError(Exception):
    """The message was not or may not have been accepted; ``str()`` says why, without the path of the URL."""


@dataclass(frozen=True, slots=True, repr=False)
class Webhook:
    """Where a message goes; signed if there is a ``secret``. ``authorities``: a PEM file beyond the system's CAs."""

    host: str
    port: int
    target: str
    secret: bytes | None = None
    authorities: str | None = None

    def __repr__(self) -> str:
        """The host; the rest of the URL may be secret."""
        return f"Webhook({self.host})"


def webhook(address: str, secret: str | None = None, authorities: str | None = None) -> Webhook:
    """Parse a URL; raises :class:`WebhookError` if it is not allowed."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, 443 if parts.port is None else parts.port
        (host or "").encode("idna")  # as the resolver does: it has no empty labels, and none of more than 63 signs
    except ValueError:
        raise WebhookError("the webhook's address cannot be read") from None
    if parts.scheme != "https" or not host:
        raise WebhookError("a webhook's address has to begin with https:// and name a host")
    if parts.username is not None or parts.password is not None:
        raise WebhookError("a webhook's address has no user or password in it: sign with a secret instead")
    if not address.isascii() or any(sign <= " " or sign == "\x7f" for sign in address):
        raise WebhookError("a webhook's address must be printable ASCII: encode other characters")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if secret is not None and not secret:
        raise WebhookError("the webhook's secret is empty")
    return Webhook(host, port, target, None if secret is None else secret.encode(), authorities)


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """The signature, which the receiver computes too and compares."""
    return "v1=" + hmac.new(secret, b"v1:%d:%b" % (timestamp, body), hashlib.sha256).hexdigest()


def deliver(to: Webhook, body: bytes, timestamp: int) -> None:
    """Send ``body`` once; raises :class:`WebhookError` unless the response status is 2xx."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"reconciler/{__version__}",
        TIMESTAMP: str(timestamp),
    }
    if to.secret is not None:
        headers[SIGNATURE] = signature(to.secret, timestamp, body)
    status = _status(to, body, headers)
    if 300 <= status < 400:
        raise WebhookError(f"{to.host} answers with a redirect ({status}), which is not followed")
    if not 200 <= status < 300:
        raise WebhookError(f"{to.host} refused the message with status {status}")


def _status(to: Webhook, body: bytes, headers: dict[str, str]) -> int:
    try:
        context = ssl.create_default_context()
        if to.authorities is not None:
            context.load_verify_locations(to.authorities)
        connection = http.client.HTTPSConnection(to.host, to.port, timeout=_PATIENCE, context=context)
        try:
            connection.request("POST", to.target, body, headers)
            answer = connection.getresponse()
            answer.read(_MOST_ANSWER)
            return answer.status
        finally:
            connection.close()
    except ssl.SSLCertVerificationError as error:
        raise WebhookError(f"{to.host} shows a certificate that is not trusted: {error.verify_message}") from error
    except (OSError, http.client.HTTPException) as error:
        raise WebhookError(f"{to.host} could not be notified: {type(error).__name__}") from error
