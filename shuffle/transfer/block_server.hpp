// Serves the map outputs of a worker's store to other workers.
//
// One request names many map outputs, a reply carries many extents, straight from the mapped segments. Checksums are those that the
// map task computed; the fetching worker verifies each extent (block_fetcher.hpp), so a flipped bit never gets through.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/rpc/rpc.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/job_keys.hpp"
#include "shuffle/transfer/links.hpp"

namespace weft::shuffle {

inline constexpr rpc::MessageType kFetchBlocks = 300;
inline constexpr rpc::MessageType kFetchSegment = 302;

/// What both ends of a data connection allow each other.
rpc::Limits transfer_limits();

/// automatic: to other machines only, and where a trial on the first 64 KiB of an extent saves 30 %.
enum class Compression : std::uint8_t { automatic, always, never };

/// Serves a store to other workers:
///   reactor.listen(endpoint, transfer_limits(), [&](const rpc::ConnectionPtr&) { return server.handler(); })
/// Reactor thread. `store` must outlive the server and every handler made by it. What lies in files is read, and its checksums are
/// compared, before it is sent: an output that is damaged, or that its disk does not deliver, is answered as lost.
class BlockServer {
 public:
  /// Serves requests that `keys` accepts. `links` counts the bytes sent to each peer, by the address in its requests; null: nothing
  /// is counted.
  BlockServer(const Store& store, std::shared_ptr<const JobKeys> keys, Compression compression = Compression::automatic,
              std::shared_ptr<Links> links = {});
  /// Answers kFetchBlocks and kFetchSegment, and refuses everything else.
  rpc::Handler handler() const;
  /// For a connection that serves other messages as well; `message.type` is one of these.
  void serve(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) const;

 private:
  Result<rpc::Payload> blocks(const rpc::Connection& peer, ByteView header, std::string& from) const;
  /// Part of a whole segment, as it lies in its file.
  Result<rpc::Payload> segment_piece(const rpc::Connection& peer, ByteView header, std::string& from) const;

  const Store& store_;
  std::shared_ptr<const JobKeys> keys_;
  Compression compression_;
  std::shared_ptr<Links> links_;
};

}  // namespace weft::shuffle
