#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/client/session.hpp"

namespace weft::client {

namespace {

Result<std::uint64_t> number_in(const char* variable, const char* text) {
  const auto number = text == nullptr ? std::nullopt : parse_number<std::uint64_t>(text);
  if (number) return *number;
  return fail(Code::invalid_argument, fmt::format("{} is no number, but {}; only weft workers set it", variable,
                                                  text == nullptr ? "missing" : "'" + escaped(text) + "'"));
}

}  // namespace

Result<std::optional<DriverKey>> take_driver_key() {
  const char* const job = std::getenv(kDriverJob);
  const char* const key = std::getenv(kDriverKey);
  if (job == nullptr && key == nullptr) return std::nullopt;
  const auto job_number = number_in(kDriverJob, job), key_number = number_in(kDriverKey, key);
  const char* const named = std::getenv(kDriverUser);
  const std::string user = named == nullptr ? "" : named;
  for (const char* variable : {kDriverJob, kDriverKey, kDriverUser}) ::unsetenv(variable);
  if (!job_number) return fail(job_number.error());
  if (!key_number) return fail(key_number.error());
  return DriverKey{JobId(*job_number), *key_number, user};
}

}  // namespace weft::client
