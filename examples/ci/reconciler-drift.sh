#!/usr/bin/env bash
# For cron: brings the checkout up to date, compares every cluster, and leaves metrics for node_exporter's textfile collector.
#
#   17 * * * * kafka /opt/reconciler-source/examples/ci/reconciler-drift.sh /srv/kafka-manifests prod test
#
# Alerts (docs/reports.md names the metrics): reconciler_drift > 0, and an old reconciler_last_success_timestamp_seconds.
set -euo pipefail
checkout=$1
shift

: "${CONNECTIONS:=/etc/reconciler/connections.yaml}" "${SECRETS_DIR:=/etc/reconciler/secrets}"
: "${COLLECTOR:=/var/lib/node_exporter}" "${RESULTS:=/var/lib/reconciler}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

git -C "$checkout" pull --quiet --ff-only --no-recurse-submodules
worst=0
for cluster in "$@"; do
  status=0
  CI=true MANIFESTS="$checkout/manifests" CLUSTER="$cluster" CONNECTIONS="$CONNECTIONS" SECRETS_DIR="$SECRETS_DIR" \
    OUT="$RESULTS/$cluster" METRICS="$COLLECTOR/reconciler-$cluster.prom" "$here/action/drift.sh" >"$RESULTS/$cluster.log" 2>&1 \
    || status=$?
  # A difference is for the alert; only a cluster that could not be compared makes cron send mail.
  if [[ $status != 0 && $status != 2 ]]; then
    echo "$cluster: drift ended with status $status, see $RESULTS/$cluster.log" >&2
    worst=1
  fi
done
exit "$worst"
