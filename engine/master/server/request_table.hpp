// Which part of the server answers which requests. Each part adds its own.
#pragma once

#include <functional>
#include <map>
#include <variant>

#include "base/assert.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/server/access.hpp"

namespace weft::master {

/// Reactor thread only.
class RequestTable {
 public:
  /// The answer. It reaches the peer when all that was recorded before is on the disk.
  using Answer = std::function<Result<rpc::Payload>(const rpc::ConnectionPtr& connection, const rpc::Message& message)>;
  /// Answers through the responder, now or later.
  using Handle = std::function<void(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder)>;

  enum class Kind {
    question,  // changes nothing: while nothing can be promised (JobRecorder::obstacle) it is answered at once
    change,
    promise,  // has to be recorded: refused then
  };
  struct Route {
    Kind kind = Kind::change;
    std::variant<Answer, Handle> to;
  };

  void answer(rpc::MessageType type, Kind kind, Answer answer) { add(type, {kind, std::move(answer)}); }
  void handle(rpc::MessageType type, Handle handle) { add(type, {Kind::question, std::move(handle)}); }
  /// Null: no part knows the message.
  const Route* find(rpc::MessageType type) const {
    const auto found = routes_.find(type);
    return found == routes_.end() ? nullptr : &found->second;
  }

 private:
  /// Whoever adds a request has said who may make it.
  void add(rpc::MessageType type, Route route) {
    WEFT_ASSERT(rule_of(type) != nullptr);
    WEFT_ASSERT(routes_.emplace(type, std::move(route)).second);
  }

  std::map<rpc::MessageType, Route> routes_;
};

}  // namespace weft::master
