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
for page in weft weft-job-status; do test -f "$scratch/prefix/share/man/man1/$page.1"; done
for file in bash-completion/completions/weft zsh/site-functions/_weft fish/vendor_completions.d/weft.fish; do test -s "$scratch/prefix/share/$file"; done
# Headers lie under weft/ only, and include each other so: nothing of weft is found without its name.
[ "$(ls "$scratch/prefix/include")" = weft ] || { echo "headers beside weft/:"; ls "$scratch/prefix/include"; exit 1; }
! grep -rlE '#include "(base|storage|shuffle|runtime|schedulers|engine)/' "$scratch/prefix/include" || { echo "the headers above include others without weft/"; exit 1; }
! grep -l 'include/weft"' "$scratch"/prefix/lib*/cmake/weft/*.cmake || { echo "include/weft is on the path of includes"; exit 1; }
cp -r "$here/external" "$scratch/external"
configure() { # SOURCE BUILD [OPTION …]
  "$cmake" -S "$1" -B "$2" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" "${@:3}" > "$2.log" 2>&1 || { cat "$2.log"; exit 1; }
}
expect_build_type() { # BUILD TYPE
  grep -qx "CMAKE_BUILD_TYPE:STRING=$2" "$1/CMakeCache.txt" || { echo "$1 is no '$2' build:"; grep CMAKE_BUILD_TYPE "$1/CMakeCache.txt"; exit 1; }
}

# Release where nobody chooses, as in README's own job; otherwise what was chosen, and nothing in a part of somebody else's project.
configure "$scratch/external" "$scratch/build" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
expect_build_type "$scratch/build" Release
grep -q 'no build type was chosen' "$scratch/build.log" || { echo "nothing is said of the build type:"; cat "$scratch/build.log"; exit 1; }
grep -q -- '-O3' "$scratch/build/compile_commands.json" || { echo "not optimised:"; cat "$scratch/build/compile_commands.json"; exit 1; }
configure "$scratch/external" "$scratch/debug" -DCMAKE_BUILD_TYPE=Debug
expect_build_type "$scratch/debug" Debug
mkdir "$scratch/whole"
printf 'cmake_minimum_required(VERSION 3.25)\nproject(whole LANGUAGES CXX)\nadd_subdirectory(../external part)\n' > "$scratch/whole/CMakeLists.txt"
configure "$scratch/whole" "$scratch/whole-build"
expect_build_type "$scratch/whole-build" ""
grep -q 'this project has no build type' "$scratch/whole-build.log" || { echo "no warning:"; cat "$scratch/whole-build.log"; exit 1; }

"$cmake" --build "$scratch/build"
"$cmake" --build "$scratch/debug"

cp -r "$here/../../docs/examples/scheduler-plugin" "$scratch/scheduler"
configure "$scratch/scheduler" "$scratch/scheduler-build" -DCMAKE_BUILD_TYPE=Release
"$cmake" --build "$scratch/scheduler-build"
"$scratch/prefix/bin/weft" simulate --scheduler-plugin "$scratch/scheduler-build/libearliest_deadline.so" --scheduler 'delay(inner=earliest-deadline)' \
  --workload 'generate:jobs=20,mean_gap=5s,deadline=uniform(1.5,4)' --nodes 4 > "$scratch/deadlines" || { cat "$scratch/deadlines"; exit 1; }
grep -q 'delay(inner=earliest-deadline)' "$scratch/deadlines"
plugin="--scheduler-plugin $scratch/scheduler-build/libnewest_first.so --scheduler newest-first(limit=1)"

printf 'to be or not to be\n' > "$scratch/text"
for mode in "" "--workers 1" "$plugin" "--workers 2 $plugin"; do
  # shellcheck disable=SC2086
  "$scratch/build/longest" --quiet $mode --input "$scratch/text" > "$scratch/out"
  grep -qx 'longest word: not' "$scratch/out" || { echo "unexpected result:"; cat "$scratch/out"; exit 1; }
done

# Its source runs by one command, by what is installed alone.
source=$(ls "$scratch"/external/*.cpp | head -1)
(cd "$scratch" && XDG_CACHE_HOME="$scratch/cache" prefix/bin/weft run "$source" -- --quiet --input "$scratch/text") > "$scratch/out"
grep -qx 'longest word: not' "$scratch/out" || { echo "weft run:"; cat "$scratch/out"; exit 1; }

# A program that is not optimised says so; one that is does not.
for kind in build debug; do "$scratch/$kind/longest" --input "$scratch/text" > /dev/null 2> "$scratch/$kind.err"; done
grep -q 'longest: built without optimisation' "$scratch/debug.err" || { echo "nothing is said:"; cat "$scratch/debug.err"; exit 1; }
! grep 'optimisation' "$scratch/build.err"
