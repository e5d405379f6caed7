"""Each right by which a principal acts as another one, as a real broker sees it: a token logs in as the victim."""

import re
import socket
import subprocess
from pathlib import Path

import pytest

from reconciler.parts.local.sandbox.launch import broker_jars, find_java
from reconciler.parts.local.sandbox.layout import DEFAULT_VERSION, SandboxSpec, exact_version, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from tests.integration.topics.java_classes import compiled

pytestmark = pytest.mark.broker

_SECONDS = 180
#: Every attempt, and what came of it: each right is refused without its ACL and works with it.
EXPECTED = """\
maker without CREATE_TOKENS: DelegationTokenAuthorizationException
maker by its own login: TopicAuthorizationException
maker by a token of victim: yes
a token by a token: UnsupportedByAuthenticationException
a locked maker reads the secret: yes
and acts by the token: yes
until the owner is locked: TopicAuthorizationException
reader without DESCRIBE_TOKENS: IndexOutOfBoundsException
reader has the secret: yes
altering without ALTER: ClusterAuthorizationException
altering grants itself: yes
altering as the super user: yes
configuring without ALTER_CONFIGS: ClusterAuthorizationException
configuring adds a listener: yes
"""


def test_each_right_to_act_as_another_works_on_a_broker(tmp_path: Path, sandbox_root: Path) -> None:
    """``reconciler.access.reach`` follows these rights, and ``lock`` says what tokens do with one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spec = SandboxSpec(
        name="identities",
        users=generated_users("admin", "reconciler", "acl-probe"),
        any_principal=True,
        overrides={"delegation.token.secret.key": "of-this-test-alone"},
    )
    java = find_java()
    classes = compiled(Path(__file__).parent / "judges", tmp_path, DEFAULT_VERSION)
    jars = broker_jars(exact_version(DEFAULT_VERSION), java, lambda _: None)
    with running(spec, root=sandbox_root) as sandbox:
        given = sandbox.settings("admin")
        command = [str(java.executable), "-XX:TieredStopAtLevel=1", "-cp", f"{classes}:{jars}/*", "IdentityJudge"]
        command += [given["bootstrap.servers"], given["sasl.password"], str(port)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        assert run.returncode == 0, run.stderr[-2_000:]
    # Clients log what is refused there as well.
    assert re.findall(r"^[A-Za-z_ ]+: [A-Za-z]+$", run.stdout, re.M) == EXPECTED.splitlines()
