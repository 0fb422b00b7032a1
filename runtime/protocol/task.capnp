# Pieces of the executor's messages.
@0xf190b4bdbdb0cc90;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::runtime::protocol::wire");

struct Attempt {
  job @0 :UInt64;
  stage @1 :UInt32;
  index @2 :UInt32;
  attempt @3 :UInt32;
}

struct MapOutput {
  map @0 :UInt32;
  attempt @1 :UInt32;
  node @2 :UInt32;
}
