#!/usr/bin/env bash
# Edits MANIFESTS, pushes the edit as BRANCH, and leaves the pull request's text in OUT/edit.md, for github.py pull.
#
#   EDIT     adopt (what CLUSTER has and the manifests do not say), lint (rules that are over, and what else lint fixes),
#            or grant
#   OPTIONS  for adopt and lint further options, for grant its words, one a line; adopt takes --all without any
#   BRANCH   begins with reconciler/; reconciler/EDIT unless given. It belongs to this script: what is there is replaced
#   REMOTE   where the branch goes; origin unless given. Without rights to push there, nothing is changed
#
# Outputs: changed is true if there is something to propose.
set -euo pipefail
# shellcheck source=action/arguments.sh
source "$(dirname "${BASH_SOURCE[0]}")/arguments.sh"

: "${EDIT:?}" "${REMOTE:=origin}" "${BRANCH:=reconciler/$EDIT}"
[[ "$BRANCH" =~ ^reconciler/[A-Za-z0-9._-]+$ ]] || refuse "BRANCH has to be reconciler/ and a name"
rm -f "$OUT/edit.md"
# A runner has no identity; GitHub shows this one as its bot.
: "${GIT_AUTHOR_NAME:=github-actions[bot]}" "${GIT_AUTHOR_EMAIL:=41898282+github-actions[bot]@users.noreply.github.com}"
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
# No hook and no setting of the checkout is run: it is the proposer's.
repository() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false -C "$MANIFESTS" "$@"; }
if repository show-ref --quiet --verify "refs/heads/$BRANCH"; then repository branch --quiet -D "$BRANCH"; fi

case "$EDIT" in
  adopt)
    ((${#target[@]})) || refuse "adopt needs CLUSTER"
    ((${#options[@]})) || options=(--all)
    words=(adopt "$MANIFESTS" "${target[@]}" "${reach[@]}" "${options[@]}")
    ;;
  lint) words=(lint "$MANIFESTS" --fix "${options[@]}") ;;
  grant) words=(grant --path "$MANIFESTS" "${options[@]}") ;;
  *) refuse "EDIT has to be adopt, lint or grant" ;;
esac
status=0
reconciler "${words[@]}" --branch "$BRANCH" >"$OUT/edit.txt" 2>"$OUT/edit.log" || status=$?
cat "$OUT/edit.log" >&2
output status "$status"

changed=false
if repository show-ref --quiet --verify "refs/heads/$BRANCH"; then
  repository push --quiet --force "$REMOTE" "refs/heads/$BRANCH:refs/heads/$BRANCH"
  changed=true
fi
output changed "$changed"
output branch "$BRANCH"
# No name of the cluster or the manifests is in it: the pull request shows the change, its plan what it does.
cat >"$OUT/edit.md" <<END
<!-- reconciler:edit-$EDIT -->
\`reconciler $EDIT\` proposes this edit of the manifests. The plan in the comment below says what it changes on the cluster.

The branch is replaced whenever the edit is made again: commit your own changes elsewhere.
END
# Exit 2 of adopt: something cannot be declared, and the rest is proposed.
[[ "$status" == 2 && "$EDIT" == adopt ]] && exit 0
exit "$status"
