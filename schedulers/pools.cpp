#include "schedulers/pools.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/config_entries.hpp"

namespace weft::sched {

namespace {

Result<bool> read_fifo(ConfigEntry& entry) {
  const auto policy = entry.text("policy", "fair");
  if (!policy) return fail(policy.error());
  if (*policy == "fifo" || *policy == "fair") return *policy == "fifo";
  return entry.error("policy", fmt::format("policy '{}' is neither fair nor fifo", escaped(*policy)));
}

Result<PoolSettings> read_pool(ConfigEntry& entry, std::string& parent) {
  PoolSettings pool;
  WEFT_ASSIGN(pool.name, entry.text("name", ""));
  WEFT_ASSIGN(parent, entry.text("parent", ""));
  WEFT_ASSIGN(pool.weight, entry.number("weight", 1, 1e-6, 1e6));
  WEFT_ASSIGN(pool.min_share, entry.amounts("min_share"));
  WEFT_ASSIGN(const auto most, entry.number("max_running_jobs", 0, 1e9));
  if (most) pool.max_running_jobs = static_cast<std::uint64_t>(*most);
  WEFT_ASSIGN(pool.fifo, read_fifo(entry));
  WEFT_ASSIGN(pool.min_share_timeout, entry.duration("min_share_timeout"));
  WEFT_ASSIGN(pool.fair_share_timeout, entry.duration("fair_share_timeout"));
  WEFT_TRY(entry.done());
  return pool;
}

}  // namespace

Result<std::vector<PoolSettings>> parse_pools(const ConfigFile& file) {
  WEFT_ASSIGN(auto entries, read_entries(file, "pool"));
  std::vector<PoolSettings> read;
  std::vector<NamedEntry> named;
  for (ConfigEntry& entry : entries) {
    std::string parent;
    WEFT_ASSIGN(PoolSettings pool, read_pool(entry, parent));
    named.push_back({pool.name, parent});
    read.push_back(std::move(pool));
  }
  WEFT_ASSIGN(const auto parents, resolve_parents(named, entries, "pool"));
  // Parents first; otherwise as in the file.
  std::vector<PoolSettings> pools;
  std::vector<std::optional<std::size_t>> moved(read.size());
  while (pools.size() < read.size()) {
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (moved[i] || (parents[i] && !moved[*parents[i]])) continue;
      moved[i] = pools.size();
      PoolSettings& pool = pools.emplace_back(std::move(read[i]));
      if (!parents[i]) continue;
      pool.parent = moved[*parents[i]];
      const PoolSettings& above = pools[*pool.parent];
      if (!pool.min_share_timeout) pool.min_share_timeout = above.min_share_timeout;
      if (!pool.fair_share_timeout) pool.fair_share_timeout = above.fair_share_timeout;
    }
  }
  return pools;
}

}  // namespace weft::sched
