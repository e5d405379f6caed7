"""Wishes that cannot work are refused when they are made, in one sentence."""

from typing import Any

import pytest

from reconciler.parts.local.sandbox.layout import (
    KNOWN_VERSIONS,
    NEWEST_PATCH,
    SandboxError,
    SandboxSpec,
    artifacts,
    exact_version,
    generated_users,
)


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", "-a", "a b", "a.b", "x" * 41, "é"])
def test_names_that_are_no_directory_of_ours(name: str) -> None:
    with pytest.raises(SandboxError, match="is not a name for a sandbox"):
        SandboxSpec(name=name)


@pytest.mark.parametrize(
    ("wish", "answer"),
    [
        ({"nodes": 0}, "1 to 9"),
        ({"nodes": 10}, "1 to 9"),
        ({"controllers": -1}, "1 to 9"),
        ({"port": 80}, "Port 80 is not between"),
        ({"port": 65535, "nodes": 3}, "Port 65535 is not between"),
        ({"heap": "lots"}, "Heap 'lots'"),
        ({"users": {}}, "at least one user"),
        ({"users": {"a b": "x"}}, "User name 'a b'"),
        ({"users": {"alice": 'x"; user_eve="y'}}, "password of alice"),
        ({"users": {"alice": "x,iterations=1"}}, "password of alice"),
        ({"users": {"alice": ""}}, "password of alice"),
        ({"super_users": ("alice",)}, "Super user 'alice'"),
        ({"super_users": ("User:a;User:b",)}, "Super user 'User:a;User:b'"),
    ],
)
def test_other_wishes_that_cannot_work(wish: dict[str, Any], answer: str) -> None:
    with pytest.raises(SandboxError, match=answer) as refused:
        SandboxSpec(**wish)
    assert str(refused.value).count("\n") == 0


def test_passwords_are_random_and_not_shown() -> None:
    first, second = SandboxSpec(), SandboxSpec()
    assert set(first.users) == {"admin", "reconciler", "alice", "bob"}
    assert not set(first.users.values()) & set(second.users.values())
    assert len(set(generated_users("a", "b").values())) == 2
    assert not [password for password in first.users.values() if password in repr(first)]


@pytest.mark.parametrize(("short", "exact"), NEWEST_PATCH.items())
def test_a_short_version_is_its_newest_patch(short: str, exact: str) -> None:
    assert exact_version(short) == exact_version(exact) == exact
    assert exact == max(version for version in KNOWN_VERSIONS if version.startswith(f"{short}."))


@pytest.mark.parametrize("version", ["", "4", "4.5", "4.4.1", "3.8", "4.3.99", "../4.3", "latest"])
def test_unknown_versions_are_refused_with_the_known_ones(version: str) -> None:
    with pytest.raises(SandboxError, match="is not a version that the sandbox knows") as refused:
        exact_version(version)
    assert "3.9, 4.0, 4.1, 4.2, 4.3, 4.4" in refused.value.advice


@pytest.mark.parametrize(("version", "logging"), [("3.9.2", "slf4j-reload4j"), ("4.3.1", "log4j-slf4j-impl")])
def test_each_version_brings_the_logging_it_is_built_for(version: str, logging: str) -> None:
    broker, *rest = artifacts(version)
    assert (broker.name, broker.revision) == ("kafka_2.13", version)
    assert logging in {artifact.name for artifact in rest}
