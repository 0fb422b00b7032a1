#include "schedulers/config/weights.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/config/config_entries.hpp"
#include "schedulers/config/pools.hpp"

namespace weft::schedulers {

Result<Weights> Weights::of_users(const ConfigFile& file) {
  WEFT_ASSIGN(auto entries, read_entries(file, "user"));
  Weights weights;
  for (ConfigEntry& entry : entries) {
    WEFT_ASSIGN(std::string name, entry.text("name", ""));
    if (name.empty()) return entry.error("a user needs a name");
    WEFT_ASSIGN(const double weight, entry.number("weight", 1, 1e-6, 1e6));
    WEFT_TRY(entry.done());
    if (!weights.by_name_.emplace(name, weight).second)
      return entry.error("name", fmt::format("user '{}' is given twice", escaped(name)));
  }
  return weights;
}

Result<Weights> Weights::of_pools(const ConfigFile& file) {
  WEFT_ASSIGN(const auto pools, parse_pools(file));
  Weights weights;
  for (const PoolSettings& pool : pools) {
    if (pool.parent)
      return fail(Code::invalid_argument, fmt::format("{}: pool '{}' lies inside another, and this scheduler shares between pools "
                                                      "of one level: take away its parent",
                                                      file.name, escaped(pool.name)));
    weights.by_name_[pool.name] = pool.weight;
  }
  return weights;
}

double Weights::of(const std::string& name) const {
  auto found = by_name_.find(name);
  if (found == by_name_.end()) found = by_name_.find("default");
  return found == by_name_.end() ? 1 : found->second;
}

}  // namespace weft::schedulers
