#!/usr/bin/env bash
# Installs the build tree into a scratch prefix and runs pages with it (run_page.py): run_pages.sh BUILD CMAKE PYTHON PAGE…
set -euo pipefail
build=$1 cmake=$2 python=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build" --prefix "$scratch/prefix" > "$scratch/install.log" || { cat "$scratch/install.log"; exit 1; }
for page in "${@:4}"; do
  "$python" "$here/run_page.py" "$root/$page" --path "$scratch/prefix/bin" --path "$build/bin" --prefix "$scratch/prefix"
done
