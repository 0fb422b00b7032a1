#!/usr/bin/env bash
# Programs of a release build are built as SECURITY.md says: hardening_test.sh BUILD
set -euo pipefail
status=0
for program in "$1"/bin/weft "$1"/bin/wordcount; do
  # expect WHAT PATTERN COMMAND …: the command's output matches
  expect() {
    local what=$1 pattern=$2
    shift 2
    "$@" > "$scratch" 2>&1 || { echo "FAILED: $*: $(tail -n 1 "$scratch")" >&2; status=1; }
    grep -E -e "$pattern" "$scratch" > /dev/null || { echo "FAILED: $program has no $what" >&2; status=1; }
  }
  scratch=$(mktemp)
  expect "position-independent code" 'Type: +DYN' readelf -h "$program"
  expect "read-only relocations" GNU_RELRO readelf -lW "$program"
  expect "binding at the start" BIND_NOW readelf -d "$program"
  expect "stack that is not executable" 'GNU_STACK .* RW ' readelf -lW "$program"
  expect "guarded return addresses" __stack_chk_fail nm -D "$program"
  expect "checked sizes of copies" __memcpy_chk nm -D "$program"
  [ "$(uname -m)" != x86_64 ] || expect "marked targets of jumps" endbr64 objdump -d --disassemble=main "$program"
  rm -f "$scratch"
done
exit $status
