# shellcheck shell=bash disable=SC2034,SC2154
# Sourced after arguments.sh: which rules judge MANIFESTS besides their own. Whoever proposes a change may edit those.
#
#   GUARDRAILS  base, which is the default: the manifests of the commit BASE; none; or a directory from outside the
#               checkout, such as a repository of the security team
#   BASE        the commit before the change; what the change does to its rules comes first in every report

rails=() compared=() unjudged=
base_directory=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/reconciler-base.XXXXXXXX")
trap 'rm -rf "$base_directory"' EXIT

# The manifests of BASE, and how to compare with them. A commit that has none has no rules that could be edited.
if [[ -n "${BASE:-}" ]]; then
  own_git --show-toplevel >/dev/null 2>&1 || refuse "$MANIFESTS is in no repository, so BASE means nothing there"
  extracted=0
  python3 -I "$(dirname "${BASH_SOURCE[0]}")/base.py" "$checkout" "$BASE" "${prefix%/}" "$base_directory" || extracted=$?
  case $extracted in
    0) compared=(--base "$base_directory") ;;
    3) unjudged="the base commit $BASE has no manifests yet" ;;
    *) exit 64 ;;
  esac
fi

case "${GUARDRAILS:-base}" in
  none) unjudged="guardrails: none" ;;
  base)
    [[ -n "${BASE:-}" ]] ||
      refuse "BASE is missing, the commit before the change: set it, or GUARDRAILS to a directory, or to none"
    if ((${#compared[@]})); then rails=(--guardrails "$base_directory"); fi
    ;;
  *)
    [[ -d "$GUARDRAILS" ]] || refuse "there is no directory $GUARDRAILS"
    case "$(realpath "$GUARDRAILS")/" in
      "$(realpath "$checkout")"/*) refuse "$GUARDRAILS lies in the checkout of the manifests: a change could edit it" ;;
    esac
    unjudged=
    rails=(--guardrails "$GUARDRAILS")
    ;;
esac

# What nobody but the change itself judged must not look as if somebody had.
tell_unjudged() {
  [[ -n "$unjudged" ]] || return 0
  local words="$unjudged: this change was judged by its own rules alone"
  echo "$words" >&2
  if [[ -s "$OUT/comment.md" && $(wc -c <"$OUT/comment.md") -lt 60000 ]]; then printf '\n%s\n' "$words" >>"$OUT/comment.md"; fi
  if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then printf '\n%s\n' "$words" >>"$GITHUB_STEP_SUMMARY"; fi
}
