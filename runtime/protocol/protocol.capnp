# Messages between master, workers and executors, field by field as the structs of runtime/protocol, which say what each means. Their
# numbers are those of WorkerMessage and ExecutorMessage. What may be changed here, and what may not, is in docs/formats/frame.md.
@0xa6d2f4187c03be95;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::runtime::protocol::wire");

# ---- tasks: task.hpp ----

struct Launches {
  launches @0 :List(Launch);
}

struct Launch {
  job @0 :UInt64;
  stage @1 :UInt32;
  index @2 :UInt32;
  attempt @3 :UInt32;
  spec @4 :TaskSpec;
  timeout @5 :Int64;
  stageName @6 :Text;
  segmentMemory @7 :UInt64;
  device @8 :Bool;
  needsDevice @9 :Bool;
}

struct TaskSpec {
  branch @0 :UInt32;
  partition @1 :UInt32;
  outputPartitions @2 :UInt32;
  splits @3 :List(Split);
  fingerprint @4 :UInt64;
  inputs @5 :List(InputSlice);
  variants @6 :List(Text);
  firstAttempt @7 :UInt32;
}

struct Split {
  path @0 :Text;
  offset @1 :UInt64;
  length @2 :UInt64;
  hosts @3 :List(Text);
  format @4 :UInt8;
  version @5 :FileVersion;
}

struct FileVersion {
  bytes @0 :UInt64;
  modifiedNs @1 :Int64;
  id @2 :UInt64;
  machine @3 :UInt64;
  tag @4 :Text;
  mayGrow @5 :Bool;
}

struct InputSlice {
  shuffle @0 :UInt32;
  firstMap @1 :UInt32;
  endMap @2 :UInt32;
  bytes @3 :UInt64;
  partitions @4 :UInt32;
}

struct Events {
  events @0 :List(Data);
  # Each an Event, as a message of its own: a worker keeps them until its master has them. The bulk is their results, one behind the
  # other.
}

struct Event {
  job @0 :UInt64;
  stage @1 :UInt32;
  index @2 :UInt32;
  attempt @3 :UInt32;
  kind @4 :UInt8;
  message @5 :Text;
  output @6 :Data;
  # Of each partition two varints, its records and its bytes.
  result @7 :UInt64;
  counters @8 :List(Counter);
  inputBytes @9 :UInt64;
  inputRecords @10 :UInt64;
  shuffleTimes @11 :ShuffleTimes;
  sampleHistogram @12 :List(UInt32);
  fetch @13 :FetchFailure;
  usage @14 :TaskUsage;
  device @15 :Bool;

  struct Counter {
    name @0 :Text;
    value @1 :Int64;
  }
  struct ShuffleTimes {
    read @0 :Int64;
    write @1 :Int64;
  }
  struct FetchFailure {
    shuffle @0 :UInt32;
    map @1 :UInt32;
    mapAttempt @2 :UInt32;
    node @3 :UInt32;
  }
  struct HotKey {
    text @0 :Data;
    partition @1 :UInt32;
    records @2 :UInt64;
  }
  struct TaskUsage {
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
}

# ---- commands of the master: commands.hpp, worker.hpp ----

struct Commands {
  commands @0 :List(Command);
}

# A worker passes over kinds that it does not know: whoever adds one sends it to workers whose protocol has it, or may do without.
struct Command {
  union {
    setup @0 :JobSetup;
    value @1 :ActionValue;
    launch @2 :Launch;
    kill @3 :KillTask;
    locations @4 :ShuffleLocations;
    extended @5 :ShuffleExtended;
    prefetch @6 :PrefetchShuffle;
    releaseShuffle @7 :ReleaseShuffle;
    releaseJob @8 :ReleaseJob;
    nodeLost @9 :NodeLost;
    replicate @10 :ReplicateOutput;
    startDriver @11 :StartDriver;
    stopDriver @12 :StopDriver;
    jobKey @13 :JobKey;
    lowestProtocol @14 :LowestProtocol;
  }
}

struct JobSetup {
  job @0 :UInt64;
  name @1 :Text;
  program @2 :Text;
  arguments @3 :List(Text);
  directory @4 :Text;
  memoryBytes @5 :UInt64;
  sameBinary @6 :Bool;
  binaryHigh @7 :UInt64;
  binaryLow @8 :UInt64;
  taskCpu @9 :Float64;
  user @10 :Text;
  shuffleMode @11 :UInt8;
}

struct ActionValue {
  job @0 :UInt64;
  action @1 :UInt32;
  bytes @2 :UInt64;
}

struct KillTask {
  node @0 :UInt32;
  job @1 :UInt64;
  stage @2 :UInt32;
  index @3 :UInt32;
  attempt @4 :UInt32;
  cause @5 :UInt8;
  reason @6 :Text;
}

struct MapOutput {
  map @0 :UInt32;
  attempt @1 :UInt32;
  node @2 :UInt32;
}

struct NodeAddress {
  node @0 :UInt32;
  name @1 :Text;
  address @2 :Text;
  rack @3 :Text;
}

struct ShuffleLocations {
  node @0 :UInt32;
  job @1 :UInt64;
  shuffle @2 :UInt32;
  outputs @3 :List(MapOutput);
  maps @4 :UInt32;
  holders @5 :List(NodeAddress);
  written @6 :Written;

  struct Written {
    counts @0 :List(UInt32);
    # By output: one more than the number of partitions that follow for it; 0: it is not known for which it has something.
    partitions @1 :List(UInt32);
  }
}

struct ShuffleExtended {
  node @0 :UInt32;
  job @1 :UInt64;
  shuffle @2 :UInt32;
  output @3 :MapOutput;
  holders @4 :List(NodeAddress);
  written @5 :List(UInt32);
}

struct PrefetchShuffle {
  node @0 :UInt32;
  job @1 :UInt64;
  shuffle @2 :UInt32;
  partitions @3 :List(UInt32);
  outputs @4 :List(MapOutput);
  blockBytes @5 :UInt64;
  complete @6 :Bool;
  deferred @7 :List(UInt32);
  holders @8 :List(NodeAddress);
  farIsSet @9 :Bool;
  far @10 :UInt32;
}

struct ReplicateOutput {
  node @0 :UInt32;
  job @1 :UInt64;
  shuffle @2 :UInt32;
  output @3 :MapOutput;
  source @4 :NodeAddress;
}

struct ReleaseShuffle {
  node @0 :UInt32;
  job @1 :UInt64;
  shuffle @2 :UInt32;
}

struct ReleaseJob {
  node @0 :UInt32;
  job @1 :UInt64;
}

struct NodeLost {
  node @0 :UInt32;
  reason @1 :Text;
  address @2 :Text;
}

struct StartDriver {
  job @0 :UInt64;
  key @1 :UInt64;
  name @2 :Text;
  program @3 :Text;
  arguments @4 :List(Text);
  directory @5 :Text;
  binaryHigh @6 :UInt64;
  binaryLow @7 :UInt64;
  user @8 :Text;
}

struct StopDriver {
  job @0 :UInt64;
  reason @1 :Text;
}

struct JobKey {
  job @0 :UInt64;
  key @1 :UInt64;
}

struct LowestProtocol {
  protocol @0 :UInt16;
}

# ---- workers and their master: worker.hpp ----

struct Register {
  name @0 :Text;
  host @1 :Text;
  rack @2 :Text;
  dataAddress @3 :Text;
  slots @4 :UInt32;
  memoryBytes @5 :UInt64;
  attributes @6 :List(Attribute);
  localData @7 :List(Text);
  capacity @8 :Text;
  prefetchBytes @9 :UInt64;
  processors @10 :UInt32;
  machineMemory @11 :UInt64;
  usableProcessors @12 :Float64;
  named @13 :Bool;
  process @14 :UInt64;
  held @15 :Held;
  seenEpoch @16 :UInt64;

  struct Attribute {
    name @0 :Text;
    value @1 :Text;
  }
  struct Held {
    node @0 :UInt32;
    jobs @1 :List(UInt64);
    running @2 :List(Attempt);
    outputs @3 :List(HeldOutput);
    drivers @4 :List(UInt64);
    withDevice @5 :List(Attempt);
  }
  struct Attempt {
    job @0 :UInt64;
    stage @1 :UInt32;
    index @2 :UInt32;
    attempt @3 :UInt32;
  }
  struct HeldOutput {
    job @0 :UInt64;
    shuffle @1 :UInt32;
    map @2 :UInt32;
    attempt @3 :UInt32;
  }
}

struct Registered {
  node @0 :UInt32;
  heartbeat @1 :Int64;
  rack @2 :Text;
  name @3 :Text;
  resumed @4 :Bool;
  keepsJobs @5 :Bool;
  epoch @6 :UInt64;
  numbering @7 :UInt64;
}

struct EventsKept {
  events @0 :UInt64;
}

struct Heartbeat {
  measured @0 :Measured;
  storeMemoryBytes @1 :UInt64;
  storeDiskBytes @2 :UInt64;
  clock @3 :Int64;
  prefetch @4 :PrefetchStats;
  prefetchMemoryBytes @5 :UInt64;
  prefetchFileBytes @6 :UInt64;

  struct Measured {
    worker @0 :Usage;
    machine @1 :Usage;
    crossRackIn @2 :Float64;
    crossRackOut @3 :Float64;
    racks @4 :List(RackTraffic);
  }
  struct Usage {
    cpu @0 :Float64;
    memory @1 :Float64;
    diskRead @2 :Float64;
    diskWrite @3 :Float64;
    networkIn @4 :Float64;
    networkOut @5 :Float64;
  }
  struct RackTraffic {
    rack @0 :Text;
    in @1 :Float64;
    out @2 :Float64;
  }
}

struct PrefetchStats {
  prefetchedBytes @0 :UInt64;
  readBytes @1 :UInt64;
  wastedBytes @2 :UInt64;
  evictedBytes @3 :UInt64;
  evictedFileBytes @4 :UInt64;
  returnedBytes @5 :UInt64;
}

struct PrefetchReport {
  jobs @0 :List(JobPrefetch);

  struct JobPrefetch {
    job @0 :UInt64;
    bytes @1 :PrefetchStats;
  }
}

struct CapacityTexts {
  capacity @0 :Text;
  forecast @1 :Text;
  utcOffset @2 :Int64;
  devicesLost @3 :UInt32;
  devicesWhy @4 :Text;
}

struct Leaving {
  keepsChunks @0 :Bool;
  chunksReturn @1 :Bool;
}

struct Remains {
  tasks @0 :UInt32;
  outputs @1 :UInt32;
  abandoned @2 :UInt32;
  chunks @3 :UInt64;
}

struct Dying {
  node @0 :UInt32;
  signal @1 :UInt8;
}

struct ReplicaEnded {
  replica @0 :OutputReplica;
  error @1 :Text;

  struct OutputReplica {
    node @0 :UInt32;
    job @1 :UInt64;
    shuffle @2 :UInt32;
    map @3 :UInt32;
    attempt @4 :UInt32;
  }
}

struct BinaryRequest {
  high @0 :UInt64;
  low @1 :UInt64;
  offset @2 :UInt64;
  user @3 :Text;
}

struct BinaryChunk {
  total @0 :UInt64;
}

struct LogRequest {
  job @0 :UInt64;
  maxBytes @1 :UInt64;
  driver @2 :Bool;
}

struct DriverEnded {
  job @0 :UInt64;
  key @1 :UInt64;
  status @2 :Int32;
  message @3 :Text;
}

struct FileQuery {
  paths @0 :List(Text);
  user @1 :Text;
}

struct FileAnswer {
  missing @0 :List(Text);
}

# ---- a worker and its executors: executor.hpp, shuffle/read/read_part.hpp ----

struct ExecutorSetup {
  job @0 :UInt64;
  node @1 :UInt32;
  slots @2 :UInt32;
  memoryBytes @3 :UInt64;
  spillDirectory @4 :Text;
  segmentDirectory @5 :Text;
  rack @6 :Text;
}

struct Value {
  action @0 :UInt32;
}

struct Stop {
  job @0 :UInt64;
  stage @1 :UInt32;
  index @2 :UInt32;
  attempt @3 :UInt32;
}

struct Forget {
  shuffle @0 :UInt32;
}

struct ChunkTraffic {
  racks @0 :List(RackBytes);

  struct RackBytes {
    rack @0 :Text;
    received @1 :UInt64;
    sent @2 :UInt64;
  }
}

struct Commit {
  job @0 :UInt64;
  stage @1 :UInt32;
  index @2 :UInt32;
  attempt @3 :UInt32;
  size @4 :UInt64;
  partitions @5 :Data;
  # As the output of Event.
}

struct ReadRequest {
  job @0 :UInt64;
  stage @1 :UInt32;
  index @2 :UInt32;
  attempt @3 :UInt32;
  read @4 :UInt32;
  part @5 :UInt32;
  shuffle @6 :UInt32;
  firstPartition @7 :UInt32;
  endPartition @8 :UInt32;
  firstMap @9 :UInt32;
  endMap @10 :UInt32;
  fetchBytes @11 :UInt64;
  known @12 :List(MapAttempt);

  struct MapAttempt {
    map @0 :UInt32;
    attempt @1 :UInt32;
  }
}

struct PartContents {
  partition @0 :UInt32;
  nextMap @1 :UInt32;
  end @2 :Bool;
  sources @3 :List(BlockSource);
  lost @4 :LostOutput;
  waited @5 :Int64;

  struct BlockSource {
    kind @0 :UInt8;
    maps @1 :List(MapOutput);
  }
  struct LostOutput {
    output @0 :MapOutput;
    why @1 :Text;
  }
}
