// Schedulers by name. builtin.cpp lists those of weft; shared objects add more.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/config/options.hpp"
#include "schedulers/parts/parts.hpp"
#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

class Registry;

using Factory = std::function<Result<std::unique_ptr<Scheduler>>(Options& options)>;
/// For schedulers made of parts, which can be `inner` of others. `registry`: for their own inner schedulers.
using ComposingFactory = std::function<Result<Composition>(Options& options, const Registry& registry)>;

class Registry {
 public:
  /// already_exists for a name that is taken, invalid_argument for one that is not [a-z0-9_-]+.
  Result<void> add(std::string name, std::string description, Factory factory);
  Result<void> add(std::string name, std::string description, ComposingFactory factory);
  std::vector<std::string> names() const;
  const std::string& description(const std::string& name) const { return entries_.at(name).description; }

  /// "fifo" or "name(key=value,…)". Unknown names and options are errors that list the known ones. `reader` returns the texts of
  /// files that options name; if it is empty, such an option is an error.
  Result<std::unique_ptr<Scheduler>> make(std::string_view text, const FileReader& reader = {}) const;
  /// The same as parts, for the `inner` of another. Schedulers that are not made of parts are refused.
  Result<Composition> compose(std::string_view text, const FileReader& reader) const;

 private:
  struct Entry {
    std::string description;
    Factory factory;  // either of the two
    ComposingFactory composing{};
  };
  Result<void> add(std::string name, Entry entry);
  Result<std::pair<SpecText, const Entry*>> find(std::string_view text) const;

  std::map<std::string, Entry> entries_;
};

/// Returns texts that were recorded with an event.
FileReader reader_of(std::map<std::string, std::string> texts);

}  // namespace weft::schedulers
