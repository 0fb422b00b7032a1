// A client's line to the master, made again when it was closed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::storage {

/// Any thread but the reactor's; blocks.
class MasterLink {
 public:
  /// `reactor` outlives the link, but for what close() is for. `name`: the master's address as the user wrote it.
  MasterLink(rpc::Reactor& reactor, rpc::Endpoint endpoint, std::string name);

  /// The open connection or a new one. `unavailable`, with what to do, when no master answers within 3 s.
  Result<rpc::ConnectionPtr> connect();
  /// One request and its reply. A connection on which a reply is overdue is closed.
  Result<rpc::Message> call(rpc::MessageType type, rpc::Payload payload, Duration deadline);
  /// Once, last, before the reactor stops.
  void close();

  /// Whether a second try may succeed where the master was only away.
  static bool worth_another_try(const Error& error);

 private:
  rpc::Reactor& reactor_;
  const rpc::Endpoint endpoint_;
  const std::string name_;
  std::mutex mutex_;  // guards what follows
  rpc::ConnectionPtr connection_;
  std::shared_ptr<std::atomic<bool>> closed_;  // it is
};

}  // namespace weft::storage
