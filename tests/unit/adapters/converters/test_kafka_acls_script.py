"""Scripts that call Kafka's tools: only a call that certainly runs is converted, and bash itself is the judge."""

import random
import stat
import subprocess
from pathlib import Path

import pytest

from reconciler.model.kinds.client_metrics import ClientMetrics
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.parts.convert.conversion import ConversionResult
from reconciler.parts.convert.files import STDIN, SourceError, SourceFiles
from reconciler.parts.convert.recognition import Recognition, convert


def converted(script: str) -> ConversionResult:
    return convert("kafka-acls-script", SourceFiles(Path(), (STDIN,), stdin=script))


def grant(user: str) -> str:
    return f"kafka-acls --bootstrap-server b:9092 --add --allow-principal User:{user} --operation READ --topic t"


def users(script: str) -> set[str]:
    return {binding.entry.principal.removeprefix("User:") for binding in converted(script).bindings}


DOUBTFUL = {
    "a comment in a heredoc": ": <<'COMMENT'\n{}\nCOMMENT\n",
    "a heredoc": "cat <<EOF\n{}\nEOF\n",
    "a heredoc with tabs": "cat <<-EOF\n\t{}\n\tEOF\n",
    "two heredocs": "cat <<A - <<B\n{}\nA\n{}\nB\n",
    "a heredoc without an end": "cat <<EOF\n{}\n",
    "a heredoc to a shell": "kubectl exec -i broker -- bash <<'EOF'\n{}\nEOF\n",
    "the right side of and": '[ "$ENV" = dev ] && {}\n',
    "the right side of or": "test -f done || {}\n",
    "a list that goes on": "false && true && \\\n {}\n",
    "a line behind and": "false &&\n{}\n",
    "a pipe behind and": "false && true | {}\n",
    "a group behind and": "false && {{ true; {}; }}\n",
    "the end of the script": "exit 0\n{}\n",
    "the end in a group": "{{ exit 0; }}\n{}\n",
    "another program": "exec true\n{}\n",
    "a shell that only reads": "set -n\n{}\n",
    "a shell that only reads, by the option's name": "set -eo noexec\n{}\n",
    "a return": "return 0\n{}\n",
    "what is printed": "echo {}\n",
    "what is printed by a full path": "/bin/echo {}\n",
    "what is printed far away": "docker exec b echo {}\n",
    "a program that nobody knows": "maybe {}\n",
    "a function": "grant() {{\n{}\n}}\n",
    "a function with its brace below": "grant()\n{{\n{}\n}}\n",
    "a function by its word": "function grant {{\n{}\n}}\n",
    "a condition": "if false; then\n{}\nfi\n",
    "a loop": "while false; do {}; done\n",
    "a case": "case a in b) {} ;; esac\n",
    "a subshell": "( false; {} )\n",
    "a trap": "trap '{}' EXIT\n",
    "an alias": "alias x='{}'\n",
    "a text of another shell that may not run": "false && bash -c '{}'\n",
    "a condition in a text of another shell": "bash -c 'false && {}'\n",
    "a substitution": 'echo "$(cat <<EOF\n)\n{}\nEOF\n)"\n',
    "a quotation in a substitution": 'X="$(echo "a; {}; b")"\n',
    "a quotation with an escape": "X=$'it\\'s; {}; '\n",
}


@pytest.mark.parametrize("form", DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_call_that_may_not_run_is_named_and_not_converted(form: str) -> None:
    script = form.format(*[grant("mallory")] * 2)
    found = converted(script)
    assert users(script) == set()
    assert found.skipped
    assert users(grant("first") + "\n" + script) == {"first"}


CERTAIN = {
    "itself": "{}\n",
    "a pipe": "{} | tee log\n",
    "its output": "{} >log 2>&1\n",
    "its output in front": ">log 2>&1 {}\n",
    "all output": "{} &>log\n",
    "the background": "{} & wait\n",
    "variables in front": "KAFKA_OPTS=x LOG_DIR=/tmp {}\n",
    "behind an and": "false && true\n{}\n",
    "behind an or that ends": "true || exit 1; {}\n",
    "behind what succeeds": "unset KAFKA_OPTS && export A=b && {}\n",
    "behind a here-string": "cat <<< EOF\n{}\n",
    "behind a heredoc": "cat <<EOF\nit's $here\nEOF\n{}\n",
    "a group": "{{ true; {}; }} >log\n",
    "another program": "exec {}\n",
    "descriptors of the shell": "exec 3>&1\n{}\n",
    "an exit of somebody else": "if false; then exit 1; fi\n{}\n",
    "another shell": "bash -c '{}'\n",
    "another shell with more options": 'sh -ec "true; {}"\n',
    "a container": "docker exec -it broker {}\n",
    "a shell in a container": "docker exec broker bash -c '{}'\n",
    "a pod": "kubectl exec -i broker-0 -- /opt/kafka/bin/{}\n",
    "a user": "sudo -u kafka {}\n",
}


@pytest.mark.parametrize("form", CERTAIN.values(), ids=CERTAIN)
def test_a_call_that_runs_is_converted(form: str) -> None:
    assert users(form.format(grant("alice"))) == {"alice"}
    assert converted(form.format(grant("alice"))).skipped == ()


@pytest.mark.parametrize(
    "word",
    [
        "t{1,2}",
        "{a..c}",
        "x{a,{b}}",
        "{,-}t",
        "~",
        "~/t",
        "t[12]",
        "t*",
        "t?",
        "t@(a|b)",
        "t$X",
        "t`x`",
        "'t'{1,2}",
        't"$X"',
    ],
)
def test_a_name_that_the_shell_replaces_is_no_name(word: str) -> None:
    """What Kafka's tool gets is another text, or several."""
    script = f"kafka-acls --bootstrap-server b:9092 --add --allow-principal User:u --operation READ --topic {word}\n"
    assert not converted(script).bindings
    assert converted(script).skipped
    assert users(f"{script}{grant('alice')}\n") == {"alice"}


@pytest.mark.parametrize(
    ("word", "name"), [("'t{1,2}'", "t{1,2}"), ("t\\{1,2}", "t{1,2}"), ("t{1}", "t{1}"), ("t~", "t~"), ('"~"', "~")]
)
def test_a_name_that_the_shell_leaves_alone_is_converted(word: str, name: str) -> None:
    script = f"kafka-acls --bootstrap-server b:9092 --add --allow-principal User:u --operation READ --topic {word}\n"
    assert {binding.pattern.name for binding in converted(script).bindings} == {name}


def test_a_script_that_cannot_be_read_is_the_mistake_of_a_source_of_one_file_and_named_among_others(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.sh").write_text(f"{grant('alice')}\n\necho 'open\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"a\.sh: line 3: a quotation never ends"):
        convert("kafka-acls-script", SourceFiles(tmp_path, ("a.sh",)))
    (tmp_path / "b.sh").write_text(grant("bob"), encoding="utf-8")
    found = convert("kafka-acls-script", SourceFiles(tmp_path, ("a.sh", "b.sh")))
    assert [one.entry.principal for one in found.bindings] == ["User:bob"]
    assert [(one.where, one.reason) for one in found.skipped] == [("a.sh", "line 3: a quotation never ends")]


def test_an_option_behind_a_redirection_counts() -> None:
    [binding] = converted(grant("alice").replace("--operation READ", ">log --operation READ")).bindings
    assert binding.entry.operation.name == "READ"


def pieces(rng: random.Random) -> str:
    """A script of forms in which a call runs, may run or does not run, one behind another and inside another."""
    count = iter(range(1000))

    def call() -> str:
        return grant(f"u{next(count)}")

    # Containers and other users are not to be had where the judge runs; without an end, a heredoc swallows the rest.
    without = ("docker", "kubectl", "sudo", "without an end", "return")
    forms = [
        form
        for name, form in (*DOUBTFUL.items(), *CERTAIN.items())
        if not any(word in form or word in name for word in without)
    ]
    lines = []
    for _ in range(rng.randrange(1, 6)):
        form = rng.choice(forms)
        inner = call() if rng.random() < 0.7 else rng.choice(("false", "true", f"true && {call()}", f"{call()}; exit"))
        lines.append(form.format(inner, call()))
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(60))
def test_no_call_is_converted_that_bash_does_not_make(seed: int, tmp_path: Path) -> None:
    script = pieces(random.Random(seed))
    tool = tmp_path / "kafka-acls"
    tool.write_text('#!/bin/sh\nfor word; do case $word in User:*) echo "${word#User:}" >>"$CALLS" ;; esac; done\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "maybe").write_text("#!/bin/sh\n")
    calls = tmp_path / "calls"
    calls.touch()
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "CALLS": str(calls)}
    subprocess.run(
        ["/bin/bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, timeout=20, check=False
    )
    assert users(script) <= set(calls.read_text().split())


def test_quotas_and_users_of_kafka_configs() -> None:
    script = """\
kafka-configs --bootstrap-server x --alter --add-config 'producer_byte_rate=1048576' --entity-type users --entity-name a
kafka-configs --alter --add-config 'consumer_byte_rate=2,request_percentage=50' --entity-type users --entity-name a
kafka-configs --alter --add-config request_percentage=10 --client-defaults --entity-type users --entity-name a
kafka-configs --alter --add-config connection_creation_rate=5 --ip 10.0.0.1
kafka-configs --alter --add-config producer_byte_rate=7 --user-defaults
kafka-configs --alter --user b \\
  --add-config 'SCRAM-SHA-512=[iterations=8192,password=secret],SCRAM-SHA-256=[password=secret]'
kafka-configs --alter --add-config "SCRAM-SHA-512=[password=$PW]" --user c
kafka-configs --alter --add-config log.cleaner.threads=2 --entity-type brokers --entity-default
kafka-configs --describe --entity-type users
"""
    found = converted(script)
    quotas = {(str(quota.entity), tuple(quota.values.items())) for quota in found.listed[ClientQuota.KIND]}  # type: ignore[attr-defined]
    assert quotas == {
        ("user a", (("consumer_byte_rate", 2), ("producer_byte_rate", 1048576), ("request_percentage", 50))),
        ("user a, default client-id", (("request_percentage", 10),)),
        ("ip 10.0.0.1", (("connection_creation_rate", 5),)),
        ("default user", (("producer_byte_rate", 7),)),
    }
    assert {(user.name, tuple(user.values.items())) for user in found.listed[ScramUser.KIND]} == {  # type: ignore[attr-defined]
        ("b", (("SCRAM-SHA-256", 4096), ("SCRAM-SHA-512", 8192))),
        ("c", (("SCRAM-SHA-512", 4096),)),
    }
    assert found.skipped == ()
    assert [remark.subject for remark in found.unmanaged] == ["configs of brokers"]
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    "words",
    [
        "--add-config producer_byte_rate=$RATE --user a",
        "--add-config SCRAM-SHA-512=[iterations=$N,password=x] --user a",
        "--delete-config producer_byte_rate --user a",
        "--add-config-file quotas.properties --user a",
        "--add-config retention.ms=1 --entity-type topics --entity-name t",
        "--add-config consumer.session.timeout.ms=45000 --entity-type groups",
        "--add-config producer_byte_rate=1 --entity-type users",
        "--add-config producer_byte_rate=1",
        "--add-config odd_rate=1 --user a",
    ],
)
def test_what_kafka_configs_changes_and_is_not_understood_is_named(words: str) -> None:
    found = converted(f"kafka-configs --bootstrap-server x --alter {words}")
    assert not any(found.listed.values())
    assert [remark.where for remark in found.skipped][:1] == ["-:1"]


def test_configs_of_a_group_add_up() -> None:
    call = "kafka-configs --bootstrap-server x --alter --group g --add-config"
    found = converted(f"{call} consumer.session.timeout.ms=45000\n{call} consumer.heartbeat.interval.ms=3000")
    [config] = found.listed[GroupConfig.KIND]
    call = "kafka-configs --bootstrap-server x --alter --entity-type client-metrics --entity-name m --add-config"
    twice = converted(f"{call} 'interval.ms=1000,metrics=[a.,b.]'\n{call} 'match=[client_id=x]'")
    [metrics] = twice.listed[ClientMetrics.KIND]
    assert metrics == ClientMetrics("m", {"interval.ms": "1000", "metrics": "a.,b.", "match": "client_id=x"})
    values = {"consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": "3000"}
    assert config == GroupConfig("g", values)
    assert found.skipped == ()


METRICS = "kafka-client-metrics.sh --bootstrap-server x"
#: ``ClientMetricsCommand``: commas and repeated options join, and commands of one name add up.
ALTERED = f"""\
{METRICS} --alter --name m --interval 1000 --metrics a.,b.
{METRICS} --alter --name m --match client_id=x --match client_software_name=java
"""
SUBSCRIBED = ClientMetrics(
    "m", {"interval.ms": "1000", "metrics": "a.,b.", "match": "client_id=x,client_software_name=java"}
)


def test_client_metrics_of_their_own_tool() -> None:
    found = converted(ALTERED)
    assert found.skipped == ()
    assert found.listed[ClientMetrics.KIND] == {SUBSCRIBED}
    every = converted(f"{METRICS} --alter --name=all --metrics '*'\n{METRICS} --describe\n{METRICS} --list\n")
    assert every.skipped == ()
    assert every.listed[ClientMetrics.KIND] == {ClientMetrics("all", {"metrics": "*"})}


@pytest.mark.parametrize(
    ("words", "why", "kept"),
    [
        ("--alter --generate-name --metrics a.", "the tool makes up a name at each run", True),
        ("--alter --metrics a.", "it names no subscription", True),
        ("--alter --name $NAME --metrics a.", "holds a variable", True),
        ("--alter --name other --metrics *", "a pattern that the shell replaces", True),
        ("--alter --name other --metric a.", "is no option that is known here", True),
        ("--delete --name other", "it deletes configs of client metrics", True),
        ("--delete --name m", "it deletes configs of client metrics", False),
        ("--delete --name $NAME", "it deletes configs of client metrics", False),
        ("--alter --name m --interval ''", "it deletes configs of client metrics", False),
    ],
)
def test_what_client_metrics_of_their_own_tool_are_not_converted(words: str, why: str, kept: bool) -> None:
    found = converted(f"{ALTERED}{METRICS} {words}\n")
    assert found.listed[ClientMetrics.KIND] == ({SUBSCRIBED} if kept else set())
    assert any(one.where == "-:3" and why in one.reason for one in found.skipped), found.skipped
    assert ("-:1" in {one.where for one in found.skipped}) is not kept
    doubtful = converted(f"if a; then\n{METRICS} --alter --name m --metrics a.\nfi\n")
    assert not any(doubtful.listed.values())
    assert [one.where for one in doubtful.skipped] == ["-:2"]


def test_a_script_of_client_metrics_alone_is_recognised() -> None:
    files = SourceFiles(Path(), (STDIN,), stdin=ALTERED)
    assert Recognition(files).signs.keys() == {"kafka-acls-script"}


@pytest.mark.parametrize(
    "branch", ["case $E in dev) {} ;; esac", "case $E in\n(a | b) {} ;;\nesac", 'case "$E" in a) ;; b) {};; esac']
)
def test_a_call_in_a_branch_on_one_line_is_named_beside_others(branch: str) -> None:
    found = converted(f"{branch.format(grant('a'))}\n{grant('b')}\n")
    assert {binding.entry.principal for binding in found.bindings} == {"User:b"}
    assert ["User:a" in one.subject for one in found.skipped] == [True]


REMOVE = "kafka-acls --bootstrap-server b:9092 --remove --force"


@pytest.mark.parametrize(
    ("removal", "kept"),
    [
        (f"{REMOVE} --allow-principal User:a --operation READ --topic t", {"b"}),
        (f"{REMOVE} --topic t", set()),
        (f"{REMOVE} --topic other", {"a", "b"}),
        (f"{REMOVE} --group t", {"a", "b"}),
        (f"{REMOVE} --topic x --resource-pattern-type match", set()),
        (f"{REMOVE} --allow-principal User:b --consumer --topic t --group g", {"a"}),
        (f"{REMOVE} --allow-principal User:$WHO --topic t", set()),
        (f"false && {REMOVE} --allow-principal User:a --topic t", {"b"}),
        (f"bash -c '{REMOVE} --allow-principal User:a --topic t'", {"b"}),
    ],
)
def test_what_a_later_command_may_take_away_is_named_and_not_granted(removal: str, kept: set[str]) -> None:
    script = f"{grant('a')}\n{grant('b')}\n{removal}\n{grant('c')}\n"
    assert users(script) == kept | {"c"}
    named = " ".join(one.subject for one in converted(script).skipped)
    assert all(f"User:{user} allow" in named for user in {"a", "b"} - kept)


CREATE = "kafka-topics --bootstrap-server b:9092 --create --partitions 3 --replication-factor 1 --topic"
DELETE = "kafka-topics --bootstrap-server b:9092 --delete --topic"
CONFIGS = "kafka-configs --bootstrap-server b:9092 --alter"
BEFORE = f"""{CREATE} a.b
{CREATE} c
{CONFIGS} --entity-type users --entity-name u --add-config 'producer_byte_rate=1024'
{CONFIGS} --entity-type clients --entity-name app --add-config 'producer_byte_rate=2048'
{CONFIGS} --entity-type users --entity-name u --add-config 'SCRAM-SHA-256=[password=x]'
{CONFIGS} --entity-type users --entity-name v --add-config 'SCRAM-SHA-256=[password=x]'
{CONFIGS} --entity-type groups --entity-name g --add-config 'consumer.session.timeout.ms=45000'
"""
ALL = {"a.b", "c", "quota u", "quota app", "user u", "user v", "group g"}


@pytest.mark.parametrize(
    ("later", "gone"),
    [
        (f"{DELETE} c", {"c"}),
        (f"{DELETE} a.b", {"a.b"}),
        (f"{DELETE} 'a.*'", {"a.b", "c"}),
        (f"{DELETE} $TOPIC", {"a.b", "c"}),
        (f"false && {DELETE} c", {"c"}),
        ("kafka-topics --bootstrap-server b:9092 --alter --topic c --partitions 6", {"c"}),
        (f"{CONFIGS} --entity-type users --entity-name u --delete-config producer_byte_rate", {"quota u", "user u"}),
        (f"{CONFIGS} --user v --delete-config SCRAM-SHA-256", {"user v"}),
        (f"{CONFIGS} --entity-type clients --entity-name app --delete-config producer_byte_rate", {"quota app"}),
        (f"{CONFIGS} --entity-type groups --entity-name g --delete-config x", {"group g"}),
        (f"{CONFIGS} --entity-type topics --entity-name c --delete-config retention.ms", set()),
        (f"{CONFIGS} --entity-type users --entity-name $WHO --delete-config producer_byte_rate", ALL - {"a.b", "c"}),
        (f"bash -c '{CONFIGS} --user u --add-config-file f'", {"quota u", "user u"}),
    ],
)
def test_what_a_later_command_may_delete_is_named_and_not_converted(later: str, gone: set[str]) -> None:
    found = converted(f"{BEFORE}{later}\n")
    kept = (
        {*found.topics}
        | {f"quota {part}" for quota in found.listed[ClientQuota.KIND] for _, part in quota.entity.parts}  # type: ignore[attr-defined]
        | {f"user {user.name}" for user in found.listed[ScramUser.KIND]}  # type: ignore[attr-defined]
        | {f"group {group.group}" for group in found.listed[GroupConfig.KIND]}  # type: ignore[attr-defined]
    )
    assert kept == ALL - gone
    assert {name.split()[-1] for name in gone} <= {one.subject.split()[-1] for one in found.skipped}
