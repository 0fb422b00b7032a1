// The pools of the fair scheduler, read from TOML:
//
//   [[pool]]
//   name = "research"
//   parent = "all"              # unset: at the top
//   weight = 2                  # of what is shared with its siblings (1)
//   min_share = 10              # cores (slots), or "map_slots=8,reduce_slots=2"
//   max_running_jobs = 5        # later ones wait (no limit)
//   policy = "fifo"             # among its jobs and pools: fair (default) or fifo
//   min_share_timeout = "30s"   # below its minimum for this long, it may preempt; unset: the parent's, or never
//   submit, administer          # pool_rights.hpp
//   fair_share_timeout = "5min" # below half its fair share for this long, it may preempt; unset: the parent's, or never
//
// A job goes to the pool that it names. A pool that is not in the file is made at the top, with the settings of the pool "default"
// if there is one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedulers/config/options.hpp"

namespace weft::schedulers {

struct PoolSettings {
  std::string name;
  std::optional<std::size_t> parent;  // index
  double weight = 1;
  Resources min_share;
  std::optional<std::uint64_t> max_running_jobs;
  bool fifo = false;
  std::optional<Time> min_share_timeout, fair_share_timeout;
};

/// Parents come before their children.
Result<std::vector<PoolSettings>> parse_pools(const ConfigFile& file);

}  // namespace weft::schedulers
