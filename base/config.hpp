// Configuration files (TOML) read against a table of declared keys.
//
// Each component declares its keys once, bound to the variables that hold them (whose values are the defaults):
//
//   void declare(Config& config, WorkerSettings& settings) {
//     config.size("worker.memory", settings.memory, "Memory of all tasks together");
//     config.duration("worker.heartbeat", settings.heartbeat, "Time between two reports to the master");
//   }
//
// Loading assigns the keys that are present. A key that is not declared is an error that names the key, its line and the nearest
// known key. A file with any error assigns nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace weft {

class Config {
 public:
  // Each declares one key, "table.name", for a variable that must outlive the Config and holds the default. Declaring a key twice
  // is a bug. `doc` appears in describe().
  void text(std::string key, std::string& variable, std::string doc);
  void flag(std::string key, bool& variable, std::string doc);
  void real(std::string key, double& variable, std::string doc);
  /// `usual`: what describe() shows where the variable has no value.
  void real(std::string key, std::optional<double>& variable, double usual, std::string doc);
  void size(std::string key, std::uint64_t& variable, std::string doc);
  void duration(std::string key, Duration& variable, std::string doc);
  /// `separator`: between elements in an assignment (set()), where they may have commas themselves.
  void list(std::string key, std::vector<std::string>& variable, std::string doc, char separator = ',');
  /// Refuses values outside [low, high] or outside the range of T.
  template <class T>
  void integer(std::string key, T& variable, std::string doc, std::int64_t low = lowest<T>(), std::int64_t high = highest<T>()) {
    add_integer(
        std::move(key), static_cast<std::int64_t>(variable), [&variable](std::int64_t value) { variable = static_cast<T>(value); },
        std::move(doc), low, high);
  }

  /// Reads a file and assigns its keys. Errors are invalid_argument with file and line, as in "weft.toml:12: unknown key
  /// 'worker.memroy' (did you mean 'worker.memory'?)", or the failure to read the file.
  Result<void> load_file(const std::filesystem::path& path);
  /// The same for a text; `source` names it in errors.
  Result<void> load_text(std::string_view toml, std::string_view source);
  /// Assigns one key from a command line: "worker.memory=2GiB". Text needs no quotes; elements of lists are separated by commas,
  /// or as the key was declared. invalid_argument when the key is unknown or the value is not of its type.
  Result<void> set(std::string_view assignment);

  /// Returns a TOML file of all keys with their documentation, types and defaults (the values at their declaration).
  std::string describe() const;

 private:
  enum class Kind : std::uint8_t { text, flag, integer, real, size, duration, list };
  /// What a file or an assignment gives for a key, before it is assigned.
  struct Value {
    std::string text;
    std::int64_t integer = 0;
    double real = 0;
    bool flag = false;
    std::vector<std::string> list;
  };
  struct Key {
    std::string name;
    Kind kind;
    std::string doc;
    std::string fallback;  // as TOML
    std::function<void(const Value&)> assign;
    std::int64_t low = 0;
    std::int64_t high = 0;
    char separator = ',';
  };
  struct Reader;  // the adapter to the TOML library, in config.cpp

  template <class T>
  static constexpr std::int64_t lowest() {
    return static_cast<std::int64_t>(std::numeric_limits<T>::min());
  }
  template <class T>
  static constexpr std::int64_t highest() {
    constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(limit, static_cast<std::uint64_t>(std::numeric_limits<T>::max())));
  }
  static std::string_view kind_name(Kind kind);

  void add(Key key);
  void add_integer(std::string key, std::int64_t fallback, std::function<void(std::int64_t)> assign, std::string doc,
                   std::int64_t low, std::int64_t high);
  const Key* find(std::string_view name) const;
  Error unknown_key(std::string_view name) const;
  /// Checks and converts what was written as text into value.
  Result<void> interpret(const Key& key, Value& value) const;
  Result<void> parse_assignment(const Key& key, Value& value) const;

  std::vector<Key> keys_;
};

}  // namespace weft
