# What clients ask the master about files of the cluster (message 502), and what workers and the master tell each other about chunks
# (510 to 515), field by field as the structs of storage/files/protocol.hpp and storage/namespace/types.hpp, which say what each means.
# Fields and operations are added at the end (docs/formats/frame.md).
@0xc3f0f6b7d9a4e215;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::storage::files::wire");

struct FileRequest {
  union {
    makeDirectory @0 :MakeDirectory;
    leaseDirectory @1 :LeaseDirectory;
    createFile @2 :CreateFile;
    allocateChunk @3 :AllocateChunk;
    sealChunk @4 :SealChunk;
    completeFile @5 :OfLease;
    abandon @6 :OfLease;
    renew @7 :OfLease;
    remove @8 :Remove;
    rename @9 :Rename;
    setReplication @10 :SetReplication;
    setQuota @11 :SetQuota;
    stat @12 :OfPath;
    list @13 :ListDirectory;
    locate @14 :Locate;
    usage @15 :OfPath;
    check @16 :Check;
    users @17 :Void;
    report @18 :Void;
    drain @19 :Drain;
    balance @20 :Balance;
    leaveSafeMode @21 :Void;
    setMode @22 :SetMode;
    setOwner @23 :SetOwner;
  }

  struct MakeDirectory {
    path @0 :Text;
    user @1 :Text;
    parents @2 :Bool;
  }
  struct LeaseDirectory {
    path @0 :Text;
    user @1 :Text;
    takeOver @2 :Bool;
  }
  struct CreateFile {
    path @0 :Text;
    user @1 :Text;
    options @2 :CreateOptions;
  }
  struct CreateOptions {
    replication @0 :UInt32;
    chunkBytes @1 :UInt64;
    overwrite @2 :Bool;
    together @3 :Bool;
  }
  struct AllocateChunk {
    lease @0 :UInt64;
    writer @1 :Text;
    excluded @2 :List(UInt32);
    bytes @3 :UInt64;
  }
  struct SealChunk {
    lease @0 :UInt64;
    chunk @1 :Chunk;
    durable @2 :List(UInt32);
  }
  struct OfLease {
    lease @0 :UInt64;
  }
  struct OfPath {
    path @0 :Text;
  }
  struct Remove {
    path @0 :Text;
    recursive @1 :Bool;
    id @2 :UInt64;                # nothing else at that path; 0: whatever is there
  }
  struct Rename {
    from @0 :Text;
    to @1 :Text;
    replace @2 :Bool;
  }
  struct SetReplication {
    path @0 :Text;
    replication @1 :UInt32;
  }
  struct SetQuota {
    user @0 :Text;
    quota @1 :Quota;
  }
  struct ListDirectory {
    path @0 :Text;
    after @1 :Text;
  }
  struct Locate {
    path @0 :Text;
    offset @1 :UInt64;
    length @2 :UInt64;
  }
  struct Check {
    path @0 :Text;
    after @1 :Text;
    most @2 :UInt64;
  }
  struct Drain {
    worker @0 :Text;
    on @1 :Bool;
  }
  struct Balance {
    threshold @0 :Float64;
  }
  struct SetMode {
    path @0 :Text;
    mode @1 :UInt32;
    recursive @2 :Bool;
  }
  struct SetOwner {
    path @0 :Text;
    user @1 :Text;
    recursive @2 :Bool;
  }
}

struct FileReply {
  union {
    done @0 :Void;
    leased @1 :Leased;
    allocated @2 :Allocated;
    status @3 :FileStatus;
    listing @4 :Listing;
    located @5 :Located;
    usage @6 :Usage;
    checked @7 :Checked;
    users @8 :Users;
    report @9 :StorageReport;
  }

  struct Leased {
    lease @0 :UInt64;
    length @1 :Int64;
  }
  struct Allocated {
    chunk @0 :UInt64;
    targets @1 :List(NodeSite);
    key @2 :UInt64;
  }
  struct Listing {
    entries @0 :List(FileStatus);
  }
  struct Located {
    file @0 :FileChunks;
    nodes @1 :List(NodeSite);
    safeMode @2 :Bool;
  }
  struct Checked {
    files @0 :List(FileChunks);
    nodes @1 :List(NodeSite);
  }
  struct Users {
    users @0 :List(UserStatus);
  }
}

struct Chunk {
  id @0 :UInt64;
  length @1 :UInt64;
  digest @2 :UInt32;
}

struct FileStatus {
  path @0 :Text;
  directory @1 :Bool;
  bytes @2 :UInt64;
  entries @3 :UInt64;
  replication @4 :UInt32;
  chunkBytes @5 :UInt64;
  chunks @6 :UInt64;
  user @7 :Text;
  modifiedMs @8 :Int64;
  id @9 :UInt64;
  mode @10 :UInt32;               # as of POSIX, without groups
}

struct ChunkPlace {
  info @0 :Chunk;
  offset @1 :UInt64;
  wanted @2 :UInt32;
  nodes @3 :List(UInt32);
  corrupt @4 :List(UInt32);
}

struct FileChunks {
  file @0 :FileStatus;
  chunks @1 :List(ChunkPlace);
}

struct StorageNode {
  name @0 :Text;
  host @1 :Text;
  rack @2 :Text;
  address @3 :Text;
}

struct NodeSite {
  id @0 :UInt32;
  node @1 :StorageNode;
}

struct Space {
  used @0 :UInt64;
  free @1 :UInt64;
}

struct NodeStorage {
  id @0 :UInt32;
  node @1 :StorageNode;
  space @2 :Space;
  chunks @3 :UInt64;
  draining @4 :Bool;
  toMove @5 :UInt64;
  reported @6 :Bool;
}

struct Quota {
  bytes @0 :UInt64;
  entries @1 :UInt64;
}

struct UserStatus {
  user @0 :Text;
  quota @1 :Quota;
  bytes @2 :UInt64;
  entries @3 :UInt64;
}

struct Usage {
  directories @0 :UInt64;
  files @1 :UInt64;
  chunks @2 :UInt64;
  bytes @3 :UInt64;
  storedBytes @4 :UInt64;
}

struct StorageReport {
  safeMode @0 :Bool;
  directories @1 :UInt64;
  files @2 :UInt64;
  chunks @3 :UInt64;
  openFiles @4 :UInt64;
  reportedChunks @5 :UInt64;
  missingChunks @6 :UInt64;
  underReplicated @7 :UInt64;
  overReplicated @8 :UInt64;
  corruptReplicas @9 :UInt64;
  copies @10 :UInt64;
  trashed @11 :UInt64;
  balancing @12 :Bool;
  nodes @13 :List(NodeStorage);
}

# ---- workers and the master ----

struct StorageSite {
  enabled @0 :Bool;
  cluster @1 :Text;
  secret @2 :WriteSecret;

  struct WriteSecret {
    low @0 :UInt64;
    high @1 :UInt64;
  }
}

struct StorageJoin {
  address @0 :Text;
  space @1 :Space;
}

struct ChunkReport {
  chunks @0 :List(Chunk);
  first @1 :Bool;
  last @2 :Bool;
}

struct ChunkUpdate {
  notes @0 :List(ChunkNote);
  failedCopies @1 :List(FailedCopy);

  struct ChunkNote {
    event @0 :UInt8;
    chunk @1 :Chunk;
  }
  struct FailedCopy {
    chunk @0 :UInt64;
    to @1 :UInt32;
    reason @2 :Text;
  }
}

struct ChunkCommands {
  commands @0 :List(StorageCommand);
}

# A worker passes over kinds that it does not know: whoever adds one sends it to workers whose protocol has it, or may do without.
struct StorageCommand {
  union {
    copy @0 :CopyChunk;
    erase @1 :EraseChunks;
    verify @2 :VerifyChunk;
  }

  struct CopyChunk {
    from @0 :UInt32;
    chunk @1 :Chunk;
    to @2 :UInt32;
    address @3 :Text;
    sources @4 :List(Text);
  }
  struct EraseChunks {
    node @0 :UInt32;
    chunks @1 :List(UInt64);
  }
  struct VerifyChunk {
    node @0 :UInt32;
    chunk @1 :UInt64;
  }
}
