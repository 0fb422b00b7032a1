// The queues of the capacity scheduler, read from TOML:
//
//   [[queue]]
//   name = "production"
//   parent = "all"              # unset: at the top
//   capacity = 70               # percent of the parent's; the queues of a level sum to 100
//   max_capacity = 90           # percent of the parent's it may borrow up to (100)
//   user_limit_percent = 25     # a user may always have this part of the queue, however many users are active (100)
//   user_limit_factor = 1       # times the queue's capacity that one user may have (1)
//   priorities = true           # jobs by priority, then submit time (false: by submit time)
//   max_initialized_jobs = 20   # jobs that may run tasks at a time; later ones wait (the queue's part of max_system_jobs)
//   max_initialized_jobs_per_user = 5  # the same, of one user (user_limit_percent of those of the queue)
//
// A job goes to the leaf queue that it names as its pool; a job that names none goes to "default". All others are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/config/options.hpp"

namespace weft::schedulers {

struct QueueSettings {
  std::string name;
  std::optional<std::size_t> parent;          // index
  double capacity = 100, max_capacity = 100;  // percent of the parent's
  double user_limit_percent = 100, user_limit_factor = 1;
  bool priorities = false;
  std::optional<std::uint64_t> max_initialized_jobs, max_initialized_jobs_per_user;
};

/// Parents come before their children.
Result<std::vector<QueueSettings>> parse_queues(const ConfigFile& file);

}  // namespace weft::schedulers
