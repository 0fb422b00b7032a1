#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/client/session.hpp"
#include "runtime/worker/driver_process.hpp"

namespace weft::client {

namespace {

Result<std::uint64_t> number_in(const char* variable, const char* text) {
  const auto number = text == nullptr ? std::nullopt : parse_number<std::uint64_t>(text);
  if (number) return *number;
  return fail(Code::invalid_argument, fmt::format("{} is no number, but {}; only weft workers set it", variable,
                                                  text == nullptr ? "missing" : "'" + escaped(text) + "'"));
}

/// DriverKey::away_from. A program that has gone into a directory of its choice, as a script may, is not away.
std::optional<std::string> directory_away_from() {
  const char* const submitted_in = std::getenv(runtime::kDriverSubmittedInVariable);
  const char* const own = std::getenv(runtime::kDriverOwnDirectoryVariable);
  if (submitted_in == nullptr || own == nullptr) return std::nullopt;
  std::error_code unknown;
  const std::string here = std::filesystem::current_path(unknown).string();
  const std::string made = std::filesystem::canonical(own, unknown).string();
  if (made.empty() || !(here == made || here.starts_with(made + "/"))) return std::nullopt;
  return submitted_in;
}

}  // namespace

Result<std::optional<DriverKey>> take_driver_key() {
  const char* const job = std::getenv(runtime::kDriverJobVariable);
  const char* const key = std::getenv(runtime::kDriverKeyVariable);
  if (job == nullptr && key == nullptr) return std::nullopt;
  const auto job_number = number_in(runtime::kDriverJobVariable, job), key_number = number_in(runtime::kDriverKeyVariable, key);
  const char* const named = std::getenv(runtime::kDriverUserVariable);
  const std::string user = named == nullptr ? "" : named;
  std::optional<std::string> away_from = directory_away_from();
  for (const char* variable : {runtime::kDriverJobVariable, runtime::kDriverKeyVariable, runtime::kDriverUserVariable,
                               runtime::kDriverSubmittedInVariable, runtime::kDriverOwnDirectoryVariable})
    ::unsetenv(variable);
  if (!job_number) return fail(job_number.error());
  if (!key_number) return fail(key_number.error());
  return DriverKey{JobId(*job_number), *key_number, user, std::move(away_from)};
}

Result<void> refuse_relative(const std::optional<std::string>& away_from, const std::string& what, const std::string& path) {
  if (!away_from || path.empty() || std::filesystem::path(path).is_absolute()) return {};
  return fail(
      Code::invalid_argument,
      fmt::format("{} {} is relative to the directory of the submission{}, which its driver cannot enter on this worker; name "
                  "an absolute path on storage that all workers share, or use weft://",
                  what, escaped(path), away_from->empty() ? "" : " (" + escaped(*away_from) + ")"));
}

}  // namespace weft::client
