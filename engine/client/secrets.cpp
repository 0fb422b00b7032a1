#include "engine/client/secrets.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

namespace weft::client {
namespace {

constexpr std::array<std::string_view, 3> kSecretVariables{
    "AWS_SECRET_ACCESS_KEY=", "AWS_SESSION_TOKEN=", "AWS_CONTAINER_AUTHORIZATION_TOKEN="};

/// Of stores that weft reads; what user code makes of other URLs is its business.
constexpr std::array<std::string_view, 6> kStores{"s3://", "s3a://", "s3n://", "hdfs://", "webhdfs://", "swebhdfs://"};

/// "scheme://user:password@host…"
bool has_password(std::string_view text) {
  for (const std::string_view scheme : kStores) {
    const auto at = text.find(scheme);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = text.substr(at + scheme.size());
    const std::string_view host = rest.substr(0, rest.find('@'));
    if (host.size() != rest.size() && host.find(':') != std::string_view::npos) return true;
  }
  return false;
}

bool has_secret(std::string_view argument) {
  return has_password(argument) || std::any_of(kSecretVariables.begin(), kSecretVariables.end(), [&](std::string_view name) {
           return argument.find(name) != std::string_view::npos;
         });
}

}  // namespace

Result<void> refuse_secrets(const std::vector<std::string>& arguments) {
  const auto found = std::find_if(arguments.begin(), arguments.end(), has_secret);
  if (found == arguments.end()) return {};
  return fail(
      Code::invalid_argument,
      fmt::format("argument {} of the job holds a password or a key, which everybody would see who sees the job; put it into "
                  "the environment or a file of the workers (docs/remote-stores.md)",
                  found - arguments.begin() + 1));
}

}  // namespace weft::client
