#include "engine/client/job_flags.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/text.hpp"

namespace weft::client {
namespace {

/// The value of the option of that name in words[at], of which a "--name value" takes two.
std::optional<std::string> value_at(const std::vector<std::string>& words, std::size_t at, const std::string& name) {
  const std::string& word = words[at];
  const std::string option = "--" + name;
  if (word == option && at + 1 < words.size()) return words[at + 1];
  if (word.starts_with(option + "=")) return word.substr(option.size() + 1);
  return std::nullopt;
}

}  // namespace

void add_job_flags(CLI::App& app, const std::string& group,
                   const std::function<void(const master::JobOption& option, const std::string& text)>& take) {
  for (const master::JobOption& option : master::job_options()) {
    const auto check = [&option](const std::string& text) {
      master::JobOptions ignored;
      const auto set = option.set(text, ignored);
      return set ? std::string() : set.error().to_string();
    };
    const std::string name = "--" + option.name;
    CLI::Option* const flag = option.repeatable
                                  ? app.add_option_function<std::vector<std::string>>(
                                           name,
                                           [take, &option](const std::vector<std::string>& texts) {
                                             for (const std::string& text : texts) take(option, text);
                                           },
                                           option.help)
                                        ->take_all()
                                        ->allow_extra_args(false)
                                  : app.add_option_function<std::string>(
                                        name, [take, &option](const std::string& text) { take(option, text); }, option.help);
    flag->type_name(option.value)->check(CLI::Validator(check, ""))->group(group);
  }
}

Result<void> find_job_flags(const std::vector<std::string>& words, master::JobOptions& options, std::uint64_t& memory_bytes) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    for (const master::JobOption& option : master::job_options())
      if (const auto text = value_at(words, at, option.name))
        if (auto set = option.set(*text, options); !set) return fail(std::move(set).error().wrap("--" + option.name));
    if (const auto text = value_at(words, at, "memory")) {
      WEFT_ASSIGN(memory_bytes, parse_size(*text));
    }
  }
  return {};
}

}  // namespace weft::client
