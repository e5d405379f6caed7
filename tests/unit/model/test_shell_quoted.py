"""What we print to be pasted into a shell arrives as it was meant, whatever a cluster's names hold."""

import subprocess

import pytest

from reconciler.model.characters import escape_invisible, safe, shell_quoted
from reconciler.plan.refusal import Guard, refusal

NAMES = [
    "payments.orders",
    "TOPIC PREFIXED payments.",
    "it's $HOME `id` $(id) \\ !x *",
    "a\u202egnp\x1b[2J\n\tb",
    "it's \\ and \u200b hidden",
    "##vso[task.setvariable]",
    "\U000e0041\u00fc",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_shell_reads_the_name_back(name: str) -> None:
    word = shell_quoted(name)
    assert word == escape_invisible(word) == safe(word)
    said = subprocess.run(
        ["/bin/bash", "-c", f"printf %s {word}"], check=True, capture_output=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert said.stdout.decode() == name


def test_an_ordinary_name_stays_as_it_is() -> None:
    assert refusal(Guard.TOPIC_DELETE, "orders.old", "").remedy == "if this is meant: --accept topic-delete=orders.old"
    assert refusal(Guard.OPEN_BY_DEFAULT, "GROUP LITERAL g", "").remedy.endswith(
        "--accept 'open-by-default=GROUP LITERAL g'"
    )
