"""What the sandbox needs of a machine, and the one sentence for each thing that is missing."""

import shutil
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reconciler.parts.local.sandbox.launch import Java, broker_jars, fetched_jars, find_java
from reconciler.parts.local.sandbox.layout import Artifact, SandboxError, SandboxSpec
from reconciler.parts.local.sandbox.lifecycle import up
from reconciler.parts.local.sandbox.state import accepts, reserved


def test_the_java_of_this_machine() -> None:
    java = find_java()
    assert java.release >= 17


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match=r"^There is no Java: JAVA_HOME is not set and PATH has no `java`\."):
        up(SandboxSpec(), root=tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_a_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SandboxError, match="but there is no Java in it"):
        find_java()


@pytest.mark.parametrize(
    ("says", "answer"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "Java 11 .* is too old: Kafka needs 17 or newer"),
        ('java version "1.8.0_392"', "Java 8 .* is too old"),
        ("No Java runtime present, requesting install.", "does not answer like a Java"),
    ],
)
def test_other_javas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, answer: str) -> None:
    _fake_java(tmp_path, f"echo '{says}' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SandboxError, match=answer):
        find_java()


def test_no_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(SandboxError, match="PySpark is not installed") as refused:
        broker_jars("4.3.1", find_java(), print)
    assert refused.value.advice == "pip install './reconciler[sandbox]' beside your clone"


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with socket.socket() as nobody:  # bound and not listening: connections are refused
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        with pytest.raises(SandboxError, match=r"not in the cache, and Maven Central .* cannot be reached"):
            broker_jars("4.3.1", find_java(), print)
    assert list((tmp_path / "reconciler" / "kafka").iterdir()) == []


def test_of_several_who_want_the_same_jars_one_fetches_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # What Ivy would do with -retrieve, its last argument: a jar below the directory of that pattern.
    _fake_java(
        tmp_path,
        f'echo fetching >>"{tmp_path}/log"; for last; do :; done; d=$(dirname "$last")\n'
        'sleep 0.2; mkdir -p "$d" "$(dirname "$d")/cache"; : >"$d/one-1.jar"',
    )
    java = Java(tmp_path / "bin" / "java", tmp_path, 17, "nobody", "1")
    with ThreadPoolExecutor(4) as several:
        wanted = [
            several.submit(fetched_jars, "one", (Artifact("org", "one", "1"),), tmp_path / "kafka" / "one", java)
            for _ in range(4)
        ]
    assert {one.result() for one in wanted} == {tmp_path / "kafka" / "one"}
    assert (tmp_path / "log").read_text(encoding="ascii").split() == ["fetching"]
    assert [path.name for path in (tmp_path / "kafka").iterdir()] == ["one"]


@pytest.mark.parametrize("proxy", ["http://me:hunter2@proxy:port", "http://[::1", "proxy:99999"])
def test_a_proxy_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(SandboxError, match=r"^HTTPS_PROXY is not an address\."):
        broker_jars("4.3.1", find_java(), print)


def test_cached_jars_need_neither_network_nor_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pyspark", None)
    cached = tmp_path / "reconciler" / "kafka" / "4.3.1"
    cached.mkdir(parents=True)
    assert broker_jars("4.3.1", find_java(), print) == cached


def test_reserved_ports_are_free_for_the_next_and_for_nobody_else() -> None:
    with reserved(5) as first, reserved(5) as second:
        assert len({*first, *second}) == 10
        assert all(accepts(port) for port in (*first, *second))
    assert not any(accepts(port) for port in (*first, *second))
    with reserved(2, fixed=(first[0],)) as again:
        assert again[0] == first[0]


def test_a_fixed_port_that_is_taken() -> None:
    with (
        reserved(1) as (port,),
        pytest.raises(SandboxError, match=f"Port {port} on 127.0.0.1 is taken"),
        reserved(2, fixed=(port,)),
    ):
        pass


def _fake_java(home: Path, script: str) -> None:
    shell = shutil.which("sh")
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(f"#!{shell}\n{script}\n", encoding="utf-8")
    launcher.chmod(0o755)
