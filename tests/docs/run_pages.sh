#!/usr/bin/env bash
# Installs the build tree into a scratch prefix and runs pages with it (run_page.py): those that are named, or README.md and all of docs
# that have commands. The tutorial's programs are then tried on data and against Python (tests/apps/programs_test.py).
#
#   run_pages.sh BUILD CMAKE PYTHON [PAGE…]
set -euo pipefail
build=$1 cmake=$2 python=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root"
pages=("${@:4}")
[ ${#pages[@]} -ne 0 ] || mapfile -t pages < <(echo README.md; grep -rl --include='*.md' '^```sh$' docs | sort)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build" --prefix "$scratch/prefix" > "$scratch/install.log" || { cat "$scratch/install.log"; exit 1; }
for page in "${pages[@]}"; do
  for program in curl etcd; do
    if grep -q "^$program " "$page" && ! command -v "$program" > /dev/null; then
      echo "$page: left out, because there is no $program here"
      continue 2
    fi
  done
  keep=()
  [ "$page" != docs/tutorial.md ] || keep=(--keep "$scratch/tutorial")
  "$python" "$here/run_page.py" "$page" --path "$scratch/prefix/bin" --path "$build/bin" --prefix "$scratch/prefix" "${keep[@]}"
  [ "$page" != docs/tutorial.md ] ||
    "$python" tests/apps/programs_test.py "$root" --path "$scratch/tutorial/build" --only pages --only sessions --only countries
done
