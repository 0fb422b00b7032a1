// Arrow's errors as weft's. Private to libweft-parquet.so.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/status.h>

#include "base/result.hpp"

namespace weft::storage::parquet {

/// Its first line.
inline std::string one_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

/// What weft's own Source or Sink said goes through Arrow as text only; so it is kept beside.
struct KeptError {
  std::optional<Error> error{};
  ::arrow::Status keep(Error failed) {
    error.emplace(std::move(failed));
    return ::arrow::Status::IOError("weft");
  }
};

/// Runs what may throw or return an Arrow status. What Arrow complains of is `code`, unless a Source or Sink failed.
template <class F>
Result<void> guarded(KeptError& kept, Code code, const std::string& what, F&& run) {
  std::string why;
  try {
    const ::arrow::Status status = run();
    if (status.ok()) return {};
    why = status.message();
  } catch (const std::exception& failure) {
    why = failure.what();
  }
  if (kept.error) return fail(*std::exchange(kept.error, std::nullopt));
  return fail(code, what + ": " + one_line(why));
}

}  // namespace weft::storage::parquet
