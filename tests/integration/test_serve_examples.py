"""What runs a server, a plan or drift: units and manifests that hold together, with command lines that parse.

``tests/compat/test_kubernetes.py`` reads the same files, and the chart, with the code of Helm, Argo CD and Flux.
"""

import configparser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import UsageError

from reconciler.app.manifests import read_sources
from tests.integration.command_lines import parsed

_SERVE = Path(__file__).parents[2] / "examples" / "serve"
_GITOPS = _SERVE / "gitops"
#: The one variable that a container has.
_ALLOCATOR = {"name": "PYTHONMALLOC", "value": "malloc"}


def _unit() -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string((_SERVE / "reconciler.service").read_text(encoding="utf-8").replace("\\\n", " "))
    return unit


def _documents(file: Path) -> list[Any]:
    return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))


def test_the_unit_runs_a_server_that_may_do_little_else() -> None:
    service = _unit()["Service"]
    program, *words = service["ExecStart"].split()
    assert Path(program).name == "reconciler"
    name, options = parsed(words)
    assert (name, options["act"], options["clusters"]) == ("serve", True, ("prod",))
    assert options["git_remote"] == "origin"
    assert options["listen"] == ("127.0.0.1", 9470)
    hardening = ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices")
    assert {name: service[name] for name in hardening} == dict.fromkeys(hardening, "yes")
    assert service["User"] != "root"


def _holds_together(pod: dict[str, Any], *claimed: str) -> dict[str, Any]:
    """A pod whose containers may do little and mount what there is; its container ``reconciler``."""
    containers = [*pod.get("initContainers", ()), *pod["containers"]]
    volumes = {volume["name"] for volume in pod["volumes"]} | set(claimed)
    for one in containers:
        context = one["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
        assert one.get("env", [_ALLOCATOR]) == [_ALLOCATOR], "a secret is a file"
    assert {mount["name"] for one in containers for mount in one["volumeMounts"]} == volumes
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    [own] = [one for one in containers if one["name"] == "reconciler"]
    return dict(own)


def test_the_manifests_run_a_server_that_may_do_little_else() -> None:
    workload, service = _documents(_SERVE / "kubernetes.yaml")
    template = workload["spec"]["template"]
    container = _holds_together(template["spec"], *(claim["metadata"]["name"] for claim in _claims(workload)))
    name, options = parsed(container["args"])
    assert (name, options["act"], options["clusters"]) == ("serve", True, ("prod",))
    assert options["audit"].startswith("/state/"), "where there is a volume"
    [port] = container["ports"]
    assert options["listen"][1] == port["containerPort"]
    probed = {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
    assert probed == {"/healthz", "/readyz"}
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    assert workload["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()


def _claims(workload: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from workload["spec"]["volumeClaimTemplates"]


def test_plan_and_drift_run_on_the_same_manifests_and_only_look() -> None:
    [job], [cron] = _documents(_GITOPS / "plan" / "job.yaml"), _documents(_GITOPS / "drift" / "cronjob.yaml")
    runs = {"plan": job["spec"], "drift": cron["spec"]["jobTemplate"]["spec"]}
    for command, run in runs.items():
        container = _holds_together(run["template"]["spec"])
        name, options = parsed(container["args"])
        assert (name, options["path"]) == (command, "/manifests")
        assert run["backoffLimit"] == 0, "a second try would hide what the first one said"
    hook = job["metadata"]["annotations"] | _documents(_GITOPS / "plan" / "kustomization.yaml")[0]["commonAnnotations"]
    assert hook["argocd.argoproj.io/hook"] == "PreSync"


def test_the_recipes_name_directories_that_there_are() -> None:
    [application] = _documents(_SERVE / "argo-cd" / "application.yaml")
    repository, plan, drift = _documents(_SERVE / "flux" / "kafka-access.yaml")
    paths = [application["spec"]["source"]["path"], plan["spec"]["path"], drift["spec"]["path"]]
    assert [(_GITOPS / path / "kustomization.yaml").is_file() for path in paths] == [True, True, True]
    for one in (plan, drift):
        assert one["spec"]["sourceRef"]["name"] == repository["metadata"]["name"]
    assert drift["spec"]["dependsOn"] == [{"name": plan["metadata"]["name"]}]


def test_manifests_are_read_as_kubernetes_mounts_them(tmp_path: Path) -> None:
    """A ConfigMap is a directory of links into a hidden one; git-sync's is a link to a commit."""
    mounted, commit = tmp_path / "mounted", tmp_path / "mounted" / "..2026_11_23"
    commit.mkdir(parents=True)
    (commit / "kafka.yaml").write_text("kind: Acls\n", encoding="utf-8")
    (commit / "Kustomization").write_text((_GITOPS / "manifests" / "Kustomization").read_text(), encoding="utf-8")
    (mounted / "..data").symlink_to("..2026_11_23")
    (mounted / "kafka.yaml").symlink_to("..data/kafka.yaml")
    (mounted / "Kustomization").symlink_to("..data/Kustomization")
    (tmp_path / "current").symlink_to(mounted / "..2026_11_23")
    for directory in (mounted, tmp_path / "current"):
        assert [source.path for source in read_sources(str(directory))] == ["kafka.yaml"]


def test_a_command_line_that_the_product_refuses_is_found() -> None:
    for wrong in (["serve", "x", "--akt"], ["serve", "x", "--listen=here"], ["serve", "x", "--interval=soon"]):
        with pytest.raises(UsageError):
            parsed(wrong)
