// What readers and writers share. Private to storage/transfer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/rpc/peers.hpp"
#include "storage/chunks/chunk_file.hpp"
#include "storage/transfer/read_turns.hpp"
#include "storage/transfer/wire.hpp"

namespace weft::storage {

class ChunkClient::Impl {
 public:
  Impl(rpc::Reactor& reactor, const ChunkClientOptions& options);
  ~Impl();

  rpc::Reactor& reactor() const { return reactor_; }
  const ChunkClientOptions& options() const { return options_; }

  rpc::Peers& workers() { return *workers_; }
  const std::shared_ptr<ReadTurns>& turns() const { return turns_; }
  /// A connection to the worker, by TCP, or by its name on this machine. Blocks.
  Result<rpc::ConnectionPtr> connect(const std::string& address);
  Result<rpc::ConnectionPtr> connect_to_neighbour(const std::string& address);

 private:
  Result<rpc::ConnectionPtr> connect_by(const std::unique_ptr<rpc::Peers>& peers, const std::string& address);

  rpc::Reactor& reactor_;
  const ChunkClientOptions options_;
  const std::shared_ptr<ReadTurns> turns_ = std::make_shared<ReadTurns>();
  std::unique_ptr<rpc::Peers> workers_, neighbours_;  // on the reactor's thread
};

/// One replica, being read. One thread at a time.
class ReplicaSource {
 public:
  virtual ~ReplicaSource() = default;
  /// As ChunkReader::next(), within the chunk. An error is the end of the source.
  virtual Result<SharedBytes> next(std::uint64_t offset, std::uint64_t at_most) = 0;
  /// As ChunkReader::will_read().
  virtual void will_read(std::uint64_t /*end*/) {}
  virtual bool local() const = 0;
  /// What it served was damaged: its worker should look.
  virtual void report_damage() = 0;
};

/// Blocks until the replica is open: by descriptor where its worker gives one, by connection otherwise.
Result<std::unique_ptr<ReplicaSource>> open_replica(ChunkClient::Impl& client, const std::string& address, const ChunkInfo& info);
/// Blocks until the chain is connected.
Result<std::unique_ptr<ChunkWriter>> make_writer(ChunkClient::Impl& client, ChunkId id, const std::vector<std::string>& targets,
                                                 std::uint64_t expected_length, std::uint64_t key);

}  // namespace weft::storage
