#include "schedulers/config/queues.hpp"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/config/config_entries.hpp"
#include "schedulers/config/pool_rights.hpp"

namespace weft::schedulers {

namespace {

Result<std::optional<std::uint64_t>> read_count(ConfigEntry& entry, const std::string& key) {
  WEFT_ASSIGN(const auto count, entry.number(key, 1, 1e9));
  if (!count) return std::optional<std::uint64_t>();
  if (std::floor(*count) != *count) return entry.error(key, key + " must be a whole number");
  return std::optional(static_cast<std::uint64_t>(*count));
}

Result<QueueSettings> read_queue(ConfigEntry& entry, std::string& parent) {
  QueueSettings queue;
  WEFT_ASSIGN(queue.name, entry.text("name", ""));
  WEFT_ASSIGN(parent, entry.text("parent", ""));
  WEFT_ASSIGN(const auto capacity, entry.number("capacity", 0, 100));
  if (!capacity) return entry.error("a queue needs a capacity in percent");
  queue.capacity = *capacity;
  WEFT_ASSIGN(queue.max_capacity, entry.number("max_capacity", 100, 0, 100));
  if (queue.max_capacity < queue.capacity) return entry.error("max_capacity", "max_capacity is less than capacity");
  WEFT_ASSIGN(queue.user_limit_percent, entry.number("user_limit_percent", 100, 1, 100));
  WEFT_ASSIGN(queue.user_limit_factor, entry.number("user_limit_factor", 1, 1e-6, 1e6));
  WEFT_ASSIGN(queue.priorities, entry.flag("priorities", false));
  WEFT_ASSIGN(queue.max_initialized_jobs, read_count(entry, "max_initialized_jobs"));
  WEFT_ASSIGN(queue.max_initialized_jobs_per_user, read_count(entry, "max_initialized_jobs_per_user"));
  WEFT_TRY(read_access(entry));  // which is the master's
  WEFT_TRY(entry.done());
  return queue;
}

Result<void> check_sums(const std::vector<QueueSettings>& queues, const std::vector<ConfigEntry>& entries,
                        const std::vector<std::optional<std::size_t>>& parents) {
  std::map<std::optional<std::size_t>, std::pair<double, std::size_t>> levels;  // sum, first queue
  for (std::size_t i = 0; i < queues.size(); ++i) levels.try_emplace(parents[i], 0, i).first->second.first += queues[i].capacity;
  for (const auto& [parent, level] : levels) {
    if (std::abs(level.first - 100) < 1e-6) continue;
    return entries[level.second].error(
        "capacity",
        fmt::format("the capacities {} sum to {}, not to 100",
                    parent ? fmt::format("under '{}'", escaped(queues[*parent].name)) : std::string("at the top"), level.first));
  }
  return {};
}

}  // namespace

Result<std::vector<QueueSettings>> parse_queues(const ConfigFile& file) {
  const auto check = [&file](const auto& queues, const auto& entries, const auto& parents) -> Result<void> {
    if (queues.empty()) return fail(Code::invalid_argument, fmt::format("{}:1: there is no [[queue]]", file.name));
    return check_sums(queues, entries, parents);
  };
  return read_forest<QueueSettings>(file, "queue", read_queue, check, [](const auto&, const auto&) {});
}

}  // namespace weft::schedulers
