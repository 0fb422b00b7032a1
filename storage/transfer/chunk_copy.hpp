// A chunk of this worker on its way to others. Private to storage/transfer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "storage/transfer/chunk_server.hpp"
#include "storage/transfer/incoming_write.hpp"
#include "storage/transfer/page_fetch.hpp"

namespace weft::storage {

/// Spreads bytes over time. The caller's thread.
class Pacer {
 public:
  explicit Pacer(std::uint64_t rate) : rate_(rate) {}
  void set_rate(std::uint64_t rate) { rate_ = rate; }
  /// How long to wait before that many bytes may be sent; they count as sent.
  Duration take(std::uint64_t bytes);

 private:
  std::uint64_t rate_;  // bytes a second; 0: no bound
  TimePoint due_{};
};

/// Sends its own replica; from the first damaged page on, or when it has none that is whole, what any of `chunk.replicas` (its own
/// among them) has, page by page. Reactor thread. Keeps itself alive until it has called `done`.
class ChunkCopy : public std::enable_shared_from_this<ChunkCopy> {
 public:
  ChunkCopy(const ServerContext& context, Pacer& pacer, rpc::Peers& sources, ChunkLocation chunk, std::vector<std::string> targets,
            ChunkServer::CopyDone done);
  void start();
  /// The server ends: nothing more happens.
  void stop();

 private:
  void opened(Result<std::shared_ptr<const ChunkFile>> file);
  void begin_chain();
  void advance();
  void read(std::uint64_t offset, std::uint64_t length);
  void go_over_to_pages(Error why, std::function<void()> then);
  void fetch(std::uint64_t offset, std::uint64_t length);
  void send_in_turn(SharedBytes bytes);
  void send(SharedBytes bytes);
  void finish(Result<ChunkWritten> result);

  const ServerContext context_;
  Pacer& pacer_;
  rpc::Peers& sources_;
  const ChunkLocation chunk_;
  const std::shared_ptr<Chain> chain_;
  ChunkServer::CopyDone done_;  // null once it was called
  std::shared_ptr<const ChunkFile> file_;
  std::shared_ptr<PageFetch> pages_;  // instead of the file, once that is known to be damaged
  std::uint64_t offset_ = 0;          // up to here it is read
  std::uint32_t in_flight_ = 0;
  bool reading_ = false;  // or waiting for its turn
  bool sealing_ = false;
  std::unique_ptr<rpc::Timer> turn_;
};

}  // namespace weft::storage
