"""Kafka's own applications, from Maven Central, each as a principal that has what a role grants, or less."""

import datetime
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import AclBinding
from reconciler.parts.local.sandbox.launch import fetched_jars, find_java, jar_directory
from reconciler.parts.local.sandbox.layout import NEWEST_PATCH, Artifact
from reconciler.parts.local.sandbox.state import Sandbox
from tests.shared_brokers import opened
from tests.verbs import creations

#: Of 4.4.0, modules that these depend on were never published.
VERSION = NEWEST_PATCH["4.3"]
#: Short-lived programs end before Java's second compiler pays.
_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx384m")
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_LOGGING = Artifact("org.slf4j", "slf4j-simple", "1.7.36")
_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {bootstrapServers: [b:1]}\n"
_ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: application}
spec:
  principal: User:%s
  rules:
%s
"""


def application_jars(*names: str) -> Path:
    """The jars of modules of Kafka and of all that they need; fetched once."""
    wanted = (*(Artifact("org.apache.kafka", name, VERSION) for name in names), _LOGGING)
    return fetched_jars(f"{names[0]} {VERSION}", wanted, jar_directory() / f"{names[0]}-{VERSION}", find_java())


def grant(broker: Sandbox, principal: str, rules: Iterable[str], lacks: str = "") -> None:
    """Create what the rules declare for the principal, but for one binding: ``TOPIC name CREATE``."""
    text = _ACLS % (principal, "\n".join(f"    - {rule}" for rule in rules))
    manifests = load([Source("c.yaml", _CLUSTER), Source("a.yaml", text)])
    wanted = sorted(desired_state(manifests, "c", datetime.date.min).bindings)
    granted = [binding for binding in wanted if _name(binding) != lacks]
    assert len(wanted) - len(granted) == bool(lacks), [*map(_name, wanted)]
    with opened(broker) as cluster:
        cluster.send(creations(granted))


def _name(binding: AclBinding) -> str:
    return f"{binding.pattern.resource_type.name} {binding.pattern.name} {binding.entry.operation.name}"


def login(broker: Sandbox, principal: str, prefix: str = "") -> dict[str, str]:
    """The settings with which a Java client logs in as anybody, each name with a prefix."""
    settings = {
        "bootstrap.servers": broker.settings("admin")["bootstrap.servers"],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f'{_MODULE} required unsecuredLoginStringClaim_sub="{principal}";',
    }
    return {prefix + name: value for name, value in settings.items()}


def write_properties(path: Path, settings: Mapping[str, str]) -> Path:
    """A Java properties file of settings without special characters."""
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
    return path


@contextmanager
def program(log: Path, class_path: Iterable[Path], main: str, *arguments: Path) -> Iterator[Callable[[], str]]:
    """A Java program while it runs; gives what it has printed so far."""
    paths = ":".join(str(path / "*") if any(path.glob("*.jar")) else str(path) for path in class_path)
    command = [str(find_java().executable), *_FLAGS, _QUIET, "-cp", paths, main, *map(str, arguments)]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield lambda: log.read_text(encoding="utf-8", errors="replace")
        finally:
            process.kill()
            process.communicate()


def await_true(test: Callable[[], bool], log: Callable[[], str], seconds: float = 90) -> None:
    """Wait until the test holds; fails with the end of the program's log."""
    deadline = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < deadline, log()[-4000:]
        time.sleep(0.2)
