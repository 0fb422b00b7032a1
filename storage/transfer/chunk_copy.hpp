// A chunk of this worker on its way to others. Private to storage/transfer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "storage/transfer/chunk_server.hpp"
#include "storage/transfer/incoming_write.hpp"

namespace weft::storage {

/// Spreads bytes over time. The caller's thread.
class Pacer {
 public:
  explicit Pacer(std::uint64_t rate) : rate_(rate) {}
  void set_rate(std::uint64_t rate) { rate_ = rate; }
  /// How long to wait before so many bytes may go; they are taken as gone.
  Duration take(std::uint64_t bytes);

 private:
  std::uint64_t rate_;  // bytes a second; 0: no bound
  TimePoint due_{};
};

/// Reactor thread. Keeps itself alive until it has called `done`.
class ChunkCopy : public std::enable_shared_from_this<ChunkCopy> {
 public:
  ChunkCopy(const ServerContext& context, Pacer& pacer, ChunkId id, std::vector<std::string> targets, ChunkServer::CopyDone done);
  void start();
  /// The server ends: nothing more happens.
  void stop();

 private:
  void opened(Result<std::shared_ptr<const ChunkFile>> file);
  void advance();
  void send(std::uint64_t offset, std::uint64_t length);
  void finish(Result<ChunkWritten> result);

  const ServerContext context_;
  Pacer& pacer_;
  const ChunkId id_;
  const std::shared_ptr<Chain> chain_;
  ChunkServer::CopyDone done_;  // null once it was called
  std::shared_ptr<const ChunkFile> file_;
  std::uint64_t offset_ = 0;  // up to here it is read
  std::uint32_t in_flight_ = 0;
  bool reading_ = false;  // or waiting for its turn
  bool sealing_ = false;
  std::unique_ptr<rpc::Timer> turn_;
};

}  // namespace weft::storage
