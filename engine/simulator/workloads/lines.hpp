// Lines of a trace file, plain or compressed with gzip, one at a time; and the fields of such lines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "engine/simulator/workload.hpp"

namespace weft::simulator::workloads {

/// Limits of a trace. Larger numbers count as damage: they would exhaust memory before anything runs.
inline constexpr std::uint64_t kMaxJobs = 10'000'000, kMaxStages = 100'000, kMaxTasks = 100'000'000;
inline constexpr std::uint64_t kMaxBytes = 1'000'000'000'000'000'000;  // of one amount
inline constexpr double kMaxSeconds = 1e9;                             // 30 years, far below the limit of nanoseconds

class Lines {
 public:
  /// not_found when there is no such file. Lines may have up to `longest` bytes.
  static Result<Lines> open(const std::string& path, std::size_t longest = 1u << 20);
  Lines(Lines&&) noexcept;
  Lines& operator=(Lines&&) noexcept;
  ~Lines();

  /// Goes to the next line; false after the last. `corrupt` for a damaged gzip stream, text that is none, a line too long.
  Result<bool> next();
  /// Calls `use` at each line that is left. Ends with the first error.
  template <class Use>
  Result<void> for_each(Use use) {
    for (;;) {
      WEFT_ASSIGN(const bool more, next());
      if (!more) return {};
      WEFT_TRY(use());
    }
  }
  /// Without the line end. Valid until the next call of next().
  std::string_view line() const { return line_; }
  std::uint64_t number() const { return number_; }
  const std::string& path() const { return path_; }

  /// "path:line: reason", `corrupt`.
  Error error(std::string_view reason) const;

 private:
  struct Stream;
  Lines(std::string path, std::size_t longest, std::unique_ptr<Stream> stream);
  Result<bool> fill();

  std::string path_;
  std::size_t longest_;
  std::unique_ptr<Stream> stream_;
  std::string buffer_;
  std::size_t begin_ = 0;  // where the next line begins in the buffer
  std::string_view line_;
  std::uint64_t number_ = 0;
};

// One field of the current line. `what` names it in the error, which says what was found instead.
Result<std::uint64_t> whole(const Lines& lines, std::string_view field, std::string_view what, std::uint64_t largest = kMaxBytes,
                            std::uint64_t smallest = 0);
Result<double> real(const Lines& lines, std::string_view field, std::string_view what, double largest = 1e300);
Result<Time> seconds(const Lines& lines, std::string_view field, std::string_view what);

/// A number of seconds, known to be within kMaxSeconds.
Time to_time(double seconds);

/// Appends a job that the current line ends; `corrupt` when there are kMaxJobs already.
Result<void> add_job(Workload& workload, JobSpec job, const Lines& lines);

}  // namespace weft::simulator::workloads
