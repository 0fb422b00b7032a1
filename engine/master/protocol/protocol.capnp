# Between clients (drivers, the command line) and the master: message numbers 200-299.
@0xb0d1f2a7c3e84956;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::client::wire");

struct Hash {
  high @0 :UInt64;
  low @1 :UInt64;
}

struct Submit {
  name @0 :Text;
  program @1 :Text;
  arguments @2 :List(Text);
  directory @3 :Text;
  sameBinary @4 :Bool;            # private cluster: the workers' own program
  binary @5 :Hash;                # otherwise
  memoryBytes @6 :UInt64;
  user @7 :Text;
  pool @8 :Text;
  priority @9 :Int32;
  maxAttempts @10 :UInt32;
  taskTimeout @11 :Int64;         # nanoseconds, 0: none
  deadline @12 :Int64;            # nanoseconds after the submission, 0: none
  demand @13 :Text;               # of a task, "cpu=1,memory=512MiB"; empty: one cpu
  shuffleMode @14 :Text;          # empty: the cluster's
  shuffleReplicas @15 :UInt32;    # copies of map outputs; 0: the cluster's
  weight @16 :Float64;            # of its share, against other jobs; 0: 1
  slowStart @17 :Float64;         # part of the maps that end before reduces start; 0: the cluster's
  hints @18 :List(Attribute);     # for schedulers: shuffle_ratio, 0.4
  maxBadRecords @19 :BadRecordLimit;
  speculate @20 :UInt8;           # master::Switch
  requestId @21 :Text;            # empty: none
  onDisconnect @22 :UInt8;        # master::OnDisconnect
  submitter @23 :UInt64;          # drawn by the driver; 0: not known
  title @24 :Text;                # --name; empty: the program's
}

struct Submitted {
  job @0 :UInt64;
  binaryKnown @1 :Bool;
  slots @2 :UInt32;               # of the cluster when the job was submitted
  key @3 :UInt64;                 # with which a driver may attach to the job
  kept @4 :Bool;                  # over a restart of the master
}

struct Attach {
  job @0 :UInt64;
  key @1 :UInt64;
}

struct Recorded {                 # under an action
  hasValue @0 :Bool;
  hasPart @1 :Bool;
  value @2 :UInt64;               # sizes; the bytes follow as bulk, one after the other
  part @3 :UInt64;
}

struct Detach {
  submit @0 :Submit;
  files @1 :List(Text);           # absolute paths that its driver's worker must have
}

struct Upload {
  binary @0 :Hash;
  offset @1 :UInt64;
  total @2 :UInt64;               # the bytes at the offset follow as bulk
}

struct Job {
  job @0 :UInt64;
}

struct Value {
  job @0 :UInt64;
  action @1 :UInt32;              # the value follows as bulk
}

struct Poll {
  job @0 :UInt64;
  action @1 :UInt32;
  wait @2 :Int64;                 # nanoseconds
}

struct Results {
  sizes @0 :List(UInt64);         # per task; the bytes follow as bulk, one after the other
}

struct PollReply {
  status @0 :Status;
  finished @1 :Bool;              # the action
  results @2 :List(Results);      # per target
}

struct Stage {
  id @0 :UInt32;
  name @1 :Text;
  tasks @2 :UInt32;
  finished @3 :UInt32;
  running @4 :UInt32;
  failedAttempts @5 :UInt32;
  waiting @6 :Bool;
  reason @7 :Text;                # why nothing of it runs
  inputBytes @8 :UInt64;
  shuffleBytes @9 :UInt64;
  speculative @10 :UInt32;        # speculative attempts launched
  speculativeWon @11 :UInt32;     # of these, those that finished first
  speculating @12 :UInt32;        # tasks that run in two attempts
  predictedShuffleBytes @13 :UInt64;      # 0: not known
  predictedLargestPartition @14 :UInt64;
  roundsDeferred @15 :UInt32;     # whose blocks wait out of memory, and these blocks
  bytesDeferred @16 :UInt64;
  roundsEvicted @17 :UInt32;      # deferred so far; of these, wanted in memory again
  roundsReturned @18 :UInt32;
  replicas @19 :UInt32;           # outputs that have a replica
  replicasAbandoned @20 :UInt32;  # outputs that will have none
  replicasUsed @21 :UInt32;       # outputs that were lost, and whose replica is used
  usage @22 :StageUsage;
  estimate @23 :StageEstimate;
  left @24 :Int64;                # nanoseconds until its last task has ended; 0: not known
}

struct StageEstimate {            # of the duration of a task, nanoseconds
  predicted @0 :Int64;            # source says by what; 0: not predicted
  source @1 :UInt8;               # schedulers::EstimateSource
  mean @2 :Int64;                 # of the finished tasks; 0: there is none
}

struct StageUsage {               # of the finished tasks together, each counted once; nanoseconds
  read @0 :Int64;                 # until they had the bytes of input files
  shuffle @1 :Int64;              # until they had map outputs
  compute @2 :Int64;              # all else
  write @3 :Int64;                # storing map outputs and output files
  cpu @4 :Int64;                  # processor time
  peakMemory @5 :UInt64;          # bytes, of the task that held the most
  accelerated @6 :UInt32;         # attempts that run functions for attributes of their nodes, finished or not
  badRecords @7 :BadRecords;
  attempts @8 :Attempts;
  began @9 :Int64;                # as submitted; 0: not yet
  ended @10 :Int64;               # as submitted, the end of its last task; 0: not yet
  figures @11 :Figures;
}

struct Attempts {
  first @0 :UInt32;               # at their tasks
  retried @1 :UInt32;             # after another attempt at the task had ended
  finished @2 :UInt32;
  failed @3 :UInt32;
  killed @4 :UInt32;              # by the master
  lost @5 :UInt32;                # with their worker
}

struct Figures {                  # over the finished tasks, each counted once
  nanoseconds @0 :Distribution;
  inputBytes @1 :Distribution;    # of files
  shuffleReadBytes @2 :Distribution;
  shuffleBytes @3 :Distribution;  # written
  outputBytes @4 :Distribution;   # of files, before they are compressed, and results
  spilledBytes @5 :Distribution;
}

struct Distribution {
  total @0 :UInt64;
  min @1 :UInt64;
  median @2 :UInt64;
  p95 @3 :UInt64;
  max @4 :UInt64;
}

struct BadRecords {
  count @0 :UInt64;
  examples @1 :List(Text);        # the first few
  inputs @2 :UInt64;              # records of input files with which something was wrong, each once
}

struct BadRecordLimit {
  count @0 :UInt64;
  percent @1 :Float64;            # not 0: instead, of the records that a stage reads
}

struct Counter {
  name @0 :Text;
  value @1 :Int64;
}

struct Status {
  id @0 :UInt64;
  name @1 :Text;
  user @2 :Text;
  pool @3 :Text;
  state @4 :UInt8;
  error @5 :Text;
  submitted @6 :Int64;            # nanoseconds since the master started
  ended @7 :Int64;
  stages @8 :List(Stage);
  counters @9 :List(Counter);
  shuffleBytes @10 :UInt64;
  inputBytes @11 :UInt64;
  inputRecords @12 :UInt64;
  deadline @13 :Int64;            # as submitted, ended; 0: none
  priority @14 :Int32;
  shuffleReplicas @15 :UInt32;
  prefetch @16 :Prefetch;
  lostWorkers @17 :List(Text);    # while it ran, the first few
  workersLost @18 :UInt32;        # how many
  weight @19 :Float64;            # as submitted; 0: not known
  expected @20 :Expectation;      # of a running job with a deadline
  tasks @21 :UInt64;              # of its stages so far
  finishedTasks @22 :UInt64;
  runningTasks @23 :UInt64;
  options @24 :List(Attribute);   # of the job that were set, by name
  left @25 :Int64;                # nanoseconds until the job has ended; 0: not known
}

struct Expectation {
  end @0 :Int64;                  # as submitted; 0: not known
  alone @1 :Int64;                # as submitted, with the whole cluster from now on; 0: not known
  slots @2 :Float64;              # that it has, needs, and the cluster has
  needed @3 :Float64;
  cluster @4 :Float64;
}

struct Prefetch {                 # blocks fetched before their tasks began, in bytes
  prefetched @0 :UInt64;
  read @1 :UInt64;                # of these
  wasted @2 :UInt64;              # given up before
  evicted @3 :UInt64;             # to files
  evictedFile @4 :UInt64;         # bytes that these took
  returned @5 :UInt64;
}

struct JobList {
  jobs @0 :List(Status);
  now @1 :Int64;
}

struct Kill {
  job @0 :UInt64;
  reason @1 :Text;
}

struct LogWanted {
  job @0 :UInt64;
  maxBytes @1 :UInt64;            # of each worker's log, from its end
}

struct Log {
  node @0 :Text;
  bytes @1 :UInt64;               # follow as bulk, one log after the other
  error @2 :Text;                 # why there is none
  driver @3 :Bool;                # of a driver in the cluster, not of tasks
}

struct Logs {
  logs @0 :List(Log);
}

struct Node {
  id @0 :UInt32;
  name @1 :Text;
  host @2 :Text;
  rack @3 :Text;
  address @4 :Text;
  slots @5 :UInt32;
  running @6 :UInt32;
  excluded @7 :Bool;
  heard @8 :Int64;                # nanoseconds ago
  capacity @9 :Text;              # "cpu=2,memory=4GiB"
  used @10 :Text;                 # of it, by running tasks
  attributes @11 :List(Attribute);
  excludedFor @12 :Int64;         # nanoseconds more, when excluded
  clockAhead @13 :Int64;          # nanoseconds its clock is ahead of the master's
  lost @14 :Bool;                 # given up because it is silent; its connection is still there
  storeMemoryBytes @15 :UInt64;   # of map outputs
  storeDiskBytes @16 :UInt64;
  prefetchMemoryBytes @17 :UInt64;  # of prefetched blocks, in memory
  prefetchFileBytes @18 :UInt64;  # and in files
  prefetch @19 :Prefetch;         # since the worker began
  dead @20 :Bool;                 # it is no more: heard tells since when, cause why
  cause @21 :Text;
  measured @22 :Usage;            # as measured, where `used` is as demanded
  nominal @23 :Text;              # the capacity it joined with; `capacity` is what it has at present
  capacityWhy @24 :Text;          # why that is less
  speed @25 :Float64;             # against the median of the same stages; 0: not known
  uplinkUp @26 :Float64;          # bytes per second that its rack's uplink carries out of the rack; 0: not known
  uplinkDown @27 :Float64;        # and into it
  mostCrossRackUp @28 :Float64;   # the largest rates that were seen there
  mostCrossRackDown @29 :Float64;
  leaving @30 :Bool;              # it is about to end, and gets no more tasks
}

struct NodeCapacity {
  name @0 :Text;                  # of workers
  capacity @1 :Text;              # "slots=2 memory=nominal"
  reason @2 :Text;
}

struct Usage {
  worker @0 :Text;                # "cpu=0.7,memory=210MiB": by its own processes
  machine @1 :Text;               # by everybody on its machine
  crossRackUp @2 :Float64;        # bytes per second of map outputs out of its rack
  crossRackDown @3 :Float64;      # and into it
}

struct Waiting {
  stage @0 :UInt32;
  name @1 :Text;                  # of the stage
  tasks @2 :UInt32;
  why @3 :UInt8;                  # master::WaitingTasks::Why
  reason @4 :Text;
  hasSince @5 :Bool;
  since @6 :Int64;                # on the master's clock
}

struct Explanation {
  job @0 :UInt64;
  name @1 :Text;
  state @2 :UInt8;
  summary @3 :Text;
  running @4 :UInt64;
  finished @5 :UInt64;
  waiting @6 :List(Waiting);
  now @7 :Int64;
  speculating @8 :UInt64;
  straggling @9 :UInt64;
  estimates @10 :List(Estimate);  # of the stages that are not complete
}

struct Estimate {                 # of the duration of a task, that decisions go by
  stage @0 :UInt32;
  name @1 :Text;                  # of the stage
  duration @2 :Int64;             # nanoseconds
  source @3 :UInt8;               # schedulers::EstimateSource
  basis @4 :Text;                 # what it rests on, in words
}

struct ProfileRequest {
  what @0 :UInt8;                 # client::ProfileRequest::What
  program @1 :Text;
  records @2 :UInt64;             # bytes of lines of JSON, which follow as bulk
}

struct ProfileReply {
  stages @0 :UInt32;
  records @1 :UInt64;             # bytes of lines of JSON, which follow as bulk
}

struct Group {
  name @0 :Text;
  parent @1 :Text;
  weight @2 :Float64;
  guaranteed @3 :Float64;
  fairShare @4 :Float64;
  hasLimit @5 :Bool;
  limit @6 :Float64;
  used @7 :Float64;
  demand @8 :Float64;
  jobs @9 :UInt64;
  pending @10 :UInt64;
  running @11 :UInt64;
  resources @12 :Text;            # used, all kinds
  unknown @13 :Bool;
}

struct Groups {
  groups @0 :List(Group);
}

struct Scheduler {
  spec @0 :Text;
  files @1 :List(Text);
  known @2 :List(Attribute);
  refused @3 :UInt64;             # decisions, ever
  faults @4 :UInt64;              # calls that threw or were cut off, ever
  fault @5 :Text;                 # the last of them
  faultAt @6 :Int64;
  now @7 :Int64;
}

struct Attribute {
  name @0 :Text;
  value @1 :Text;
}

struct NodeList {
  nodes @0 :List(Node);
  insecure @1 :Bool;
}

struct Master {
  member @0 :Text;
  address @1 :Text;
  state @2 :UInt8;                # 0 leads, 1 in sync, 2 copies
  behind @3 :UInt64;
  heard @4 :Int64;
  page @5 :Text;                  # URL, when it leads; empty: not known
}

struct MasterList {
  cluster @0 :Text;
  epoch @1 :UInt64;
  masters @2 :List(Master);
}

struct EventsWanted {
  piece @0 :UInt32;
  offset @1 :UInt64;
  job @2 :UInt64;                 # 0: of all
}

struct Events {
  piece @0 :UInt32;
  compressed @1 :Bool;
  bytes @2 :UInt64;               # of the file, or lines of the job, which follow as bulk
  next @3 :UInt64;                # of lines of a job: where to go on in the text of the file; 0: it is bytes of the file
}

struct PastWanted {
  span @0 :Text;
}

struct Past {
  json @0 :UInt64;                # follows as bulk
}
