// Configuration files of schedulers: TOML of [[pool]], [[queue]] or [[user]] tables. Errors are "pools.toml:12: …"; an unknown key
// is an error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schedulers/config/options.hpp"

namespace weft::schedulers {

class ConfigEntry {
 public:
  struct Value {
    std::variant<std::string, double, bool, std::vector<std::string>> value;
    int line = 0;
  };
  ConfigEntry(std::string source, int line, std::map<std::string, Value> values)
      : source_(std::move(source)), line_(line), values_(std::move(values)) {}

  int line() const { return line_; }
  /// An error at the entry, or at one of its keys.
  tl::unexpected<Error> error(std::string what) const;
  tl::unexpected<Error> error(const std::string& key, std::string what) const;

  Result<std::string> text(const std::string& key, std::string otherwise);
  Result<double> number(const std::string& key, double otherwise, double low, double high);
  Result<std::optional<double>> number(const std::string& key, double low, double high);
  Result<bool> flag(const std::string& key, bool otherwise);
  Result<std::optional<Time>> duration(const std::string& key);
  /// A list of texts: ["alice", "bob"].
  Result<std::optional<std::vector<std::string>>> names(const std::string& key);
  /// A number of cores, or "cpu=4,map_slots=2".
  Result<Resources> amounts(const std::string& key);
  /// An error names the first key that no call has taken.
  Result<void> done() const;

 private:
  std::optional<Value> take(const std::string& key);

  std::string source_;
  int line_;
  std::map<std::string, Value> values_;
  std::map<std::string, int> lines_;  // of keys taken
  std::vector<std::string> known_;
};

/// The [[kind]] tables of the file, in order. Anything else in it is an error.
Result<std::vector<ConfigEntry>> read_entries(const ConfigFile& file, const std::string& kind);

/// A forest given by names: entry i is called names[i] and lies under the one called parents[i] ("": at the top).
struct NamedEntry {
  std::string name, parent;
};
/// Indexes of the parents. Names that are missing or given twice, unknown parents and cycles are errors at the line of their entry.
/// `kind` is the word for an entry in errors.
Result<std::vector<std::optional<std::size_t>>> resolve_parents(const std::vector<NamedEntry>& named,
                                                                const std::vector<ConfigEntry>& entries, std::string_view kind);
/// The entries with parents before children, otherwise as in the file.
std::vector<std::size_t> parents_first(const std::vector<std::optional<std::size_t>>& parents);

/// Reads each [[kind]] table with read(entry, name of its parent), and calls check(settings, entries, parents) with all of them in
/// the order of the file. Then parents come before children, and adopt(settings, its parent's) is called for each that has one.
template <class Settings, class Read, class Check, class Adopt>
Result<std::vector<Settings>> read_forest(const ConfigFile& file, const std::string& kind, Read&& read, Check&& check,
                                          Adopt&& adopt) {
  WEFT_ASSIGN(auto entries, read_entries(file, kind));
  std::vector<Settings> in_file;
  std::vector<NamedEntry> named;
  for (ConfigEntry& entry : entries) {
    std::string parent;
    WEFT_ASSIGN(Settings settings, read(entry, parent));
    named.push_back({settings.name, parent});
    in_file.push_back(std::move(settings));
  }
  WEFT_ASSIGN(const auto parents, resolve_parents(named, entries, kind));
  WEFT_TRY(check(in_file, entries, parents));
  std::vector<Settings> all;
  std::vector<std::size_t> moved(in_file.size());
  for (const std::size_t i : parents_first(parents)) {
    moved[i] = all.size();
    Settings& settings = all.emplace_back(std::move(in_file[i]));
    if (!parents[i]) continue;
    settings.parent = moved[*parents[i]];
    adopt(settings, all[*settings.parent]);
  }
  return all;
}

}  // namespace weft::schedulers
