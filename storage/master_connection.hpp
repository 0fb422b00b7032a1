// A client's connection to the master, made again when it was closed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "base/rpc/rpc.hpp"
#include "storage/reply.hpp"
#include "storage/retry.hpp"

namespace weft::storage {

/// Any thread except the reactor's; blocks.
class MasterConnection {
 public:
  /// `reactor` outlives this; before it stops, close() is called. `name`: the master's address as the user wrote it.
  MasterConnection(rpc::Reactor& reactor, rpc::Endpoint endpoint, std::string name);

  /// The open connection or a new one. `unavailable`, with what to do, when no master answers within 3 s.
  Result<rpc::ConnectionPtr> connect();
  /// Waits until a master answers, for as long as `retry` allows.
  Result<void> await(Retry retry);
  /// One request and its reply. A connection on which a reply is overdue is closed.
  Result<rpc::Message> call(rpc::MessageType type, rpc::Payload payload, Duration deadline);
  /// The same, tried again while the master is away, for as long as `retry` allows. `repeated`, unless null, becomes true with the
  /// second try: an earlier one may have been carried out though its answer was lost.
  Result<rpc::Message> call(rpc::MessageType type, const std::function<rpc::Payload()>& payload, Duration deadline, Retry retry,
                            bool* repeated);
  /// Once, last, before the reactor stops.
  void close();

 private:
  rpc::Reactor& reactor_;
  const rpc::Endpoint endpoint_;
  const std::string name_;
  std::mutex mutex_;  // guards what follows
  rpc::ConnectionPtr connection_;
  std::shared_ptr<std::atomic<bool>> closed_;  // connection_ is
};

/// Whether a change is done. A request that was repeated is done, too, when its answer says that nothing was left to do
/// (`nothing_left`).
template <class Reply>
Result<void> done_or(const Result<Reply>& reply, bool repeated, Code nothing_left) {
  if (reply || (repeated && reply.error().code() == nothing_left)) return {};
  return fail(reply.error());
}

}  // namespace weft::storage
