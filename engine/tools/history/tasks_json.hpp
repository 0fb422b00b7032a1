// The attempts of a job as JSON, a page at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/tools/history/history.hpp"

namespace weft::history {

struct TasksWanted {
  std::optional<std::uint32_t> stage{};
  std::string fate{};  // empty: any
  std::size_t from = 0, count = 1000;
  std::uint64_t since = 0;  // only what has changed since EventHistory::changes() was this
};

/// {"total":N,"from":N,"version":N,"seconds":S,"stages":[…],"workers":[…],"tasks":[…]}: `total` attempts are wanted, `tasks` has
/// `count` of them from `from` on, in the order of their launches, `workers` those that they ran on; `stages` is empty except in
/// the page from 0 on. `version` is EventHistory::changes(). Times are seconds since the job was submitted.
std::string tasks_json(const EventHistory& history, const LoggedJob& job, const TasksWanted& wanted);

}  // namespace weft::history
