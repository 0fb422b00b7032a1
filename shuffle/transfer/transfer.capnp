@0xd3a1f0c25b7e9846;
# Map output between workers: messages 300 and 302 on a worker's data port, 301 between workers of one machine. docs/formats/segment.md
# tells the story.

struct FetchBlocks {
  job @0 :UInt64;
  shuffle @1 :UInt32;
  partition @2 :UInt32;
  maps @3 :List(MapAttempt);
  # Where to go on: index into maps, and number of extents of that map to pass over.
  firstMap @4 :UInt32;
  firstExtent @5 :UInt32;
  maxBytes @6 :UInt64;
  # Wanted size of the reply; one larger extent is sent all the same.
  acceptLz4 @7 :Bool;
  from @8 :Text;
  # The data address of the fetching worker, for the counts of the server.
  key @9 :UInt64;
  # Of the job, as the master told its workers (JobKey of runtime/protocol); since protocol 2.

  struct MapAttempt {
    map @0 :UInt32;
    attempt @1 :UInt32;
  }
}

struct Blocks {
  extents @0 :List(Extent);
  # Their stored bytes are the bulk, in this order.
  complete @1 :Bool;
  nextMap @2 :UInt32;
  nextExtent @3 :UInt32;
  # Unless complete.
  lost @4 :Bool;
  lostMap @5 :UInt32;
  # Index into the request's maps; the server cannot serve this one (then there are no extents).
  reason @6 :Text;

  struct Extent {
    map @0 :UInt32;
    # Index into the request's maps, ascending.
    records @1 :UInt32;
    rawLength @2 :UInt64;
    storedLength @3 :UInt64;
    # The same unless compressed.
    crc32c @4 :UInt32;
    # Of the raw bytes.
    compressed @5 :Bool;
    # An LZ4 block.
  }
}

struct OpenOutputs {
  job @0 :UInt64;
  shuffle @1 :UInt32;
  maps @2 :List(FetchBlocks.MapAttempt);
  key @3 :UInt64;
  # As in FetchBlocks.
}

struct OpenedOutputs {
  found @0 :List(Bool);
  # A descriptor comes with the answer for each that is true, in this order.
}

struct FetchSegment {
  # A whole map output as it lies in its file, piece by piece.
  job @0 :UInt64;
  shuffle @1 :UInt32;
  map @2 :UInt32;
  attempt @3 :UInt32;
  offset @4 :UInt64;
  maxBytes @5 :UInt64;
  # Wanted size of the reply.
  from @6 :Text;
  key @7 :UInt64;
  # Both as in FetchBlocks.
}

struct SegmentPiece {
  size @0 :UInt64;
  # Of the whole segment; the bulk is its bytes from the asked offset on.
  lost @1 :Bool;
  # The server does not have it (then there is no bulk).
  reason @2 :Text;
}
