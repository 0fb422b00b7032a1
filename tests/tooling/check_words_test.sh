#!/usr/bin/env bash
# scripts/check-words must accept a clean tree and name the place of a private word.
set -euo pipefail
check=$1/scripts/check-words
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{base,docs}

echo '// Prefetched blocks are read again.' > "$tree/base/a.hpp"
"$check" "$tree" || { echo "a clean tree was refused"; exit 1; }

echo '// The table is filled a''new.' > "$tree/base/a.hpp"
echo 'Blocks that were brought a''head.' > "$tree/docs/a.md"
if "$check" "$tree" > "$tree/out"; then echo "not found"; exit 1; fi
for place in base/a.hpp:1: docs/a.md:1:; do grep -q "^$place" "$tree/out" || { echo "not named: $place"; cat "$tree/out"; exit 1; }; done

# Habits, in sources and documents but not in tests.
mkdir "$tree/tests"
echo '// Who reads it waits.' | tee "$tree/base/a.hpp" > "$tree/tests/a.hpp"
echo 'Readers are told of it.' > "$tree/docs/a.md"
if "$check" "$tree" > "$tree/out"; then echo "habits were not found"; exit 1; fi
for place in base/a.hpp:1: docs/a.md:1:; do grep -q "^$place" "$tree/out" || { echo "not named: $place"; cat "$tree/out"; exit 1; }; done
if grep -q '^tests/' "$tree/out"; then echo "tests were looked at"; exit 1; fi
