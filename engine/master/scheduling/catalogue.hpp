// The schedulers a shell can make: those that come with weft and those of shared objects; and the files their options name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "engine/master/core/core.hpp"
#include "schedulers/parts/registry.hpp"

namespace weft::scheduling {

/// Texts of the files that a scheduler's options name, by name.
using Files = std::map<std::string, std::string>;

class Catalogue {
 public:
  /// `plugins`: paths of shared objects (schedulers/plugin.hpp). Errors name the object: not loadable, no such function, built for
  /// another interface, or a name that is taken.
  static Result<std::shared_ptr<const Catalogue>> open(const std::vector<std::string>& plugins);

  const schedulers::Registry& registry() const { return registry_; }
  /// Some schedulers are a user's own and may never return.
  bool has_plugins() const { return has_plugins_; }

  /// Makes the scheduler, reading files from the disk; `files` gets what it read.
  Result<std::unique_ptr<schedulers::Scheduler>> make(const std::string& spec, Files& files) const;
  /// Whether the scheduler can be made, and from which files. With plugins on a thread of its own: when it has not returned after
  /// `timeout`, that is the error, and the thread is left alone for as long as the process lives.
  static Result<Files> check(const std::shared_ptr<const Catalogue>& catalogue, const std::string& spec, Duration timeout);
  /// From texts at hand: what a core is given to make schedulers with. Keeps the catalogue alive.
  static master::SchedulerFactory factory(std::shared_ptr<const Catalogue> catalogue);

 private:
  schedulers::Registry registry_;
  bool has_plugins_ = false;
};

}  // namespace weft::scheduling
