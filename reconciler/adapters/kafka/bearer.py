"""OAUTHBEARER tokens for the client: a fixed token, an unsecured one, or one signed for Amazon MSK.

librdkafka fetches OIDC tokens itself.
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
#: The year 9999; a later time is not valid.
_LAST_EXPIRY: Final = 253_402_300_800.0
_REGION: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?::\d+)?$")


class Token(NamedTuple):
    """A token and its expiry, in seconds since 1970."""

    text: str
    expires: float


class Bearer(Protocol):
    """Provides tokens that are valid now."""

    def token(self) -> Token:
        """A token; raises :class:`ClusterError` if there is none."""
        ...


class StaticToken:
    """One configured token; its expiry is read from it if it is a JWT with an ``exp`` claim."""

    def __init__(self, text: str) -> None:
        """``text`` is the token."""
        self._text = text

    def token(self) -> Token:
        """The configured token, until it expires."""
        now, expires = time.time(), _expiry(self._text)
        if expires is not None and expires <= now:
            raise ClusterError(
                "token_expired", "the token in sasl.oauthbearer.token has expired", "Fetch a new one, or use OIDC."
            )
        return Token(self._text, now + _AN_HOUR if expires is None else expires)


class UnsecuredToken:
    """An unsigned JWT, for test brokers (``OAuthBearerUnsecuredValidatorCallbackHandler``)."""

    def __init__(self, principal: str) -> None:
        """``principal`` becomes the claim ``sub``."""
        self._principal = principal

    def token(self) -> Token:
        """A new token, valid for an hour."""
        now = time.time()
        claims = {"sub": self._principal, "iat": int(now), "exp": int(now + _AN_HOUR)}
        return Token(f"{_part({'alg': 'none'})}.{_part(claims)}.", now + _AN_HOUR)


class MskIamToken:
    """A token signed with the AWS credentials of the environment (``aws-msk-iam-sasl-signer-python``)."""

    def __init__(self, region: str) -> None:
        """``region`` is that of the cluster."""
        self._region = region

    def token(self) -> Token:
        """A new token, valid for 15 minutes."""
        try:
            signer = importlib.import_module("aws_msk_iam_sasl_signer.MSKAuthTokenProvider")
        except ImportError:
            raise ClusterError(
                "msk_iam_missing",
                "the package that signs tokens for Amazon MSK is not installed",
                "pip install './reconciler[msk-iam]' beside your clone",
            ) from None
        try:
            text, expires_ms = signer.generate_auth_token(self._region)
        except Exception as error:  # botocore's errors have no common base that its users can name
            raise ClusterError(
                "msk_iam_failed", f"no token could be signed: {error}", "Check the AWS credentials and the region."
            ) from None
        return Token(text, expires_ms / 1000)


def msk_region(bootstrap_servers: str) -> str | None:
    """The AWS region in the addresses of an MSK cluster, or ``None``."""
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
