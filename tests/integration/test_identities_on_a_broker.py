"""Each right by which a principal acts as another one, as a real broker sees it: a token logs in as the victim."""

import base64
import json
import re
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from reconciler.kafka.cluster import connect
from reconciler.model.listing import Create
from reconciler.parts.local.sandbox.launch import broker_jars, find_java
from reconciler.parts.local.sandbox.layout import DEFAULT_VERSION, Listener, SandboxSpec, exact_version, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.integration.kafka.conftest import settings_of
from tests.integration.topics.java_classes import compiled
from tests.worlds import binding

# What Kafka does; what we make of it is in every run: tests/unit/access/test_separation.py.
pytestmark = [pytest.mark.broker, pytest.mark.long]

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


#: Anybody may log in at the controller's listener as anybody: what that is worth is a matter of ACLs.
_CONTROLLER_LOGIN: Final = {
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
    "listener.name.controller.oauthbearer.sasl.jaas.config": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    ),
}


@pytest.fixture(scope="module")
def identities(sandbox_root: Path) -> Iterator[Sandbox]:
    """A broker with delegation tokens, whose controller can be reached."""
    spec = SandboxSpec(
        name="identities",
        users=generated_users("admin", "reconciler", "acl-probe"),
        any_principal=True,
        overrides={"delegation.token.secret.key": "of-this-test-alone", **_CONTROLLER_LOGIN},
    )
    with running(spec, root=sandbox_root) as sandbox:
        yield sandbox


# CLUSTER_ACTION, by the bytes of the protocol: clients have no function for what brokers ask one another.

_HANDSHAKE, _CREATE_ACLS, _AUTHENTICATE, _ENVELOPE = 17, 30, 36, 58
_DONE, _DENIED = 0, 31
_ANYBODY_ELSE: Final = binding("CLUSTER:L:kafka-cluster User:asked-by-envelope@* ALLOW ALTER")


def _text(value: str) -> bytes:
    """A compact string."""
    return bytes([len(value) + 1]) + value.encode()


def _blob(value: bytes) -> bytes:
    """Compact bytes."""
    size, encoded = len(value) + 1, b""
    while size >= 0x80:
        encoded, size = encoded + bytes([size & 0x7F | 0x80]), size >> 7
    return encoded + bytes([size]) + value


class _Controller:
    """A connection to the controller of somebody who is no node of the cluster."""

    def __init__(self, sandbox: Sandbox, user: str, stack: ExitStack) -> None:
        host, _, port = sandbox.addresses(Listener.CONTROLLER).partition(":")
        self._socket = stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
        mechanism = b"OAUTHBEARER"
        assert self._asked(_HANDSHAKE, 1, struct.pack(">h", len(mechanism)) + mechanism)[4:6] == b"\0\0"
        now = int(time.time())
        parts = ({"alg": "none"}, {"sub": user, "iat": now, "exp": now + 3_600})
        token = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
        login = b"n,,\x01auth=Bearer " + token + b".\x01\x01"
        assert self._asked(_AUTHENTICATE, 1, struct.pack(">i", len(login)) + login)[4:6] == b"\0\0"

    def _asked(self, api: int, version: int, body: bytes, tags: bytes = b"") -> bytes:
        request = struct.pack(">hhih", api, version, 7, -1) + tags + body
        self._socket.sendall(struct.pack(">i", len(request)) + request)
        with self._socket.makefile("rb", buffering=0) as stream:
            return _exactly(stream, struct.unpack(">i", _exactly(stream, 4))[0])

    def as_somebody(self, name: str) -> tuple[int, int | None]:
        """Asks as another user for an ACL: the error of the envelope, and that of the request inside."""
        pattern, entry = _ANYBODY_ELSE
        creation = (
            struct.pack("b", pattern.resource_type)
            + _text(pattern.name)
            + struct.pack("b", pattern.pattern_type)
            + _text(entry.principal)
            + _text(entry.host)
            + struct.pack("bb", entry.operation, entry.permission_type)
            + b"\0"
        )
        inside = struct.pack(">hhih", _CREATE_ACLS, 3, 9, -1) + b"\0" + b"\2" + creation + b"\0"
        principal = b"\0\0" + _text("User") + _text(name) + b"\0" + b"\0"  # of version 0, not by a token
        body = _blob(inside) + _blob(principal) + _blob(socket.inet_aton("127.0.0.1")) + b"\0"
        answer = self._asked(_ENVELOPE, 0, body, b"\0")[5:]
        size, at = answer[0] & 0x7F, 1
        if answer[0] & 0x80:
            size, at = size | answer[1] << 7, 2
        reply, rest = answer[at : at + max(size - 1, 0)], answer[at + max(size - 1, 0) :]
        # Of the reply: correlation, no tags, throttle time, one result and its error.
        found = int(struct.unpack(">h", reply[10:12])[0]) if reply else None
        return int(struct.unpack(">h", rest[:2])[0]), found


def _exactly(stream: socket.SocketIO, size: int) -> bytes:
    read = b""
    while len(read) < size:
        part = stream.read(size - len(read))
        assert part, "the controller closed the connection"
        read += part
    return read


def test_cluster_action_asks_a_controller_as_anybody(identities: Sandbox) -> None:
    """``ControllerApis.handleEnvelopeRequest``: the rights that count are those of whom the envelope names."""
    acls = ReadRequest(all_topics=False)
    with ExitStack() as stack, connect(settings_of(identities.settings("admin"))) as cluster:
        controller = _Controller(identities, "envoy", stack)
        assert controller.as_somebody("admin") == (_DENIED, None)
        cluster.send([Create(binding("CLUSTER:L:kafka-cluster User:envoy@* ALLOW CLUSTER_ACTION"))])
        until = time.monotonic() + 30
        while controller.as_somebody("stranger") == (_DENIED, None) and time.monotonic() < until:
            time.sleep(0.1)
        assert controller.as_somebody("stranger") == (_DONE, _DENIED)
        assert _ANYBODY_ELSE not in cluster.read(acls).bindings
        assert controller.as_somebody("admin") == (_DONE, _DONE)
        while _ANYBODY_ELSE not in cluster.read(acls).bindings:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_each_right_to_act_as_another_works_on_a_broker(tmp_path: Path, identities: Sandbox) -> None:
    """``reconciler.access.reach`` follows these rights, and ``lock`` says what tokens do with one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    java = find_java()
    classes = compiled(Path(__file__).parent / "judges", tmp_path, DEFAULT_VERSION)
    jars = broker_jars(exact_version(DEFAULT_VERSION), java, lambda _: None)
    given = identities.settings("admin")
    command = [
        str(java.executable),
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-cp",
        f"{classes}:{jars}/*",
        "IdentityJudge",
    ]
    command += [given["bootstrap.servers"], given["sasl.password"], str(port)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert run.returncode == 0, run.stderr[-2_000:]
    # Clients log what is refused there as well.
    assert re.findall(r"^[A-Za-z_ ]+: [A-Za-z]+$", run.stdout, re.M) == EXPECTED.splitlines()
