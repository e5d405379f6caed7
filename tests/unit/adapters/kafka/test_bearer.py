"""Tokens: fixed, unsecured, and signed with AWS credentials (which happens without a network)."""

import base64
import json
import sys
import time

import pytest

from reconciler.kafka.cluster import connect
from reconciler.kafka.sasl import MskIamToken, StaticToken, UnsecuredToken, msk_region
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.ports import ClusterError


def jwt(claims: dict[str, object]) -> str:
    part = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{part}.sig"


def test_a_fixed_token_ends_when_it_says() -> None:
    assert StaticToken(jwt({"exp": 1_900_000_000})).token().expires == 1_900_000_000


@pytest.mark.parametrize(
    "text", ["opaque", jwt({}), jwt({"exp": "soon"}), jwt({"exp": None}), jwt({"exp": 1e300}), "a.b.c", "e30.W10.x"]
)
def test_a_fixed_token_that_does_not_say_lasts_an_hour(text: str) -> None:
    token = StaticToken(text).token()
    assert token.text == text
    assert 3500 < token.expires - time.time() < 3700


@pytest.mark.parametrize("expires", [0, 2_000, 1_700_000_000.5])
def test_a_fixed_token_that_has_ended_is_not_sent(expires: float) -> None:
    """The client would say, after ten seconds, that it has none."""
    with pytest.raises(ClusterError, match="has expired"):
        StaticToken(jwt({"exp": expires})).token()


def test_an_unsecured_token_names_its_principal() -> None:
    header, claims, signature = UnsecuredToken("alice").token().text.split(".")
    assert json.loads(base64.urlsafe_b64decode(header + "==")) == {"alg": "none"}
    assert json.loads(base64.urlsafe_b64decode(claims + "=="))["sub"] == "alice"
    assert signature == ""


def test_a_token_for_msk_is_signed_for_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    token = MskIamToken("eu-west-1").token()
    url = base64.urlsafe_b64decode(token.text + "==").decode()
    assert url.startswith("https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect")
    assert "hunter2" not in url
    assert 0 < token.expires - time.time() <= 900


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer.MSKAuthTokenProvider", None)
    with pytest.raises(ClusterError) as missing:
        MskIamToken("eu-west-1").token()
    assert missing.value.code == "msk_iam_missing"
    assert missing.value.advice == "pip install './reconciler[msk-iam]' beside your clone"


@pytest.mark.parametrize(
    ("servers", "region"),
    [
        ("b-1.x.y.c2.kafka.us-east-1.amazonaws.com:9098", "us-east-1"),
        ("boot-z.c1.kafka-serverless.eu-north-1.amazonaws.com:9098", "eu-north-1"),
        ("b-1.x.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"),
        ("a.kafka.us-east-1.amazonaws.com:1,b.kafka.us-east-2.amazonaws.com:1", None),
        ("kafka.us-east-1.amazonaws.com.evil.com:1", None),
        ("localhost:9092", None),
    ],
)
def test_the_region_is_read_from_the_addresses(servers: str, region: str | None) -> None:
    assert msk_region(servers) == region


def test_a_token_that_cannot_be_had_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer.MSKAuthTokenProvider", None)
    client = {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM", "aws.region": "eu-west-1"}
    with pytest.raises(ClusterError, match="not installed"):
        connect(client_settings("127.0.0.1:9", client, SecretSource()))
