"""Whoever proposes manifests, or sits between us and a broker, gets no secret of the operator's."""

import base64
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.app.options import ConnectionOptions
from reconciler.app.records import RecordOptions
from reconciler.cli.main import run
from reconciler.cli.schema import ANY_KIND, SCHEMA_KINDS, manifest_schema_text
from reconciler.kafka.errors import PLACEHOLDER, SettingsError, redact
from reconciler.kafka.handshake import handshake_with
from reconciler.kafka.listing import AclListing
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.app.apply import ChildTask
from reconciler.parts.fleet.app.engines import task_secrets
from reconciler.ports import ClusterError
from reconciler.snapshot.document import snapshot_text
from reconciler.system.process import child_environment, secret_environment
from tests.security.listener import Listener, listening

if TYPE_CHECKING:
    from reconciler.kafka.client import AdminConnection

ROOT = Path(__file__).parents[2]
SECRET = "pr0d-s3cret-of-the-operator"
HEAD = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod}\nspec:\n"
LOGIN = "security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN, sasl.username: reconciler"
REFERENCE = '"${env:KAFKA_PASSWORD}"'


_NODES = ("127.0.0.1", "localhost", "broker.example")


@pytest.fixture
def attacker() -> Iterator[Listener]:
    with listening() as found:
        yield found


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reviewer's laptop: the password is exported, and ``CI`` is not."""
    monkeypatch.setenv("KAFKA_PASSWORD", SECRET)
    monkeypatch.delenv("CI", raising=False)


def manifests(tmp_path: Path, address: str, password: str = REFERENCE, more: str = "") -> Path:
    directory = tmp_path / "manifests"
    directory.mkdir(exist_ok=True)
    client = f"  client: {{{LOGIN}, request.timeout.ms: '2000', sasl.password: {password}}}\n"
    (directory / "cluster.yaml").write_text(
        f"{HEAD}  bootstrapServers: ['{address}']\n{client}{more}", encoding="utf-8"
    )
    return directory


def connections(tmp_path: Path, address: str, client: str, more: str = "") -> str:
    file = tmp_path / "connections.yaml"
    file.write_text(f"{HEAD}  bootstrapServers: ['{address}']\n  client: {{{client}}}\n{more}", encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    "command", [["plan"], ["drift"], ["apply", "--yes"], ["export"], ["test"], ["lint"], ["doctor"], ["cleanup"]]
)
def test_a_manifest_that_redirects_the_login(
    attacker: Listener, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The proposal writes its own address and refers to the operator's variable: refused, with place and cure."""
    directory = manifests(tmp_path, attacker.address)
    status = run([*command, str(directory), "--cluster", "prod", "--allow-env", "KAFKA_PASSWORD"])
    shown = capsys.readouterr()
    assert status == 1
    assert "cluster.yaml:6:" in shown.err
    assert "KR088" in shown.err
    assert "--trust-manifest-connection" in shown.err
    assert not attacker.heard


def test_a_login_for_the_probe_in_a_manifest(
    attacker: Listener, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reference hides in the login of the barrier: refused as well."""
    probe = f"  barrier: {{principal: 'User:p', client: {{sasl.username: p, sasl.password: {REFERENCE}}}}}\n"
    directory = tmp_path / "manifests"
    directory.mkdir()
    (directory / "cluster.yaml").write_text(f"{HEAD}  bootstrapServers: ['{attacker.address}']\n{probe}", "utf-8")
    assert run(["plan", str(directory), "--cluster", "prod", "--allow-env", "KAFKA_PASSWORD"]) == 1
    assert "cluster.yaml:6:" in capsys.readouterr().err
    assert not attacker.heard


def test_connections_among_the_manifests(
    attacker: Listener, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The proposal writes the connections file that the pipeline names, hidden in the directory: refused."""
    directory = manifests(tmp_path, "127.0.0.1:1", more="")
    file = directory / ".connections.yaml"
    connections(tmp_path, attacker.address, f"{LOGIN}, sasl.password: {REFERENCE}")
    (tmp_path / "connections.yaml").rename(file)
    reach = ["--connections", str(file), "--allow-env", "KAFKA_PASSWORD"]
    assert run(["plan", str(directory), "--cluster", "prod", *reach]) == 1
    assert "move it out of that directory" in capsys.readouterr().err
    assert not attacker.heard


@pytest.mark.parametrize("ci", [False, True])
def test_who_trusts_the_manifests_logs_in(
    attacker: Listener, tmp_path: Path, ci: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: with the option the login arrives, so the listener of these tests hears one."""
    if ci:
        monkeypatch.setenv("CI", "true")
    directory = str(manifests(tmp_path, attacker.address))
    reach = ["--cluster", "prod", "--allow-env", "KAFKA_PASSWORD", "--trust-manifest-connection"]
    assert run(["plan", directory, *reach]) == 1
    assert attacker.heard_login(SECRET)


@pytest.mark.parametrize("script", ["plan", "drift", "apply"])
@pytest.mark.parametrize("ci", [{}, {"CI": "true"}])
def test_the_action_without_connections(attacker: Listener, tmp_path: Path, script: str, ci: dict[str, str]) -> None:
    """A pipeline that sets no CI runs the scripts on a proposal that redirects: they refuse before they connect."""
    manifests(tmp_path, attacker.address)
    done = subprocess.run(
        [str(ROOT / "action" / f"{script}.sh")],
        cwd=tmp_path,
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "MANIFESTS": "manifests",
            "CLUSTER": "prod",
            "ALLOW_ENV": "KAFKA_PASSWORD",
            "OPTIONS": "--trust-manifest-connection",
            "KAFKA_PASSWORD": SECRET,
            "OUT": str(tmp_path / "out"),
            "PLAN_ID": f"plan-{'0' * 64}",
            **ci,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 64
    assert "CLUSTER needs CONNECTIONS" in done.stderr
    assert not attacker.heard


@pytest.mark.parametrize(
    "password",
    [SECRET, f"'{SECRET}'", '"${env:KAFKA_PASSWORD"', "$env:KAFKA_PASSWORD", '"${env:KAFKA_PASSWORD}x"', '"${KAFKA}"'],
)
@pytest.mark.parametrize("place", ["manifest", "connections"])
def test_a_secret_in_clear_text_or_a_reference_with_a_mistake(
    attacker: Listener, tmp_path: Path, place: str, password: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody writes the password itself, or forgets a brace: a problem that masks it, and nothing is sent."""
    directory = manifests(tmp_path, attacker.address, password if place == "manifest" else REFERENCE)
    file = connections(tmp_path, attacker.address, f"{LOGIN}, sasl.password: {password}")
    reach = ["--connections", file] if place == "connections" else ["--trust-manifest-connection"]
    status = run(["plan", str(directory), "--cluster", "prod", "--allow-env", "KAFKA_PASSWORD", *reach])
    shown = capsys.readouterr()
    assert status == 1
    assert "KR087" in shown.err
    assert SECRET not in shown.out + shown.err
    assert not attacker.heard


@pytest.mark.parametrize("reference", ["${env:PW", "${env:PW}${env:", "${}", "a${env:PW}${", "${env:PW:}", "${dir:a}"])
def test_an_unclosed_reference_is_never_a_password(reference: str) -> None:
    """Whatever way a reference with a mistake arrives, it is an error and not what is sent."""
    login = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u"}
    source = SecretSource(frozenset({"PW"}), (), {"PW": SECRET})
    with pytest.raises(SettingsError, match="cannot read the reference") as found:
        client_settings("b:1", {**login, "sasl.password": reference}, source)
    assert SECRET not in str(found.value)


LOGINS = {
    "PLAIN": {"sasl.username": "u", "sasl.password": "p"},
    "SCRAM-SHA-256": {"sasl.username": "u", "sasl.password": "p"},
    "SCRAM-SHA-512": {"sasl.username": "u", "sasl.password": "p"},
    "OAUTHBEARER": {"sasl.oauthbearer.token": "t"},
    "AWS_MSK_IAM": {"aws.region": "eu-north-1"},
}


@pytest.mark.parametrize("mechanism", LOGINS)
@pytest.mark.parametrize("address", ["broker.example:9092", "192.0.2.1:9092", "[2001:db8::1]:9092", "localhost.evil:1"])
def test_a_login_without_tls_outside_of_this_machine(mechanism: str, address: str) -> None:
    """Somebody listens on the way to the broker: refused unless the operator allows it."""
    client = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, **LOGINS[mechanism]}
    servers = f"127.0.0.1:9092,{address}"
    with pytest.raises(SettingsError, match="without TLS"):
        client_settings(servers, client, SecretSource())
    assert client_settings(servers, client, SecretSource(), cleartext_login=True)
    assert client_settings(servers, {**client, "security.protocol": "SASL_SSL"}, SecretSource())


@pytest.mark.parametrize("address", ["127.0.0.1:9092", "127.8.8.8:1", "[::1]:9092", "localhost:9092", "LOCALHOST:1"])
def test_loopback_needs_no_tls(address: str) -> None:
    """What does not leave this machine can be read by nobody else."""
    client = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", **LOGINS["PLAIN"]}
    assert client_settings(address, client, SecretSource())


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "sasl_plaintext", "SASL_SSL"])
def test_a_tunnel_on_loopback_to_brokers_elsewhere(protocol: str) -> None:
    """The address is loopback and the cluster behind it names its own: nothing more is sent there without TLS."""
    client = {"security.protocol": protocol, "sasl.mechanism": "PLAIN", **LOGINS["PLAIN"]}
    for allowed in (False, True):
        settings = client_settings("127.0.0.1:9092", client, SecretSource(), cleartext_login=allowed)
        nodes = [SimpleNamespace(id=number, host=host, port=1, rack=None) for number, host in enumerate(_NODES)]
        answer = SimpleNamespace(cluster_id="c", nodes=nodes, controller=None, authorized_operations=None)
        connection = cast("AdminConnection", SimpleNamespace(settings=settings, read=lambda _, found=answer: found))
        if allowed or protocol == "SASL_SSL":
            assert len(handshake_with(connection).brokers) == len(_NODES)
        else:
            with pytest.raises(ClusterError, match=r"names the broker broker\.example"):
                handshake_with(connection)


def test_a_login_without_tls_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cure is named."""
    directory = manifests(tmp_path, "127.0.0.1:1")
    file = connections(tmp_path, "broker.example:9092", f"{LOGIN}, sasl.password: {REFERENCE}")
    arguments = [str(directory), "--cluster", "prod", "--connections", file, "--allow-env", "KAFKA_PASSWORD"]
    assert run(["plan", *arguments]) == 1
    assert "--allow-cleartext-login" in capsys.readouterr().err


@pytest.mark.parametrize(("mode", "sent"), [(0o700, True), (0o750, False), (0o707, False)])
def test_files_beside_the_connections(
    attacker: Listener, tmp_path: Path, mode: int, sent: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Others can write into the directory of the connections: its files need ``--secrets-dir`` then."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "password").write_text(SECRET, encoding="utf-8")
    login = f'{LOGIN}, request.timeout.ms: "2000", sasl.password: "${{dir:{private}:password}}"'
    file = connections(private, attacker.address, login)
    private.chmod(mode)
    assert run(["plan", str(manifests(tmp_path, "127.0.0.1:1")), "--cluster", "prod", "--connections", file]) == 1
    assert attacker.heard_login(SECRET) is sent
    assert ("--secrets-dir" in capsys.readouterr().err) is not sent
    private.chmod(0o700)
    shutil.rmtree(private)


def test_a_link_beside_the_connections_leads_nowhere_else(
    attacker: Listener, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link in the private directory points at a secret elsewhere: not permitted."""
    private, elsewhere = tmp_path / "private", tmp_path / "elsewhere"
    private.mkdir(mode=0o700)
    elsewhere.write_text(SECRET, encoding="utf-8")
    (private / "password").symlink_to(elsewhere)
    file = connections(private, attacker.address, f'{LOGIN}, sasl.password: "${{dir:{private}:password}}"')
    assert run(["plan", str(manifests(tmp_path, "127.0.0.1:1")), "--cluster", "prod", "--connections", file]) == 1
    assert "is not permitted" in capsys.readouterr().err
    assert not attacker.heard


LOG = "Failed to resolve kafka-1.example:9092: Name or service not known (after 12 ms in state CONNECT)"


@pytest.mark.parametrize("secret", ["a", "a-1", "kaf", "kafka", "example", "CONNECT", "Name or service", "9092", LOG])
def test_a_weak_secret_is_not_cut_out_of_ordinary_words(secret: str) -> None:
    """The password is short or a word that everybody knows: what is left of the line must not tell which."""
    assert redact(LOG, [secret]) == PLACEHOLDER
    assert redact(LOG, ["another one"]) == LOG


@given(st.text(min_size=1, max_size=6), st.text(max_size=30), st.text(max_size=30))
def test_a_redacted_text_depends_on_nothing_in_it(secret: str, before: str, after: str) -> None:
    """Whatever the secret and wherever it stands, what is shown is the same constant."""
    assert redact(before + secret + after, [secret]) == PLACEHOLDER
    shown = redact(before + after, [secret])
    assert shown == PLACEHOLDER or (shown == before + after and secret not in shown)


@given(
    st.binary(max_size=5),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=9, max_size=30),
    st.sampled_from("ab"),
)
def test_a_secret_behind_a_name_in_base64(name: bytes, secret: str, alphabet: str) -> None:
    """An authentication header is echoed: its base64 holds the secret at any of three alignments."""
    encode = base64.b64encode if alphabet == "a" else base64.urlsafe_b64encode
    assert redact(f"Authorization: Basic {encode(name + secret.encode()).decode()}", [secret]) == PLACEHOLDER


def test_a_line_of_a_key() -> None:
    """The library echoes one line of a key of several."""
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----\n"
    assert redact("bad base64 in MIIEvQIBADANBgkqhkiG9w0BAQEF", [key]) == PLACEHOLDER
    assert redact("no -----BEGIN PRIVATE KEY----- found", [key]) == "no -----BEGIN PRIVATE KEY----- found"


_PROGRAM = """\
import ctypes, resource, sys
from reconciler.cli import help, main
def command(**options):
    print(resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
help.version_command.callback = command
sys.argv = ["reconciler", "version"]
main.main()
"""


def test_the_process_leaves_no_core_file() -> None:
    """A crash of a client library would write the password to the disk: no core file, no debugger."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "(0, 0) 0\n"


@pytest.mark.usefixtures("new_readers")
def test_the_process_that_lists_acls_gets_no_secret_by_its_environment() -> None:
    """Another process of the same user reads ``/proc/PID/environ`` of the child."""
    client = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", **LOGINS["PLAIN"]}
    listing = AclListing(client_settings("127.0.0.1:1", client, SecretSource()))
    try:
        # Between the fork and the new program the kernel shows an empty environment.
        environ = Path(f"/proc/{listing.pid}/environ")
        given = next(filter(None, iter(environ.read_bytes, None)))
        assert b"PATH=" in given
        assert b"KAFKA_PASSWORD" not in given
        assert SECRET.encode() not in given
    finally:
        listing.stop()


def test_what_any_child_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the operator has exported stays here; the address of a proxy may hold a password."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("https_proxy", f"http://me:{SECRET}@proxy:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    monkeypatch.setenv("CI", "true")
    given = child_environment()
    assert SECRET not in "".join(given.values())
    assert (given["HTTP_PROXY"], given["CI"]) == ("http://proxy:3128", "true")
    assert secret_environment(("KAFKA_PASSWORD",)).keys() >= {"KAFKA_PASSWORD", "AWS_SECRET_ACCESS_KEY"}


def test_tasks_know_of_the_environment_only_what_they_log_in_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Local files need nothing, an object store its credentials, a cluster what its references may name."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("KAFKA_PASSWORD", "x")
    monkeypatch.setenv("OTHER", SECRET)
    connections = tmp_path / "connections.yaml"
    connections.write_text(f"{HEAD}  bootstrapServers: [b:1]\n  client: {{{LOGIN}}}\n", encoding="utf-8")
    options = ConnectionOptions(str(connections), allow_env=("KAFKA_PASSWORD",))
    assert task_secrets([".fleet"]) == {}
    assert task_secrets(["s3://bucket/fleet"]).keys() == {"AWS_SECRET_ACCESS_KEY"}
    assert task_secrets(connection=options).keys() == {"KAFKA_PASSWORD"}
    with connections.open("a", encoding="utf-8") as file:
        file.write("  userSecrets: {envPrefixes: [OTH]}\n")
    assert task_secrets(connection=options).keys() == {"KAFKA_PASSWORD"}, "only apply sets passwords"
    assert task_secrets(connection=options, passwords=True).keys() == {"KAFKA_PASSWORD", "OTHER"}
    connections.write_text(connections.read_text().replace("PLAIN,", "AWS_MSK_IAM,"), encoding="utf-8")
    assert task_secrets(connection=options).keys() == {"KAFKA_PASSWORD", "AWS_SECRET_ACCESS_KEY"}


def test_a_task_of_a_fleet_shows_no_secret() -> None:
    """What is printed of the task that carries secrets by a pipe has none of them."""
    task = ChildTask("p", "m", "r", "plan-1", RecordOptions(), ConnectionOptions(), None, {"KAFKA_PASSWORD": SECRET})
    assert ChildTask.parse(task.text()) == task
    assert SECRET not in repr(task)


BASICS = f"{HEAD}  allowEveryoneIfNoAclFound: false\n"


def _written(tmp_path: Path, *mode: str) -> dict[str, int]:
    """The permissions of every file that commands write, as users of a usual umask."""
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "cluster.yaml").write_text(BASICS, encoding="utf-8")
    live = tmp_path / "live.json"
    live.write_text(snapshot_text(ClusterState("id")), encoding="utf-8")
    where, out = ["--cluster", f"prod=snapshot:{live}"], tmp_path / "out"
    out.mkdir()
    before = os.umask(0o022)
    try:
        assert run([*mode, "plan", str(tmp_path / "m"), *where, "--out", str(out / "plan.json")]) == 0
        report = ["report", str(out / "plan.json"), "-o", f"html={out / 'a.html'}", "-o", f"text={out / 'a.txt'}"]
        assert run([*mode, *report]) == 0
        assert run([*mode, "export", str(tmp_path / "m"), *where, "--out", str(out / "exported")]) == 0
        assert run([*mode, "export", str(tmp_path / "m"), *where, "--snapshot", str(out / "snapshot.json")]) == 0
        assert run([*mode, "init", str(out / "begun")]) == 0
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    return {str(path.relative_to(out)): path.stat().st_mode & 0o777 for path in out.rglob("*")}


def test_only_the_owner_reads_what_is_written(tmp_path: Path) -> None:
    """Another user of the machine reads plans, reports and exports: they name principals and topics."""
    found = _written(tmp_path)
    assert len(found) > 6
    assert {name: mode for name, mode in found.items() if mode & 0o077} == {}


@pytest.mark.parametrize(("mode", "file", "directory"), [("640", 0o640, 0o750), ("0644", 0o644, 0o755)])
def test_others_read_what_the_operator_lets_them(tmp_path: Path, mode: str, file: int, directory: int) -> None:
    """A job of another user needs the comment or the metrics: ``--mode`` says so."""
    assert set(_written(tmp_path, "--mode", mode).values()) == {file, directory}


@pytest.mark.parametrize("mode", ["", "9", "7777", "044", "u=rw", "200"])
def test_a_mode_that_is_none(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error opens nothing."""
    assert run(["--mode", mode, "schema"]) == 64
    assert "write 600, 640 or 644" in capsys.readouterr().err


def test_no_example_of_a_manifest_refers_to_a_secret() -> None:
    """Editors offer the schema's examples: one with a reference would be refused, or train people to trust it."""
    # Of a user's password only, which the operator has to permit by such a prefix.
    permitted = re.compile(r"\$\{env:(NAME|KAFKA_USER_PAYMENTS)\}")
    for kind in (ANY_KIND, *SCHEMA_KINDS):
        assert not re.search(r"\$\{(env|file|dir):[A-Z]", permitted.sub("", manifest_schema_text(kind))), kind
    assert "${env:KAFKA_PASSWORD}" in manifest_schema_text("connections")
