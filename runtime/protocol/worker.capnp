# Between workers and their master (message numbers 100-199).
@0xd1a159c313b869f7;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::protocol::wire");
using Task = import "task.capnp";

struct Attribute {
  name @0 :Text;
  value @1 :Text;
}

struct Register {
  name @0 :Text;
  host @1 :Text;
  rack @2 :Text;
  dataAddress @3 :Text;
  slots @4 :UInt32;
  memoryBytes @5 :UInt64;
  attributes @6 :List(Attribute);
  capacity @7 :Text;              # beside its slots: "memory=4GiB,disk_read=200MB"
  localData @8 :List(Text);       # directories whose files lie on its machine
  aheadBytes @9 :UInt64;          # of blocks brought ahead that it holds at most
}

struct Registered {
  node @0 :UInt32;
  heartbeatNanoseconds @1 :Int64;
}

struct Heartbeat {
  cpu @0 :Float64;
  memory @1 :Float64;
  storeMemoryBytes @2 :UInt64;
  storeDiskBytes @3 :UInt64;
  clockNanoseconds @4 :Int64;     # the worker's time of day, since 1970
  ahead @5 :Ahead;                # since the worker began
  aheadHeldBytes @6 :UInt64;      # in memory now
  aheadFileBytes @7 :UInt64;      # in files now
}

struct Dying {
  node @0 :UInt32;
  signal @1 :UInt8;
}

struct Ahead {                    # blocks brought ahead of their tasks, in bytes
  brought @0 :UInt64;
  read @1 :UInt64;                # of these
  unread @2 :UInt64;              # given up before
  evicted @3 :UInt64;             # to files
  evictedFile @4 :UInt64;         # that took so many
  returned @5 :UInt64;
}

struct JobAhead {
  job @0 :UInt64;
  ahead @1 :Ahead;                # since the job began
}

struct JobsAhead {
  jobs @0 :List(JobAhead);
}

struct JobSetup {
  job @0 :UInt64;
  name @1 :Text;
  program @2 :Text;               # argv[0]
  arguments @3 :List(Text);
  directory @4 :Text;             # the driver's working directory
  memoryBytes @5 :UInt64;         # of its executor; 0: the worker's choice
  sameBinary @6 :Bool;            # private cluster: the executor is the worker's own program
  binaryHigh @7 :UInt64;
  binaryLow @8 :UInt64;
  taskCpu @9 :Float64;            # what a task takes of the slots; 0: one
  user @10 :Text;                 # whose files the job writes
  pull @11 :Bool;                 # map outputs are written to disk
}

struct NodeAddress {
  node @0 :UInt32;
  name @1 :Text;
  address @2 :Text;
}

struct Prefetch {
  job @0 :UInt64;
  shuffle @1 :UInt32;
  places @2 :Bool;                # partitions are given
  partitions @3 :List(UInt32);
  outputs @4 :List(Task.MapOutput);
  nodes @5 :List(NodeAddress);
  blockBytes @6 :UInt64;
  complete @7 :Bool;
  holds @8 :Bool;                 # heldBack is given
  heldBack @9 :List(UInt32);      # partitions that wait out of memory
}

struct CopyOutput {
  job @0 :UInt64;
  shuffle @1 :UInt32;
  map @2 :UInt32;
  attempt @3 :UInt32;
  source @4 :NodeAddress;
}

struct Command {
  union {
    setup @0 :JobSetup;
    value :group {
      job @1 :UInt64;
      action @2 :UInt32;
      bytes @3 :UInt64;           # this many of the bulk bytes, in order of the commands
    }
    launch @4 :Task.Launch;
    kill :group {
      attempt @5 :Task.Attempt;
      reason @6 :Text;
    }
    locations :group {
      locationsJob @7 :UInt64;
      shuffle @8 :UInt32;
      outputs @9 :List(Task.MapOutput);
      nodes @10 :List(NodeAddress);
    }
    releaseShuffle :group {
      releasedJob @11 :UInt64;
      releasedShuffle @12 :UInt32;
    }
    releaseJob @13 :UInt64;
    lost :group {
      lostNode @14 :UInt32;
      address @15 :Text;
      why @16 :Text;
    }
    prefetch @17 :Prefetch;
    copy @18 :CopyOutput;
  }
}

struct Commands {
  commands @0 :List(Command);
}

struct BinaryRequest {
  high @0 :UInt64;
  low @1 :UInt64;
  offset @2 :UInt64;
}

struct BinaryChunk {
  total @0 :UInt64;
}

struct LogRequest {
  job @0 :UInt64;
  maxBytes @1 :UInt64;            # of the end of the log
}

struct CopyEnded {
  job @0 :UInt64;
  shuffle @1 :UInt32;
  map @2 :UInt32;
  attempt @3 :UInt32;
  error @4 :Text;                 # empty: the copy is there
}
