#include "base/command_line/security.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/rpc/credentials.hpp"

namespace weft::command_line {

void add_security_options(CLI::App& app, SecurityOptions& options, const std::string& group) {
  auto* const directory =
      app.add_option("--security", options.directory,
                     "Directory of a certificate with its key (weft security): encrypts all connections, and says who this is\n"
                     "(default: $WEFT_SECURITY; without it, only processes of this user on this machine are talked to)")
          ->type_name("DIR")
          ->check(
              [](const std::string& text) { return text.empty() ? "the value is empty; name a directory, or leave it out" : ""; })
          ->group(group);
  app.add_flag("--insecure", options.insecure,
               "Plain text with everybody, also where other machines reach it: whoever does can run programs")
      ->excludes(directory)
      ->group(group);
}

void obey(const SecurityOptions& options) {
  const char* const variable = std::getenv(rpc::kSecurityVariable);
  const std::string_view said = variable == nullptr ? std::string_view() : variable;
  if (options.insecure) {
    ::setenv(rpc::kSecurityVariable, std::string(rpc::kInsecure).c_str(), 1);
  } else if (!options.directory.empty()) {
    ::setenv(rpc::kSecurityVariable, std::filesystem::absolute(options.directory).c_str(), 1);
  } else if (!said.empty() && said != rpc::kInsecure) {
    ::setenv(rpc::kSecurityVariable, std::filesystem::absolute(said).c_str(), 1);
  }
}

}  // namespace weft::command_line
