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

struct Locate {
  shuffle @0 :UInt32;
}

struct LocateMoved {
  shuffle @0 :UInt32;
  output @1 :Task.MapOutput;      # where it cannot be had
}

struct Located {
  outputs @0 :List(Task.MapOutput);
}

struct OpenSegments {
  shuffle @0 :UInt32;
  maps @1 :List(Task.MapOutput);
}

struct Opened {
  outcomes @0 :List(Outcome);     # a descriptor follows for each that is opened
  enum Outcome {
    lost @0;
    opened @1;
    remote @2;
  }
}

struct Fetch {
  shuffle @0 :UInt32;
  partition @1 :UInt32;
  maps @2 :List(Task.MapOutput);  # all on one node
}

struct Fetched {
  failed @0 :Bool;                # no descriptor follows
  lost @1 :UInt32;                # index into the request's list: the first that could not be had
  error @2 :Text;
  unreachable @3 :Bool;           # the node, whatever it has
}

struct TakePrefetched {
  shuffle @0 :UInt32;
  partition @1 :UInt32;
  from @2 :UInt32;                # how many segments to pass over
}

struct Prefetched {
  segments @0 :List(Segment);     # a descriptor follows for each
  more @1 :Bool;
  struct Segment {
    maps @0 :List(MapAttempt);    # its "partition" i holds the extents of the i-th
  }
  struct MapAttempt {
    map @0 :UInt32;
    attempt @1 :UInt32;
  }
}
