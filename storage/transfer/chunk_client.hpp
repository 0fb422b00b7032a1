// Reading and writing chunks from any process: the nearest replica first (by descriptor when it is on this machine), writes through
// a chain of workers. Messages: docs/formats/chunk-transfer.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "storage/chunks/chunk.hpp"
#include "storage/transfer/rack_traffic.hpp"

namespace weft::storage {

/// Where a chunk can be read. The replicas are the data addresses ("host:port") of workers, nearest first.
struct ChunkLocation {
  ChunkInfo info;
  std::vector<std::string> replicas;
  std::vector<std::string> damaged{};  // that are known as such: asked page by page when no other is left
};

/// A replica that could not be used, and why: corrupt (reported to its worker), not_found, or it could not be reached.
struct ReplicaFailure {
  std::string address;
  Error error;
};

/// Reads one chunk. When no replica is whole, pages come from wherever they are. One thread at a time; calls block, and never
/// longer than the deadlines of ChunkClientOptions times the number of replicas. What is returned was checked against the digest in
/// the location.
class ChunkReader {
 public:
  virtual ~ChunkReader() = default;
  virtual const ChunkInfo& info() const = 0;
  /// Between 1 and `at_most` verified bytes from `offset` on, without a copy where that can be; empty at the chunk's end. They stay
  /// as long as the result. Going on where the last call ended is fast: remote pages are on their way by then. A failing replica is
  /// replaced by the next, and when none is left each page is looked for on all of them, the damaged ones too. The error says
  /// which bytes no replica has (corrupt), or what was wrong with each replica.
  virtual Result<SharedBytes> next(std::uint64_t offset, std::uint64_t at_most) = 0;
  /// The chunk is read on until `end`, an offset in it, which is read ahead from the first call on; what is behind that will
  /// perhaps not be read, and only what is asked for is fetched of it. Unless it is called, a reader that
  /// continues where the last call ended reads the rest of the chunk ahead.
  virtual void will_read(std::uint64_t end) = 0;
  /// Fills `into`; fewer bytes only at the chunk's end.
  Result<std::size_t> read(std::uint64_t offset, MutableBytes into);
  /// Fills `into` from `offset` on with what any replica has; never fails.
  virtual Salvaged salvage(std::uint64_t offset, MutableBytes into) = 0;
  /// Replicas that failed so far, for the master's sake.
  virtual const std::vector<ReplicaFailure>& failures() const = 0;
  /// The pages come from a file of this machine.
  virtual bool local() const = 0;
};

struct ChunkWritten {
  ChunkInfo info;
  std::vector<std::string> durable;      // targets that have it on disk, in their order
  std::vector<ReplicaFailure> failures;  // the others
};

/// Writes one chunk to its targets, each of which passes it on to the next. One thread at a time; calls block until there is
/// credit. Destroying it unsealed abandons the chunk everywhere.
class ChunkWriter {
 public:
  virtual ~ChunkWriter() = default;
  /// An error means that the first target failed: begin again with a new id and other targets.
  virtual Result<void> append(ByteView bytes) = 0;
  virtual std::uint64_t length() const = 0;
  /// Durable on at least one target when it succeeds; `durable` says on which. After an error it may be durable at some
  /// targets or at none, under an id that was never made valid: erase it there.
  virtual Result<ChunkWritten> seal() = 0;
};

struct ChunkClientOptions {
  std::chrono::nanoseconds connect_deadline = std::chrono::seconds(3);  // each member of a chain adds one
  std::chrono::nanoseconds read_deadline = std::chrono::seconds(10);    // for the next pages of one replica
  std::chrono::nanoseconds write_deadline = std::chrono::seconds(20);   // for the next credit; as above
  std::chrono::nanoseconds seal_deadline = std::chrono::seconds(60);    // until it is durable; as above
  std::uint64_t read_bytes = 512u << 10;                                // what one request asks for: whole pages
  std::uint32_t read_window = 4;                                        // requests under way
  bool share = true;                                                    // take descriptors from workers of this machine
  std::shared_ptr<RackTally> racks = std::make_shared<RackTally>();     // knows the rack, counts what crosses to others
};

/// Makes readers and writers; keeps connections between them. Any thread except the reactor's. Outlives what it made; `reactor`
/// outlives it.
class ChunkClient {
 public:
  explicit ChunkClient(rpc::Reactor& reactor, ChunkClientOptions options = {});
  ~ChunkClient();
  ChunkClient(const ChunkClient&) = delete;
  ChunkClient& operator=(const ChunkClient&) = delete;

  /// Opens the first replica that works. The error (of the last one's code) says what was wrong with each; those with some result
  /// are in failures().
  Result<std::unique_ptr<ChunkReader>> open(const ChunkLocation& location);
  /// Connects to the first target and it to the next. Targets further down that cannot be reached are left out (and
  /// reported by seal()). `key`: to write this chunk, as the master gave it with the targets. permission_denied: this process is of
  /// a user and shows no key, or one that the worker's master did not give (perhaps the master before: ask for another chunk).
  Result<std::unique_ptr<ChunkWriter>> create(ChunkId id, const std::vector<std::string>& targets,
                                              std::uint64_t expected_length = kDefaultChunkBytes, std::uint64_t key = 0);

  class Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::storage
