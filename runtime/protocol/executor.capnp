# Between a worker and its executors, over a Unix socket pair (message numbers 1-99).
@0xff4832d3bd41b2e8;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::runtime::protocol::wire");
using Task = import "task.capnp";

struct Setup {
  job @0 :UInt64;
  node @1 :UInt32;
  slots @2 :UInt32;
  memoryBytes @3 :UInt64;
  spillDirectory @4 :Text;
  segmentDirectory @5 :Text;
}

struct Value {
  action @0 :UInt32;
}

struct Stop {
  attempt @0 :Task.Attempt;
}

struct Commit {
  attempt @0 :Task.Attempt;
  size @1 :UInt64;
  partitions @2 :Data;            # their sizes (shuffle/partition_sizes.hpp)
}

struct Forget {
  shuffle @0 :UInt32;
}

struct MapAttempt {
  map @0 :UInt32;
  attempt @1 :UInt32;
}

struct Read {
  attempt @0 :Task.Attempt;
  read @1 :UInt32;
  part @2 :UInt32;
  shuffle @3 :UInt32;
  firstPartition @4 :UInt32;
  endPartition @5 :UInt32;
  firstMap @6 :UInt32;
  endMap @7 :UInt32;
  fetchBytes @8 :UInt64;
  known @9 :List(MapAttempt);
}

struct ReadPart {
  partition @0 :UInt32;
  nextMap @1 :UInt32;
  end @2 :Bool;
  sources @3 :List(Source);       # a descriptor follows for each but those that are known
  lost @4 :Task.MapOutput;        # null: nothing is
  why @5 :Text;

  struct Source {
    kind @0 :UInt8;
    maps @1 :List(Task.MapOutput);
  }
}
