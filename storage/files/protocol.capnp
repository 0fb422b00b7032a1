# Between the master and whoever uses or keeps files of the cluster (message numbers 500-599).
@0xc3f0f6b7d9a4e215;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::storage::wire");

struct Chunk {
  id @0 :UInt64;
  length @1 :UInt64;
  digest @2 :UInt32;
}

struct FileRequest {
  operation @0 :UInt16;           # Operation in storage/files/protocol.hpp, which says what each uses of the rest
  path @1 :Text;
  other @2 :Text;
  user @3 :Text;
  lease @4 :UInt64;
  flag @5 :Bool;
  replication @6 :UInt32;
  chunkBytes @7 :UInt64;
  offset @8 :UInt64;
  length @9 :UInt64;
  share @10 :Float64;
  chunk @11 :Chunk;
  nodes @12 :List(UInt32);
}

struct Status {
  path @0 :Text;
  directory @1 :Bool;
  bytes @2 :UInt64;
  entries @3 :UInt64;
  replication @4 :UInt32;
  chunkBytes @5 :UInt64;
  chunks @6 :UInt64;
  user @7 :Text;
  modifiedMs @8 :Int64;
}

struct Place {
  chunk @0 :Chunk;
  offset @1 :UInt64;              # in its file
  wanted @2 :UInt32;
  nodes @3 :List(UInt32);
  corrupt @4 :List(UInt32);
}

struct File {
  status @0 :Status;
  places @1 :List(Place);
}

struct NodeSite {
  id @0 :UInt32;
  name @1 :Text;
  host @2 :Text;
  rack @3 :Text;
  address @4 :Text;               # of its chunk server
  used @5 :UInt64;
  free @6 :UInt64;
  chunks @7 :UInt64;
  draining @8 :Bool;
  toMove @9 :UInt64;
  reported @10 :Bool;
}

struct User {
  name @0 :Text;
  bytes @1 :UInt64;
  entries @2 :UInt64;
  mostBytes @3 :UInt64;
  mostEntries @4 :UInt64;
}

struct FileReply {
  lease @0 :UInt64;
  chunk @1 :UInt64;
  files @2 :List(File);
  nodes @3 :List(NodeSite);       # all that are named above; of a new chunk, the pipeline in order
  users @4 :List(User);
  numbers @5 :List(UInt64);       # of a usage or a report, in the order of their fields in storage/namespace/types.hpp
  flag @6 :Bool;                  # report: safe mode
  balancing @7 :Bool;
}

struct StorageSite {              # kStorageHello's answer
  enabled @0 :Bool;
  cluster @1 :Text;
}

struct StorageJoin {
  address @0 :Text;
  used @1 :UInt64;
  free @2 :UInt64;
}

struct ChunkReport {
  chunks @0 :List(Chunk);
  first @1 :Bool;
  last @2 :Bool;
}

struct FailedCopy {
  chunk @0 :UInt64;
  to @1 :UInt32;
  reason @2 :Text;
}

struct ChunkNote {
  event @0 :UInt8;                # ChunkEvent in storage/chunks/chunk.hpp
  chunk @1 :Chunk;
}

struct ChunkNews {
  notes @0 :List(ChunkNote);      # in the order in which it happened
  failedCopies @1 :List(FailedCopy);
}

struct ChunkCommand {
  union {
    copy :group {
      chunk @0 :Chunk;
      to @1 :UInt32;
      address @2 :Text;
      sources @5 :List(Text);     # of workers that have it, whole or damaged
    }
    erase @3 :List(UInt64);
    verify @4 :UInt64;
  }
}

struct ChunkCommands {
  commands @0 :List(ChunkCommand);
}
