#!/usr/bin/env bash
# scripts/check-schemas must accept what older releases can read, and name every change that they cannot.
set -euo pipefail
command -v capnp > /dev/null || exit 77
check=$1/scripts/check-schemas
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{scripts,tests/releases,runtime/protocol}
cp "$check" "$tree/scripts/"
cat > "$tree/runtime/protocol/a.capnp" << 'END'
@0xa6d2f4187c03be95;
struct Launch {
  job @0 :UInt64;
  stage @1 :UInt32;
  name @2 :Text;
}
struct Command {
  union {
    launch @0 :Launch;
    stop @1 :Launch;
  }
}
END
cat > "$tree/runtime/protocol/a.hpp" << 'END'
enum WorkerMessage : rpc::MessageType {
  kRegister = 100,  // first, second
  kHeartbeat = 101,
};
END
cat > "$tree/runtime/protocol/task_end.hpp" << 'END'
enum class TaskEnd : std::uint8_t {
  finished,
  failed,
};
END
if "$check" "$tree" 2> "$tree/out"; then echo "a tree without a record was accepted"; exit 1; fi
"$tree/scripts/check-schemas" --record
"$check" "$tree" || { echo "a tree as it was released was refused"; exit 1; }

change() { # FILE SED: what the check says is in $tree/out
  cp "$tree/$1" "$tree/kept"
  sed -i "$2" "$tree/$1"
  if cmp -s "$tree/kept" "$tree/$1"; then echo "nothing was changed: $2"; exit 1; fi
}
back() { mv "$tree/kept" "$tree/$1"; }
fits() {
  change "$1" "$2"
  "$check" "$tree" || { echo "refused: $2"; exit 1; }
  back "$1"
}
fails() { # FILE SED WORDS
  change "$1" "$2"
  if "$check" "$tree" 2> "$tree/out"; then echo "not found: $2"; exit 1; fi
  grep -q -- "$3" "$tree/out" || { echo "not named: $3"; cat "$tree/out"; exit 1; }
  if "$tree/scripts/check-schemas" --record 2> /dev/null; then echo "recorded all the same: $2"; exit 1; fi
  back "$1"
}
schema=runtime/protocol/a.capnp
fits $schema 's/name @2 :Text;/&\n  more @3 :UInt32;/'
fits $schema 's/stop @1 :Launch;/&\n    pause @2 :Launch;/'
fits $schema 's/^struct Command/struct New { value @0 :Bool; }\n&/'
fits runtime/protocol/a.hpp 's/kHeartbeat = 101,/& kMore = 102,/'
fits runtime/protocol/task_end.hpp 's/failed,/& killed/'

fails $schema '/name @2/d' 'runtime/protocol/a.capnp: Launch: field 2 (name) is gone'
fails $schema 's/stage @1 :UInt32/stage @1 :UInt64/' 'field 1 (stage) was UInt32 bits\[64,96) and is UInt64 bits\[64,128)'
fails $schema 's/job @0/job @9/; s/stage @1/job @0/; s/job @9/stage @1/' 'field 0 (job) was UInt64'
fails $schema 's/name @2/title @2/' 'field 2 (name) is called title now'
fails $schema 's/:Text/:Data/' 'was Text ptr\[0\] and is Data ptr\[0\]'
fails $schema 's/launch @0/launch @1/; s/stop @1/stop @0/' 'Command: field 0 (launch) is called stop now'
fails $schema 's/name @2 :Text;/&\n  more @3 :UInt32 = 7;/' 'field 3 (more) has a default'
fails runtime/protocol/a.hpp 's/kHeartbeat = 101/kHeartbeat = 102/' 'WorkerMessage: message 101 (kHeartbeat) is gone'
fails runtime/protocol/a.hpp 's/kHeartbeat/kOther/' 'message 101 (kHeartbeat) is called kOther now'
fails runtime/protocol/task_end.hpp 's/finished,/running, finished,/' 'TaskEnd: value 0 (finished) is called running now'

sed -i 's/name @2 :Text;/&\n  more @3 :UInt32;/' "$tree/$schema"
"$tree/scripts/check-schemas" --record
fails $schema '/more @3/d' 'field 3 (more) is gone'
