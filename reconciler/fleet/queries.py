"""Queries over a whole fleet, as SQL over the views of a store; each says what it counts."""

from typing import Final

_BINDING: Final = "resource_type, name, pattern_type, principal, host, operation, permission_type"

_WHERE: Final = "if({}, cluster, null)"


def _topics(operation: str) -> str:
    return f"sum(if(operation = '{operation}', topics, 0)) as topics_to_{operation.lower()}"


def outliers(label: str | None, percent: int) -> str:
    """Bindings that few clusters of a group have, or that few lack: at most ``percent``, and always a single one.

    Groups are the values of a label, or the whole fleet; a group of less than three clusters has no outliers. Clusters
    that could not be read are left out. Additional bindings come before missing ones.
    """
    group = "'fleet'" if label is None else f"coalesce(labels['{_quoted(label)}'], '')"
    return f"""
        with members as (select cluster, {group} as label_group from clusters where failure is null),
        sizes as (select label_group, count(*) as size, collect_set(cluster) as everybody from members group by 1),
        found as (
          select label_group, {_BINDING}, count(distinct cluster) as holders, collect_set(cluster) as having_it
          from bindings join members using (cluster) group by label_group, {_BINDING})
        select label_group, {_BINDING}, holders, size,
          if(2 * holders < size, 'only here', 'only missing here') as what,
          array_sort(if(2 * holders < size, having_it, array_except(everybody, having_it))) as clusters
        from found join sizes using (label_group)
        where size >= 3 and holders < size and (
          holders <= greatest(1, size * {percent} / 100) or size - holders <= greatest(1, size * {percent} / 100))
        order by least(holders, size - holders), 2 * holders >= size, label_group, {_BINDING}"""  # noqa: S608 - quoted, and read only


#: Access that nobody declared, by cluster and principal; of the last comparison.
UNDECLARED: Final = f"""
    select cluster, {_BINDING} from changes where action = 'DeleteAcl' order by cluster, principal, {_BINDING}"""  # noqa: S608

#: Principals by how much they can reach: effective access, so DENYs count; summed over the clusters.
BLAST_RADIUS: Final = f"""
    select principal, count(distinct cluster) as clusters,
      count(distinct {_WHERE.format("resource_type = 'CLUSTER' and operation in ('ALTER', 'CLUSTER_ACTION')")})
        as over_clusters,
      count(distinct {_WHERE.format("every_name and resource_type = 'TOPIC'")}) as on_every_topic,
      {_topics("DELETE")}, {_topics("WRITE")}, {_topics("READ")},
      bool_and(certain) as certain
    from access where principal is not null group by principal
    order by over_clusters desc, topics_to_delete desc, topics_to_write desc, topics_to_read desc, principal"""  # noqa: S608


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
