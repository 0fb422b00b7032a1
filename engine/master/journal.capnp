# One record of the journal: an event and its time. Fields and events are only ever added (docs/formats/journal.md).
@0xa8c6f1d27e5b4093;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::master::wire");

struct Resources {
  cpu @0 :Float64;
  memory @1 :Float64;
  diskRead @2 :Float64;
  networkIn @3 :Float64;
  diskWrite @4 :Float64;
  networkOut @5 :Float64;
  mapSlots @6 :Float64;
  reduceSlots @7 :Float64;
}

struct Hints {
  weight @0 :Float64;
  relativeReduceCost @1 :Float64;
  shuffleRatio @2 :Float64;
  mapProfile @3 :Resources;      # null pointer: not given
  shuffleProfile @4 :Resources;
  reduceProfile @5 :Resources;
}

struct CapacityStep {
  from @0 :Int64;
  available @1 :Resources;
}

struct Attempt {
  job @0 :UInt64;
  stage @1 :UInt32;
  index @2 :UInt32;
  attempt @3 :UInt32;
}

struct JobSubmitted {
  job @0 :UInt64;
  name @1 :Text;
  user @2 :Text;
  pool @3 :Text;
  priority @4 :Int32;
  hasDeadline @5 :Bool;
  deadline @6 :Int64;
  demand @7 :Resources;
  maxAttempts @8 :UInt32;
  taskTimeout @9 :Int64;
  hints @10 :Hints;
  shuffleMode @11 :UInt8;
  shuffleReplicas @12 :UInt8;    # 0: as 1 (before there was a choice)
}

struct PlanExtended {
  job @0 :UInt64;
  part @1 :Data;                 # plan.capnp PlanPart
}

struct JobKilled {
  job @0 :UInt64;
  reason @1 :Text;
}

struct Attribute {
  key @0 :Text;
  value @1 :Text;
}

struct WorkerJoined {
  node @0 :UInt32;
  name @1 :Text;
  host @2 :Text;
  rack @3 :Text;
  dataAddress @4 :Text;
  capacity @5 :Resources;
  attributes @6 :List(Attribute);
  forecast @7 :List(CapacityStep);
  aheadBytes @8 :UInt64;
}

struct WorkerHeartbeat {
  node @0 :UInt32;
  used @1 :Resources;
  crossRackRate @2 :Float64;
  forecast @3 :List(CapacityStep);
  capacity @4 :Resources;        # null pointer: as before
}

struct WorkerLost {
  node @0 :UInt32;
  reason @1 :Text;
}

struct TaskStarted {
  attempt @0 :Attempt;
  node @1 :UInt32;
}

struct Counter {
  name @0 :Text;
  value @1 :Int64;
}

struct TaskFinished {
  attempt @0 :Attempt;
  node @1 :UInt32;
  outputBytes @2 :List(UInt64);  # before `output`
  outputRecords @3 :List(UInt64);
  result @4 :Data;
  counters @5 :List(Counter);
  inputBytes @6 :UInt64;
  inputRecords @7 :UInt64;
  output @8 :Data;               # sizes of its partitions (shuffle/partition_sizes.hpp)
  shuffleReadNanoseconds @9 :Int64;
  shuffleWriteNanoseconds @10 :Int64;
  spread @11 :List(UInt32);      # of a sample of what the stage reads, over its output's partitions
}

struct Fetch {
  shuffle @0 :UInt32;
  map @1 :UInt32;
  mapAttempt @2 :UInt32;
  node @3 :UInt32;
}

struct TaskFailed {
  attempt @0 :Attempt;
  node @1 :UInt32;
  kind @2 :UInt8;
  message @3 :Text;
  fetch @4 :Fetch;               # null pointer: none
}

struct Copy {
  node @0 :UInt32;
  job @1 :UInt64;
  shuffle @2 :UInt32;
  map @3 :UInt32;
  attempt @4 :UInt32;
}

struct CopyFailed {
  copy @0 :Copy;
  message @1 :Text;
}

struct File {
  name @0 :Text;
  text @1 :Text;
}

struct SchedulerConfigured {
  spec @0 :Text;
  files @1 :List(File);
  speculation @2 :Text;          # empty: as before
}

struct Record {
  at @0 :Int64;
  union {
    none @1 :Void;
    jobSubmitted @2 :JobSubmitted;
    planExtended @3 :PlanExtended;
    jobClosed @4 :UInt64;
    jobKilled @5 :JobKilled;
    workerJoined @6 :WorkerJoined;
    workerHeartbeat @7 :WorkerHeartbeat;
    workerLost @8 :WorkerLost;
    taskStarted @9 :TaskStarted;
    taskFinished @10 :TaskFinished;
    taskFailed @11 :TaskFailed;
    timerFired @12 :UInt64;
    schedulerConfigured @13 :SchedulerConfigured;
    outputCopied @14 :Copy;
    copyFailed @15 :CopyFailed;
  }
}
