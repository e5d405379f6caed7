"""The examples of docs/python.md that need no cluster, in the page's order."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.workflow.python_page import prepare, run_section, sections

_ELSEWHERE = {"A real cluster", "The drift of a fleet"}  # tests/integration/test_python_page.py


def test_the_examples_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for heading in sections():
        if heading not in _ELSEWHERE:
            run_section(heading, names)
    shown = capsys.readouterr().out
    assert "prod 1 bindings 1 topics" in shown
    assert "DELETE_ALLOW delete User:svc-old ALLOW READ on TOPIC python-page.old" in shown
    assert "User:svc-old" in shown
    assert "loses READ" in shown
    assert "mixed" in shown
    assert "producer_byte_rate 7 by user svc-payments" in shown
    assert "done create topic python-page.orders" in shown
    assert "plan again: the plan is for cluster id, this is cluster another" in shown
    assert (tmp_path / "plan.json.journal").exists()
    assert "nightly" in (tmp_path / "audit.jsonl").read_text(encoding="utf-8")
