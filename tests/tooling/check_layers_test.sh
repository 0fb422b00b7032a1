#!/usr/bin/env bash
# scripts/check-layers must accept a clean tree and name every kind of violation.
set -euo pipefail
check=$1/scripts/check-layers
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{base/rpc,storage,shuffle,runtime,schedulers,engine,apps}

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
violation runtime/bad.cpp '#include "engine/master/core.hpp"'
violation runtime/bad.cpp '#include <schedulers/view.hpp>'
violation schedulers/bad.hpp '#include "storage/split.hpp"'
violation apps/bad.cpp '#include "base/hash.hpp"'
violation storage/bad.hpp '#include <asio/ip/tcp.hpp>'
violation engine/bad.cpp '#include <microhttpd.h>'
violation storage/bad.cpp '#include <isa-l/crc.h>'
violation storage/compression/bad.cpp '#include <isa-l/igzip_lib.h>'
violation base/bad.hpp '#include <isa-l.h>'
violation engine/bad.hpp '#include "engine/plan/plan.capnp.h"'
violation shuffle/bad.cpp 'co_await something;'
violation storage/bad.cpp 'rocksdb::DB::Open(options, path, &db);'
