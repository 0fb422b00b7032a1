// All tasks of a job on a worker print to one log. When a task that printed something ends, its executor adds a line that names the
// task and by how many bytes the log grew while it ran, so that its output can be found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "base/ids.hpp"
#include "base/text.hpp"

namespace weft::runtime {

struct OutputMark {
  std::uint32_t stage = 0, task = 0, attempt = 0;
  std::uint64_t bytes = 0;  // before the line; other tasks that ran at that time may have written some of them
  friend bool operator==(const OutputMark&, const OutputMark&) = default;
};

/// "[task 3.17, attempt 0: 345 bytes above]", without a line end.
inline std::string to_string(const OutputMark& mark) {
  return fmt::format("[task {}.{}, attempt {}: {} bytes above]", mark.stage, mark.task, mark.attempt, mark.bytes);
}

/// Nothing when the line is no mark.
inline std::optional<OutputMark> parse_output_mark(std::string_view line) {
  const auto number = [&line](std::string_view before, std::string_view behind) -> std::optional<std::uint64_t> {
    const auto end = line.find(behind);
    if (!line.starts_with(before) || end == std::string_view::npos || end < before.size()) return std::nullopt;
    const auto value = parse_number<std::uint64_t>(line.substr(before.size(), end - before.size()));
    line.remove_prefix(end);
    return value;
  };
  const auto stage = number("[task ", "."), task = number(".", ","), attempt = number(", attempt ", ":"),
             bytes = number(": ", " bytes above]");
  if (!stage || !task || !attempt || !bytes || line != " bytes above]") return std::nullopt;
  return OutputMark{static_cast<std::uint32_t>(*stage), static_cast<std::uint32_t>(*task), static_cast<std::uint32_t>(*attempt),
                    *bytes};
}

}  // namespace weft::runtime
