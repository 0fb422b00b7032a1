// A chunk that somebody writes to this worker, and that it passes on to the next of the chain. Private to storage/transfer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/chunks/chunk_store.hpp"
#include "storage/transfer/chain.hpp"
#include "storage/transfer/io_threads.hpp"

namespace weft::storage {

/// What the parts of a server share.
struct ServerContext {
  rpc::Reactor& reactor;
  ChunkStore& store;
  IoThreads& threads;
  const ChunkClientOptions& chain;
};

/// Reactor thread. Answers each request once both this worker and those behind it have done their part.
class IncomingWrite : public std::enable_shared_from_this<IncomingWrite> {
 public:
  IncomingWrite(const ServerContext& context, WriteStart start);

  void begin(rpc::Responder responder);
  void write(std::uint64_t offset, Buffer bytes, rpc::Responder responder);
  void seal(const ChunkInfo& info, rpc::Responder responder);
  /// The writer is gone or does not want it any more. What is already being sealed is sealed.
  void abandon();
  /// Leaves out what is behind this worker when the next in the chain is that one.
  void forget(const std::string& address, const Error& why);

 private:
  /// One answer that two have a part in.
  struct Answer;
  struct Local {
    std::unique_ptr<ChunkAppender> appender;  // the queue's tasks' only; null: not begun, or given up
  };

  /// Runs `call` on the I/O threads, then `done` with its result here, unless this is gone by then.
  template <class T>
  void on_disk(std::function<Result<T>(Local&)> call, std::function<void(Result<T>)> done);
  void fail_here(Error error);
  void cut(const Error& why);

  const ServerContext context_;
  const WriteStart start_;
  const std::shared_ptr<IoQueue> queue_;
  const std::shared_ptr<Local> local_ = std::make_shared<Local>();
  std::shared_ptr<Chain> next_;           // null: none, or failed
  std::vector<ReplicaFailure> failures_;  // of those behind
  std::optional<Error> failure_;          // of this one
  std::uint64_t received_ = 0;
  std::uint64_t unwritten_ = 0;  // of them, not yet on their way to the disk
  bool sealing_ = false;
};

}  // namespace weft::storage
