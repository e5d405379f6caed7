# shellcheck shell=bash disable=SC2034,SC2154
# Sourced after arguments.sh: which rules judge MANIFESTS besides their own. Whoever proposes a change may edit those.
#
#   GUARDRAILS  base, which is the default: the manifests of the commit BASE; none; or a directory from outside the
#               checkout, such as a repository of the security team
#   BASE        the commit before the change, or a reference of REMOTE as in refs/heads/main, which is fetched; what the
#               change does to its rules comes first in every report
#   APPLIED     a branch of REMOTE, as in refs/heads/reconciler/applied/prod, that apply.sh moves to each commit that it
#               has applied; it is BASE unless that is given
#   REMOTE      origin unless given

: "${REMOTE:=origin}"
rails=() compared=() unjudged='' applied_before=''
base_directory=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/reconciler-base.XXXXXXXX")
trap 'rm -rf "$base_directory"' EXIT

# The commit at a reference of REMOTE, fetched; nothing if there is no such reference. Submodules are the proposer's.
fetched() {
  local listed id name status=0
  listed=$(own_git ls-remote --exit-code "$REMOTE" "$1") || status=$?
  if [[ $status == 2 ]]; then return 0; fi
  [[ $status == 0 ]] || refuse "$REMOTE cannot be asked for $1"
  own_git fetch --quiet --no-tags --no-write-fetch-head --no-recurse-submodules "$REMOTE" "$1" >&2 ||
    refuse "$1 cannot be fetched from $REMOTE"
  while IFS=$'\t' read -r id name; do
    if [[ "$name" == "$1" ]]; then echo "$id"; fi
  done <<<"$listed"
}

if [[ -n "${APPLIED:-}" ]]; then
  [[ "$APPLIED" =~ ^refs/heads/[A-Za-z0-9._/-]+$ ]] || refuse "APPLIED has to be a whole reference, such as refs/heads/reconciler/applied/prod"
  applied_before=$(fetched "$APPLIED") || exit 64
  if [[ -z "${BASE:-}" ]]; then
    BASE=$applied_before
    : "${BASE:=$APPLIED}"
  fi
fi
missing=''
if [[ "${BASE:-}" == refs/* ]]; then
  named=$BASE
  BASE=$(fetched "$named") || exit 64
  [[ -n "$BASE" ]] || missing="$REMOTE has no $named: nothing was applied yet"
elif [[ "${BASE:-}" =~ ^0+$ ]]; then
  missing="BASE is the id of no commit: nothing was pushed or applied before"
  BASE=
fi

# Whoever writes a branch could name rules that were never in force, and what was never applied.
older() { own_git merge-base --is-ancestor "$1" "$2" 2>/dev/null; }
if [[ -n "${BASE:-}" && ("${watches:-}" == true || "$BASE" == "$applied_before") ]] && ! older "$BASE" HEAD; then
  # A rerun for an older commit is judged by the rules of the newest that was applied.
  if [[ "${watches:-}" == true ]] || ! older HEAD "$BASE"; then
    missing="$BASE is not in the history of this commit, as far as the checkout has it" BASE=
  fi
fi

# The manifests of BASE, and how to compare with them.
if [[ -n "${BASE:-}" ]]; then
  own_git rev-parse --git-dir >/dev/null 2>&1 || refuse "$MANIFESTS is in no repository, so BASE means nothing there"
  extracted=0
  python3 -IS "$action/base.py" "$checkout" "$BASE" "$prefix" "$base_directory" || extracted=$?
  case $extracted in
    0) compared=(--base "$base_directory${prefix:+/$prefix}") ;;
    3) missing="the base commit $BASE has no manifests in ${prefix:-the repository}" ;;
    *) exit 64 ;;
  esac
fi

case "${GUARDRAILS:-base}" in
  none) unjudged="guardrails: none: this change was judged by its own rules alone" ;;
  base)
    # A change that nobody but itself judges: only the operator says so.
    [[ -z "$missing" ]] ||
      refuse "$missing, so this change would be judged by its own rules alone. If it is the first one, set GUARDRAILS to none, once"
    [[ -n "${BASE:-}" ]] ||
      refuse "BASE is missing, the commit before the change: set it, or GUARDRAILS to a directory, or to none"
    rails=(--guardrails "${compared[1]}")
    ;;
  *) rails=(--guardrails "$GUARDRAILS") ;;
esac

# What nobody but the change itself judged must not look as if somebody had: before the report, which may be cut.
tell_unjudged() {
  [[ -n "$unjudged" ]] || return 0
  echo "$unjudged" >&2
  if [[ -s "$OUT/comment.md" ]]; then
    { sed -n 1,2p "$OUT/comment.md"; printf '\n**%s**\n\n' "$unjudged"; sed 1,2d "$OUT/comment.md"; } >"$OUT/comment.new"
    mv "$OUT/comment.new" "$OUT/comment.md"
  fi
  if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then printf '\n%s\n' "$unjudged" >>"$GITHUB_STEP_SUMMARY"; fi
}

# The commit that was applied is the base of the next one. A rerun for an older commit takes nothing back.
move_applied() {
  [[ -n "${APPLIED:-}" ]] || return 0
  if [[ -n "$applied_before" ]] && older HEAD "$applied_before"; then return 0; fi
  own_git push --quiet --no-verify --force-with-lease="$APPLIED:$applied_before" "$REMOTE" "HEAD:$APPLIED" >&2 || {
    echo "error: this commit is applied, but $APPLIED of $REMOTE could not be moved to it: the next change would be judged by the rules before it" >&2
    return 1
  }
}
