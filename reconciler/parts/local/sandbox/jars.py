"""A broker's jars: resolved from Maven Central with the Ivy jar inside PySpark and Java alone, then cached.

A version's directory in the cache appears by one rename when all its jars are there, so it is whole or absent. Of
several processes that want the same version one fetches it, and the others wait.
"""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from reconciler.parts.local.sandbox.launch import Java
from reconciler.parts.local.sandbox.layout import Artifact, SandboxError, artifacts, cache_directory
from reconciler.system.process import in_turn

_CENTRAL = "https://repo1.maven.org/maven2/"
_RESOLVE_SECONDS = 900
_OFFLINE_SIGNS = ("UnknownHostException", "ConnectException", "NoRouteToHost", "timed out", "Network is unreachable")


def broker_jars(version: str, java: Java, progress: Callable[[str], None]) -> Path:
    """The directory with the jars of an exact version, fetched first if it is not cached (about 45 MB, 30 s)."""
    directory = jar_directory() / version
    if directory.is_dir():
        return directory
    progress(f"fetching Kafka {version} from Maven Central (once; about 45 MB)")
    return fetched_jars(f"Kafka {version}", artifacts(version), directory, java)


def fetched_jars(what: str, wanted: tuple[Artifact, ...], directory: Path, java: Java) -> Path:
    """``directory``, which holds the jars of ``wanted`` and of all they depend on; fetched if it is not there."""
    if directory.is_dir():
        return directory
    ivy = _ivy_jar()
    directory.parent.mkdir(parents=True, exist_ok=True)
    with in_turn(directory.with_name(f".{directory.name}.lock")):
        if not directory.is_dir():
            _fetch(ivy, java, _JarSet(what, wanted, directory))
    return directory


def _fetch(ivy: Path, java: Java, wish: "_JarSet") -> None:
    directory = wish.directory
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
        _resolve(ivy, java, wish, Path(scratch)).rename(directory)


def jar_directory() -> Path:
    """Where jars are kept, a directory for each version."""
    return cache_directory() / "kafka"


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(location, "jars").glob("ivy-2*.jar")):
            return jar
    raise SandboxError(
        "PySpark is not installed: the sandbox fetches Kafka with the Ivy that it carries.",
        "pip install './reconciler[sandbox]' beside your clone",
    )


class _JarSet(NamedTuple):
    """What to fetch, as a person calls it, and where it is kept then."""

    what: str
    artifacts: tuple[Artifact, ...]
    directory: Path


def _resolve(ivy: Path, java: Java, wish: _JarSet, scratch: Path) -> Path:
    """Runs Ivy with its cache and settings in ``scratch``, so that nothing in the user's ``~/.ivy2`` matters."""
    (scratch / "ivy.xml").write_text(_module(wish.artifacts), encoding="utf-8")
    (scratch / "ivysettings.xml").write_text(_settings(), encoding="utf-8")
    command = [
        *(str(java.executable), *_proxy_flags(), f"-Divy.default.ivy.user.dir={scratch}", "-jar", str(ivy)),
        *("-settings", str(scratch / "ivysettings.xml"), "-ivy", str(scratch / "ivy.xml")),
        *("-cache", str(scratch / "cache"), "-retrieve", str(scratch / "jars" / "[artifact]-[revision].[ext]")),
    ]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_RESOLVE_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"Fetching {wish.what} took more than {_RESOLVE_SECONDS} s.", "Try again.") from error
    jars = scratch / "jars"
    first = wish.artifacts[0]
    if run.returncode != 0 or not (jars / f"{first.name}-{first.revision}.jar").is_file():
        raise _resolve_error(wish, run.stdout + run.stderr)
    shutil.rmtree(scratch / "cache")
    return jars


def _resolve_error(wish: _JarSet, output: str) -> SandboxError:
    if any(sign in output for sign in _OFFLINE_SIGNS):
        return SandboxError(
            f"{wish.what} is not in the cache, and Maven Central ({_CENTRAL}) cannot be reached.",
            f"Connect once (HTTPS_PROXY is honoured), or copy the jars to {wish.directory}.",
        )
    problems = [line.strip() for line in output.splitlines() if "unresolved" in line.lower() or "FAILED" in line]
    shown = "; ".join(problems[:3]) or output.strip()[-300:] or "Ivy said nothing"
    return SandboxError(f"{wish.what} cannot be fetched from Maven Central: {shown}", "Try again later.")


def _module(wanted: tuple[Artifact, ...]) -> str:
    lines = "".join(_dependency(artifact) for artifact in wanted)
    return (
        '<ivy-module version="2.0"><info organisation="reconciler" module="sandbox"/>'
        '<configurations><conf name="default"/></configurations>'
        f'<dependencies defaultconf="default-&gt;default">{lines}</dependencies></ivy-module>\n'
    )


def _dependency(artifact: Artifact) -> str:
    org, name, rev = (quoteattr(part) for part in (artifact.organisation, artifact.name, artifact.revision))
    left_out = "".join(f"<exclude org={org} module={quoteattr(module)}/>" for module in artifact.without)
    return f"<dependency org={org} name={name} rev={rev}>{left_out}</dependency>"


def _settings() -> str:
    return (
        '<ivysettings><settings defaultResolver="central"/><resolvers>'
        f'<ibiblio name="central" m2compatible="true" root={quoteattr(_CENTRAL)}/></resolvers></ivysettings>\n'
    )


def _proxy_flags() -> Iterator[str]:
    """HTTPS_PROXY in Java's words: Java does not read it by itself."""
    proxy = os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy") or ""
    try:
        address = urlsplit(proxy if "//" in proxy else f"//{proxy}")
        host, port = address.hostname, address.port or 80
    except ValueError:  # its text may hold a password
        raise SandboxError("HTTPS_PROXY is not an address.", "Write it as http://HOST:PORT, or unset it.") from None
    if host:
        yield f"-Dhttps.proxyHost={host}"
        yield f"-Dhttps.proxyPort={port}"
