"""OAUTHBEARER tokens that we hand to the client: a fixed one, an unsecured one, or one signed for Amazon MSK.

Tokens by OIDC are not among them: librdkafka fetches those itself.
"""

import base64
import binascii
import importlib
import json
import math
import re
import time
from typing import Any, Final, NamedTuple, Protocol

from reconciler.ports import ClusterError

_AN_HOUR: Final = 3600.0
#: The year 9999; what is later is no time.
_LAST_EXPIRY: Final = 253_402_300_800.0
_REGION: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?::\d+)?$")


class Token(NamedTuple):
    """A token and when it ends, in seconds since 1970."""

    text: str
    expires: float


class Bearer(Protocol):
    """Hands out tokens that are good now."""

    def token(self) -> Token:
        """A token; raises :class:`ClusterError` if none can be had."""
        ...


class StaticToken:
    """The one token that was given; when it ends is read from it, where it is a JWT that says so."""

    def __init__(self, text: str) -> None:
        """Keeps the token."""
        self._text = text

    def token(self) -> Token:
        """The same token every time, as long as it lasts."""
        now, expires = time.time(), _expiry(self._text)
        if expires is not None and expires <= now:
            raise ClusterError(
                "token_expired", "the token in sasl.oauthbearer.token has expired", "Fetch a new one, or use OIDC."
            )
        return Token(self._text, now + _AN_HOUR if expires is None else expires)


class UnsecuredToken:
    """A JWT that nobody signed, for brokers under test (``OAuthBearerUnsecuredValidatorCallbackHandler``)."""

    def __init__(self, principal: str) -> None:
        """``principal`` becomes the claim ``sub``."""
        self._principal = principal

    def token(self) -> Token:
        """A fresh token, good for an hour."""
        now = time.time()
        claims = {"sub": self._principal, "iat": int(now), "exp": int(now + _AN_HOUR)}
        return Token(f"{_part({'alg': 'none'})}.{_part(claims)}.", now + _AN_HOUR)


class MskIamToken:
    """A token signed with the AWS credentials of the environment (``aws-msk-iam-sasl-signer-python``)."""

    def __init__(self, region: str) -> None:
        """``region`` is that of the cluster."""
        self._region = region

    def token(self) -> Token:
        """A fresh token, good for fifteen minutes."""
        try:
            signer = importlib.import_module("aws_msk_iam_sasl_signer.MSKAuthTokenProvider")
        except ImportError:
            raise ClusterError(
                "msk_iam_missing",
                "the package that signs tokens for Amazon MSK is not installed",
                "pip install '.[msk-iam]' in a clone",
            ) from None
        try:
            text, expires_ms = signer.generate_auth_token(self._region)
        except Exception as error:  # botocore's errors have no common base that its users can name
            raise ClusterError(
                "msk_iam_failed", f"no token could be signed: {error}", "Check the AWS credentials and the region."
            ) from None
        return Token(text, expires_ms / 1000)


def msk_region(bootstrap_servers: str) -> str | None:
    """The AWS region that an MSK cluster's addresses name, or ``None``."""
    regions = {match[1] for host in bootstrap_servers.split(",") if (match := _REGION.search(host.strip()))}
    return regions.pop() if len(regions) == 1 else None


def _part(content: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def _expiry(token: str) -> float | None:
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        expires = float(claims["exp"])
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return expires if math.isfinite(expires) and expires < _LAST_EXPIRY else None
