# Between a master that leads and the masters that follow it: message numbers 300-399.
@0xd3a6f1c2b8e74905;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::master::wire");

struct Follow {
  member @0 :Text;                # id of the one that follows
  cluster @1 :Text;               # that it belongs to; empty: to none yet
  address @2 :Text;               # HOST:PORT where it listens when it leads; empty: not known
  page @3 :Text;                  # URL of its page when it leads; empty: it has none, or it is not known
  keepsMark @4 :Bool;             # it keeps the mark of its session, so that the record may have it
}

struct Following {
  session @0 :UInt64;             # of the pulls that follow
  cluster @1 :Text;
  epoch @2 :UInt64;
}

struct Pull {
  session @0 :UInt64;
  kept @1 :UInt64;                # how many entries of the session are on the follower's disk
}

struct Pulled {
  entries @0 :List(Entry);        # in order; their bytes follow as bulk, one after the other
  inSync @1 :Bool;                # nothing is acknowledged any more before this follower keeps it
}

struct Entry {
  store @0 :UInt8;                # 0 journal, 1 files, 2 programs, 3 profiles
  bytes @1 :UInt64;
  user @2 :Text;                  # of a program
}

struct Changes {                  # of a store of keys and values
  changes @0 :List(Change);
}

struct Change {
  key @0 :Data;
  value @1 :Data;                 # null: the key is erased
}
