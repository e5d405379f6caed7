"""Manifests for a cluster of kfake's, and the command line run on them."""

from pathlib import Path

import pytest

from tests.compat.kfake import login
from tests.integration.main_job import FACTS, Job, password_file

#: Two ACLs.
PLAIN_TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules:
    - {allow: [READ, WRITE], topics: ["@orders"]}
"""


def job(tmp_path: Path, servers: str, capsys: pytest.CaptureFixture[str]) -> Job:
    """A cluster document without a probe, and a connection as the super user."""
    directory = tmp_path / "manifests"
    directory.mkdir()
    connections = tmp_path / "connections.yaml"
    settings = login(servers)
    settings["sasl.password"] = password_file(tmp_path, "admin", "secret")
    client = "".join(f"    {key}: {value!r}\n" for key, value in settings.items() if key != "bootstrap.servers")
    connections.write_text(
        "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: it}\nspec:\n"
        f"  bootstrapServers: [{servers!r}]\n  client:\n{client}"
    )
    made = Job(directory, connections, "compat.", capsys)
    made.write(
        "cluster.yaml",
        "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: it}\nspec:\n" + FACTS.format(user="admin"),
    )
    return made
