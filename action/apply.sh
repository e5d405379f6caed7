#!/usr/bin/env bash
# Plans MANIFESTS once more on CLUSTER and performs the plan if it is the one that PLAN_ID names. With PLAN performs that
# file: so an apply that was cut short goes on, and with REQUIRE_APPROVALS so does what so many people have signed, since
# signatures are over bytes and planning again makes others. With APPLIED moves that branch to the commit. Ends as apply
# does: 4 where the plan is another one by now, and nothing was sent; 5 where safety checks refuse changes, or deletions that the
# change means need --allow-deletes, and nothing else was left undone; 5 too where they refuse the plan.
set -euo pipefail
# shellcheck source=action/arguments.sh
source "$(dirname "${BASH_SOURCE[0]}")/arguments.sh"
# shellcheck source=action/guardrails.sh
source "$(dirname "${BASH_SOURCE[0]}")/guardrails.sh"
METRICS=

approvals=()
if [[ -n "${REQUIRE_APPROVALS:-}${ALLOWED_SIGNERS:-}${NOT_AUTHOR:-}" ]]; then
  # Each of them alone would look like a rule that holds.
  [[ "${REQUIRE_APPROVALS:-}" =~ ^[1-9][0-9]{0,2}$ ]] || refuse "REQUIRE_APPROVALS has to be how many people must have signed PLAN"
  [[ -n "${ALLOWED_SIGNERS:-}" ]] || refuse "REQUIRE_APPROVALS needs ALLOWED_SIGNERS: whose signatures count?"
  [[ -f "${PLAN:-}" ]] || refuse "REQUIRE_APPROVALS needs PLAN, the plan file that was signed, with its .sig files next to it"
  approvals=(--require-approvals "$REQUIRE_APPROVALS" --allowed-signers "$ALLOWED_SIGNERS")
  while IFS= read -r who; do
    if [[ -n "$who" ]]; then approvals+=(--not-author "$who"); fi
  done <<<"${NOT_AUTHOR:-}"
fi
# With signatures they say which plan is meant, and an id may say so too.
[[ "${PLAN_ID:-}" =~ ^(plan|change)-[0-9a-f]{64}$ || (${#approvals[@]} -gt 0 && -z "${PLAN_ID:-}") ]] ||
  refuse "PLAN_ID has to be the whole plan-… or change-… id that was approved"
((${#target[@]})) || refuse "CLUSTER is missing"

[[ -z "${PLAN:-}" || -f "$PLAN" ]] || refuse "there is no file $PLAN"

planned=0
if [[ -n "${PLAN:-}" ]]; then
  plan=$PLAN
  reconciler show "$plan" --output json >"$OUT/result.json" || planned=$?
  : "${PLAN_ID:=$(field "$plan" planId)}"
else
  plan=$OUT/plan.json
  reconciler plan "$MANIFESTS" "${target[@]}" "${reach[@]}" "${rails[@]}" "${compared[@]}" "${options[@]}" \
    --out "$plan" --output json >"$OUT/result.json" 2>"$OUT/messages.txt" || planned=$?
  cat "$OUT/messages.txt" >&2
fi
[[ -s "$OUT/result.json" ]] && output_field "$OUT/result.json" planId plan-id
# 2, by --detailed-exitcode, says no more than that there is something to do; 5 with a plan, that guards left changes out.
if [[ $planned != 0 && $planned != 2 && ! ($planned == 5 && -s "$plan") ]]; then
  output status "$planned"
  results=()
  if [[ -s "$OUT/result.json" ]]; then results+=("$OUT/result.json"); fi
  if ! judged "$planned"; then
    failed plan "$planned" "$OUT/messages.txt"
    results+=("$OUT/failed.json")
  fi
  report "${results[@]}"
  exit "$planned"
fi

status=0
apply=("$plan" "$MANIFESTS" "${reach[@]}" "${rails[@]}" "${approvals[@]}" --require-id "$PLAN_ID")
apply+=(--audit "$OUT/audit.jsonl" --journal "$OUT/plan.json.journal")
# Whoever started the run, as the system says; a machine's user would be the same for all.
: "${OPERATOR:=${GITHUB_ACTOR:-${GITLAB_USER_LOGIN:-${BUILD_REQUESTEDFOREMAIL:-${BITBUCKET_STEP_TRIGGERER_UUID:-${BUILD_USER_ID:-}}}}}}"
if [[ -n "$OPERATOR" ]]; then apply+=(--operator "$OPERATOR"); fi
if [[ -n "${SNAPSHOT:-}" ]]; then apply+=("${target[@]}"); fi
# A journal that an earlier run has left says nothing of this one.
before=$(stat -c %s "$OUT/plan.json.journal" 2>/dev/null || echo 0)
reconciler apply "${apply[@]}" | tee "$OUT/applied.txt" || status=$?
performed=$status
if [[ $status == 5 ]] && grep -q '^Applied' "$OUT/applied.txt"; then performed=0; fi
if [[ $performed == 0 ]]; then
  output applied true
  move_applied || status=1 performed=1
fi
# What the base declares and this commit does not is still there without --allow-deletes: merged is not done.
if [[ $performed == 0 ]] && ((${#compared[@]})); then
  reconciler plan "${compared[1]}" "${target[@]}" "${reach[@]}" "${options[@]}" --output json >"$OUT/base.json" 2>/dev/null || true
  undone=$(python3 -IS "$action/undone.py" "$OUT/result.json" "$OUT/base.json")
  rm -f "$OUT/base.json"
  if [[ -n "$undone" ]]; then
    printf 'error: %s\n' "$undone" >&2
    # Indented, it is code: whoever names a principal writes no Markdown here.
    if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then printf '\n    %s\n' "${undone//$'\n'/$'\n'    }" >>"$GITHUB_STEP_SUMMARY"; fi
    status=5
  fi
fi
output status "$status"
results=("$OUT/result.json")
if [[ $performed != 0 ]]; then
  if [[ -f "$OUT/plan.json.journal" ]]; then tail -c "+$((before + 1))" "$OUT/plan.json.journal" >"$OUT/run.journal"; fi
  failed apply "$status" "$OUT/run.journal"
  rm -f "$OUT/run.journal"
  results+=("$OUT/failed.json")
fi
report "${results[@]}"
tell_unjudged
if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then
  echo "apply ended with status $status" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$status"
