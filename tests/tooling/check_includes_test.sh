#!/usr/bin/env bash
# scripts/check-includes finds a file that does not include what it uses, among those that changed and among all.
set -euo pipefail
command -v git > /dev/null || exit 77
source=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{scripts,cmake,base,build/release/generated}
cp "$source/scripts/check-includes" "$scratch/scripts/"
cp "$source/cmake/capnp_clang.hpp" "$scratch/cmake/"
cd "$scratch"
git init -q .
commit() { git add -A && git -c user.name=test -c user.email=test@localhost commit -qm "$1"; }
printf '#pragma once\n#include <string>\ninline std::string name() { return "a"; }\n' > base/a.hpp
printf '#include "base/a.hpp"\nstd::string twice() { return name() + name(); }\n' > base/a.cpp
commit one
printf '#pragma once\ninline int number() { return 1; }\n' > base/b.hpp
commit two
scripts/check-includes
scripts/check-includes --all

printf '#pragma once\ninline std::string name_of_b() { return "b"; }\n' > base/b.hpp
commit three
for what in "" --all HEAD~2; do
  # shellcheck disable=SC2086
  if scripts/check-includes $what > log 2>&1; then echo "nothing was found ($what)" >&2; exit 1; fi
  grep -q 'base/b.hpp' log || { cat log; exit 1; }
done
printf '#include <string>\n' | cat - base/b.hpp > fixed && mv fixed base/b.hpp
scripts/check-includes HEAD
commit four
printf 'text\n' > README.md
commit five
scripts/check-includes # nothing that is compiled has changed
