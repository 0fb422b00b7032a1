// A core whose scheduler may never return. With a timeout, events are applied on a thread of its own and waited for only so long;
// then the core is given up, and whoever drives it goes on without.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "engine/master/core/core.hpp"

namespace weft::scheduling {

/// One thread drives it.
class GuardedCore {
 public:
  /// Without a timeout the scheduler is trusted: events are applied on the caller's thread.
  GuardedCore(std::unique_ptr<master::Core> core, std::optional<Duration> timeout);
  /// The thread and the core of a call that does not return are left alone: the process should end soon.
  ~GuardedCore();
  GuardedCore(const GuardedCore&) = delete;
  GuardedCore& operator=(const GuardedCore&) = delete;

  /// As Core::apply(). When the scheduler does not return in time: Code::internal, from then on, naming it.
  Result<void> apply(master::Time now, master::Event&& event, std::vector<master::Command>& commands);

  /// The scheduler did not return: the core must not be looked at any more.
  bool stuck() const { return stuck_.has_value(); }
  const master::Core& operator*() const { return *core(); }
  const master::Core* operator->() const { return core(); }

 private:
  struct Shared;
  const master::Core* core() const;

  std::shared_ptr<Shared> shared_;
  std::optional<Duration> timeout_;
  std::optional<Error> stuck_;
  std::string scheduler_;  // of the call that is waited for
};

}  // namespace weft::scheduling
