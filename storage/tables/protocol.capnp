# Messages about tables to the master (503 of clients, 520 and 521 of workers) and to workers' partitions (601), field by field as the
# structs of storage/tables/protocol.hpp and storage/tables/types.hpp, which say what each means. Fields and operations are added at the
# end (docs/formats/frame.md).
@0xb7a5d09c1f6e3428;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::storage::tables::wire");

struct TableRequest {
  union {
    make @0 :MakeTable;
    drop @1 :DropTable;
    list @2 :Void;
    describe @3 :OfTable;
    takeSnapshot @4 :TakeSnapshot;
    dropSnapshot @5 :IdOfTable;
    renew @6 :IdOfTable;
    begin @7 :OfTable;
    commit @8 :CommitTransaction;
    abort @9 :IdOfTable;
    promote @10 :PromoteRemaining;
    mode @11 :SetMode;
    owner @12 :SetOwner;
  }

  struct MakeTable {
    table @0 :Text;
    partitions @1 :UInt32;
    replication @2 :UInt32;
    token @3 :UInt64;
  }
  struct DropTable {
    table @0 :Text;
    id @1 :UInt64;
  }
  struct OfTable {
    table @0 :Text;
  }
  struct IdOfTable {
    table @0 :Text;
    id @1 :UInt64;
  }
  struct TakeSnapshot {
    table @0 :Text;
    name @1 :Text;
    token @2 :UInt64;
  }
  struct CommitTransaction {
    table @0 :Text;
    commit @1 :TableCommit;
  }
  struct PromoteRemaining {
    table @0 :Text;
    acceptLoss @1 :Bool;
  }
  struct SetMode {
    table @0 :Text;
    mode @1 :UInt32;
  }
  struct SetOwner {
    table @0 :Text;
    user @1 :Text;
  }
}

struct TableReply {
  union {
    done @0 :Void;
    status @1 :TableStatus;
    list @2 :TableList;
    snapshot @3 :OfId;
    transaction @4 :OfId;
    remaining @5 :RemainingReplicas;
  }

  struct TableList {
    tables @0 :List(TableStatus);
  }
  struct OfId {
    id @0 :UInt64;
  }
  struct RemainingReplicas {
    replicas @0 :List(RemainingReplica);
  }
  struct RemainingReplica {
    partition @0 :UInt32;
    worker @1 :Text;
    version @2 :UInt64;
    known @3 :UInt64;
    fault @4 :Text;
    promoted @5 :Bool;
  }
}

struct TableCommit {
  id @0 :UInt64;
  tokens @1 :List(UInt64);
}

struct TableStatus {
  id @0 :UInt64;
  name @1 :Text;
  partitionCount @2 :UInt32;
  replication @3 :UInt32;
  bytes @4 :UInt64;
  shortPartitions @5 :UInt32;
  downPartitions @6 :UInt32;
  snapshots @7 :List(Snapshot);
  partitions @8 :List(Partition);
  owner @9 :Text;
  mode @10 :UInt32;
  readRefusal @11 :Text;
  writeRefusal @12 :Text;
  readKey @13 :UInt64;
  writeKey @14 :UInt64;

  struct Snapshot {
    id @0 :UInt64;
    name @1 :Text;
    madeMs @2 :Int64;
  }
  struct Partition {
    epoch @0 :UInt64;
    primary @1 :Text;
    members @2 :List(Member);
    bytes @3 :UInt64;
    fault @4 :Text;
  }
  struct Member {
    name @0 :Text;
    host @1 :Text;
    rack @2 :Text;
    address @3 :Text;
    inSync @4 :Bool;
  }
}

struct PartitionRequest {
  place @0 :Place;
  epoch @1 :UInt64;
  operation @2 :Operation;
  key @3 :UInt64;

  struct Place {
    table @0 :UInt64;
    partition @1 :UInt32;
  }
  struct Operation {
    union {
      get @0 :GetRows;
      scan @1 :ScanRows;
      put @2 :PutRows;
      stage @3 :StageRows;
      hold @4 :Hold;
      mark @5 :Mark;
      commit @6 :Commit;
      release @7 :Release;
      beginStream @8 :FromPrimary;
      appendEntries @9 :AppendEntries;
      startCopy @10 :FromPrimary;
      nextPage @11 :NextPage;
    }
  }
  struct GetRows {
    snapshot @0 :UInt64;
    keys @1 :List(Data);
  }
  struct ScanRows {
    snapshot @0 :UInt64;
    from @1 :Data;
    to @2 :Data;
    limit @3 :UInt64;
  }
  struct PutRows {
    writes @0 :List(Write);
    request @1 :UInt64;
    repeated @2 :Bool;
  }
  struct StageRows {
    transaction @0 :UInt64;
    token @1 :UInt64;
    writes @2 :List(Write);
    request @3 :UInt64;
    repeated @4 :Bool;
  }
  struct Hold {
    ticket @0 :UInt64;
    reads @1 :Bool;
  }
  struct Mark {
    ticket @0 :UInt64;
    snapshot @1 :UInt64;
  }
  struct Commit {
    ticket @0 :UInt64;
    commit @1 :TableCommit;
  }
  struct Release {
    ticket @0 :UInt64;
  }
  struct FromPrimary {
    stream @0 :UInt64;
    primary @1 :Text;
  }
  struct AppendEntries {
    stream @0 :UInt64;
    entries @1 :List(LogEntry);
  }
  struct NextPage {
    session @0 :UInt64;
  }
  struct LogEntry {
    version @0 :UInt64;
    writes @1 :List(Write);
    epoch @2 :UInt64;
    kind @3 :UInt8;
    id @4 :UInt64;
    token @5 :UInt64;
    tokens @6 :List(UInt64);
  }
  struct Write {
    key @0 :Data;
    value @1 :Data;     # null: the key is deleted
  }
}

struct PartitionReply {
  union {
    done @0 :Void;
    atVersion @1 :AtVersion;
    values @2 :Values;
    rows @3 :Rows;
    position @4 :StreamPosition;
    page @5 :CopiedPage;
  }

  struct AtVersion {
    version @0 :UInt64;
  }
  struct Values {
    values @0 :List(FoundValue);
  }
  struct FoundValue {
    value @0 :Data;     # null: there is none
  }
  struct Rows {
    rows @0 :List(Row);
    more @1 :Bool;
  }
  struct Row {
    key @0 :Data;
    value @1 :Data;
  }
  struct StreamPosition {
    version @0 :UInt64;
    epoch @1 :UInt64;
    needsCopy @2 :Bool;
  }
  struct CopiedPage {
    session @0 :UInt64;
    records @1 :List(Row);
  }
}

# ---- workers and the master ----

struct TableHeartbeat {
  hello @0 :Bool;
  first @1 :Bool;
  address @2 :Text;
  replicas @3 :List(ReplicaReport);

  struct ReplicaReport {
    table @0 :UInt64;
    partition @1 :UInt32;
    revision @2 :UInt64;
    epoch @3 :UInt64;
    last @4 :UInt64;
    bytes @5 :UInt64;
    failure @6 :Text;
    state @7 :UInt8;
  }
}

struct TableOrders {
  cluster @0 :Text;
  name @1 :Text;
  leaseMs @2 :Int64;
  assignments @3 :List(Assignment);
  erase @4 :List(PartitionRequest.Place);
  withheld @5 :Bool;

  struct Assignment {
    table @0 :UInt64;
    partition @1 :UInt32;
    epoch @2 :UInt64;
    revision @3 :UInt64;
    primary @4 :Text;
    members @5 :List(Member);
    snapshots @6 :List(UInt64);
    transactions @7 :List(UInt64);
    nextId @8 :UInt64;
    commit @9 :TableCommit;
    made @10 :Bool;
    readKey @11 :UInt64;
    writeKey @12 :UInt64;
  }
  struct Member {
    name @0 :Text;
    address @1 :Text;
    inSync @2 :Bool;
  }
}

struct InSyncChange {
  table @0 :UInt64;
  partition @1 :UInt32;
  epoch @2 :UInt64;
  revision @3 :UInt64;
  inSync @4 :List(Text);
  last @5 :UInt64;
}
