// A chunk on its way down a chain of workers: the side that sends. Used by writers, by each member of a chain towards the next, and
// by copies. Private to storage/transfer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "storage/transfer/wire.hpp"

namespace weft::storage {

/// Has a connection of its own, so that the end of the one is the end of the other. Reactor thread. Callbacks come later and
/// exactly once each, after abandon() too.
class Chain : public std::enable_shared_from_this<Chain> {
 public:
  using Done = std::function<void(Result<void>)>;
  using SealDone = std::function<void(Result<ChunkWritten>)>;

  /// `key`: to write the chunk, as the master gave it; 0 from a worker, which needs none.
  Chain(rpc::Reactor& reactor, const ChunkClientOptions& options, ChunkId id, std::vector<std::string> targets,
        std::uint64_t key = 0);

  /// Connects to the first target, which connects to the next. Fails when the first cannot take the chunk.
  void begin(std::uint64_t expected_length, Done done);
  /// The next bytes; `done` is the credit for as many more: they are with every member of the chain that is still there. After a
  /// failure the chunk can only be abandoned.
  void send(SharedBytes bytes, Done done);
  /// After everything sent. Durable somewhere when it succeeds.
  void seal(const ChunkInfo& info, SealDone done);
  /// Closes the connection: all members drop what is not sealed.
  void abandon();

  const std::vector<std::string>& targets() const { return targets_; }

 private:
  void request(rpc::MessageType type, Buffer header, std::vector<SharedBytes> bulk, rpc::Duration deadline, rpc::Reply reply);
  rpc::Duration for_all(rpc::Duration each) const { return each * static_cast<rpc::Duration::rep>(targets_.size()); }

  rpc::Reactor& reactor_;
  const ChunkClientOptions options_;
  const ChunkId id_;
  const std::vector<std::string> targets_;
  const std::uint64_t key_;
  rpc::ConnectionPtr connection_;
  std::string rack_;  // of the first target, once it has answered
  std::uint64_t sent_ = 0;
  bool over_ = false;
};

}  // namespace weft::storage
