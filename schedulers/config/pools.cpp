#include "schedulers/config/pools.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/config/config_entries.hpp"
#include "schedulers/config/pool_rights.hpp"

namespace weft::schedulers {

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
  WEFT_TRY(read_access(entry));  // which is the master's
  WEFT_TRY(entry.done());
  return pool;
}

}  // namespace

Result<std::vector<PoolSettings>> parse_pools(const ConfigFile& file) {
  const auto any = [](const auto&, const auto&, const auto&) { return Result<void>(); };
  const auto adopt = [](PoolSettings& pool, const PoolSettings& above) {
    if (!pool.min_share_timeout) pool.min_share_timeout = above.min_share_timeout;
    if (!pool.fair_share_timeout) pool.fair_share_timeout = above.fair_share_timeout;
  };
  return read_forest<PoolSettings>(file, "pool", read_pool, any, adopt);
}

}  // namespace weft::schedulers
