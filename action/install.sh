#!/usr/bin/env bash
# Installs reconciler, from this checkout or from the wheel that is named, into an environment of its own: dependencies by
# hash, and nothing that they do not need.
set -euo pipefail
source_directory=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
environment=${RECONCILER_ENVIRONMENT:-${RUNNER_TEMP:-/tmp}/reconciler}

python3 -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Python 3.11 or newer is needed" >&2; exit 1; }
# Isolated: else a venv.py or pip.py where this is started would be run.
python3 -I -m venv "$environment"
pip=("$environment/bin/python" -I -m pip --quiet --disable-pip-version-check --no-input)
"${pip[@]}" install --no-compile --no-deps --require-hashes --only-binary :all: -r "$source_directory/requirements-runtime.lock"
"${pip[@]}" install --no-compile --no-deps --no-build-isolation "${1:-$source_directory}"
if [[ -n "${GITHUB_PATH:-}" ]]; then
  echo "$environment/bin" >>"$GITHUB_PATH"
else
  echo "put it on PATH: export PATH=$environment/bin:\$PATH" >&2
fi
"$environment/bin/reconciler" --version
