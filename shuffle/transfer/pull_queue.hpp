// What is pulled from other processes over cached connections, piece by piece: in which order, how fast, how often a piece is
// requested again, and when it is given up. What is pulled, and where it goes, is up to a Pull: blocks into receive buffers
// (block_fetcher.hpp), whole segments into the store (segment_replicator.hpp), programs into files
// (runtime/worker/binary_cache.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/peers.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/transfer/job_keys.hpp"
#include "shuffle/transfer/links.hpp"

namespace weft::shuffle {

/// Something that one other process has, requested piece by piece. The queue calls one function at a time.
class Pull {
 public:
  virtual ~Pull() = default;
  /// Its turn has come; called once, before everything below. An error ends the pull.
  virtual Result<void> begin() = 0;
  virtual rpc::MessageType type() const = 0;
  /// The header of a request for what is not there yet. What a failed request brought is requested again.
  virtual Buffer request() = 0;
  /// Where the bulk of the reply goes as it comes; null: it stays in the message.
  virtual rpc::BulkSink* sink() { return nullptr; }
  /// Takes a reply, after all of its bulk: true when nothing more is to be requested.
  virtual Result<bool> arrived(rpc::Message reply) = 0;
  /// Whether the last request brought something that need not be requested again; asked after each, also one that failed.
  virtual bool progressed() const = 0;
  /// The bytes of bulk that the last reply had.
  virtual std::uint64_t reply_bytes() const = 0;

  /// Whether store() is to be called before the next request, or before the end (`whole`).
  virtual bool must_store(bool whole) const {
    (void)whole;
    return false;
  }
  /// On the background executor: may wait for the disk. An error ends the pull.
  virtual Result<void> store(bool whole) {
    (void)whole;
    return {};
  }
  /// On the reactor's thread: everything was stored although the pull had been dropped.
  virtual void undo() {}
};

struct PullOptions {
  std::uint32_t in_flight = 8;           // pulls at once; more wait in line
  std::uint32_t in_flight_per_node = 2;  // of them from one; its replies come one after the other anyway
  std::uint32_t attempts = 4;            // in a row without progress
  std::chrono::nanoseconds backoff = std::chrono::milliseconds(50);  // before the first retry; doubles
  /// Without a byte of the reply, or of one before it on the connection, where it goes to a sink; otherwise until it is whole.
  std::chrono::nanoseconds reply_deadline = std::chrono::seconds(10);
  std::chrono::nanoseconds deadline = std::chrono::seconds(60);  // without any progress, and without a byte to a sink
  std::shared_ptr<Links> links{};                                // of this reactor's worker; null: not paced, and not counted
  std::string self{};                                            // the address of this worker's data port, sent with requests
  std::shared_ptr<const JobKeys> keys = JobKeys::none();         // of which one is sent with requests for map outputs
};

/// Reactor thread only, construction and destruction too; after destruction no callback comes. Jobs take turns, and of a job's
/// pulls the one that waits longest is next. What fails for a reason that may pass (the peer cannot be reached, is late, sent
/// damaged bytes, could not read its disk; it or this process is short of descriptors or memory) is requested again after a pause,
/// as long as there is progress.
class PullQueue {
 public:
  /// Gives a connection to the address, at once or later, on the reactor's thread.
  using Connect = std::function<void(const std::string& address, rpc::Peers::Done)>;

  /// Connects to data ports of workers. `background` runs Pull::store(); it ends before what pulls store to does.
  PullQueue(rpc::Reactor& reactor, rpc::Reactor& background, PullOptions options);
  /// Over connections that others make.
  PullQueue(rpc::Reactor& reactor, rpc::Reactor& background, PullOptions options, Connect connect);
  ~PullQueue();
  PullQueue(const PullQueue&) = delete;
  PullQueue& operator=(const PullQueue&) = delete;

  /// `done` is called once, later, unless the pull is dropped: when all is there and stored, or with why it is not.
  using Done = std::function<void(Result<void>)>;
  void add(JobId job, std::string address, std::shared_ptr<Pull> pull, Done done);
  /// Ends these pulls; their `done` is not called.
  void drop(const std::function<bool(const Pull&)>& matches);
  /// Closes the connection to a node that is gone; pulls from it fail at once with this reason instead of being tried again.
  void forget(const std::string& address, const Error& why);
  /// Nothing is under way or waits.
  bool idle() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::shuffle
