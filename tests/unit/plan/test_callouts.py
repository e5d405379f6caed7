"""Rights on the cluster that reach further than their names say are called out, each by its own rule."""

from reconciler.model import ClusterState, FactSource
from reconciler.plan import Callout
from reconciler.plan.review.callouts import while_super_user
from tests.unit.access.bindings import binding
from tests.unit.apply.test_perform import planned


def _called(*operations: str) -> tuple[Callout, ...]:
    wanted = (binding(f"CLUSTER:L:kafka-cluster User:a@* ALLOW {operation}") for operation in operations)
    return planned(ClusterState("it"), *wanted).access.callouts


def test_alter_configs_on_the_cluster_is_the_right_to_reconfigure_brokers() -> None:
    (found,) = _called("ALTER_CONFIGS")
    assert found.rule == "cluster-configs"
    assert found.text.startswith("User:a gains ALTER_CONFIGS")
    assert "new listeners and who may log in there (as anybody)" in found.text


def test_alter_says_all_of_it_and_a_milder_right_is_only_one_on_the_cluster() -> None:
    assert [one.rule for one in _called("ALTER", "ALTER_CONFIGS")] == ["cluster-alter"]
    assert [one.rule for one in _called("DESCRIBE_CONFIGS")] == ["cluster"]


def test_a_super_user_that_only_manifests_state_is_told_as_their_word() -> None:
    words = "without effect only while the brokers' super.users holds it"
    assert [while_super_user(one) == words for one in FactSource] == [
        one is not FactSource.MANIFESTS for one in FactSource
    ]
    assert while_super_user(FactSource.MANIFESTS) == f"{words}, which only the manifests say"
