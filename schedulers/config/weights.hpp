// Weights of users or pools by name, for policies that share between them without a hierarchy. Users, read from TOML:
//
//   [[user]]
//   name = "alice"
//   weight = 2          # of what users share (1)
//
// Pools are read from the file of the fair scheduler (pools.hpp); only their weights count.
#pragma once

#include <map>
#include <string>

#include "schedulers/config/options.hpp"

namespace weft::schedulers {

class Weights {
 public:
  /// invalid_argument names the line, or the pool that lies inside another.
  static Result<Weights> of_users(const ConfigFile& file);
  static Result<Weights> of_pools(const ConfigFile& file);

  /// The weight of that user or pool. If it is not in the file: that of "default", else 1.
  double of(const std::string& name) const;

 private:
  std::map<std::string, double> by_name_;
};

}  // namespace weft::schedulers
