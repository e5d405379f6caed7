"""The chart and the recipes, read by the code of Helm, Kustomize, Kubernetes' types, Argo CD's Lua and Flux's CEL.

Kubernetes' API server then says whether it admits the objects and their pods. Nothing runs them.
"""

import datetime
import json
import re
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from reconciler import __version__
from tests.integration.command_lines import parsed

# To build the judge, Helm, Kustomize, Argo CD's and Flux's code with all that they need, takes two minutes of a
# processor where nothing of it is kept, which is ten on a busy machine; the API server takes several times as long.
pytestmark = [pytest.mark.long, pytest.mark.timeout(7200)]

_ROOT = Path(__file__).parents[2]
_CHART = _ROOT / "charts" / "reconciler"
_SERVE = _ROOT / "examples" / "serve"
#: The one variable that a container has.
_ALLOCATOR = {"name": "PYTHONMALLOC", "value": "malloc"}
#: What a user has to say.
LEAST: dict[str, Any] = {
    "manifests": {"git": {"repository": "https://git.example.com/access"}},
    "connections": {"secret": "connections"},
}
FROM_PROMETHEUS = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
MOST: dict[str, Any] = {
    "mode": "act",
    "image": {"digest": f"sha256:{'0' * 64}"},
    "imagePullSecrets": [{"name": "registry"}],
    "clusters": ["prod", "dr site"],
    "replicas": 3,
    "manifests": {"git": {"repository": "git@example.com:access", "directory": "kafka/prod", "secret": "deploy-key"}},
    "connections": {"secret": "connections"},
    "secrets": {"secret": "kafka"},
    "guardrails": {"configMap": "guardrails"},
    "plans": {
        "claim": "signed-plans",
        "allowedSigners": {"configMap": "signers"},
        "notAuthor": ["ci@example.com"],
        "maxAge": "2d",
    },
    "audit": {"storageClass": "fast"},
    "networkPolicy": {"from": FROM_PROMETHEUS},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/kafka"}},
    "podAnnotations": {"a": "b"},
    "podLabels": {"team": "platform"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
}


class Judge:
    """``compat/kubernetes``, built."""

    def __init__(self, into: Path) -> None:
        """Build it; only the first time takes minutes."""
        self._program, self._scratch = into / "kubernetes", into
        command = ["go", "build", "-gcflags=all=-N -l", "-ldflags=-s -w", "-o", str(self._program), "."]
        subprocess.run(command, cwd=_ROOT / "compat" / "kubernetes", check=True)

    def ask(self, *words: str | Path) -> Any:
        """Its answer; raises ``ValueError`` with what it says is wrong."""
        done = subprocess.run([self._program, *words], check=False, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr)
        return json.loads(done.stdout)

    def about(self, verb: str, what: Path, given: object) -> Any:
        """The same with a value as a file."""
        file = self._scratch / "given.yaml"
        file.write_text(yaml.safe_dump(given), encoding="utf-8")
        return self.ask(verb, what, file)


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return Judge(tmp_path_factory.mktemp("kubernetes"))


def _by_kind(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {one["kind"]: one for one in objects}
    assert len(found) == len(objects)
    return found


def _pod(workload: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A pod, restricted and mounting what there is, and its container that is ours."""
    pod = workload["spec"]["template"]["spec"]
    containers = [*pod.get("initContainers", ()), *pod["containers"]]
    claims = workload["spec"].get("volumeClaimTemplates", ())
    volumes = {one["name"] for one in pod["volumes"]} | {one["metadata"]["name"] for one in claims}
    assert {mount["name"] for one in containers for mount in one["volumeMounts"]} == volumes
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for one in containers:
        context = one["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
        assert one.get("env", [_ALLOCATOR]) == [_ALLOCATOR], "a secret is a file"
        assert "envFrom" not in one
    return pod, next(one for one in containers if one["name"] == "reconciler")


@pytest.mark.parametrize("given", [LEAST, MOST], ids=["least", "most"])
def test_helm_has_nothing_against_the_chart(judge: Judge, given: dict[str, Any]) -> None:
    messages = judge.about("lint", _CHART, given)
    assert [one for one in messages if "icon is recommended" not in one] == []


def test_by_default_a_server_only_looks_and_nobody_reaches_its_pages(judge: Judge) -> None:
    objects = _by_kind(judge.about("render", _CHART, LEAST))
    assert sorted(objects) == ["NetworkPolicy", "Service", "ServiceAccount", "StatefulSet"]
    pod, container = _pod(objects["StatefulSet"])
    name, options = parsed(container["args"])
    assert (name, options["act"], options["audit"], options["clusters"]) == ("serve", False, None, ())
    assert options["path"] == "/manifests/current"
    assert objects["NetworkPolicy"]["spec"]["ingress"] == []
    assert objects["StatefulSet"]["spec"]["replicas"] == 1
    assert "volumeClaimTemplates" not in objects["StatefulSet"]["spec"], "there is nothing to keep"
    assert "--one-time" in pod["initContainers"][0]["args"]


def test_all_values_arrive(judge: Judge) -> None:
    objects = _by_kind(judge.about("render", _CHART, MOST))
    workload = objects["StatefulSet"]
    pod, container = _pod(workload)
    name, options = parsed(container["args"])
    assert (name, options["act"], options["clusters"]) == ("serve", True, ("prod", "dr site"))
    assert options["path"] == "/manifests/current/kafka/prod"
    assert (options["audit"], options["guardrails"]) == ("/state/audit.jsonl", "/guardrails/guardrails.yaml")
    assert (options["plans"], options["require_approvals"]) == ("/plans", 2)
    assert (options["allowed_signers"], options["not_author"]) == ("/signers/allowed_signers", ("ci@example.com",))
    assert options["max_age"] == datetime.timedelta(days=2)
    assert container["image"] == f"ghcr.io/OWNER/reconciler@sha256:{'0' * 64}"
    [port], [endpoint] = container["ports"], objects["ServiceMonitor"]["spec"]["endpoints"]
    [open_port] = objects["NetworkPolicy"]["spec"]["ingress"]
    assert options["listen"][1] == port["containerPort"]
    assert objects["Service"]["spec"]["ports"][0]["name"] == endpoint["port"] == port["name"]
    assert open_port == {"from": FROM_PROMETHEUS, "ports": [{"port": port["name"], "protocol": "TCP"}]}
    labels = workload["spec"]["template"]["metadata"]["labels"]
    chosen = [
        objects["Service"]["spec"]["selector"],
        workload["spec"]["selector"]["matchLabels"],
        objects["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ]
    assert all(one.items() <= labels.items() for one in chosen)
    monitored = objects["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
    assert monitored.items() <= objects["Service"]["metadata"]["labels"].items()
    assert (workload["spec"]["replicas"], workload["spec"]["podManagementPolicy"]) == (3, "Parallel")
    assert pod["serviceAccountName"] == objects["ServiceAccount"]["metadata"]["name"]
    assert [volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume] == [
        "deploy-key",
        "connections",
        "kafka",
    ]


def test_manifests_may_be_a_config_map(judge: Judge) -> None:
    given = {"manifests": {"configMap": "access"}, "connections": {"secret": "connections"}}
    pod, container = _pod(_by_kind(judge.about("render", _CHART, given))["StatefulSet"])
    assert parsed(container["args"])[1]["path"] == "/manifests"
    assert [one["name"] for one in pod["containers"]] == ["reconciler"]


def test_the_recipe_has_all_that_is_needed(judge: Judge) -> None:
    page = (_ROOT / "docs" / "how-to.md").read_text(encoding="utf-8")
    given = yaml.safe_load(page.partition("# values.yaml\n")[2].partition("```")[0])
    _, container = _pod(_by_kind(judge.about("render", _CHART, given))["StatefulSet"])
    assert parsed(container["args"])[0] == "serve"
    assert container["image"] == f"registry.example.com/reconciler:{__version__}"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "where are the manifests"),
        ({"manifests": {"configMap": "access"}}, "connections.secret"),
        (LEAST | {"manifests": {**LEAST["manifests"], "configMap": "access"}}, "not both"),
        (LEAST | {"mode": "Act"}, "mode"),
        (LEAST | {"clusters": ["prod=snapshot:/x"]}, "clusters"),
        (LEAST | {"manifests": {"git": {"repository": "--upload-pack=x"}}}, "repository"),
        (LEAST | {"manifests": {"git": {**LEAST["manifests"]["git"], "directory": "../secrets"}}}, "directory"),
        (LEAST | {"plans": {"claim": "signed-plans"}}, "mode act"),
        (LEAST | {"mode": "act", "plans": {"claim": "signed-plans"}}, "plans.allowedSigners.configMap"),
        (LEAST | {"intervall": "1m"}, "intervall"),
        (LEAST | {"readinessProbe": {"exec": {"command": ["true"]}}}, "readinessProbe"),
    ],
)
def test_wrong_values_are_refused(judge: Judge, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        judge.about("render", _CHART, wrong)


def test_the_chart_names_no_secret_and_no_cluster_of_its_own() -> None:
    given = yaml.safe_load((_CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((_CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert given["mode"] == "look"
    assert given["connections"]["secret"] == given["secrets"]["secret"] == ""
    assert set(given) | {"global"} == set(schema["properties"]), "every value is known to the schema"


def test_kubernetes_types_read_the_plain_manifests(judge: Judge, tmp_path: Path) -> None:
    objects = _by_kind(judge.ask("objects", _SERVE / "kubernetes.yaml"))
    _pod(objects["StatefulSet"])
    wrong = tmp_path / "wrong.yaml"
    text = (_SERVE / "kubernetes.yaml").read_text(encoding="utf-8")
    wrong.write_text(text.replace("terminationGracePeriodSeconds", "terminationGraceSeconds"), encoding="utf-8")
    with pytest.raises(ValueError, match="terminationGraceSeconds"):
        judge.ask("objects", wrong)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The recipe in a repository with manifests."""
    copy = tmp_path / "kafka-access"
    shutil.copytree(_SERVE / "gitops", copy)
    shutil.copy(_ROOT / "examples" / "quickstart" / "manifests.yaml", copy / "manifests" / "kafka.yaml")
    return copy


def _mounted(run: dict[str, Any]) -> str:
    [name] = [one["configMap"]["name"] for one in run["template"]["spec"]["volumes"] if "configMap" in one]
    return str(name)


def test_argo_cd_plans_what_it_is_about_to_sync(judge: Judge, repository: Path) -> None:
    """What is a hook before the sync has its own copy of the manifests: the other one is not there yet."""
    before = _by_kind(judge.ask("build", repository / "plan"))
    synced = _by_kind(judge.ask("build", repository / "drift"))
    assert {one["metadata"]["annotations"]["argocd.argoproj.io/hook"] for one in before.values()} == {"PreSync"}
    assert _mounted(before["Job"]["spec"]) == before["ConfigMap"]["metadata"]["name"]
    assert _mounted(synced["CronJob"]["spec"]["jobTemplate"]["spec"]) == synced["ConfigMap"]["metadata"]["name"]
    assert before["ConfigMap"]["metadata"]["name"] != synced["ConfigMap"]["metadata"]["name"]
    assert before["ConfigMap"]["data"] == synced["ConfigMap"]["data"]
    both = judge.ask("build", repository)
    assert sorted(one["kind"] for one in both) == ["ConfigMap", "ConfigMap", "CronJob", "Job"]
    deleted = {
        kind: one["metadata"]["annotations"]["argocd.argoproj.io/hook-delete-policy"] for kind, one in before.items()
    }
    assert deleted == {"Job": "BeforeHookCreation", "ConfigMap": "HookSucceeded,HookFailed"}


def test_a_changed_manifest_is_a_new_job(judge: Judge, repository: Path) -> None:
    """Flux makes a job again if it differs."""
    first = _by_kind(judge.ask("build", repository / "plan"))["Job"]
    with (repository / "manifests" / "kafka.yaml").open("a", encoding="utf-8") as file:
        file.write("# another day\n")
    assert _by_kind(judge.ask("build", repository / "plan"))["Job"] != first


def test_the_recipes_are_of_types_that_there_are(judge: Judge) -> None:
    assert [one["kind"] for one in judge.ask("objects", _SERVE / "argo-cd" / "application.yaml")] == ["Application"]
    kinds = [one["kind"] for one in judge.ask("objects", _SERVE / "flux" / "kafka-access.yaml")]
    assert kinds == ["GitRepository", "Kustomization", "Kustomization"]


_EARLY, _LATE = "2026-11-23T10:00:00Z", "2026-11-23T10:10:00Z"
_STATES: list[tuple[dict[str, Any], str, str]] = [
    ({}, "Progressing", "InProgress"),
    ({"lastScheduleTime": _EARLY, "active": [{"name": "run"}]}, "Progressing", "InProgress"),
    ({"lastScheduleTime": _EARLY}, "Degraded", "Failed"),
    ({"lastScheduleTime": _EARLY, "lastSuccessfulTime": _LATE}, "Healthy", "Current"),
    ({"lastScheduleTime": _LATE, "lastSuccessfulTime": _EARLY}, "Degraded", "Failed"),
    ({"lastScheduleTime": _LATE, "lastSuccessfulTime": _EARLY, "active": [{}]}, "Progressing", "InProgress"),
]


@pytest.mark.parametrize(("status", "argo", "flux"), _STATES)
def test_drift_is_health(judge: Judge, tmp_path: Path, status: dict[str, Any], argo: str, flux: str) -> None:
    [config] = yaml.safe_load_all((_SERVE / "argo-cd" / "argocd-cm.yaml").read_text(encoding="utf-8"))
    script = tmp_path / "health.lua"
    script.write_text(config["data"]["resource.customizations.health.batch_CronJob"], encoding="utf-8")
    drift = list(yaml.safe_load_all((_SERVE / "flux" / "kafka-access.yaml").read_text(encoding="utf-8")))[-1]
    [rules] = drift["spec"]["healthCheckExprs"]
    expressions = tmp_path / "rules.yaml"
    expressions.write_text(yaml.safe_dump(rules), encoding="utf-8")
    cron = yaml.safe_load((_SERVE / "gitops" / "drift" / "cronjob.yaml").read_text(encoding="utf-8"))
    assert judge.about("argo-health", script, cron | {"status": status})["status"] == argo
    assert judge.about("flux-health", expressions, cron | {"status": status})["status"] == flux
    suspended = cron | {"spec": cron["spec"] | {"suspend": True}}
    assert judge.about("argo-health", script, suspended)["status"] == "Suspended"


@dataclass
class ApiServer:
    """``compat/apiserver``, which runs; its namespace ``kafka`` admits only what is restricted."""

    url: str
    scratch: Path

    def send(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        """The status, and the answer or the warning that it comes with."""
        kind = "application/apply-patch+yaml" if method == "PATCH" else "application/json"
        request = urllib.request.Request(  # noqa: S310 - on loopback
            f"{self.url}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer admin", "Content-Type": kind},
        )
        try:
            trusted = ssl.create_default_context(cafile=str(self.scratch / "certs" / "apiserver.crt"))
            with urllib.request.urlopen(request, context=trusted, timeout=60) as answer:  # noqa: S310
                return answer.status, str(answer.headers.get("Warning") or "")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def admits(self, one: dict[str, Any]) -> list[tuple[int, str]]:
        """What it says to an object, and to the pod that would come of it."""
        group, name = one["apiVersion"], one["metadata"]["name"]
        place = "/api/v1" if group == "v1" else f"/apis/{group}"
        several = {"NetworkPolicy": "networkpolicies"}.get(one["kind"], f"{one['kind'].lower()}s")
        asked = "fieldValidation=Strict&dryRun=All"
        path = f"{place}/namespaces/kafka/{several}/{name}?fieldManager=test&force=true&{asked}"
        answers = [self.send("PATCH", path, {**one, "metadata": {**one["metadata"], "namespace": "kafka"}})]
        spec = one.get("spec", {})
        pod = spec.get("jobTemplate", {}).get("spec", spec).get("template", {}).get("spec")
        if pod is not None:
            claims = [
                {"name": claim["metadata"]["name"], "emptyDir": {}} for claim in spec.get("volumeClaimTemplates", ())
            ]
            made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "it"}}
            made["spec"] = {**pod, "volumes": [*pod.get("volumes", ()), *claims]}
            answers.append(self.send("POST", f"/api/v1/namespaces/kafka/pods?{asked}", made))
        return answers


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Built, which takes a processor a quarter of an hour the first time, and ready after seconds."""
    scratch = tmp_path_factory.mktemp("apiserver")
    program = scratch / "apiserver"
    command = ["go", "build", "-ldflags=-s -w", "-o", str(program), "."]
    subprocess.run(command, cwd=_ROOT / "compat" / "apiserver", check=True)
    (scratch / "tokens").write_text('admin,admin,1,"system:masters"\n', encoding="utf-8")
    key = rsa.generate_private_key(65537, 2048)
    (scratch / "key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = {
        "secure-port": port,
        "bind-address": "127.0.0.1",
        "cert-dir": scratch / "certs",
        "token-auth-file": scratch / "tokens",
        "authorization-mode": "RBAC",
        "service-cluster-ip-range": "10.0.0.0/24",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": scratch / "key",
        "service-account-signing-key-file": scratch / "key",
        # A controller would make the accounts that pods run as.
        "disable-admission-plugins": "ServiceAccount",
    }
    words = [str(program), str(scratch / "etcd"), *(f"--{name}={value}" for name, value in flags.items())]
    with open(scratch / "log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT)
    try:
        server = ApiServer(f"https://127.0.0.1:{port}", scratch)
        until = time.monotonic() + 300
        while server.send("GET", "/readyz")[0] != 200:
            assert process.poll() is None, (scratch / "log").read_text(encoding="utf-8")
            assert time.monotonic() < until
            time.sleep(0.2)
        levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kafka", "labels": levels}}
        assert server.send("POST", "/api/v1/namespaces", space)[0] == 201
        yield server
    finally:
        process.kill()
        process.wait()


def test_an_api_server_admits_what_the_chart_the_manifest_and_the_recipes_make(
    judge: Judge, api_server: ApiServer, repository: Path
) -> None:
    """All but the ServiceMonitor, whose type is not Kubernetes' own; without a warning."""
    made = [*judge.about("render", _CHART, LEAST), *judge.about("render", _CHART, MOST)]
    made += [*judge.ask("objects", _SERVE / "kubernetes.yaml"), *judge.ask("build", repository)]
    ours = [one for one in made if one["kind"] != "ServiceMonitor"]
    assert len(ours) > 12
    for one in ours:
        answers = api_server.admits(one)
        assert {status for status, _ in answers} <= {200, 201}, (one["kind"], answers)
        assert {said for _, said in answers} == {""}, (one["kind"], answers)


def test_an_api_server_refuses_what_is_wrong(judge: Judge, api_server: ApiServer) -> None:
    """The judge is no looser than a cluster: a field that is not there, a value that cannot be, a pod with rights."""
    [workload] = [one for one in judge.ask("objects", _SERVE / "kubernetes.yaml") if one["kind"] == "StatefulSet"]
    unknown = {**workload, "spec": {**workload["spec"], "replica": 1}}
    assert api_server.admits(unknown)[0][0] in (400, 500)
    impossible = {**workload, "spec": {**workload["spec"], "podManagementPolicy": "Sometimes"}}
    assert api_server.admits(impossible)[0][0] == 422
    template = workload["spec"]["template"]
    open_pod = {**template, "spec": {**template["spec"], "hostNetwork": True}}
    (_, warned), (refused, why) = api_server.admits({**workload, "spec": {**workload["spec"], "template": open_pod}})
    assert "hostNetwork" in warned or "host namespaces" in warned
    assert refused == 403
    assert "violates PodSecurity" in why
