"""The tour as a user takes it, on a broker of its own; and that it does not claim what it does not show."""

import json
import re
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.parts.local import tour
from reconciler.parts.local.sandbox.lifecycle import find, status
from tests.prepared import prepared

pytestmark = pytest.mark.broker


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox root of this test's own; the jars stay cached where they are. `make demo` starts its commands anew."""
    monkeypatch.setattr(tour, "_PROGRAM", (str(prepared().programs / "reconciler"),))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_every_step_shows_what_it_claims_and_the_sandbox_can_be_kept(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert run(["demo", "--keep", "--output", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["kind"] == "Demo"
        assert document["succeeded"]
        assert [step["claim"] for step in document["steps"] if not step["holds"]] == []
        commands = [step["done"].split()[1] for step in document["steps"] if step["exitStatus"] is not None]
        assert commands == ["validate", "plan", "apply", "drift", "drift", "adopt", "break-glass", "serve"]
        attempts = [step["output"][0] for step in document["steps"] if step["exitStatus"] is None]
        assert sum("TOPIC_AUTHORIZATION_FAILED" in words for words in attempts) == 5
        assert sum(re.match("(written to|read from) ", words) is not None for words in attempts) == 6

        assert document["connections"] == str(find("demo").connections)
        reach = ["--cluster", "demo", "--connections", document["connections"]]
        assert run(["apply", "examples/acls", *reach, "--allow-deletes", "--yes"]) == 0
        assert run(["drift", "examples/acls", *reach]) == 0

        assert run(["demo"]) == 1
        assert "end it: reconciler sandbox down --name demo" in capsys.readouterr().err
    finally:
        run(["sandbox", "down", "--name", "demo"])


@pytest.mark.long
def test_a_claim_that_is_not_shown_ends_the_tour_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tour, "BINDINGS", ())
    assert run(["demo"]) == 1
    shown = capsys.readouterr()
    assert "✗ not so: a quick fix lets analytics read payments" in shown.out
    assert "✗ not so: the plan names every leftover" in shown.out
    assert "✓ the plan is applied and verified" in shown.out
    assert "$ reconciler plan examples/acls --cluster demo" in shown.out
    assert "error:" not in shown.out
    assert len(shown.out.splitlines()) < 120
    lines = [line for line in shown.out.splitlines() if "/" not in line]  # but paths of any length
    assert max(map(len, lines)) <= 80
    assert "steps did not show what they claim" in shown.err
    assert status() == []
