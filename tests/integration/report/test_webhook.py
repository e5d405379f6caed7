"""A webhook gets the message over TLS, signed with its time; nothing goes anywhere else, and nothing goes unasked."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.system.webhook import Webhook, WebhookError, deliver, signature, webhook
from tests.integration.report.receiver import AUTHORITY, Receiver, receiver


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


@pytest.fixture
def drift(documents: dict[str, Any], tmp_path: Path) -> str:
    file = tmp_path / "drift.json"
    file.write_text(json.dumps(documents["drift"]), encoding="utf-8")
    return str(file)


@pytest.fixture
def calm(tmp_path: Path) -> str:
    file = tmp_path / "calm.json"
    file.write_text('{"kind": "Validate", "valid": true, "clusters": {}, "problems": []}', encoding="utf-8")
    return str(file)


def test_a_signed_message_arrives(
    there: Receiver, drift: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOOK", there.address)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    (tmp_path / "key").write_text("s3cret\n", encoding="utf-8")
    secret = ["--notify-secret", f"${{dir:{tmp_path}:key}}", "--secrets-dir", str(tmp_path)]
    arguments = ["report", drift, "--notify-webhook", "${env:HOOK}", "--allow-env", "HOOK", "--notify-ca", AUTHORITY]
    assert run([*arguments, *secret]) == Exit.OK
    ((path, headers, body),) = there.arrived
    assert path == "/services/T0/secret-part?x=1"
    message = json.loads(body)
    assert message["blocks"][0]["text"]["text"] == (
        "Look at this: The cluster differs from what is declared: 29 differences"
    )
    assert "demo" in message["text"]
    stamp = headers["x-reconciler-timestamp"]
    wanted = hmac.new(b"s3cret", b"v1:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    assert headers["x-reconciler-signature"] == f"v1={wanted}"
    captured = capsys.readouterr()
    assert captured.out.startswith("Drifted: The cluster differs")
    assert "notified localhost" in captured.err
    assert "secret-part" not in captured.err + captured.out
    assert "s3cret" not in captured.err + captured.out


def test_without_a_secret_nothing_is_signed(there: Receiver, drift: str) -> None:
    assert run(["report", drift, "--notify-webhook", there.address, "--notify-ca", AUTHORITY]) == Exit.OK
    ((_, headers, _),) = there.arrived
    assert "x-reconciler-signature" not in headers


def test_nobody_is_told_of_nothing_unless_asked(there: Receiver, calm: str) -> None:
    arguments = ["report", calm, "--notify-webhook", there.address, "--notify-ca", AUTHORITY]
    assert run(arguments) == Exit.OK
    assert there.arrived == []
    assert run([*arguments, "--notify-when", "always"]) == Exit.OK
    assert len(there.arrived) == 1


def test_nothing_is_sent_without_the_option(there: Receiver, drift: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_WEBHOOK", there.address)
    assert run(["report", drift]) == Exit.OK
    assert there.arrived == []


@pytest.mark.parametrize(
    ("status", "words"), [(302, "redirect"), (307, "redirect"), (403, "status 403"), (500, "status 500")]
)
def test_an_answer_that_is_no_success_ends_with_status_1(
    status: int, words: str, there: Receiver, drift: str, capsys: pytest.CaptureFixture[str]
) -> None:
    there.status = status
    there.location = there.address
    assert run(["report", drift, "--notify-webhook", there.address, "--notify-ca", AUTHORITY]) == Exit.ERROR
    captured = capsys.readouterr()
    assert words in captured.err
    assert "secret-part" not in captured.err
    assert captured.out.startswith("Drifted: The cluster differs")
    assert len(there.arrived) == 1


def test_a_certificate_that_nobody_vouches_for_is_refused(
    there: Receiver, drift: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", drift, "--notify-webhook", there.address]) == Exit.ERROR
    assert "not trusted" in capsys.readouterr().err
    assert there.arrived == []


def test_a_name_that_the_certificate_does_not_have_is_refused(there: Receiver) -> None:
    to = webhook(there.address.replace("localhost", "127.0.0.2"), authorities=AUTHORITY)
    with pytest.raises(WebhookError):
        deliver(to, b"{}", 1)
    assert there.arrived == []


@pytest.mark.parametrize(
    "address",
    [
        "https://hooks..example/x",
        "https://" + "a" * 64 + ".example/x",
        "http://localhost/x",
        "ftp://localhost/x",
        "file:///etc/passwd",
        "https:///x",
        "https://user:pw@localhost/x",
        "https://localhost/x\r\nX-Evil: 1",
        "https://localhost/ü",
        "https://localhost:port/x",
        "https://[::1/x",
        "localhost",
        "",
    ],
)
def test_addresses_that_may_not_be_used(address: str) -> None:
    with pytest.raises(WebhookError):
        webhook(address)


def test_an_empty_secret_signs_nothing_and_is_refused() -> None:
    with pytest.raises(WebhookError, match="secret is empty"):
        webhook("https://localhost/x", "")


def test_the_signature_depends_on_time_and_body() -> None:
    known = signature(b"key", 1_795_248_000, b'{"text":"x"}')
    assert known == "v1=" + hmac.new(b"key", b'v1:1795248000:{"text":"x"}', "sha256").hexdigest()
    others = {signature(b"key", 1_795_248_001, b'{"text":"x"}'), signature(b"key", 1_795_248_000, b"{}")}
    assert known not in others


def test_an_address_is_not_shown() -> None:
    to = webhook("https://hooks.example/services/secret-part", "s3cret")
    assert to == Webhook("hooks.example", 443, "/services/secret-part", b"s3cret")
    assert repr(to) == "Webhook(hooks.example)"
