#!/usr/bin/env bash
# scripts/check-layers must accept a clean tree and name every kind of violation.
set -euo pipefail
check=$1/scripts/check-layers
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{base/rpc,storage,shuffle,runtime,schedulers,engine/{master,client,api,simulator,tools},apps}

echo '#include "base/result.hpp"' > "$tree/storage/a.cpp"
printf '#include <asio.hpp>\n#include "base/fd.hpp"\n' > "$tree/base/rpc/a.cpp"
mkdir -p "$tree/storage/compression"
echo '#include <isa-l/crc.h>' > "$tree/base/crc32c.cpp"
echo '#include <isa-l/igzip_lib.h>' > "$tree/storage/compression/gzip.cpp"
echo '#include <weft/weft.h>' > "$tree/apps/a.cpp"
"$check" "$tree" || { echo "a clean tree was refused"; exit 1; }

violation() {
  echo "$2" > "$tree/$1"
  if "$check" "$tree" > "$tree/out"; then echo "not found: $2 in $1"; exit 1; fi
  grep -q "^$1:1:" "$tree/out" || { echo "not named: $1"; cat "$tree/out"; exit 1; }
  rm "$tree/$1"
}
violation base/bad.hpp '#include "storage/split.hpp"'
violation storage/bad.cpp '#include "shuffle/store.hpp"'
violation runtime/bad.cpp '#include "engine/master/core/core.hpp"'
violation runtime/bad.cpp '#include <schedulers/view.hpp>'
violation schedulers/bad.hpp '#include "storage/split.hpp"'
violation apps/bad.cpp '#include "base/hash.hpp"'
violation storage/bad.hpp '#include <asio/ip/tcp.hpp>'
violation engine/api/bad.cpp '#include <microhttpd.h>'
violation storage/bad.cpp '#include <isa-l/crc.h>'
violation storage/compression/bad.cpp '#include <isa-l/igzip_lib.h>'
violation base/bad.hpp '#include <isa-l.h>'
violation engine/master/bad.hpp '#include "engine/master/plan/plan.capnp.h"'
violation engine/master/bad.cpp '#include "engine/client/session.hpp"'
violation engine/client/bad.cpp '#include "engine/tools/history/history.hpp"'
violation engine/api/bad.cpp '#include "engine/simulator/simulate.hpp"'
violation engine/tools/bad.cpp '#include <weft/weft.h>'
violation engine/master/bad.cpp '#include "engine/other/session.hpp"'
violation shuffle/bad.cpp 'co_await something;'
violation storage/bad.cpp 'rocksdb::DB::Open(options, path, &db);'

# Circles of folders, and a drawing that is not what the includes are.
mkdir -p "$tree"/storage/{files,tables}
echo '#include "storage/tables/b.hpp"' > "$tree/storage/files/a.hpp"
echo '#include "storage/files/c.hpp"' > "$tree/storage/tables/b.hpp"
if "$check" "$tree" > "$tree/out"; then echo "a circle of folders was not found"; exit 1; fi
grep -q "^storage/files/a.hpp:1: storage/files includes storage/tables, in a circle" "$tree/out"
rm "$tree/storage/tables/b.hpp"
echo 'no drawing' > "$tree/ARCHITECTURE.md"
if "$check" "$tree" > "$tree/out"; then echo "a wrong drawing was not found"; exit 1; fi
grep -q '^ARCHITECTURE.md:1: ' "$tree/out"
