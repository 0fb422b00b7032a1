// Running a definition from inside of a program or a test, in this process: no command line, no output on the terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "runtime/protocol/bad_records.hpp"
#include "weft/flow.hpp"

namespace weft {

struct LocalOptions {
  std::uint32_t threads = 0;       // 0: all cores
  std::uint32_t partitions = 0;    // default number of partitions of shuffles; 0: by input size, at least twice the threads
  std::uint64_t memory_bytes = 0;  // 0: a quarter of the machine's
  std::uint32_t max_attempts = 4;
  bool overwrite = false;
  std::optional<runtime::BadRecordLimit> max_bad_records{};  // more fail the job; without: more than half of a source
  bool raw_input = false;                                    // read_text takes any file for lines
  bool growing_inputs =
      false;  // of files that only grow while the job runs, such as logs, what was there when they were listed is read
  bool check_variants = false;  // tasks run both functions of operators that have two, and fail where they differ
};

struct LocalReport {
  std::map<std::string, std::int64_t> counters;
  std::uint64_t input_records = 0, input_bytes = 0;
  std::uint64_t bad_records = 0;
  std::vector<std::string> bad_record_examples;
};

/// Runs the definition to its end. The error is what a job program would print; exceptions of the definition itself become errors
/// too.
Result<LocalReport> run_locally(const std::function<void(Flow&)>& define, const LocalOptions& options = {});

}  // namespace weft
