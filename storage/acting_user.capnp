# For whom a client asks a master: message 504.
@0xd3a9c0f57b1e2864;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::storage::wire");

struct ActFor {
  user @0 :Text;            # empty: for the one that it acts for already
}

struct ActedFor {
  user @0 :Text;            # empty: a process of the cluster, or somebody of whom nothing is known
  administrator @1 :Bool;
}
