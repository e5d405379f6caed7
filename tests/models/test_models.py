"""The protocol of apply as models in Alloy 6.2, checked by its own solver over every order of events.

Each file ``*.als`` is one part, with its words in its first comment. Its command ``Safe`` must find nothing. Each other
``check`` leaves one rule out, and must find a counterexample: a model in which nothing can go wrong proves nothing.
``run`` shows that the model can reach its end at all. The bounds stand in the commands: so many objects and steps.

| model | the code that it is of |
|---|---|
| phases | ``plan/phase.py``, ``apply/performing.py``: the order, and the wait for brokers that lag |
| bridges | ``apply/bridges.py``: temporary allow-all ACLs under default-allow |
| kill | ``apply/preflight.py``, ``plan/observed.py``: a run that is killed and applied again |
| operators | ``apply/run.py``: two operators, and a foreign hand |
| lease | ``apply/lease.py``: requests that land late |
| cleanup | ``apply/cleanup.py``, ``apply/undo.py``: what a dead run left |
| server | ``parts/serve``: it revokes while a run renews |
| marks | ``apply/marks.py``, ``apply/marks.py``: locks, and access with an end |

To read a counterexample, open the file in Alloy's window: ``java -jar FILE.jar``.
"""

import hashlib
import json
import os
import re
import subprocess
import urllib.request
from pathlib import Path
from typing import Final

import pytest

from reconciler.parts.local.sandbox.launch import find_java, jar_directory

_JAR: Final = (
    "https://repo1.maven.org/maven2/org/alloytools/org.alloytools.alloy.dist/6.2.0/org.alloytools.alloy.dist-6.2.0.jar"
)
_DIGEST: Final = "6037cbeee0e8423c1c468447ed10f5fcf2f2743a2ffc39cb1c81f2905c0fdb9d"
_MODELS: Final = sorted(path.stem for path in Path(__file__).parent.glob("*.als"))
#: The one that every test run checks.
_QUICK: Final = "phases"
_COMMAND: Final = re.compile(r"^(check|run) (\w+) .* expect ([01])$", re.M)


def _source(model: str) -> Path:
    return Path(__file__).with_name(f"{model}.als")


def _jar() -> Path:
    """The one jar from Maven Central, of which Ivy would also fetch what is inside of it already."""
    jar = jar_directory().parent / "alloy" / _JAR.rpartition("/")[2]
    if not jar.exists():
        with urllib.request.urlopen(_JAR, timeout=120) as answer:
            content = answer.read()
        jar.parent.mkdir(parents=True, exist_ok=True)
        part = jar.with_suffix(f".{os.getpid()}")
        part.write_bytes(content)
        part.rename(jar)
    assert hashlib.sha256(jar.read_bytes()).hexdigest() == _DIGEST
    return jar


def _java(model: str) -> tuple[str, ...]:
    """The second compiler pays where the solver works for minutes."""
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData") if model == _QUICK else ()
    return (str(find_java().executable), *quick)


@pytest.mark.parametrize(
    "model", [pytest.param(name, marks=() if name == _QUICK else pytest.mark.long) for name in _MODELS]
)
def test_nothing_breaks_the_law_and_every_rule_is_needed(model: str, tmp_path: Path) -> None:
    found = tmp_path / "found"
    command = (*_java(model), "-jar", str(_jar()), "exec", "-q", "-f", "-c", "*", "-o", str(found))
    subprocess.run((*command, str(_source(model))), check=True, timeout=900, capture_output=True)
    receipt = json.loads((found / "receipt.json").read_text(encoding="utf-8"))
    # A check has a solution where there is a counterexample.
    answers = {name: int(bool(answer.get("solution"))) for name, answer in receipt["commands"].items()}
    wanted = {name: int(found) for _, name, found in _COMMAND.findall(_source(model).read_text(encoding="utf-8"))}
    assert answers == wanted


@pytest.mark.parametrize("model", _MODELS)
def test_a_model_has_its_words_one_safe_check_and_a_control(model: str) -> None:
    text = _source(model).read_text(encoding="utf-8")
    commands = _COMMAND.findall(text)
    assert text.startswith("// ")
    assert f"| {model} |" in (__doc__ or "")
    assert [name for kind, name, found in commands if found == "0"] == ["Safe"]
    assert [name for kind, name, found in commands if kind == "check" and found == "1"]
    assert len(commands) == len(re.findall(r"^(?:check|run) ", text, re.M))


def test_each_part_of_the_protocol_has_a_model() -> None:
    assert len(_MODELS) == 8
