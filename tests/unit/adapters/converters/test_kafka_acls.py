"""Transcripts of ``kafka-acls``: an entry belongs to the heading right above it, and only a list says what is there."""

from pathlib import Path

import pytest

from reconciler.parts.convert.conversion import ConversionResult
from reconciler.parts.convert.files import STDIN, SourceFiles
from reconciler.parts.convert.kafka_acls import _ASKED
from reconciler.parts.convert.recognition import convert


def converted(text: str) -> ConversionResult:
    return convert("kafka-acls", SourceFiles(Path(), (STDIN,), stdin=text))


def bindings(text: str) -> set[str]:
    return {str(binding) for binding in converted(text).bindings}


def heading(verb: str, name: str, *, old: bool) -> str:
    pattern = (
        f"Topic:LITERAL:{name}" if old else f"ResourcePattern(resourceType=TOPIC, name={name}, patternType=LITERAL)"
    )
    return f"{verb} ACLs for resource `{pattern}`: \n"


def entry(user: str, operation: str) -> str:
    return f" \t(principal=User:{user}, host=*, operation={operation}, permissionType=ALLOW)\n"


@pytest.mark.parametrize("old", [False, True])
def test_an_addition_is_not_on_the_resource_of_the_list_above_it(old: bool) -> None:
    text = heading("Current", "a", old=old) + entry("reader", "READ") + "\n"
    text += heading("Adding", "b", old=old) + entry("writer", "WRITE")
    assert bindings(text) == {"User:reader ALLOW READ on TOPIC a"}
    [remark] = converted(text).skipped
    assert remark.subject == "User:writer ALLOW WRITE on " + ("Topic b" if old else "TOPIC b")
    assert "no list after it shows" in remark.reason


def test_an_addition_that_a_list_shows_afterwards_is_there() -> None:
    text = heading("Adding", "b", old=False) + entry("writer", "WRITE") + "\n"
    text += heading("Current", "b", old=False) + entry("writer", "WRITE")
    assert bindings(text) == {"User:writer ALLOW WRITE on TOPIC b"}
    assert converted(text).skipped == ()


ASKED = [
    "Are you sure you want to remove ACLs: \n" + entry("gone", "READ") + " from resource filter `ResourcePattern("
    "resourceType=TOPIC, name=a, patternType=LITERAL)`? (y/n)\ny\n",
    "Are you sure you want to delete all ACLs for resource filter `ResourcePattern(resourceType=TOPIC, name=a, "
    "patternType=LITERAL)`? (y/n)\n",
]


@pytest.mark.parametrize("question", ASKED)
def test_an_entry_listed_before_a_removal_counts_only_if_it_is_listed_again(question: str) -> None:
    before = heading("Current", "a", old=False) + entry("kept", "READ") + entry("gone", "READ") + "\n"
    after = heading("Current", "a", old=False) + entry("kept", "READ")
    assert bindings(before + question) == set()
    assert bindings(before + question + after) == {"User:kept ALLOW READ on TOPIC a"}
    remarks = converted(before + question + after).skipped
    assert any("User:gone" in remark.subject for remark in remarks)
    asked = [remark.reason for remark in remarks if remark.subject.startswith("(principal=User:gone")]
    assert asked == [_ASKED] * question.count("(principal=")


def test_a_later_list_of_a_resource_replaces_an_earlier_one() -> None:
    one, two = (heading("Current", "a", old=False) + entry(user, "READ") for user in ("gone", "kept"))
    assert bindings(one + two) == {"User:kept ALLOW READ on TOPIC a"}


def test_lists_of_single_principals_add_up() -> None:
    one, two = (
        f"ACLs for principal `User:{user}`\n" + heading("Current", "a", old=False) + entry(user, "READ")
        for user in ("x", "y")
    )
    assert bindings(one + two) == {"User:x ALLOW READ on TOPIC a", "User:y ALLOW READ on TOPIC a"}


@pytest.mark.parametrize(
    "line", ["Removing ACLs for resource `x`:", "[2026-11-20 10:00:00,000] WARN something", "$ kafka-acls --list", "y"]
)
def test_a_line_that_is_not_understood_ends_the_resource_above_it(line: str) -> None:
    text = heading("Current", "a", old=False) + entry("reader", "READ") + line + "\n" + entry("writer", "WRITE")
    assert bindings(text) == {"User:reader ALLOW READ on TOPIC a"}
    assert [remark.where for remark in converted(text).skipped] == ["-:3", "-:4"]
