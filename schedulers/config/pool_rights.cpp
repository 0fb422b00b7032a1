#include "schedulers/config/pool_rights.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "base/toml.hpp"

namespace weft::schedulers {
namespace {

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "pool" or "queue" when the file has such tables; empty otherwise, also of what is no TOML: somebody's own scheduler reads it.
std::string kind_of(const ConfigFile& file) {
  const auto document = parse_toml(file.text, file.name);
  if (!document) return {};
  for (const char* const kind : {"pool", "queue"})
    if (document->contains(kind)) return kind;
  return {};
}

}  // namespace

Result<PoolAccess> read_access(ConfigEntry& entry) {
  PoolAccess access;
  WEFT_ASSIGN(access.submit, entry.names("submit"));
  WEFT_ASSIGN(const auto administer, entry.names("administer"));
  access.administer = administer.value_or(std::vector<std::string>{});
  return access;
}

Result<PoolRights> PoolRights::read(const std::map<std::string, std::string>& files) {
  PoolRights rights;
  for (const auto& [name, text] : files) {
    const ConfigFile file{name, text};
    const std::string kind = kind_of(file);
    if (kind.empty()) continue;
    rights.queues_ = rights.queues_ || kind == "queue";
    WEFT_ASSIGN(auto entries, read_entries(file, kind));
    for (ConfigEntry& entry : entries) {
      Pool pool;
      WEFT_ASSIGN(const std::string called, entry.text("name", ""));
      WEFT_ASSIGN(pool.parent, entry.text("parent", ""));
      WEFT_ASSIGN(pool.access, read_access(entry));
      rights.pools_.insert_or_assign(called, std::move(pool));
    }
  }
  return rights;
}

/// As the schedulers do it: a pool that is not in the file is as `default`, and so is a job without a queue.
PoolRights::Pools::const_iterator PoolRights::pool_of(std::string_view pool, std::string_view owner) const {
  const std::string_view name = pool.empty() && !queues_ ? owner : pool;
  const auto found = pools_.find(name);
  return found != pools_.end() ? found : pools_.find("default");
}

Result<void> PoolRights::may_submit(std::string_view user, std::string_view pool) const {
  std::size_t steps = 0;  // no file of a scheduler has a circle of parents
  for (auto at = pool_of(pool, user); at != pools_.end() && steps <= pools_.size(); at = pools_.find(at->second.parent), ++steps) {
    const PoolAccess& access = at->second.access;
    if (has(access.administer, user)) return {};
    if (!access.submit) continue;
    if (has(*access.submit, user)) return {};
    return fail(
        Code::permission_denied,
        fmt::format("{} may not submit to {} {} (only {} may: `submit` in the scheduler's file)", escaped(std::string(user)),
                    queues_ ? "queue" : "pool", escaped(std::string(pool.empty() ? at->first : pool)),
                    access.submit->empty() ? "administrators" : escaped(fmt::format("{}", fmt::join(*access.submit, ", ")))));
  }
  return {};
}

bool PoolRights::may_administer(std::string_view user, std::string_view pool, std::string_view owner) const {
  std::size_t steps = 0;
  for (auto at = pool_of(pool, owner); at != pools_.end() && steps <= pools_.size(); at = pools_.find(at->second.parent), ++steps)
    if (has(at->second.access.administer, user)) return true;
  return false;
}

}  // namespace weft::schedulers
