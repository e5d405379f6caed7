"""Only named variables and directories are read, all links followed; values stay out of every error."""

from pathlib import Path

import pytest

from reconciler.kafka.errors import PLACEHOLDER, redact
from reconciler.kafka.secret_source import SecretError, SecretSource


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    inside = tmp_path / "secrets"
    inside.mkdir()
    (inside / "token").write_text("t0ken\n")
    (inside / "all.properties").write_text("a.b=1\nc=2")
    (tmp_path / "outside").write_text("hunter2=hunter2")
    return inside


def refused(reference: str, source: SecretSource) -> tuple[str, str]:
    with pytest.raises(SecretError) as error:
        source.resolve(reference)
    assert "hunter2" not in str(error.value)
    return error.value.message, error.value.advice


def test_a_file_of_a_directory_without_its_last_line_end(secrets: Path) -> None:
    assert SecretSource(secrets_dirs=(secrets,)).resolve(f"${{dir:{secrets}:token}}")[0] == "t0ken"


def test_a_key_of_a_properties_file(secrets: Path) -> None:
    source = SecretSource(secrets_dirs=(secrets,))
    assert source.resolve(f"[${{file:{secrets}/all.properties:a.b}}]") == ("[1]", frozenset({"1"}))


def test_a_link_that_stays_inside_is_followed(secrets: Path) -> None:
    (secrets / "..data").symlink_to(secrets / "token")
    assert SecretSource(secrets_dirs=(secrets,)).resolve(f"${{dir:{secrets}:..data}}")[0] == "t0ken"


def test_a_directory_that_is_itself_a_link_is_the_directory(secrets: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(secrets)
    assert SecretSource(secrets_dirs=(tmp_path / "link",)).resolve(f"${{dir:{tmp_path}/link:token}}")[0] == "t0ken"


def test_whatever_leads_outside_is_refused(secrets: Path, tmp_path: Path) -> None:
    (secrets / "escape").symlink_to(tmp_path / "outside")
    source = SecretSource(secrets_dirs=(secrets,))
    for reference in (
        f"${{dir:{secrets}:escape}}",
        f"${{dir:{tmp_path}:outside}}",
        f"${{file:{secrets}/../outside:hunter2}}",
        f"${{file:{secrets}/escape:hunter2}}",
        f"${{file:{secrets}-evil/x:y}}",
        "${file:/etc/passwd:root}",
    ):
        message, advice = refused(reference, source)
        assert "is not permitted" in message
        assert "--secrets-dir" in advice
    assert "plain name" in refused(f"${{dir:{secrets}:../outside}}", source)[0]


def test_only_named_variables_are_read() -> None:
    source = SecretSource(frozenset({"MINE", "UNSET"}), (), {"MINE": "m", "OTHER": "hunter2"})
    assert source.resolve("${env:MINE}") == ("m", frozenset({"m"}))
    message, advice = refused("${env:OTHER}", source)
    assert "OTHER is not permitted" in message
    assert advice == "Add --allow-env OTHER."
    assert "is not set" in refused("${env:UNSET}", source)[0]


@pytest.mark.parametrize("reference", ["${vault:a:b}", "${env:}", "${env:a:b}", "${file:only}", "${}", "${PW}"])
def test_a_reference_of_another_form_is_refused(reference: str) -> None:
    assert "cannot read the reference" in refused(reference, SecretSource(frozenset({"PW"}), (), {"PW": "x"}))[0]


def test_files_that_cannot_be_a_secret(secrets: Path) -> None:
    source = SecretSource(secrets_dirs=(secrets,))
    (secrets / "large").write_bytes(b"x" * (1024 * 1024 + 1))
    (secrets / "binary").write_bytes(b"\xff\xfe")
    (secrets / "directory").mkdir()
    assert "larger than" in refused(f"${{dir:{secrets}:large}}", source)[0]
    assert "not UTF-8" in refused(f"${{dir:{secrets}:binary}}", source)[0]
    assert "there is no file" in refused(f"${{dir:{secrets}:directory}}", source)[0]
    assert "there is no file" in refused(f"${{dir:{secrets}:missing}}", source)[0]
    assert "has no key" in refused(f"${{file:{secrets}/all.properties:d}}", source)[0]


def test_what_is_put_in_is_not_looked_at_again() -> None:
    source = SecretSource(frozenset({"A", "B"}), (), {"A": "${env:B}", "B": "hunter2"})
    assert source.resolve("${env:A}")[0] == "${env:B}"


def test_its_text_shows_no_value() -> None:
    assert "hunter2" not in repr(SecretSource(frozenset({"A"}), (Path("/s"),), {"A": "hunter2"}))


def test_a_broken_properties_file_is_named_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("password=\\uhunter2")
    with pytest.raises(SecretError) as caught:
        SecretSource(frozenset(), (tmp_path,), {}).resolve(f"${{file:{tmp_path}/p:password}}")
    assert "is not a file of Java properties" in str(caught.value)
    assert "hunter2" not in str(caught.value) + caught.value.advice


@pytest.mark.parametrize(
    "shown",
    ["p@ss w/rd+", "p%40ss%20w%2Frd%2B", "p%40ss+w%2Frd%2B", "cEBzcyB3L3JkKw==", "cEBzcyB3L3JkKw"],
)
def test_a_secret_is_hidden_in_every_form(shown: str) -> None:
    assert redact(f"before {shown} after", ["p@ss w/rd+", ""]) == PLACEHOLDER


def test_a_text_without_a_secret_stays() -> None:
    assert redact("before after", ["p@ss w/rd+", ""]) == "before after"
