// The end of a worker that first hands over what others need of it. It announces that to its master, which gives it no more tasks
// and has its map outputs and chunks copied. It ends when the master reports that nothing is left.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::runtime {

/// In words: "2 tasks run, 3 map outputs to copy"; empty when nothing is left.
std::string to_text(const protocol::Remains& remains);

/// Reactor thread only; the callbacks too. Destroying it ends them.
class Departure {
 public:
  struct Steps {
    std::function<void()> announce;  // to the master; called when there is a registration
    std::function<void()> end;       // once
  };
  /// Begins. It ends after `longest` in any case, and after half a minute without a master, since only a master knows what is left.
  Departure(rpc::Reactor& reactor, Duration longest, bool registered, Steps steps);

  /// The worker has registered with a master, which does not know of it.
  void registered();
  void lost();
  /// The master's report of what is left.
  void on_remains(const protocol::Remains& remains);

 private:
  void end(const std::string& why);

  rpc::Reactor& reactor_;
  Steps steps_;
  std::unique_ptr<rpc::Timer> longest_, away_;
  std::optional<protocol::Remains> remains_;
  bool ended_ = false;
  Log log_{"worker"};
};

}  // namespace weft::runtime
