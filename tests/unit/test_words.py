"""The documents' words: each rule finds its own example, and no page breaks one or makes the documents too long."""

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_SCRIPT = _ROOT / ".ci" / "words.py"


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("words", _SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


words = _module()
RULES: list[dict[str, Any]] = words.rules()["rule"]


@pytest.mark.parametrize("rule", RULES, ids=[rule["example"] for rule in RULES])
def test_a_rule_finds_its_example_and_not_what_to_write_instead(rule: dict[str, Any]) -> None:
    assert rule["say"] in [say for _, _, say in words.broken(f"Some text.\n\n- {rule['example']}\n")]
    assert list(words.broken(f"Some text.\n\n- {rule['instead']}\n")) == []


@pytest.mark.parametrize(
    "text",
    [
        "The `barrier` field, and ``nobody``.\n",
        "```yaml\nbarrier: {wait: 2s}\n```\n",
        "A [link](decisions/barrier.md#bridges).\n",
        "# What ends later\n",
        "What do you see?\n",
    ],
)
def test_code_links_headings_and_questions_are_not_judged(text: str) -> None:
    assert list(words.broken(text)) == []


def test_the_place_of_a_word_is_its_line() -> None:
    text = "One line.\n\n| a | b |\n|---|---|\n| c | somebody |\n"
    assert [line for line, *_ in words.broken(text)] == [5]


def test_documents_keep_the_rules_and_are_not_too_long() -> None:
    done = subprocess.run([sys.executable, str(_SCRIPT)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout
    # A capability that came later says in words.toml what it takes beyond 50,000.
    assert words.rules()["most_words"] == 50_000
    assert max(words.rules()["capabilities"].values()) <= 500


def test_generated_parts_and_code_are_not_counted(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "One two | three\n\n```\nfour\n```\n<!-- x: begin -->\nfive\n<!-- x: end -->\n<!-- generated: y -->\nsix\n"
    page.write_text(text, encoding="utf-8")
    assert words.count(page) == 3


def test_lint_checks_them() -> None:
    assert "$(BIN)/python .ci/words.py" in (_ROOT / "Makefile").read_text(encoding="utf-8")


#: Words of ours that no message says; names of fields, options and codes are not prose.
_REJECTED = re.compile(
    r"\bguards?\b|\bmakes? of Kafka\b|\bopaque\b|\bheld back\b|\bwitness\b|\bminimis\w+", re.IGNORECASE
)


def _messages(file: Path) -> Iterator[tuple[int, str]]:
    """Texts of several words that a program says, and the help of its commands; no other docstring."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    silent = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            helps = isinstance(node, ast.FunctionDef) and any(isinstance(one, ast.Call) for one in node.decorator_list)
            head = node.body[0] if node.body else None
            if isinstance(head, ast.Expr) and not (helps and "cli" in file.parts):
                silent.add(id(head.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            text = re.sub(r"`[^`]*`|\S+=\S+", "", node.value)
            if " " in text.strip():
                yield node.lineno, text


def test_messages_and_help_use_the_words_of_the_field() -> None:
    package = _ROOT / "reconciler"
    files = list(package.rglob("*.py"))
    assert len(files) > 300
    found = {
        f"{file.relative_to(package)}:{line}": text
        for file in files
        if _REJECTED.search(file.read_text(encoding="utf-8"))
        for line, text in _messages(file)
        if _REJECTED.search(text)
    }
    assert found == {}
