#include "engine/client/job_flags.hpp"

#include <vector>

#include <CLI/CLI.hpp>

namespace weft::client {

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

}  // namespace weft::client
