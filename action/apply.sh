#!/usr/bin/env bash
# Plans MANIFESTS once more on CLUSTER and performs the plan if it is the one that PLAN_ID names.
# Ends as apply does: 4 where the plan is another one by now, and nothing was sent.
set -euo pipefail
# shellcheck source=action/arguments.sh
source "$(dirname "${BASH_SOURCE[0]}")/arguments.sh"
METRICS=

[[ "${PLAN_ID:-}" =~ ^(plan|change)-[0-9a-f]{64}$ ]] || refuse "PLAN_ID has to be the plan-… or change-… id that was approved"
((${#target[@]})) || refuse "CLUSTER is missing"

planned=0
reconciler plan "$MANIFESTS" "${target[@]}" "${reach[@]}" "${options[@]}" --out "$OUT/plan.json" --output json \
  >"$OUT/result.json" || planned=$?
output plan-id "$(field "$OUT/result.json" planId)"
if [[ $planned != 0 ]]; then
  output status "$planned"
  [[ -s "$OUT/result.json" ]] && report "$OUT/result.json"
  exit "$planned"
fi

status=0
apply=("$OUT/plan.json" "$MANIFESTS" "${reach[@]}" --require-id "$PLAN_ID" --audit "$OUT/audit.jsonl")
if [[ -n "${SNAPSHOT:-}" ]]; then apply+=("${target[@]}"); fi
reconciler apply "${apply[@]}" | tee "$OUT/applied.txt" || status=$?
output status "$status"
report "$OUT/result.json"
if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then
  echo "apply ended with status $status" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$status"
