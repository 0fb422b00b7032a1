// Options in `name(key=value, …)`. Values may be numbers, durations ("5s"), sizes ("64MiB"), lists ("[a, b]"), names of files, and
// schedulers with options of their own ("delay(inner=fair(pools=pools.toml), node_wait=5s)").
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

/// Returns the text of a configuration file by its name. Schedulers do no I/O: the shell reads files.
using FileReader = std::function<Result<std::string>(const std::string& name)>;

/// `name` and the text between the parentheses, of "name" or "name(…)"; invalid_argument when parentheses do not match.
struct SpecText {
  std::string name;
  std::string options;
};
Result<SpecText> parse_spec(std::string_view text);

struct ConfigFile {
  std::string name;  // for errors
  std::string text;
};

/// A factory takes the options that it knows; an option that is left is an error. Errors name option and value.
class Options {
 public:
  /// "key=value,key=value"; commas within parentheses and brackets belong to the value.
  static Result<Options> parse(std::string_view list, FileReader reader);

  bool given(const std::string& key) const { return values_.contains(key); }
  std::optional<std::string> take(const std::string& key);
  Result<std::string> text(const std::string& key, std::string otherwise);
  /// The position of the value in `known`, which contains `otherwise`.
  Result<std::size_t> choice(const std::string& key, std::span<const std::string_view> known, std::string_view otherwise);
  /// The second of the pair in `known` whose first is the value. `known` contains `otherwise`.
  template <class T>
  Result<T> choice(const std::string& key, std::initializer_list<std::pair<std::string_view, T>> known,
                   std::string_view otherwise) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : known) names.push_back(name);
    WEFT_ASSIGN(const std::size_t at, choice(key, names, otherwise));
    return std::data(known)[at].second;
  }
  Result<double> number(const std::string& key, double otherwise, double low = -1e300, double high = 1e300);
  Result<std::uint64_t> whole(const std::string& key, std::uint64_t otherwise);
  Result<bool> flag(const std::string& key, bool otherwise);
  Result<Time> duration(const std::string& key, Time otherwise);
  Result<std::uint64_t> size(const std::string& key, std::uint64_t otherwise);
  Result<std::vector<std::string>> list(const std::string& key);
  /// One or, in brackets, several of `known`, in the order of the value; `otherwise` is such a value.
  Result<std::vector<std::string>> choices(const std::string& key, std::span<const std::string_view> known,
                                           std::string_view otherwise);
  /// The file named by the value; nothing when the option is not given.
  Result<std::optional<ConfigFile>> file(const std::string& key);
  const FileReader& reader() const { return reader_; }

  /// invalid_argument: an option was not taken; the message names it, and the known keys.
  Result<void> done() const;

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
  FileReader reader_;
};

}  // namespace weft::schedulers
