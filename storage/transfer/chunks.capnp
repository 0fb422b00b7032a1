@0x8f6ec1fd144e9eeb;
# Chunks between processes: messages 400 to 413. docs/formats/chunk-transfer.md tells the story.

struct Info {
  id @0 :UInt64;
  length @1 :UInt64;
  digest @2 :UInt32;
}

struct OpenChunk {
  info @0 :Info;
  # What the reader expects. Answered with the checksums of the pages as bulk; on a Unix socket with a descriptor instead.
  rack @1 :Text;
  # Of the requesting process; empty when that is not known, as in all of these.
}

struct ReadPages {
  id @0 :UInt64;
  offset @1 :UInt64;
  # A multiple of the page size.
  length @2 :UInt32;
  # The bytes are the bulk of the answer, whose header is empty.
}

struct ReadDamaged {
  info @0 :Info;
  offset @1 :UInt64;
  # A multiple of the page size.
  length @2 :UInt32;
  # The bytes are the bulk of the answer as the file has them; the reader checks each page.
  rack @3 :Text;
}

struct Served {
  # The header of the answers to OpenChunk, ReadDamaged and BeginWrite; without one the rack is not known.
  rack @0 :Text;
  # Of the worker that answers.
}

struct NameChunk {
  id @0 :UInt64;
  # Of CloseChunk, ReportDamage and AbandonWrite.
}

struct BeginWrite {
  id @0 :UInt64;
  expectedLength @1 :UInt64;
  self @2 :Text;
  # The address of the receiver, as it is to appear in SealedChunk.
  targets @3 :List(Text);
  # Those behind it in the chain.
  rack @4 :Text;
  # Of the sender.
  key @5 :UInt64;
  # To write this chunk, as the master gave it; workers show none.
}

struct WriteBytes {
  id @0 :UInt64;
  offset @1 :UInt64;
  # Where the bulk belongs: right behind what was sent before.
}

struct SealChunk {
  info @0 :Info;
}

struct SealedChunk {
  durable @0 :List(Text);
  failures @1 :List(Failure);

  struct Failure {
    address @0 :Text;
    code @1 :UInt8;
    message @2 :Text;
  }
}
