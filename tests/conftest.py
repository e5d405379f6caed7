"""Real brokers and Spark, each started once a session when a test first asks for it; how long Hypothesis tries."""

import functools
import gc
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from reconciler.kafka import reader_process
from reconciler.parts.local.sandbox.layout import DEFAULT_VERSION, SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from tests import distribution
from tests.models.journal import traced, written_in
from tests.named_failures import NamedFailures
from tests.prepared import end, is_prepared, prepared
from tests.processes import Processes
from tests.shared_brokers import clear

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reconciler.parts.fleet.engine import Engine

# The same examples in every run: what passes before a push passes behind it. `make explore` tries others, and more.
settings.register_profile("fast", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=300)
settings.register_profile("thorough", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
if settings.get_current_profile_name() == "fast":
    # Else Hypothesis also tries what it finds in the sources of the modules that are loaded: other examples in each
    # order of files, number of processes and name of the directory, and thousands of syntax trees in each process.
    _NONE = Constants()
    providers._get_local_constants = lambda: _NONE

# Every test begins as a person at a terminal would: what continuous integration, a colour setting or a git hook puts
# into the environment changes what commands do, so a test that means it says it.
_LEFT_BEHIND = (
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "PAGER",
    "COLUMNS",
    "LINES",
)
for name in [*os.environ]:
    ours = name.startswith("RECONCILER_") and name != "RECONCILER_CHROMIUM"
    if ours or name in _LEFT_BEHIND or name.startswith(("GITHUB_", "GITLAB_", "CI_")):
        del os.environ[name]

# admin and reconciler are super users; the others begin without any right. Any further principal can log in with
# Sandbox.settings(name, "OAUTHBEARER").
_USERS = ("admin", "reconciler", "alice", "bob", "carol", "acl-probe", "nobody")

# jsonschema would build 39 parsers of IRIs for three seconds; no schema has any (tests/unit/test_schema_formats.py).
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a script in the background: all commands would ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)

NEW_READER = reader_process.start_reader

#: The brokers that test files share and that run, by their Kafka version.
_started: dict[str, Sandbox] = {}
#: The versions of brokers that a fixture alone stands for; others are asked for by name, see ``broker_of``.
_VERSIONS: Final = {"broker": DEFAULT_VERSION, "broker_3_9": "3.9"}


@pytest.fixture(scope="session", autouse=True)
def _no_connections_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever runs the tests may keep a connections file, by which commands would find other clusters."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="session", autouse=True)
def _forked_readers() -> Iterator[None]:
    """Readings in this process are forked from one that has their libraries loaded, one for all as in a command."""
    reader_process.start_reader = lambda module: prepared().start_reader(module)  # type: ignore[assignment, return-value]
    reader_process._wanted.add(reader_process.MESSAGES)
    if is_prepared():
        prepared().join(os.getpid())
    yield
    reader_process._wanted.clear()
    for ready in reader_process._ready.values():
        reader_process.end_reader(ready)
    reader_process.start_reader = NEW_READER
    end()


@pytest.fixture(scope="session", autouse=True)
def runs_followed() -> Iterator[list[str]]:
    """What the runs of this process do that the protocol forbids."""
    with traced() as problems:
        yield problems


@pytest.fixture(autouse=True)
def _runs_keep_the_protocol(runs_followed: list[str]) -> Iterator[None]:
    """Every journal that a run writes, here or in a process of the test, is replayed (``tests/models/journal.py``)."""
    yield
    found, runs_followed[:] = list(runs_followed), []
    if is_prepared():
        found += written_in(prepared().home)
    assert found == []


@pytest.fixture
def new_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readings start a process of their own each, as they do outside the tests."""
    for name, value in (("start_reader", NEW_READER), ("_ready", {}), ("_wanted", set())):
        monkeypatch.setattr(reader_process, name, value)


@pytest.fixture
def forked_readers_of_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that apply a fleet's plans on the local engine have their readings forked, too."""
    from reconciler.parts.fleet.app import apply

    monkeypatch.setattr(apply, "_CHILD", prepared().joining + apply._CHILD)


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "run the tests in so many processes, each with brokers of its own"
    parser.addoption("--processes", type=int, default=1, metavar="N", help=text)


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # while what stays is imported, see pytest_collection_finish
    config.pluginmanager.register(NamedFailures(config))
    if config.getoption("processes") > 1 and not config.option.collectonly:
        prepared()  # one for all of them; it loads on the processor that collecting leaves free


def pytest_unconfigure() -> None:
    end()  # where nothing was collected


def pytest_collection_finish() -> None:
    """What is imported now stays to the end: to look through it again and again would be a tenth of the time."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    distribution.longest_first(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    wanted = session.config.getoption("processes")
    if wanted < 2 or session.config.option.collectonly or session.testsfailed:
        return None  # as pytest does it
    try:
        Processes(session).run(wanted)
    finally:
        end()
    return True


@pytest.fixture(scope="session")
def sandbox_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this session's sandboxes are."""
    return tmp_path_factory.mktemp("sandboxes")


@pytest.fixture(scope="session")
def broker_of(sandbox_root: Path) -> Iterator[Callable[[str], Sandbox]]:
    """A broker with StandardAuthorizer by Kafka version; tests share it, so each names what it creates after itself."""
    with ExitStack() as stack:

        def started(version: str) -> Sandbox:
            if version not in _started:
                spec = SandboxSpec(
                    name=f"shared-{version.replace('.', '-')}",
                    kafka_version=version,
                    users=generated_users(*_USERS),
                    any_principal=True,
                    # The oldest is without delegation tokens, as clusters mostly are.
                    overrides={"delegation.token.secret.key": "of-these-tests"} if version == DEFAULT_VERSION else {},
                )
                _started[version] = stack.enter_context(running(spec, root=sandbox_root))
            return _started[version]

        yield started
        _started.clear()


@pytest.fixture(scope="session")
def broker(broker_of: Callable[[str], Sandbox]) -> Sandbox:
    """The version that a sandbox runs by default."""
    return broker_of(DEFAULT_VERSION)


@pytest.fixture(scope="session")
def broker_3_9(broker_of: Callable[[str], Sandbox]) -> Sandbox:
    """The oldest that is supported."""
    return broker_of("3.9")


@pytest.fixture(scope="session")
def open_broker(sandbox_root: Path) -> Iterator[Sandbox]:
    """A broker with allow.everyone.if.no.acl.found=true."""
    users = generated_users("admin", "reconciler", "acl-probe", "alice", "bob")
    spec = SandboxSpec("open-by-default", users=users, allow_everyone_if_no_acl_found=True, any_principal=True)
    with running(spec, root=sandbox_root) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def broker_no_authorizer(sandbox_root: Path) -> Iterator[Sandbox]:
    """Kafka 4.4 without an authorizer: everybody may do everything, and ACL requests get SECURITY_DISABLED."""
    with running(SandboxSpec(name="open", authorizer=False, any_principal=True), root=sandbox_root) as sandbox:
        yield sandbox


@pytest.fixture(scope="module", autouse=True)
def _shared_brokers_are_cleared(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test file finds what another one left on the brokers that they share."""
    yield
    for version in sorted(_versions_used(request.session)[request.path] & _started.keys()):
        clear(_started[version])


@functools.cache
def _versions_used(session: pytest.Session) -> defaultdict[Path, set[str]]:
    """The versions of shared brokers that a test file asks for by a fixture."""
    used = defaultdict[Path, set[str]](set)
    for item in session.items:
        if isinstance(item, pytest.Function):
            used[item.path] |= {_VERSIONS[name] for name in _VERSIONS.keys() & set(item.fixturenames)}
    return used


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """Spark on two cores; commands that run while it is there use it too."""
    from reconciler.parts.fleet.spark.session import spark_session

    before = dict(os.environ)
    with spark_session("local[2]") as session:
        yield session
    for name in os.environ.keys() - before:  # what a session sets for its workers, processes of other tests got, too
        del os.environ[name]


@pytest.fixture(
    params=[
        pytest.param("spark", marks=pytest.mark.spark),
        pytest.param("frames", marks=[pytest.mark.spark, pytest.mark.long]),
        "local",
    ]
)
def engine(request: pytest.FixtureRequest) -> "Engine":
    """Every engine of a fleet, Spark also as far as Spark Connect has it: what holds on one holds on the others."""
    from reconciler.parts.fleet.engine import LocalEngine
    from reconciler.parts.fleet.spark.engine import SparkEngine

    if request.param == "local":
        return LocalEngine()
    return SparkEngine(request.getfixturevalue("spark"), frames=request.param == "frames")
