#!/usr/bin/env bash
# Checks MANIFESTS and plans them on CLUSTER, if one is named; leaves results and reports in OUT.
# Ends as plan does, or else as validate does, or else as lint does. With BEFORE_APPLY=true, changes that safety checks refuse
# do not end it with 5: apply.sh, which follows, performs the rest and ends with 5.
set -euo pipefail
# shellcheck source=action/arguments.sh
source "$(dirname "${BASH_SOURCE[0]}")/arguments.sh"
# shellcheck source=action/guardrails.sh
source "$(dirname "${BASH_SOURCE[0]}")/guardrails.sh"
METRICS=

status=0
results=("$OUT/validate.json")
reconciler validate "$MANIFESTS" "${rails[@]}" "${compared[@]}" --output json >"$OUT/validate.json" || status=$?
output valid "$([[ $status == 0 ]] && echo true || echo false)"
# Which clusters are worth a job each; of manifests that cannot be read nobody knows.
if [[ ($status == 0 || $status == 3) && -s "$OUT/validate.json" ]]; then output_field "$OUT/validate.json" touched touched; fi
if [[ ! -s "$OUT/validate.json" ]]; then
  results=()
  failed validate "$status"
fi

# Manifests that cannot be read can be neither linted nor planned; claims that fail can.
if [[ $status == 0 || $status == 3 ]]; then
  linted=0
  reconciler lint "$MANIFESTS" "${rails[@]}" --output json >"$OUT/lint.json" || linted=$?
  if [[ $linted == 0 || $linted == 3 ]]; then
    results+=("$OUT/lint.json")
  else
    failed lint "$linted"
  fi

  if ((${#target[@]})); then
    planned=0
    reconciler plan "$MANIFESTS" "${target[@]}" "${reach[@]}" "${rails[@]}" "${compared[@]}" "${options[@]}" \
      --out "$OUT/plan.json" --output json >"$OUT/result.json" 2>"$OUT/messages.txt" || planned=$?
    cat "$OUT/messages.txt" >&2
    if [[ -s "$OUT/result.json" ]]; then
      results+=("$OUT/result.json")
      output_field "$OUT/result.json" planId plan-id
      output_field "$OUT/result.json" changeId change-id
    fi
    judged "$planned" || failed plan "$planned" "$OUT/messages.txt"
    if [[ $planned == 5 && "${BEFORE_APPLY:-}" == true && -s "$OUT/plan.json" ]]; then planned=0; fi
    if [[ $planned != 0 ]]; then status=$planned; fi
  fi
  [[ $status == 0 ]] && status=$linted
fi

[[ -s "$OUT/failed.json" ]] && results+=("$OUT/failed.json")
output status "$status"
report "${results[@]}"
if ((!${#target[@]})) && [[ -s "$OUT/validate.json" ]]; then
  python3 -IS "$action/github.py" untouched "$OUT/validate.json" | tee -a "$OUT/comment.md" "${GITHUB_STEP_SUMMARY:-/dev/null}"
fi
tell_unjudged
exit "$status"
