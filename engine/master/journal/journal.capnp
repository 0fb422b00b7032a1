# One record of the journal: a job as it stands, and the marks of the moment. Fields are only ever added (docs/formats/journal.md).
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
}
