// Requests to partitions on other workers, over the connections of one client. A bounded number is under way to each worker, and
// the others wait in line. That number follows what the worker takes, as TCP's congestion window does: each answer well within its
// deadline admits one more, each late one halves the number, so that a worker with a slow disk gets no more than it can answer in
// time. The caller bounds how many requests it makes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "storage/tables/protocol.hpp"

namespace weft::storage::tables {

struct PartitionWindow {
  std::size_t requests = 64;      // at most; well below what a worker's data port serves at once for a peer
  std::size_t first = 16;         // until it is known how quickly a worker answers
  std::size_t bytes = 64u << 20;  // but at least one request
};

/// Reactor thread only, construction and destruction too; no answer comes after destruction.
class PartitionPeers {
 public:
  using Answer = std::function<void(Result<PartitionReply>)>;
  /// Sends a request and answers later, once.
  using Send = std::function<void(const std::string& address, rpc::Payload, Duration deadline, rpc::Reply)>;

  explicit PartitionPeers(rpc::Reactor& reactor, PartitionWindow window = {});
  /// The clock outlives it.
  PartitionPeers(Send send, PartitionWindow window, const Clock& clock);
  ~PartitionPeers();
  PartitionPeers(const PartitionPeers&) = delete;
  PartitionPeers& operator=(const PartitionPeers&) = delete;

  /// `answer` is called exactly once, never from within ask(). The deadline begins when the request is sent; but when the worker
  /// does not answer another one in time, what has waited in line for as long as its own deadline fails as well: requests to a
  /// worker that hangs fail within two deadlines, however long the line.
  void ask(const std::string& address, const PartitionRequest& request, Duration deadline, Answer answer);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::storage::tables
