# What weft itself puts into the headers of frames. See docs/formats/frame.md.
@0xb7c9b1f0a55d3e21;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::rpc::wire");

# The first frame of each side. Readable by every version of the protocol: fields may be added, never changed.
struct Hello {
  software @0 :Text;   # "weft 0.1.0"
  retired @1 :UInt64;  # not used: releases before protocol 1 had a hash of their messages here
  lowest @2 :UInt16;   # the lowest protocol that this side speaks; 0: it is of a release before protocol 1
  highest @3 :UInt16;  # the highest
}

# The header of an error reply: the failure, then its causes, outermost first.
struct ErrorReply {
  chain @0 :List(Link);

  struct Link {
    code @0 :UInt8;  # weft::Code
    message @1 :Text;
  }
}
