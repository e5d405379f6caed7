"""Whose tree decides: nothing that a proposal has in its tree chooses what is read of the base, or where results go."""

import base64
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.manifest.project import PROJECT_FILE
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from reconciler.system.commit_files import PROJECT_NAME
from tests.integration.ci.player import ROOT, git
from tests.prepared import search_path

_HEAD = "apiVersion: reconciler/v1\n"
_CLUSTER = f"""\
{_HEAD}kind: Cluster
metadata: {{name: prod}}
spec: {{superUsers: [User:admin, User:reconciler], allowEveryoneIfNoAclFound: false}}
"""
_GUARD = f"""\
{_HEAD}kind: AccessTests
metadata: {{name: payroll}}
spec:
  tests: [{{name: only payroll, onlyReaders: [User:svc-payroll], topics: [salaries]}}]
"""
_LOOSE = _GUARD.replace("User:svc-payroll]", "User:svc-payroll, User:mallory]")
_OPERATOR = f"""\
{_HEAD}kind: Cluster
metadata: {{name: prod}}
spec:
  bootstrapServers: ["localhost:1"]
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
"""


def _grant(principal: str, topic: str) -> str:
    name = principal.partition(":")[2]
    rule = f"{{principal: '{principal}', rules: [{{allow: READ, topics: [{topic}]}}]}}"
    return f"{_HEAD}kind: Acls\nmetadata: {{name: {name}}}\nspec: {rule}\n"


_ATTACK = _grant("User:mallory", "salaries")
_CALM = _grant("User:svc-orders", "orders")


@dataclass
class Scene:
    """A remote, a checkout of it on a runner, the operator's files and results beside the checkout."""

    directory: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        git(self.directory, "init", "--quiet", "--bare", str(self.origin))
        git(self.directory, "clone", "--quiet", str(self.origin), str(self.checkout))
        git(self.checkout, "checkout", "--quiet", "-b", "main")
        (self.directory / "operator.yaml").write_text(_OPERATOR, encoding="utf-8")
        live = snapshot_text(ClusterState("prod"), BrokerFacts(broker_ids=(1,)))
        (self.directory / "live.json").write_text(live, encoding="utf-8")
        (self.directory / "elsewhere").mkdir()
        self.base = self.push({"cluster.yaml": _CLUSTER, "guard.yaml": _GUARD})

    @property
    def origin(self) -> Path:
        return self.directory / "origin.git"

    @property
    def checkout(self) -> Path:
        return self.directory / "checkout"

    @property
    def out(self) -> Path:
        return self.directory / "out"

    @property
    def comment(self) -> str:
        return (self.out / "comment.md").read_text(encoding="utf-8")

    def push(self, files: Mapping[str, str], below: str = "manifests") -> str:
        """A commit with these files on main, pushed; its id."""
        for name, text in files.items():
            file = self.checkout / below / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        git(self.checkout, "add", "--all")
        git(self.checkout, "commit", "--quiet", "--allow-empty", "-m", "a change")
        git(self.checkout, "push", "--quiet", "origin", "HEAD:refs/heads/main")
        return git(self.checkout, "rev-parse", "HEAD")

    def shell(self, lines: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Lines of a pipeline, run in the checkout."""
        environment = {
            "PATH": search_path(),
            "HOME": str(self.directory),
            "LANG": "C.UTF-8",
            "CI": "true",
            "CLUSTER": "prod",
            "SNAPSHOT": str(self.directory / "live.json"),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "KAFKA_PASSWORD": "p",
            **variables,
        }
        bash = shutil.which("bash")
        assert bash
        return subprocess.run(
            [bash, "-eo", "pipefail", "-c", lines],
            cwd=self.checkout,
            env={name: value for name, value in environment.items() if value},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """A script of the action, with the operator's files, judged by the first commit."""
        given = {
            "MANIFESTS": "manifests",
            "OUT": str(self.out),
            "BASE": self.base,
            "CONNECTIONS": str(self.directory / "operator.yaml"),
        }
        return self.shell(f'"{ROOT}/action/{script}.sh"', **{**given, **variables})


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


_SHAPES = ("link", "file", "directory")


def _one_in_every_run(shape: str) -> list[Any]:
    """All shapes, the others than this one in the long tests: each is in every run of another test."""
    return [one if one == shape else pytest.param(one, marks=pytest.mark.long) for one in _SHAPES]


def _turn(place: Path, shape: str, target: Path, text: str = "planted\n") -> None:
    """Turns a place of the checkout into a link, a file, or a directory with a file."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    if shape == "link":
        place.symlink_to(target)
    elif shape == "file":
        place.write_text(text, encoding="utf-8")
    else:
        place.mkdir()
        (place / "planted.json").write_text(text, encoding="utf-8")


def _elsewhere(scene: Scene) -> list[str]:
    return sorted(one.name for one in (scene.directory / "elsewhere").iterdir())


@pytest.mark.parametrize("shape", _SHAPES)
def test_manifests_are_what_their_name_says(scene: Scene, shape: str) -> None:
    """It turns manifests into a link to looser ones, a file, or a directory without the guard."""
    scene.base = scene.push({"cluster.yaml": _CLUSTER}, below="loose")
    (scene.checkout / "manifests").rename(scene.checkout / "loose-too")
    (scene.checkout / "loose-too" / "guard.yaml").unlink()
    _turn(scene.checkout / "manifests", shape, Path("loose"))
    if shape == "directory":
        (scene.checkout / "manifests" / "planted.json").unlink()
        (scene.checkout / "manifests" / "cluster.yaml").write_text(_CLUSTER, encoding="utf-8")
    (scene.checkout / ("manifests" if shape == "directory" else "loose") / "attack.yaml").write_text(_ATTACK)
    scene.push({}, below=".")
    done = scene.run("plan")
    assert done.returncode == (3 if shape == "directory" else 64), done.stderr
    assert not (scene.out / "plan.json").exists()


@pytest.mark.parametrize("by", ["manifests", "above", "a working directory", "and back"])
def test_a_link_anywhere_on_the_way_is_refused(scene: Scene, by: str) -> None:
    """It moves the manifests and leaves a link where the pipeline looks: no rule of the base would be found there."""
    scene.base = scene.push({"cluster.yaml": _CLUSTER, "guard.yaml": _GUARD}, below="kafka/prod")
    (scene.checkout / "kafka").rename(scene.checkout / "moved")
    (scene.checkout / "moved" / "prod" / "guard.yaml").unlink()
    scene.push({"moved/prod/attack.yaml": _ATTACK}, below=".")
    where = {"MANIFESTS": "kafka/prod"}
    lines = f'"{ROOT}/action/plan.sh"'
    if by in ("above", "a working directory"):
        (scene.checkout / "kafka").symlink_to("moved")
    else:
        (scene.checkout / "kafka").mkdir()
        (scene.checkout / "kafka" / "prod").symlink_to("../moved/prod")
    if by == "a working directory":
        where, lines = {}, f'cd kafka/prod; "{ROOT}/action/plan.sh"'
    if by == "and back":
        where = {"MANIFESTS": "kafka/prod/../../moved/prod"}
    operator = str(scene.directory / "operator.yaml")
    done = scene.shell(lines, BASE=scene.base, OUT=str(scene.out), CONNECTIONS=operator, **where)
    assert done.returncode == 64, done.stderr
    assert "link" in done.stderr or "has no manifests in moved/prod" in done.stderr


@pytest.mark.parametrize("name", ["OUT", "PLAN"])
@pytest.mark.parametrize("shape", _SHAPES)
def test_results_go_where_the_operator_says(scene: Scene, name: str, shape: str) -> None:
    """It commits what the pipeline writes, or reads its signed plan from: each shape is refused, also with none."""
    _turn(scene.checkout / "reports", shape, scene.directory / "elsewhere")
    scene.push({"attack.yaml": _ATTACK})
    (scene.directory / "elsewhere" / "plan.json").write_text("kept", encoding="utf-8")
    done = scene.run("plan", GUARDRAILS="none", **{name: "reports"})
    assert done.returncode == 64, done.stderr
    assert _elsewhere(scene) == ["plan.json"]
    assert (scene.directory / "elsewhere" / "plan.json").read_text(encoding="utf-8") == "kept"
    below = scene.run("plan", GUARDRAILS="none", **{name: "reports/below/it"})
    assert (below.returncode != 64) is (shape == "directory"), below.stderr
    assert _elsewhere(scene) == ["plan.json"]


def test_a_directory_for_results_holds_no_link(scene: Scene) -> None:
    """Another job left a link in it: what is copied from there would be what the link leads to."""
    scene.out.mkdir()
    (scene.out / "comment.md").symlink_to(scene.directory / "operator.yaml")
    assert scene.run("plan").returncode == 64
    assert (scene.directory / "operator.yaml").read_text(encoding="utf-8") == _OPERATOR
    assert scene.run("plan", OUT=str(scene.checkout)).returncode == 64
    assert scene.run("plan", OUT=str(scene.checkout / "reports")).returncode == 0, "git knows nothing of it"


@pytest.mark.parametrize("name", ["CONNECTIONS", "SNAPSHOT", "GUARDRAILS", "SECRETS_DIR", "METRICS", "GITHUB_OUTPUT"])
@pytest.mark.parametrize("inwards", [True, False])
def test_no_link_of_the_checkout_names_a_file_of_the_operator(scene: Scene, name: str, *, inwards: bool) -> None:
    """It has a link that leads out to another file of the operator's; or the operator's own leads into the checkout."""
    directory = name in ("GUARDRAILS", "SECRETS_DIR")
    target = scene.directory / ("elsewhere" if directory else "operator.yaml")
    link = scene.checkout / "named"
    if inwards:
        link.mkdir()
        (link / "file").write_text("", encoding="utf-8")
        outside = scene.directory / "outside"
        outside.symlink_to(link if directory else link / "file")
        link = outside
    else:
        link.symlink_to(target)
    scene.push({"calm.yaml": _CALM})
    done = scene.run("drift" if name == "METRICS" else "plan", **{name: str(link)})
    assert done.returncode == 64, done.stderr
    assert f"{name} {link} lies in the checkout of the manifests" in done.stderr
    assert target.is_dir() or target.read_text(encoding="utf-8") == _OPERATOR


def test_every_path_that_a_script_reads_is_judged() -> None:
    """A new variable of the scripts is a path that is judged, or named here as none."""
    texts = [(ROOT / "action" / name).read_text(encoding="utf-8") for name in ("arguments.sh", "guardrails.sh")]
    known = {name for text in texts for name in re.findall(r"^#   ([A-Z_]+) +\w", text, re.M)}
    judge = (ROOT / "action" / "places.py").read_text(encoding="utf-8")
    judged = set(re.findall(r'^    "([A-Z_]+)": ', judge, re.M)) | {"OUT", "PLAN"}
    no_paths = {"CLUSTER", "ALLOW_ENV", "OPTIONS", "MODE", "BASE", "APPLIED", "REMOTE", "BEFORE_APPLY", "HEAD_COMMIT"}
    assert known - judged - no_paths == {"MANIFESTS"}
    assert {"METRICS", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "ALLOWED_SIGNERS"} <= judged


@pytest.mark.parametrize("shape", _SHAPES)
def test_the_project_file_of_the_base_judges(scene: Scene, shape: str) -> None:
    """It takes a word of failOn away, above the manifests: the base's word holds, and the change is told first."""
    scene.base = scene.push({PROJECT_FILE: "failOn: [new-access]\n"}, below=".")
    assert scene.run("plan").returncode == 0
    _turn(scene.checkout / PROJECT_FILE, shape, scene.directory / "elsewhere", "failOn: []\n")
    scene.push({"calm.yaml": _CALM})
    done = scene.run("plan")
    if shape == "link":
        assert done.returncode == 1
        assert "is a link: a project file is a file of its own" in done.stderr
        return
    assert done.returncode == 3, done.stderr
    assert "Guardrails changed: 1 looser" in scene.comment.splitlines()[1]
    assert "failOn" in scene.comment


def test_the_word_of_the_base_holds_for_lint_too(scene: Scene) -> None:
    """It takes the word away by which a warning of lint fails, in the change that brings the warning."""
    scene.base = scene.push({PROJECT_FILE: "failOn: [warning]\n"}, below=".")
    twice = _CALM.replace("topics: [orders]}", "topics: [orders]}, {allow: READ, topics: {prefix: ord}}")
    scene.push({"calm.yaml": twice})
    assert scene.run("plan").returncode == 3
    scene.push({PROJECT_FILE: "failOn: []\n"}, below=".")
    assert scene.run("plan").returncode == 3
    assert scene.run("plan", GUARDRAILS="none").returncode == 0, "there is a warning, and nothing else"


def test_manifests_at_the_top_are_judged_by_those_at_the_top(tmp_path: Path) -> None:
    """Without a directory of their own: the whole commit is the base, its project file included."""
    scene = Scene(tmp_path)
    git(scene.checkout, "rm", "-r", "--quiet", "manifests")
    top = {"cluster.yaml": _CLUSTER, "guard.yaml": _GUARD, PROJECT_FILE: "failOn: [new-access]\n", "calm.yaml": _CALM}
    base = scene.push(top, below=".")
    (scene.checkout / "guard.yaml").unlink()
    scene.push({"attack.yaml": _ATTACK, PROJECT_FILE: ""}, below=".")
    done = scene.run("plan", MANIFESTS=".", OUT="", BASE=base)
    assert done.returncode == 3, done.stderr
    comment = (scene.checkout / "reconciler-out" / "comment.md").read_text(encoding="utf-8")
    assert "Guardrails changed: 2 looser" in comment.splitlines()[1]


def test_a_project_file_that_is_new_is_told(scene: Scene) -> None:
    """The base has none, and that is known: what the new one chooses stands among the changes of the guardrails."""
    scene.push({PROJECT_FILE: "path: other\n"}, below=".")
    assert scene.run("plan").returncode == 0
    assert "Guardrails changed" in scene.comment
    assert PROJECT_NAME == PROJECT_FILE


@pytest.mark.parametrize("shape", _one_in_every_run("file"))
@pytest.mark.parametrize("below", ["", "manifests"])
def test_attributes_change_no_verdict(scene: Scene, below: str, shape: str) -> None:
    """It has .gitattributes, of any shape, that leave files of the base out or convert them."""
    attributes = "*.yaml export-ignore working-tree-encoding=UTF-16 filter=evil ident\n"
    (scene.directory / "elsewhere" / "attributes").write_text(attributes, encoding="utf-8")
    place = scene.checkout / below / ".gitattributes"
    _turn(place, shape, scene.directory / "elsewhere" / "attributes", attributes)
    (scene.checkout / "manifests" / "attack.yaml").write_text(_ATTACK, encoding="utf-8")
    done = scene.run("plan")
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("base", ["none before", "no manifests"])
def test_a_change_that_only_its_own_rules_judge_is_refused(scene: Scene, base: str) -> None:
    """The first push has nothing to be judged by: the operator says so once, and whoever reads the report knows."""
    before = "0" * 40
    if base == "no manifests":
        before = git(scene.checkout, "commit-tree", "-m", "empty", "4b825dc642cb6eb9a060e54bf8d69288fbee4904")
    done = scene.run("plan", BASE=before)
    assert done.returncode == 64
    assert "If it is the first one, set GUARDRAILS to none, once" in done.stderr
    done = scene.run("plan", BASE=before, GUARDRAILS="none")
    assert done.returncode == 0, done.stderr
    assert "guardrails: none: this change was judged by its own rules alone" in "".join(scene.comment.splitlines()[:4])
    assert scene.run("plan", BASE=before, GUARDRAILS=str(scene.directory / "elsewhere")).returncode == 1


def test_a_checkout_of_another_user_is_refused(scene: Scene) -> None:
    """Git does not read it, so nobody could say what is in the checkout and what is beside it."""
    done = scene.run("plan", GUARDRAILS="none", GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert done.returncode == 64
    assert "safe.directory" in done.stderr


# ---- The examples' own lines, in a checkout of theirs ----

_EXAMPLES = ROOT / "examples" / "ci"


def _gitlab(job: str, section: str = "script") -> str:
    document = yaml.safe_load((_EXAMPLES / "gitlab-ci.yml").read_text(encoding="utf-8"))
    lines = [*document[".reconciler"]["before_script"], *document[job]["script"]]
    return "\n".join(document[".reconciler"][section] if section == "after_script" else lines)


def _gitlab_variables(scene: Scene, **more: str) -> dict[str, str]:
    operator = str(scene.directory / "operator.yaml")
    found = {"RECONCILER": str(ROOT), "MANIFESTS": "manifests", "ALLOW_ENV": "KAFKA_PASSWORD", "GITLAB_CI": "true"}
    place = {"CI_PROJECT_DIR": str(scene.checkout), "OUT": f"{scene.checkout}/../reconciler-out"}
    return {**found, **place, "KAFKA_CONNECTIONS": operator, **more}


@pytest.mark.parametrize("shape", _one_in_every_run("link"))
def test_gitlab_shows_what_the_job_found(scene: Scene, shape: str) -> None:
    """It commits reports/, plan.env and plan.txt: widgets and the dotenv file have the job's results all the same."""
    git(scene.checkout, "checkout", "--quiet", "-b", "proposal")
    for name in ("reports", "plan.env", "plan.txt"):
        _turn(scene.checkout / name, shape, scene.directory / "elsewhere", "PLAN_ID=plan-forged\n")
    if shape == "directory":
        (scene.checkout / "reports" / "gitlab-terraform.json").write_text("{}", encoding="utf-8")
    (scene.checkout / "manifests" / "attack.yaml").write_text(_ATTACK, encoding="utf-8")
    git(scene.checkout, "add", "--all")
    git(scene.checkout, "commit", "--quiet", "-m", "proposal")
    variables = _gitlab_variables(scene, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
    done = scene.shell(_gitlab("plan"), **variables)
    assert done.returncode == 3, done.stderr
    assert scene.shell(_gitlab("plan", "after_script"), **variables).returncode == 0
    reports = scene.checkout / "reports"
    assert not reports.is_symlink()
    results = {one.name for one in (scene.directory / "reconciler-out").iterdir()}
    assert {one.name for one in reports.iterdir()} == results
    assert _elsewhere(scene) == []
    (scene.checkout / "manifests" / "attack.yaml").write_text(_CALM, encoding="utf-8")
    merged = scene.shell(
        _gitlab("merged"), **{**variables, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": ""}, CI_COMMIT_BEFORE_SHA=scene.base
    )
    assert merged.returncode == 0, merged.stderr
    [line] = (scene.checkout / "plan.env").read_text(encoding="utf-8").splitlines()
    assert re.fullmatch("PLAN_ID=plan-[0-9a-f]{64}", line)
    assert _elsewhere(scene) == []


def _bitbucket(root: Path = ROOT) -> Iterator[str]:
    document = yaml.safe_load((_EXAMPLES / "bitbucket-pipelines.yml").read_text(encoding="utf-8"))
    for step in (*document["pipelines"]["branches"]["main"], *document["pipelines"]["custom"]["drift"]):
        yield "\n".join(step["step"]["script"]).replace("/opt/reconciler-source", str(root))


def _jenkins(root: Path = ROOT) -> Iterator[str]:
    """The shell lines of the stages that run a script, with the variables that the file declares for all."""
    text = (_EXAMPLES / "Jenkinsfile").read_text(encoding="utf-8")
    given = dict(re.findall(r"^    ([A-Z_]+) += '([^']+)'$", text, re.M))
    assert given.keys() == {"RECONCILER", "MANIFESTS", "CLUSTER", "ALLOW_ENV", "APPLIED"}
    given["RECONCILER"] = str(root)
    before = {
        "plan": "export BEFORE_APPLY=true\n",
        "apply": "mkdir -p ../plan; cp ../out/plan.json ../plan/\n",
        "drift": "",
    }
    for script, lines in before.items():
        [shell] = re.findall(rf"sh '(.*action/{script}\.sh\".*)'", text)
        after = "\ncp ../out/outputs ../outputs" if script == "plan" else ""
        exported = "".join(f"export {name}={value}\n" for name, value in given.items())
        place = "export WORKSPACE_TMP=.. CONNECTIONS=../connections.yaml\n"
        yield f"{exported}{place}{lines}{shell}{after}"


def _azure(root: Path = ROOT) -> Iterator[str]:
    document = yaml.safe_load((_EXAMPLES / "azure-pipelines.yml").read_text(encoding="utf-8"))
    plan, apply, drift = (stage["jobs"][0] for stage in document["stages"])
    [applied] = document["variables"]
    macros = {"Agent.TempDirectory": "..", "Build.ArtifactStagingDirectory": "../out", "Pipeline.Workspace": ".."}
    for steps in (plan["steps"], apply["strategy"]["runOnce"]["deploy"]["steps"], drift["steps"]):
        [lines] = [step["bash"] for step in steps if "bash" in step]
        for name, value in {**macros, "connections.secureFilePath": "../connections.yaml"}.items():
            lines = lines.replace(f"$({name})", value)
        if any("download" in step for step in steps):
            lines = "mkdir -p ../reports; cp ../out/plan.json ../reports/\n" + lines
        yield f"export {applied['name']}={applied['value']}\n" + lines.replace("/opt/reconciler-source", str(root))


@dataclass
class Pushes:
    """A pipeline of main: plans each push by the example's lines, and applies it if somebody agrees."""

    scene: Scene
    plan: str
    apply: str
    drift: str

    def planned(self, **more: str) -> subprocess.CompletedProcess[str]:
        for left in ("outputs", "out", "checkout/reports"):
            place = self.scene.directory / left
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        return self.scene.shell(self.plan, **self._given(), **more)

    def applied(self, **more: str) -> subprocess.CompletedProcess[str]:
        outputs = (self.scene.directory / "outputs").read_text(encoding="utf-8")
        [plan_id] = re.findall("^plan-id=(.*)$", outputs, re.M)
        return self.scene.shell(self.apply, **self._given(), PLAN_ID=plan_id, **more)

    def watched(self) -> subprocess.CompletedProcess[str]:
        return self.scene.shell(self.drift, **self._given())

    def _given(self) -> dict[str, Any]:
        (self.scene.directory / "connections.yaml").write_text(_OPERATOR, encoding="utf-8")
        return {"KAFKA_CONNECTIONS": base64.b64encode(_OPERATOR.encode()).decode()}


_LINES = {"bitbucket": _bitbucket, "azure": _azure, "jenkins": _jenkins}


# The lines of the others hand the scripts the same, see the test below.
@pytest.fixture(params=["bitbucket", *(pytest.param(name, marks=pytest.mark.long) for name in ("azure", "jenkins"))])
def pushes(request: pytest.FixtureRequest, scene: Scene) -> Pushes:
    (scene.checkout / ".git" / "info" / "exclude").write_text(
        "/reports\n", encoding="utf-8"
    )  # each run has a new clone
    return Pushes(scene, *_LINES[request.param]())


#: A script of the action that tells what it is given, and leaves what a plan does.
_TELLS = """\
#!/usr/bin/env bash
env -0 >"{told}/$(basename "$0")"
if [ "$(basename "$0")" = plan.sh ]; then
  mkdir -p "$OUT"; echo "of this run" >"$OUT/plan.json"; echo "plan-id=plan-1" >>"$GITHUB_OUTPUT"
elif [ "$(basename "$0")" = apply.sh ]; then
  cp "$PLAN" "{told}/plan.json"
fi
"""
#: Where results go, and what a runner is called by.
_OWN = {"OUT", "PLAN", "GITHUB_OUTPUT", "CONNECTIONS", "RECONCILER", "WORKSPACE_TMP", "BEFORE_APPLY", "_", "SHLVL"}


@pytest.mark.parametrize("name", _LINES)
def test_every_example_hands_a_script_the_same(tmp_path: Path, name: str) -> None:
    """What a push, a schedule or an apply comes to is then the same, too."""
    told = {one: _told(tmp_path / one, one) for one in {"bitbucket", name}}
    assert told[name] == told["bitbucket"]
    for script, given in told[name].items():
        assert (given["APPLIED"], given["CLUSTER"]) == ("refs/heads/reconciler/applied/prod", "prod"), script
        assert not given.get("BASE"), script


def _told(directory: Path, name: str) -> dict[str, dict[str, str]]:
    root, told = directory / "source", directory / "told"
    for place in (root / "action", told):
        place.mkdir(parents=True)
    for script in ("plan", "apply", "drift"):
        file = root / "action" / f"{script}.sh"
        file.write_text(_TELLS.format(told=told), encoding="utf-8")
        file.chmod(0o755)
    pushes = Pushes(Scene(directory), *_LINES[name](root))
    for done in (pushes.planned(), pushes.applied(), pushes.watched()):
        assert done.returncode == 0, done.stderr
    assert (told / "plan.json").read_text(encoding="utf-8") == "of this run\n"
    found = {}
    for script in ("plan", "apply", "drift"):
        lines = (told / f"{script}.sh").read_text(encoding="utf-8").replace(str(directory), "").split("\0")
        given = dict(line.split("=", 1) for line in lines if line)
        assert (directory / "checkout" / given["CONNECTIONS"]).read_text(encoding="utf-8") == _OPERATOR
        found[script] = {key: value for key, value in given.items() if key not in _OWN and value}
    return found


def test_a_push_of_several_commits_is_judged_by_what_was_applied_before(pushes: Pushes) -> None:
    """One commit loosens the rule, the next breaks it, pushed at once or one after the other: both are told."""
    scene, branch = pushes.scene, "refs/heads/reconciler/applied/prod"
    assert "nothing was applied yet" in pushes.planned().stderr
    assert pushes.planned(GUARDRAILS="none").returncode == 0
    assert pushes.applied(GUARDRAILS="none").returncode == 0
    assert git(scene.origin, "rev-parse", branch) == scene.base

    loosened = scene.push({"guard.yaml": _LOOSE})
    scene.push({"attack.yaml": _ATTACK})
    for _ in range(2):
        done = pushes.planned()
        assert done.returncode == 3, done.stderr
        assert "Guardrails changed" in (done.stdout + done.stderr)
        assert git(scene.origin, "rev-parse", branch) == scene.base
        scene.push({"calm.yaml": _CALM})
    git(scene.checkout, "revert", "--no-edit", "HEAD~2", loosened)
    head = scene.push({})
    done = pushes.planned()
    assert done.returncode == 0, done.stdout + done.stderr
    done = pushes.applied()
    assert done.returncode == 0, done.stderr
    assert git(scene.origin, "rev-parse", branch) == head
    assert pushes.planned().returncode == 0


def test_a_schedule_is_red_while_the_cluster_differs(pushes: Pushes) -> None:
    pushes.scene.push({"calm.yaml": _CALM})
    assert pushes.watched().returncode == 2
    assert pushes.planned(GUARDRAILS="none").returncode == 0
    assert pushes.applied(GUARDRAILS="none").returncode == 0
    done = pushes.watched()
    assert done.returncode == 0, done.stdout + done.stderr
    pushes.scene.push({"more.yaml": _grant("User:svc-more", "orders")})
    done = pushes.watched()
    assert done.returncode == 2
    assert "1 difference, merged and waiting for apply" in done.stdout
    live = snapshot_text(ClusterState("prod"), BrokerFacts(broker_ids=(1,)))
    (pushes.scene.directory / "live.json").write_text(live, encoding="utf-8")
    assert "1 merged and waiting for apply, 1 changed by hand" in pushes.watched().stdout


def test_a_base_that_cannot_be_moved_fails_the_apply(pushes: Pushes) -> None:
    """Else the next change would be judged by rules that are older than those in force, and nobody told."""
    scene = pushes.scene
    assert pushes.planned(GUARDRAILS="none").returncode == 0
    hook = scene.origin / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    done = pushes.applied(GUARDRAILS="none")
    assert done.returncode == 1
    assert "could not be moved" in done.stderr


def test_no_example_takes_the_parent_for_the_commit_before_a_push() -> None:
    for file in _EXAMPLES.rglob("*"):
        assert not file.is_file() or not re.search(r"HEAD(\^|~)", file.read_text(encoding="utf-8")), file
    for name in ("Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", "gitlab-ci.yml"):
        assert "refs/heads/reconciler/applied/prod" in (_EXAMPLES / name).read_text(encoding="utf-8")
