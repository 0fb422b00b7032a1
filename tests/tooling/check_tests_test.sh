#!/usr/bin/env bash
# scripts/check-tests must accept sources that have tests and name those that have none.
set -euo pipefail
check=$1/scripts/check-tests
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{base,tests/base}
long() { seq 151 | sed 's/^/\/\/ /'; }
long > "$tree/base/mirrored.cpp"
long > "$tree/base/mapped.cpp"
seq 150 | sed 's/^/\/\/ /' > "$tree/base/short.cpp"
echo 'TEST(Mirrored, Works) {}' > "$tree/tests/base/mirrored_test.cpp"
printf '%s\n' '# tests' '## Sources whose tests bear another name' '| `base/mapped.cpp` | `Mirrored.*` |' > "$tree/tests/README.md"
"$check" "$tree" || { echo "a tree with tests was refused"; exit 1; }

long > "$tree/base/bare.cpp"
printf '%s\n' '| `base/gone.cpp` | `Mirrored.*` |' '| `base/mapped.cpp` | `Vanished.*` |' >> "$tree/tests/README.md"
if "$check" "$tree" 2> "$tree/out"; then echo "not found"; exit 1; fi
for text in 'base/bare.cpp: 151 lines and no test' 'there is no source base/gone.cpp' 'there are no tests Vanished.*'; do
  grep -qF "$text" "$tree/out" || { echo "not named: $text"; cat "$tree/out"; exit 1; }
done
[ "$(wc -l < "$tree/out")" -eq 3 ] || { echo "too much was named"; cat "$tree/out"; exit 1; }
