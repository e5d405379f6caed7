# shellcheck shell=bash disable=SC2034
# Sourced by the others: turns the environment into words for reconciler.
#
#   MANIFESTS    directory of manifests
#   CLUSTER      name of the cluster, with CONNECTIONS or SNAPSHOT; without it only what needs no cluster is done
#   SNAPSHOT     a snapshot file that stands for the cluster
#   CONNECTIONS  the operator's connections file, from outside the checkout
#   ALLOW_ENV    names of variables that the connections may read, separated by blanks
#   SECRETS_DIR  directory from which the connections may read
#   OPTIONS      further options of plan, one word a line
#   BEFORE_APPLY for plan: true where apply.sh follows, which ends with 5 itself for changes that safety checks refuse
#   OUT          where results go
#   METRICS      for drift: file for the textfile collector, readable by everybody
#   HEAD_COMMIT  the commit that people see, where the checkout is a merge that the system has made of it
#   MODE         permissions of the files in OUT, as in 644; without it only their owner reads them

# Results name principals and topics. What is written by redirection gets the same permissions.
: "${MODE:=600}"
[[ "$MODE" =~ ^0?6[0-7][0-7]$ ]] || {
  echo "error: MODE has to be permissions such as 600 or 644" >&2
  exit 64
}
umask "$(printf '%04o' $((0777 & ~(8#$MODE | (8#$MODE & 8#444) >> 2))))"
command -v reconciler >/dev/null || {
  echo "error: there is no reconciler on PATH: run action/install.sh, and put the directory that it names on PATH" >&2
  exit 64
}
reconciler() { command reconciler --mode "$MODE" "$@"; }

: "${MANIFESTS:=.}" "${OUT:=reconciler-out}"
action=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Isolated, as every python here: else a json.py in the checkout would be run; and without packages, which none needs. The
# first word says that OUT may be emptied.
mapfile -d '' -t found < <(MANIFESTS=$MANIFESTS OUT=$OUT python3 -IS "$action/places.py")
((${#found[@]})) || exit 64
mkdir -p "$OUT"
# What an earlier run has left there must not pass for what this one found.
rm -f "$OUT"/{validate,lint,plan,result,failed}.json "$OUT"/{messages.txt,comment.md,summary.md,reconciler.sarif,junit.xml,report.html} \
  "$OUT"/gitlab-{terraform,codequality}.json

refuse() {
  echo "error: $1" >&2
  exit 64
}

# Files of the checkout could look like a repository, whose settings name commands that git runs.
own_git() { LC_ALL=C git -c safe.bareRepository=explicit -c core.fsmonitor=false -c core.hooksPath=/dev/null -C "$checkout" "$@"; }
((${#found[@]} == 3)) || exit 64
checkout=${found[1]} prefix=${found[2]}

reach=()
if [[ -n "${CONNECTIONS:-}" ]]; then
  reach+=(--connections "$CONNECTIONS")
fi
for name in ${ALLOW_ENV:-}; do
  reach+=(--allow-env "$name")
done
if [[ -n "${SECRETS_DIR:-}" ]]; then
  reach+=(--secrets-dir "$SECRETS_DIR")
fi

target=()
if [[ -n "${SNAPSHOT:-}" ]]; then
  [[ -n "${CLUSTER:-}" ]] || refuse "SNAPSHOT needs CLUSTER: which cluster does it stand for?"
  target=(--cluster "$CLUSTER=snapshot:$SNAPSHOT")
elif [[ -n "${CLUSTER:-}" ]]; then
  # Not left to reconciler, which asks whether CI is set: not every system sets it.
  [[ -n "${CONNECTIONS:-}" ]] || refuse "CLUSTER needs CONNECTIONS, the operator's connections file, or SNAPSHOT"
  target=(--cluster "$CLUSTER")
fi

options=()
while IFS= read -r word; do
  if [[ -n "$word" ]]; then options+=("$word"); fi
done <<<"${OPTIONS:-}"

# An output of the step, where somebody listens.
output() {
  if [[ -n "${GITHUB_OUTPUT:-}" ]]; then echo "$1=$2" >>"$GITHUB_OUTPUT"; fi
}

# One field of a result, by python, which is there wherever reconciler is: a text as it is, all else as JSON.
field() {
  python3 -IS -c '
import json, sys
value = json.load(open(sys.argv[1], encoding="utf-8")).get(sys.argv[2], "")
print(value if isinstance(value, str) else json.dumps(value))' "$1" "$2"
}

# A field of a result as an output of the step: FILE, FIELD and the output's name. Nobody's is not looked for.
output_field() {
  if [[ -n "${GITHUB_OUTPUT:-}" ]]; then output "$3" "$(field "$1" "$2")"; fi
}

# A command that ended without a result: reports that leave it out would look as if it had found nothing. FILE has what it
# said on standard error, or is the journal of an apply.
failed() {
  python3 -IS "$action/failed.py" "$1" "$2" "${CLUSTER:-}" "${3:-}" >"$OUT/failed.json"
}

# Whether a plan that ended with STATUS came to its end: then its result says all that speaks against it.
judged() {
  [[ -s "$OUT/result.json" && "$1" =~ ^[0235]$ ]]
}

# What people see: reports of the results, in OUT and in the summary of the job.
report() {
  rm -f "$OUT/messages.txt"
  local one form=text formats=(markdown=comment.md sarif=reconciler.sarif junit=junit.xml html=report.html) outputs=()
  if [[ -n "${GITHUB_ACTIONS:-}" ]]; then form=github; fi
  if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then formats+=(summary=summary.md); fi
  if [[ -n "${GITLAB_CI:-}" ]]; then
    formats+=(gitlab-terraform=gitlab-terraform.json gitlab-codequality=gitlab-codequality.json)
  fi
  for one in "${formats[@]}"; do outputs+=(-o "${one%%=*}=$OUT/${one#*=}"); done
  reconciler report "$@" -o "$form" "${outputs[@]}" --path "${prefix:-.}" --marker "${CLUSTER:-manifests}"
  # Nobody finds the merge that a system has made to try a pull request.
  if [[ "${HEAD_COMMIT:-}" =~ ^[0-9a-f]{40}$ ]]; then
    for one in "${formats[@]}"; do
      case $one in
        markdown=* | summary=*) sed -i '$s/^Manifests of `[0-9a-f]*`$/Manifests of `'"$HEAD_COMMIT"'`, merged with the base/' "$OUT/${one#*=}" ;;
      esac
    done
  fi
  # Whole or not at all, and only after a run that could compare: an old last success is an alert of its own. The
  # collector is another user.
  if [[ -n "${METRICS:-}" ]]; then MODE=644 reconciler report "$@" -o "prometheus=$METRICS"; fi
  if [[ -n "${GITHUB_STEP_SUMMARY:-}" ]]; then cat "$OUT/summary.md" >>"$GITHUB_STEP_SUMMARY"; fi
}
