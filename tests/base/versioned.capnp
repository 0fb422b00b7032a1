# Messages of versioned_test.cpp: what an older and a newer release of the same program might send each other.
@0xd1b0f6f4a3c2e917;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::rpc::testing");


struct Part {
  id @0 :UInt32;
  name @1 :Text;
  bytes @2 :Data;
}

struct Older {
  flag @0 :Bool;
  number @1 :Int64;
  kind @2 :UInt16;
  text @3 :Text;
  parts @4 :List(Part);
}

struct Newer {
  flag @0 :Bool;
  number @1 :Int64;
  kind @2 :UInt16;
  text @3 :Text;
  parts @4 :List(NewerPart);
  share @5 :Float64;
  small @6 :UInt8;
  other @7 :Bool;
  numbers @8 :List(UInt64);
  names @9 :List(Text);
  blobs @10 :List(Data);
  part @11 :NewerPart;
  choice @12 :Choice;
}

struct NewerPart {
  id @0 :UInt32;
  name @1 :Text;
  bytes @2 :Data;
  more @3 :UInt64;
}

struct OlderChoice {
  union {
    nothing @0 :Void;
    part @1 :Part;
  }
}

struct Choice {
  union {
    nothing @0 :Void;
    part @1 :NewerPart;
    number @2 :JustNumber;
  }
}

struct JustNumber {
  number @0 :UInt32;
}

struct Place {
  a @0 :UInt32;
  b @1 :UInt32;
  c @2 :UInt64;
}

struct NewerPlace {
  a @0 :UInt32;
  b @1 :UInt32;
  c @2 :UInt64;
  d @3 :UInt64;
}

struct Lists {
  places @0 :List(Place);
  shared @1 :List(Place);
  maybe @2 :List(UInt32);
  bytes @3 :UInt64;
  joined @4 :List(UInt32);
  choices @5 :List(OlderChoice);
}

struct NewerLists {
  places @0 :List(NewerPlace);
  shared @1 :List(NewerPlace);
  maybe @2 :List(UInt32);
  bytes @3 :UInt64;
  joined @4 :List(UInt32);
  choices @5 :List(Choice);
}
