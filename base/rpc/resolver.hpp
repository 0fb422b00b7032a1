// Look-ups of host names for an event loop. Each name is looked up on a thread of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rpc/socket.hpp"

namespace weft::rpc {

/// A name server that does not answer delays whoever needs that name, and neither other look-ups nor the end of the process.
/// (Asio's own resolver has one thread for all names, and waits for it when it is destroyed.) Used by the loop's thread alone.
class Resolver {
 public:
  using Addresses = Result<std::vector<Address>>;
  using Done = std::function<void(Addresses)>;
  /// Looks a name up and may block; called on any thread.
  using LookUp = std::function<Addresses(const std::string& host, const std::string& port)>;
  /// Runs a task on the loop's thread, or drops it when the loop has ended; called on any thread, also after the resolver's end.
  using Post = std::function<void(std::function<void()>)>;

  Resolver(Post post, LookUp look_up);
  ~Resolver();

  /// Calls `done` from a posted task. Calls for a name that is being looked up share that look-up. No more than kMostNames are
  /// looked up at a time: code `unavailable` beyond, and when the system has no thread left.
  void resolve(const std::string& host, const std::string& port, Done done);
  static constexpr std::size_t kMostNames = 64;

 private:
  using Name = std::pair<std::string, std::string>;
  struct Pending;  // the callbacks of each name

  Result<void> start(const Name& name);

  Post post_;
  LookUp look_up_;
  std::shared_ptr<Pending> pending_;
};

}  // namespace weft::rpc
