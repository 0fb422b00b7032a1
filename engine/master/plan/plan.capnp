# The plan on the wire. Fields are only ever added.
@0xd3a1c5f0b7e94a21;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::plan::wire");

struct FileVersion {
  bytes @0 :UInt64;
  modifiedNs @1 :Int64;
  id @2 :UInt64;
  machine @3 :UInt64;
  tag @4 :Text;
  mayGrow @5 :Bool;
}

struct Split {
  path @0 :Text;
  offset @1 :UInt64;
  length @2 :UInt64;
  hosts @3 :List(Text);
  format @4 :UInt8;
  version @5 :FileVersion;
}

struct SplitGroup {
  splits @0 :List(Split);
}

struct Branch {
  kind @0 :UInt8;
  tasks @1 :UInt32;
  splits @2 :List(SplitGroup);
  partitioned @3 :List(UInt32);
  broadcast @4 :List(UInt32);
  splittable @5 :List(UInt32);
  mergeable @6 :Bool;
}

struct Resources {
  cpu @0 :Float64;
  memory @1 :Float64;
  diskRead @2 :Float64;
  networkIn @3 :Float64;
  diskWrite @4 :Float64;
  networkOut @5 :Float64;
  mapSlots @6 :Float64;
  reduceSlots @7 :Float64;
  accelerator @8 :Float64;
}

struct Stage {
  id @0 :UInt32;
  name @1 :Text;
  operators @2 :List(Text);
  branches @3 :List(Branch);
  output @4 :UInt8;
  partitions @5 :UInt32;
  fingerprint @6 :UInt64;
  demand @7 :Resources;
  estimatedTaskNanos @8 :Int64;
  estimatedOutputRatio @9 :Float64;
  variants @10 :List(Text);
  indeterminate @11 :Bool;
}

struct PlanPart {
  action @0 :UInt32;
  stages @1 :List(Stage);
  targets @2 :List(UInt32);
  released @3 :List(UInt32);
}
