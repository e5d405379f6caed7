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
[[ -s "$OUT/result.json" ]] && output plan-id "$(field "$OUT/result.json" planId)"
# 2, by --detailed-exitcode, says no more than that there is something to do.
if [[ $planned != 0 && $planned != 2 ]]; then
  output status "$planned"
  results=()
  if [[ -s "$OUT/result.json" ]]; then results+=("$OUT/result.json"); fi
  if ! judged "$planned"; then
    failed plan "$planned"
    results+=("$OUT/failed.json")
  fi
  report "${results[@]}"
  exit "$planned"
fi

status=0
apply=("$OUT/plan.json" "$MANIFESTS" "${reach[@]}" --require-id "$PLAN_ID" --audit "$OUT/audit.jsonl")
if [[ -n "${SNAPSHOT:-}" ]]; then apply+=("${target[@]}"); fi
reconciler apply "${apply[@]}" | tee "$OUT/applied.txt" || status=$?
output status "$status"
results=("$OUT/result.json")
if [[ $status != 0 ]]; then
  failed apply "$status"
  results+=("$OUT/failed.json")
fi
report "${results[@]}"
if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then
  echo "apply ended with status $status" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$status"
