# A task on its way to an executor and what became of it; used by both hops (master - worker - executor).
@0xf190b4bdbdb0cc90;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::protocol::wire");

struct Attempt {
  job @0 :UInt64;
  stage @1 :UInt32;
  index @2 :UInt32;
  attempt @3 :UInt32;
}

struct Split {
  path @0 :Text;
  offset @1 :UInt64;
  length @2 :UInt64;
  hosts @3 :List(Text);
}

struct InputSlice {
  shuffle @0 :UInt32;
  firstMap @1 :UInt32;
  endMap @2 :UInt32;
  bytes @3 :UInt64;
  partitions @4 :UInt32 = 1;      # adjacent ones, from the task's own on
}

struct Launch {
  attempt @0 :Attempt;
  branch @1 :UInt32;
  partition @2 :UInt32;
  outputPartitions @3 :UInt32;
  splits @4 :List(Split);
  fingerprint @5 :UInt64;
  timeoutNanoseconds @6 :Int64;   # 0: none
  stageName @7 :Text;
  segmentMemory @8 :UInt64;       # to the executor: bytes of its segment that may lie in memory; 0: write it to disk
  inputs @9 :List(InputSlice);    # what to read of the shuffles that are read at `partition`
}

struct Launches {
  launches @0 :List(Launch);
}

struct Counter {
  name @0 :Text;
  value @1 :Int64;
}

struct Event {
  attempt @0 :Attempt;
  kind @1 :UInt8;
  message @2 :Text;
  output @3 :Data;                # sizes of its partitions (shuffle/partition_sizes.hpp)
  resultBytes @4 :UInt64;         # this many of the bulk bytes, in order of the events
  counters @5 :List(Counter);
  inputBytes @6 :UInt64;
  inputRecords @7 :UInt64;
  hasFetch @8 :Bool;
  fetchShuffle @9 :UInt32;
  fetchMap @10 :UInt32;
  fetchMapAttempt @11 :UInt32;
  fetchNode @12 :UInt32;
  shuffleReadNanoseconds @13 :Int64;
  shuffleWriteNanoseconds @14 :Int64;
  spread @15 :List(UInt32);       # of a sample of what the stage reads, over its output's partitions
}

struct Events {
  events @0 :List(Event);
}

struct MapOutput {
  map @0 :UInt32;
  attempt @1 :UInt32;
  node @2 :UInt32;
}
