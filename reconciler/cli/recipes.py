"""What the help of a command shows beside its options: recipes of ``docs/how-to.md``, and two command lines each."""

from collections.abc import Mapping
from typing import Final

# The recipes of ``docs/how-to.md`` by the command that a person would look at first; its help names them.

_EXAMPLES_SHOWN: Final = 2
_PIPELINES: Final = tuple(
    f"Run it in {name}" for name in ("GitHub Actions", "GitLab", "Jenkins", "Azure DevOps", "Bitbucket")
)
#: Headings of the page, as they stand there.
RECIPES: Final[Mapping[str, tuple[str, ...]]] = {
    "init": ("Add a team: producer, consumer, Streams, Connect", "Declare dev, stage and prod"),
    "validate": ("Hand a topic to another team", "Declare dev, stage and prod"),
    "plan": (
        "Give somebody access for two weeks",
        "Rename a service principal without an outage",
        "Delete a topic",
        "Raise partitions",
        "Change the replication factor",
        "Give a group more time before it rebalances",
        "Collect metrics of some clients",
        "Keep what a share group rejects",
        "Create a user that can log in",
        "Change a password without an outage",
        "Cut off a compromised principal",
        "Review a pull request as a security person",
        "Prove a plan to an auditor",
    ),
    "grant": (
        "Give somebody access for two weeks",
        "Give somebody access for two hours",
        "Give access in an emergency",
    ),
    "history": ("Find out who could read a topic on a past day, and who approved it",),
    "audit list": ("Find out who could read a topic on a past day, and who approved it",),
    "revoke": ("Give somebody access for two weeks",),
    "rename": ("Rename a service principal without an outage",),
    "show": ("Review a pull request as a security person",),
    "apply": ("Cut off a compromised principal", *_PIPELINES),
    "lock": ("Cut off a compromised principal",),
    "unlock": ("Cut off a compromised principal",),
    "users generate": ("Create a user that can log in",),
    "users disable": ("Cut off a compromised principal",),
    "serve": ("End access on time", "Watch from Kubernetes, with Argo CD or Flux"),
    "test": ("Check what brokers are configured to do",),
    "drift": (
        "Check what brokers are configured to do",
        "Get alerts in Slack and Prometheus",
        "Share a cluster with Strimzi, Terraform or Confluent",
    ),
    "adopt": ("Keep what somebody changed on the cluster by hand",),
    "report": ("Get alerts in Slack and Prometheus",),
    "can-i": ('Solve "Not authorized to access topic"',),
    "who-can": (
        "Find out who can write to a topic, and why",
        "Find out who could read a topic on a past day, and who approved it",
    ),
    "explain": ('Solve "Not authorized to access topic"', "Find out who can write to a topic, and why"),
    "access": ("Find out who can write to a topic, and why",),
    "reach": ("Keep two duties apart, and see what a credential is worth",),
    "certify": ("Let owners confirm who has access",),
    "quota": ("Limit what a client may send",),
    "usage": ("Find unused ACLs",),
    "tighten": ("Take away access that nobody uses",),
    "lint": ("Find unused ACLs",),
    "export": ("Share a cluster with Strimzi, Terraform or Confluent",),
    "convert": ("Move in from another tool",),
}


def all_recipes() -> list[str]:
    """Every recipe with the commands whose help names it, so that whoever looks for a task finds a command."""
    commands: dict[str, list[str]] = {}
    for words, headings in RECIPES.items():
        for heading in headings:
            commands.setdefault(heading, []).append(words)
    return ["Recipes in docs/how-to.md, with the commands that they use:"] + [
        f"  {heading}: {', '.join(names)}" for heading, names in commands.items()
    ]


def examples_text(words: tuple[str, ...]) -> str:
    """The first examples of a command, as its help shows them."""
    lines = examples_of(words)[:_EXAMPLES_SHOWN]
    return "".join(["Examples:\n\n\b\n", *(f"  reconciler {line}\n" for line in lines), "\n"]) if lines else ""


def recipes_of(words: tuple[str, ...]) -> str:
    """The paragraph of a command's help that names its recipes; empty if there are none."""
    recipes = RECIPES.get(" ".join(words), ())
    return f"Recipes in docs/how-to.md: {'; '.join(recipes)}.\n\n" if recipes else ""


# Two command lines for each command, as its help shows them.

_EXAMPLE_LINES: Final = """
init shop --cluster prod --team orders
init shop --team payments=User:svc-payments
doctor manifests --cluster prod
doctor manifests --cluster prod --for 4.4 --connections connections.yaml
validate manifests
validate manifests --base ../main/manifests --fail-on guardrails
plan manifests --cluster prod --out plan.json
plan manifests --cluster prod --only 'topics=payments.*' --allow-deletes
show plan.json
show plan.json manifests --cluster prod
approve plan.json --key ~/.ssh/id_ed25519
approve plan.json --key ~/.ssh/id_ed25519 --out plan.json.bob.sig
apply plan.json manifests --require-id plan-4f95bfc8
apply manifests --cluster prod --lease --audit audit.jsonl
drift manifests --cluster prod
drift manifests --cluster prod -o json
report plan.json -o markdown=comment.md -o html=plan.html
report drift.json -o prometheus=reconciler.prom
audit verify audit.jsonl --cluster prod --audit topic/audit
audit verify audit.jsonl
audit list --audit audit.jsonl --since 90d
audit list topic/payments.orders --audit audit.jsonl --by alice@example.com
undo plan.json manifests --out undo.json
undo plan.json manifests --allow-deletes
cleanup manifests --cluster prod
cleanup manifests --cluster prod --yes
lock User:svc-payments --reason "key leaked" --ticket INC-7 -c prod
lock User:svc-payments --until 24h --reason "key leaked" -c prod
unlock User:svc-payments --reason "key rotated" -c prod
unlock User:svc-payments --ticket INC-7 --reason "key rotated" --yes -c prod
locks --cluster prod
locks --cluster prod -o json
reassignments list manifests --cluster prod
reassignments list manifests --cluster prod -o table
reassignments cancel payments.orders --cluster prod
reassignments cancel --all --cluster prod --yes
serve manifests --cluster prod --connections connections.yaml
serve manifests --cluster prod --act --interval 5m --audit audit.jsonl
break-glass grant User:ops WRITE topic/payments.orders --until 1h --reason "incident 4711" -c prod
break-glass grant User:ops READ topic/payments.orders --until 2h --reason INC-7 --out incident.json
break-glass revoke User:ops -c prod
break-glass revoke User:ops WRITE topic/payments.orders --yes -c prod
can-i User:svc-payments READ topic/payments.orders
can-i User:svc-payments WRITE 'topic/payments.*' --cluster prod
who-can WRITE 'topic/payments.*'
who-can READ topic/payments.orders --cluster prod --plan plan.json
reach User:svc-orders
reach User:svc-orders --cluster prod --hops 1
certify open -c prod --due 2w --out certify/2026Q4
certify open -c prod --due 2w --out certify/2027Q1 --base certify/2026Q4.tar --store readings
certify sign certify/2026Q4/payments.yaml --key ~/.ssh/id_ed25519
certify sign certify/2026Q4/platform.yaml --key platform_key
certify status certify/2026Q4 --allowed-signers signers
certify status certify/2026Q4 --allowed-signers signers -o table
certify close certify/2026Q4 -c prod --allowed-signers signers --out q4.tar --write
certify close certify/2026Q4 -c prod --allowed-signers signers --out q4.tar --branch certify-q4
certify verify certify/2026Q4.tar
certify verify certify/2026Q4.tar --allowed-signers signers
explain User:svc-orders WRITE topic/payments.orders
explain User:svc-orders READ group/orders --host 10.0.0.7 --cluster prod
access User:svc-payments
access --cluster prod --matrix
quota User:svc-payments --client-id app
quota User:svc-payments --cluster prod -o table
test manifests
test manifests --cluster prod --all
lint manifests
lint manifests --fix --write
policy init --cluster prod
policy init --defaults
grant User:svc-audit READ topic/payments.orders --until 2w --ticket SEC-1290
grant User:svc-audit READ,DESCRIBE 'topic/payments.*' --branch audit
revoke User:svc-audit READ topic/payments.orders --write
revoke User:svc-audit
rename User:svc-old User:svc-new --write
rename User:svc-old User:svc-new --finish --write
adopt manifests --cluster prod
adopt manifests --cluster prod --only principals=User:svc-batch --branch adopt
users generate User:svc-payments --out /run/secrets/kafka/svc-payments --write
users generate User:svc-payments --out - --reference '${env:PAYMENTS}' --write
users disable User:svc-payments
users disable User:svc-payments --reason "left the company" --write
usage --logs /var/log/kafka --cluster prod
usage --logs /var/log/kafka --cluster prod --plan plan.json
tighten --logs /var/log/kafka --cluster prod
tighten --logs /var/log/kafka --policy days=30,quarter-ends=0 --branch tighten
history topic/payments.orders -c prod --store readings --audit audit.jsonl
history User:svc-risk -c prod --store readings --since 90d
fleet snapshot manifests --connections connections.yaml
fleet snapshot manifests --store s3://bucket/fleet
fleet drift manifests
fleet drift manifests -o csv
fleet plan manifests --out plans
fleet plan manifests --out plans --allow-deletes
fleet approve plans --key ~/.ssh/id_ed25519
fleet approve plans --key ~/.ssh/id_ed25519 --out plans/fleet.json.bob.sig
fleet apply plans manifests
fleet apply plans manifests --require-id fleet-4f95bfc8 --yes
fleet lock User:svc-payments --reason "key leaked"
fleet lock User:svc-payments --ticket INC-7 --reason "key leaked" --yes
fleet query who-can WRITE topic/payments.orders
fleet query who-can READ 'topic/pii.*' -o csv
fleet query outliers
fleet query outliers 5 --by env
fleet query furthest
fleet query furthest --limit 10
fleet query undeclared
fleet query undeclared -o csv
fleet query blast-radius
fleet query blast-radius --limit 20
fleet query moved
fleet query moved --since 20261120T080000Z-1a2b3c4d
fleet query sql 'select cluster, count(*) from bindings group by cluster'
fleet query sql --since previous 'select * from moved'
fleet usage manifests --logs /var/log/fleet
fleet usage manifests --logs prod=/var/log/kafka --plan plans
fleet tighten manifests --logs /var/log/fleet
fleet tighten manifests --logs prod=/var/log/kafka --offline --branch tighten
fleet pack packed
fleet pack /mnt/share/spark --verbose
export --cluster prod --connections connections.yaml --out manifests
export --cluster prod --connections connections.yaml --snapshot prod.json
convert ../jikkou --from jikkou --out manifests
convert acls.txt --from kafka-acls --path manifests --write
sandbox up
sandbox up --nodes 3 --with tls
sandbox status
sandbox status --name tutorial
sandbox down
sandbox down --all
demo
demo --keep
schema --out schema
schema --out .vscode/schema
completion bash
completion zsh
help plan
help connection
version
version -o json
"""
#: Each without the program's name, in the order of the commands.
EXAMPLES: Final = tuple(_EXAMPLE_LINES.strip().splitlines())


def examples_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """The examples of the command with these words; those of a group are its commands'."""
    return tuple(line for line in EXAMPLES if tuple(line.split()[: len(words)]) == words)
