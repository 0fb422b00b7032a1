# One record of the journal: a job as it stands or a fact about it, and the marks of the moment. Fields are only ever added
# (docs/formats/journal.md).
@0xa8c6f1d27e5b4093;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::master::wire");

struct Record {
  at @0 :Int64;              # nanoseconds of the master's clock
  unixTime @1 :Int64;        # the same moment on the calendar
  nextJob @2 :UInt64;        # this id and larger ones were given to nobody
  nextNode @3 :UInt32;
  job @4 :UInt64;            # whose status this is; 0: of none
  ended @5 :Bool;            # the job is over: this is the last that is known of it
  status @6 :Data;           # engine/master/protocol/protocol.capnp: a JobList with one job
  checkpoint @7 :Bool;       # the first record of a checkpoint
  worker @8 :Text;           # whose capacity an operator has set; empty: this record is of a job
  capacity @9 :Text;         # to that, as `weft node set` takes it; empty: to nothing any more
  why @10 :Text;
  masters @11 :UInt32;       # that have had this journal; 0: not said
  fact @12 :JobFact;         # about the job; then `status` is empty
  node @13 :NodeFact;        # that joined
  nodeGone @14 :UInt32;      # that left or was lost; 0: none
  cluster @15 :Text;         # whose files the master keeps beside the journal; empty: not said
  numbering @16 :UInt64;     # of the series of job ids: runtime/protocol/protocol.capnp, Registered; 0: not said
}

struct JobFact {
  union {
    submission @0 :SubmissionFact;
    part @1 :PartFact;
    value @2 :ValueFact;
    shape @3 :ShapeFact;
    launch @4 :LaunchFact;
    failure @5 :FailureFact;
    finish @6 :FinishFact;
    driver @7 :DriverFact;
  }
}

struct SubmissionFact {
  submit @0 :Data;           # engine/master/protocol/protocol.capnp: Submit
  at @1 :Int64;              # times are nanoseconds of the master's clock
  slowStart @2 :Float64;
  masters @3 :UInt32;
  slots @4 :UInt32;
  key @5 :UInt64;
  detached @6 :Bool;
  blockKey @7 :UInt64;
}

struct PartFact {
  part @0 :Data;             # engine/master/plan/plan.capnp: PlanPart
}

struct ValueFact {           # of an action
  action @0 :UInt32;
  value @1 :Data;
}

struct ShapeFact {           # how the partitions of a stage became tasks
  stage @0 :UInt32;
  bounds @1 :List(UInt32);   # task i reads the partitions from bounds[i] on; empty: a task for each
  splits @2 :List(Split);
  first @3 :UInt32;          # attempts with smaller numbers do not count: of other tasks, or before a rollback
}

struct Split {               # a task that reads a part of a large partition
  task @0 :UInt32;
  of @1 :UInt32;             # the task whose partition it is
  input @2 :UInt32;
  firstMap @3 :UInt32;
  endMap @4 :UInt32;
}

struct LaunchFact {
  stage @0 :UInt32;
  task @1 :UInt32;
  attempt @2 :UInt32;
  node @3 :UInt32;
  at @4 :Int64;
  masters @5 :UInt32;        # that the journal had had by then
  next @6 :UInt32;           # number of the next attempt at the task
}

struct FailureFact {         # an attempt that counts
  stage @0 :UInt32;
  task @1 :UInt32;
  attempt @2 :UInt32;
  count @3 :UInt32;          # of those that count, so far
  masters @4 :UInt32;
  next @5 :UInt32;
}

struct FinishFact {          # of the attempt that counts for its task
  stage @0 :UInt32;
  task @1 :UInt32;
  attempt @2 :UInt32;
  node @3 :UInt32;
  launched @4 :Int64;
  ended @5 :Int64;
  output @6 :Data;           # varints: how many partitions; of each, its records and its bytes
  result @7 :Data;
  counters @8 :List(Counter);
  inputBytes @9 :UInt64;
  inputRecords @10 :UInt64;
  shuffleRead @11 :Int64;
  shuffleWrite @12 :Int64;
  sampleHistogram @13 :List(UInt32);
  usage @14 :Usage;
  masters @15 :UInt32;
  next @16 :UInt32;
}

struct Counter {
  name @0 :Text;
  value @1 :Int64;
}

struct HotKey {
  text @0 :Data;
  partition @1 :UInt32;
  records @2 :UInt64;
}

struct Usage {               # runtime/protocol/task_usage.hpp
  run @0 :Int64;
  read @1 :Int64;
  write @2 :Int64;
  cpu @3 :Int64;
  peakMemory @4 :UInt64;
  badRecords @5 :BadRecords;
  ready @6 :Int64;
  diskWritten @7 :UInt64;
  shuffleReadBytes @8 :UInt64;
  outputBytes @9 :UInt64;
  spilledBytes @10 :UInt64;
  spill @11 :Int64;
  spillBegan @12 :Int64;
  hotKeys @13 :List(HotKey);
}

struct BadRecords {
  count @0 :UInt64;
  examples @1 :List(Text);
  inputs @2 :UInt64;
}

struct DriverFact {          # of a driver that runs in the cluster
  node @0 :UInt32;           # that has it, or last had it; 0: none yet
  deaths @1 :UInt32;
  key @2 :UInt64;            # with which it attaches
  wanted @3 :Bool;           # it is to run
  running @4 :Bool;          # on that node
  files @5 :List(Text);
  needsFiles @6 :Bool;       # a worker without one of them will not do
  detached @7 :Bool;         # no driver outside of the cluster comes back; unset: of an earlier release
  died @8 :List(Int64);      # when its process did, the oldest first; an earlier release has only their number
}

struct NodeFact {
  node @0 :UInt32;
  name @1 :Text;
  host @2 :Text;
  rack @3 :Text;
  dataAddress @4 :Text;
  capacity @5 :Text;         # "cpu=4,memory=1GiB"
  attributes @6 :List(Attribute);
  prefetchBytes @7 :UInt64;
  uplinkUp @8 :Float64;
  uplinkDown @9 :Float64;
  processors @10 :Float64;
  at @11 :Int64;
  process @12 :UInt64;       # of its worker
}

struct Attribute {
  name @0 :Text;
  value @1 :Text;
}
