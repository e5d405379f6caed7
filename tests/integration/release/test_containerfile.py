"""The Containerfile, as far as it can be checked without building it."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_TEXT = (_ROOT / "Containerfile").read_text(encoding="utf-8")
_LINES = re.sub(r"\\\n", " ", _TEXT).splitlines()
_STAGES = dict(
    zip(
        re.findall(r"^FROM .+ AS (\S+)$", _TEXT, re.MULTILINE),
        re.split(r"^FROM .+$", _TEXT, flags=re.MULTILINE)[1:],
        strict=True,
    )
)


def test_the_default_is_the_image_without_spark() -> None:
    assert list(_STAGES)[-1] == "core"
    assert "jre" not in _STAGES["core"]
    assert "jre" in _STAGES["spark"]


@pytest.mark.parametrize("stage", ["core", "spark"])
def test_an_image_runs_as_nobody_in_particular_and_holds_no_build(stage: str) -> None:
    text = _STAGES[stage]
    assert re.search(r"^USER 10001$", text, re.MULTILINE)
    assert "pip install" not in text
    assert re.findall(r"^COPY (.*)$", text, re.MULTILINE) in (
        [["--from=build /opt/reconciler /opt/reconciler"][0]],
        ["--from=build-spark /opt/reconciler /opt/reconciler"],
    )
    assert text.index("USER 10001") < text.index("ENTRYPOINT")


def test_dependencies_come_by_hash() -> None:
    installs = re.findall(r"pip install [^&]*", "\n".join(_LINES))
    assert installs
    assert all("--require-hashes" in one or "--no-deps" in one for one in installs)
    assert not re.search(r"\bADD\b|curl|wget|:latest", _TEXT)


def test_what_is_copied_is_there_and_let_through() -> None:
    ignored = (_ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    sources = [
        word for line in _LINES if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]
    assert sources
    for source in sources:
        assert (_ROOT / source).exists(), source
        assert f"!{source}" in ignored, source
    assert "*" in ignored
