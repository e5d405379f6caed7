#!/usr/bin/env bash
# Compares CLUSTER with MANIFESTS and leaves the result, reports and metrics in OUT. Ends as drift does: 2 where they differ.
set -euo pipefail
# shellcheck source=action/arguments.sh
source "$(dirname "${BASH_SOURCE[0]}")/arguments.sh"

((${#target[@]})) || refuse "CLUSTER is missing"

status=0
reconciler drift "$MANIFESTS" "${target[@]}" "${reach[@]}" --output json >"$OUT/result.json" 2>"$OUT/messages.txt" || status=$?
cat "$OUT/messages.txt" >&2
output status "$status"
if [[ $status == 0 || $status == 2 ]]; then
  report "$OUT/result.json"
else
  failed drift "$status" "$OUT/messages.txt"
  METRICS=
  report "$OUT/failed.json"
fi
exit "$status"
