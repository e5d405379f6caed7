"""The roles ``connect`` and ``connect-sink`` with a real Connect worker and real sink connectors."""

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.applications.applications import (
    application_jars,
    await_true,
    grant,
    login,
    program,
    write_properties,
)

# A worker with its REST API starts for as long as a broker does.
pytestmark = [pytest.mark.broker, pytest.mark.long]

_TIMEOUT = 60
_SECONDS = 300
_MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
_WORKER = "{role: connect, topics: {prefix: NAME-}, groups: [NAME]}"
_SINK = "{role: connect-sink, topics: [sink.in], groups: [connect-NAME]}"
#: What each sink lacks of its role.
_SINKS = {
    "whole": "",
    "deaf": "TOPIC sink.in READ",
    "alone": "GROUP connect-alone READ",
    "stuck": "GROUP connect-stuck DELETE",
}


class _Worker(NamedTuple):
    """A worker while it runs."""

    port: int
    said: Callable[[], str]
    directory: Path

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_TIMEOUT)
        try:
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        except OSError:  # it does not listen yet
            return 0, None
        finally:
            connection.close()
        return answer.status, json.loads(text) if text else None

    def await_(self, test: Callable[[], bool]) -> None:
        await_true(test, self.said, _SECONDS)

    def trace(self, sink: str) -> str:
        """What stopped the task of a connector."""
        _, found = self.ask("GET", f"/connectors/{sink}/status")
        return " ".join(task.get("trace", "") for task in (found or {}).get("tasks", ()))

    def written(self, sink: str) -> list[str]:
        file = self.directory / f"{sink}.txt"
        return file.read_text().splitlines() if file.exists() else []


def _started(broker: Sandbox, directory: Path, name: str, port: int, lacks: str = "") -> Path:
    grant(broker, f"worker-{name}", [_WORKER.replace("NAME", name)], lacks)
    stores = ("config", "offset", "status")
    return write_properties(
        directory / f"{name}.properties",
        {
            **login(broker, f"worker-{name}"),
            "group.id": name,
            "listeners": f"http://127.0.0.1:{port}",
            "plugin.discovery": "service_load",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "offset.flush.interval.ms": "500",
            **{f"{store}.storage.topic": f"{name}-{store}s" for store in stores},
            **{f"{store}.storage.replication.factor": "1" for store in stores},
            **{f"{store}.storage.partitions": "1" for store in ("offset", "status")},
        },
    )


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def worker(broker: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Worker]:
    """A worker, and a sink connector for each of the principals."""
    directory, port = tmp_path_factory.mktemp("connect"), _free_port()
    settings = broker.settings("admin")
    admin = AdminClient({**settings})
    admin.create_topics([NewTopic("sink.in", 1, 1)])["sink.in"].result(_TIMEOUT)
    producer = Producer(settings)
    producer.produce("sink.in", b"hello")
    producer.flush(_TIMEOUT)
    file = _started(broker, directory, "connect", port)
    with program(directory / "log", (application_jars("connect-mirror", "connect-file"),), _MAIN, file) as said:
        one = _Worker(port, said, directory)
        for sink, lacks in _SINKS.items():
            grant(broker, f"sink-{sink}", [_SINK.replace("NAME", sink)], lacks)
            clients = {f"{kind}.override.": login(broker, f"sink-{sink}") for kind in ("consumer", "admin")}
            config = {
                "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
                "tasks.max": "1",
                "topics": "sink.in",
                "file": str(directory / f"{sink}.txt"),
                "consumer.override.auto.offset.reset": "earliest",
                **{kind + name: text for kind, own in clients.items() for name, text in own.items()},
            }
            one.await_(partial(_accepted, one, sink, config))
        yield one


def _accepted(worker: _Worker, sink: str, config: dict[str, str]) -> bool:
    return worker.ask("PUT", f"/connectors/{sink}/config", config)[0] in (200, 201)


def _stopped(worker: _Worker, sink: str) -> tuple[int, Any]:
    """The answer to a reset of the offsets of a sink, which has to be stopped for that."""
    worker.await_(lambda: worker.written(sink) == ["hello"])
    # The offsets of what was written are committed.
    time.sleep(2)
    worker.ask("PUT", f"/connectors/{sink}/stop")
    worker.await_(lambda: worker.ask("GET", f"/connectors/{sink}/status")[1]["connector"]["state"] == "STOPPED")
    return worker.ask("DELETE", f"/connectors/{sink}/offsets")


def test_a_sink_writes_and_resets_its_offsets(worker: _Worker) -> None:
    status, answer = _stopped(worker, "whole")
    assert (status, "have been reset" in answer["message"]) == (200, True), answer


def test_without_delete_on_the_group_a_sink_writes_and_keeps_its_offsets(worker: _Worker) -> None:
    status, answer = _stopped(worker, "stuck")
    assert status == 500
    assert "uthoriz" in answer["message"] or "Failed to reset" in answer["message"], answer


@pytest.mark.parametrize(
    ("sink", "says"), [("deaf", "access topics: [sink.in]"), ("alone", "access group: connect-alone")]
)
def test_without_read_a_sink_s_task_fails(worker: _Worker, sink: str, says: str) -> None:
    worker.await_(lambda: says in worker.trace(sink))
    assert worker.written(sink) == []


@pytest.mark.parametrize(
    ("lacks", "says"),
    [
        ("TOPIC worker- CREATE", "Could not look up partition metadata for topic 'worker-offsets'"),
        ("GROUP worker READ", "Not authorized to access group: worker"),
    ],
)
def test_without_one_of_its_bindings_a_worker_ends(broker: Sandbox, tmp_path: Path, lacks: str, says: str) -> None:
    name = f"worker{len(lacks)}"
    file = _started(broker, tmp_path, name, _free_port(), lacks.replace("worker", name))
    jars = application_jars("connect-mirror", "connect-file")
    with program(tmp_path / "log", (jars,), _MAIN, file) as said:
        await_true(lambda: says.replace("worker", name) in said(), said, _SECONDS)
