#!/usr/bin/env bash
# scripts/mutate on a tiny tree: what tests notice, what they do not, and lists that do not fit the tree.
set -euo pipefail
mutate=$1/scripts/mutate
command -v python3 > /dev/null && python3 -c 'import tomllib' 2> /dev/null || { echo "skipped: scripts/mutate needs Python 3.11"; exit 77; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
unset WEFT_CMAKE_ARGS
mkdir -p "$tree"/{rules,tests/mutations}

cat > "$tree/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.25)
project(tiny CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_executable(tiny_test tests/tiny_test.cpp rules/rules.cpp)
END
cat > "$tree/rules/rules.cpp" << 'END'
int smaller(int a, int b) {
  return a < b ? a : b;
}
struct Counter {
  explicit Counter(int first) : next_{first} {}
  template <class Step>
  int next(Step step) { return next_ += step; }
  int next_;
};
int untested(int a) {
  return a + 1;
}
constexpr int kNone = 0;
int countdown(int from) {
  Counter counter(0);  // "}" {
  int steps = counter.next(kNone);
  while (from > 0) {
    --from;
    ++steps;
  }
  return steps;
}
END
cat > "$tree/tests/tiny_test.cpp" << 'END'
int smaller(int, int);
int countdown(int);
int main() { return smaller(1, 2) == 1 && smaller(2, 1) == 1 && smaller(3, 3) == 3 && countdown(3) == 3 ? 0 : 1; }
END
list() { cat > "$tree/tests/mutations/rules.toml"; }
run() {
  set +e
  "$mutate" --root "$tree" --seconds 5 "$@" > "$tree/out" 2>&1
  status=$?
  set -e
}
expect() {
  [ "$status" -eq "$1" ] || { echo "exit status $status instead of $1:"; cat "$tree/out"; exit 1; }
  shift
  for text in "$@"; do grep -qF -- "$text" "$tree/out" || { echo "not said: $text"; cat "$tree/out"; exit 1; }; done
}

list << 'END'
folder = "rules"
bound = 60
programs = ["tiny_test"]
[[edit]]
file = "rules/rules.cpp"
rule = "the smaller one"
before = 'a < b'
after = 'a > b'
[[edit]]
file = "rules/rules.cpp"
rule = "of equal ones the second"
before = 'a < b'
after = 'a <= b'
equivalent = "equal numbers are the same number"
[[edit]]
file = "rules/rules.cpp"
rule = "a countdown ends"
before = '--from;'
after = ''
[[edit]]
file = "rules/rules.cpp"
rule = "nobody looks"
before = 'a + 1'
after = 'a - 1'
[[edit]]
file = "rules/rules.cpp"
rule = "steps are counted from the beginning"
before = 'return next_ += step;'
after = 'return next_ += step + 1;'
[[edit]]
file = "rules/rules.cpp"
rule = "a counter begins with the first"
before = 'next_{first}'
after = 'next_{first + 1}'
[[edit]]
file = "rules/rules.cpp"
rule = "none are none"
before = 'kNone = 0'
after = 'kNone = 1'
END
cp "$tree/rules/rules.cpp" "$tree/before"
run
expect 0 "noticed  rules/rules.cpp:2: the smaller one" "noticed  rules/rules.cpp:18: a countdown ends – tiny_test does not end" \
  "survived rules/rules.cpp:11: nobody looks" "noticed  rules/rules.cpp:7: steps are counted from the beginning" \
  "noticed  rules/rules.cpp:5: a counter begins with the first" "noticed  rules/rules.cpp:13: none are none" "83.3 %"
cmp "$tree/before" "$tree/rules/rules.cpp"

run --list
expect 0 "rules/rules.cpp:2: of equal ones the second – equivalent: equal numbers are the same number"
sed -i 's/bound = 60/bound = 90/' "$tree/tests/mutations/rules.toml"
run --match nobody
expect 1 "0.0 %" "too few"
run --only elsewhere
expect 2 "no fault is chosen"

# Made-up faults: the same for the same seed, and none that is listed as equivalent.
run --sample 100 --list
expect 0 "+ becomes -: return a + 1;" "-- becomes ++: --from;"
! grep -qF "< becomes <=" "$tree/out" || { echo "an equivalent fault was made up again"; exit 1; }
run --sample 2 --seed 7 --list
cp "$tree/out" "$tree/first"
run --sample 2 --seed 7 --list
cmp "$tree/first" "$tree/out"

# What no longer fits the tree is named.
sed -i 's/a + 1/1 + a/' "$tree/rules/rules.cpp"
run --list
expect 2 'rules/rules.cpp: the text of the fault "nobody looks" is no longer there: a + 1'
run
expect 2 'the fault "nobody looks" is no longer there'
cp "$tree/before" "$tree/rules/rules.cpp"
sed -i "s/before = '--from;'/before = 'return'/" "$tree/tests/mutations/rules.toml"
run --list
expect 2 'the text of the fault "a countdown ends" is there 4 times'
sed -i "s/before = 'return'/before = 'while (from > 0)'/; s/after = ''/after = 'whilst'/" "$tree/tests/mutations/rules.toml"
run --match countdown
expect 2 'the fault "a countdown ends" does not build'

# Tests that fail by themselves notice nothing.
sed -i 's/after = .whilst./after = "while (from > 1)"/' "$tree/tests/mutations/rules.toml"
sed -i 's/smaller(3, 3) == 3/smaller(3, 3) == 4/' "$tree/tests/tiny_test.cpp"
run
expect 2 "fails without any fault"
