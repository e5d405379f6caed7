#!/usr/bin/env bash
# Compares CLUSTER with MANIFESTS and leaves the result, reports and metrics in OUT. Ends as drift does: 2 where they differ.
# With APPLIED or BASE, the commit that was applied last, says which differences were merged since and which are changes by hand.
set -euo pipefail
# shellcheck source=action/arguments.sh
source "$(dirname "${BASH_SOURCE[0]}")/arguments.sh"
GUARDRAILS=none watches=true
# shellcheck source=action/guardrails.sh
source "$(dirname "${BASH_SOURCE[0]}")/guardrails.sh"

((${#target[@]})) || refuse "CLUSTER is missing"
unjudged=${missing:+"$missing, so what was merged and waits for apply is not told from what was changed by hand"}

status=0
reconciler drift "$MANIFESTS" "${target[@]}" "${reach[@]}" "${compared[@]}" --output json >"$OUT/result.json" 2>"$OUT/messages.txt" || status=$?
cat "$OUT/messages.txt" >&2
output status "$status"
if [[ $status == 0 || $status == 2 ]]; then
  report "$OUT/result.json"
else
  failed drift "$status" "$OUT/messages.txt"
  METRICS=
  report "$OUT/failed.json"
fi
tell_unjudged
exit "$status"
