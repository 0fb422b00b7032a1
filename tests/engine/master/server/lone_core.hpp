// A core behind a shell of its own, for tests of the parts of a server.
#pragma once

#include <string>
#include <vector>

#include <fmt/core.h>

#include "engine/master/core/core_shell.hpp"
#include "schedulers/builtin.hpp"

namespace weft::master::test {

/// Keeps the events that were applied, and gives their commands to nobody.
class LoneCore final : public CoreShell {
 public:
  Time now() const override { return Time(5); }
  Result<void> apply(Event event) override {
    events.push_back(copy_of(event));
    std::vector<Command> commands;
    return core_.apply(now(), std::move(event), commands);
  }
  const Core& core() const override { return core_; }
  void note(JobId job, NodeId node, const shuffle::PrefetchStats& prefetched) override {
    noted.push_back(fmt::format("{} {} {}", job.value(), node.value(), prefetched.prefetched_bytes));
  }

  std::vector<Event> events;
  std::vector<std::string> noted;

 private:
  Core core_{schedulers::make_scheduler("fifo").value(), {}};
};

}  // namespace weft::master::test
