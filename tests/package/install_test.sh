#!/usr/bin/env bash
# Installs the build tree into a scratch prefix, builds a small external project and the scheduler of the documentation with find_package(weft),
# and runs the one under the other.
set -euo pipefail
build=$1 cmake=$2 compiler=$3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$cmake" --install "$build" --prefix "$scratch/prefix" > "$scratch/install.log" || { cat "$scratch/install.log"; exit 1; }
test -x "$scratch/prefix/bin/weft"
test -f "$scratch/prefix/share/man/man1/weft.1"
cp -r "$here/external" "$scratch/external"
"$cmake" -S "$scratch/external" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release
"$cmake" --build "$scratch/build"

cp -r "$here/../../docs/examples/scheduler-plugin" "$scratch/scheduler"
"$cmake" -S "$scratch/scheduler" -B "$scratch/scheduler-build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release
"$cmake" --build "$scratch/scheduler-build"
plugin="--scheduler-plugin $scratch/scheduler-build/libnewest_first.so --scheduler newest-first(limit=1)"

printf 'to be or not to be\n' > "$scratch/text"
for mode in "" "--workers 1" "$plugin" "--workers 2 $plugin"; do
  # shellcheck disable=SC2086
  "$scratch/build/longest" --quiet $mode --input "$scratch/text" > "$scratch/out"
  grep -qx 'longest word: not' "$scratch/out" || { echo "unexpected result:"; cat "$scratch/out"; exit 1; }
done
