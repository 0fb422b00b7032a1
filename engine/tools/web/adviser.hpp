// What another scheduler would have done with the jobs of the last hour: `weft advise` on the master's own event log, as a process
// beside it that gives way to others.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "engine/tools/web/followed_process.hpp"

namespace weft::web {

/// One question at a time. Any thread.
class Adviser {
 public:
  /// `program`: of `weft`.
  explicit Adviser(std::string event_log, std::string program = "/proc/self/exe")
      : event_log_(std::move(event_log)), program_(std::move(program)) {}

  /// Asks about the jobs that were submitted in the last `span`; 0: about all that the log has. already_exists while the last
  /// question is not answered; invalid_argument of a negative span.
  Result<void> ask(Duration span);
  /// JSON (Advice in schemas.json): the last question, and its answer when there is one.
  std::string describe() const;

 private:
  struct Question {
    Duration span{0};
    TimePoint began{};
    std::unique_ptr<FollowedProcess> process;
  };

  const std::string event_log_, program_;
  mutable std::mutex mutex_;
  std::optional<Question> question_;
};

}  // namespace weft::web
