// Map output between workers: a server for one's own store, and a client that fetches from others'.
//
// One request names many map outputs, a reply carries many extents, straight from the mapped segments. Checksums are those the map
// task computed; the fetcher verifies each extent after decompression and retries, so a flipped bit never gets through.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/link_cap.hpp"

namespace weft::shuffle {

inline constexpr rpc::MessageType kFetchBlocks = 300;
inline constexpr rpc::MessageType kFetchSegment = 302;

/// What both ends of a data connection allow each other.
rpc::Limits transfer_limits();

/// automatic: to other machines only, and where a trial on the first 64 KiB of an extent saves 30 %.
enum class Compression : std::uint8_t { automatic, always, never };

/// Serves a store to other workers:
///   reactor.listen(endpoint, transfer_limits(), [&](const rpc::ConnectionPtr&) { return server.handler(); })
/// Reactor thread. `store` must outlive the server and every handler made by it; answers never block on disk longer than mapping
/// does.
class BlockServer {
 public:
  explicit BlockServer(const Store& store, Compression compression = Compression::automatic);
  /// Answers kFetchBlocks and kFetchSegment, and refuses everything else.
  rpc::Handler handler() const;
  /// For a connection that serves other messages as well; `message.type` is one of these.
  void serve(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) const;

 private:
  const Store& store_;
  Compression compression_;
};

struct MapAttempt {
  std::uint32_t map = 0;
  std::uint32_t attempt = 0;
  friend auto operator<=>(const MapAttempt&, const MapAttempt&) = default;
};

/// One partition of some map outputs that are all on one node.
struct FetchRequest {
  std::string address;  // "host:port" of the node's data port
  JobId job;
  ShuffleId shuffle;
  std::uint32_t partition = 0;
  std::vector<MapAttempt> maps;
};

/// `blocks` is itself a segment in a memfd that readers cannot write (pass the descriptor on, or Segment::open() it): its
/// "partition" i holds the extents of request.maps[i], in order, already verified. Its bytes stay while anybody, in whatever
/// process, has the descriptor or a copy of it open or mapped; then the memory is recycled. On failure `lost` is the first map
/// output that could not be had.
struct FetchOutcome {
  Result<SealedSegment> blocks;
  std::optional<MapAttempt> lost;
};
using FetchDone = std::function<void(FetchOutcome)>;

struct FetchOptions {
  std::uint32_t attempts = 4;                                        // in a row without progress
  std::chrono::nanoseconds backoff = std::chrono::milliseconds(50);  // before the second attempt; doubles
  std::chrono::nanoseconds reply_deadline = std::chrono::seconds(10);
  std::chrono::nanoseconds deadline = std::chrono::seconds(60);  // without any progress
  std::uint64_t reply_bytes = 4u << 20;                          // what one reply should hold; bounds the time the reactor is busy
  std::uint32_t in_flight = 8;                                   // fetches at once; more wait in line
  std::uint32_t in_flight_per_node = 2;                          // of them from one; its replies come one after the other anyway
  std::uint64_t recycled_bytes = 64u << 20;                      // memory kept to receive into, until nothing was fetched for 1 s
  bool accept_lz4 = true;
  std::shared_ptr<LinkCap> cap{};  // shared with other fetchers of this reactor; null: as fast as it comes
};

/// Fetches over cached connections, one per address. Reactor thread only (construction and destruction too; after destruction no
/// callback comes). Jobs take turns, and of a job's fetches the one that waits longest is next.
class BlockFetcher {
 public:
  explicit BlockFetcher(rpc::Reactor& reactor, FetchOptions options = {});
  ~BlockFetcher();
  BlockFetcher(const BlockFetcher&) = delete;
  BlockFetcher& operator=(const BlockFetcher&) = delete;

  /// `done` is called exactly once, later, on the reactor's thread. not_found: the node does not have `lost`; unavailable,
  /// deadline_exceeded: it cannot be reached; corrupt: its bytes are damaged.
  void fetch(FetchRequest request, FetchDone done);
  /// Closes the connection to a node that is gone; its fetches fail at once with this reason instead of retrying.
  void forget(const std::string& address, const Error& why);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::shuffle
