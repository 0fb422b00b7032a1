// Running a definition from inside of a program or a test, in this process: no command line, no output on the terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "weft/flow.hpp"

namespace weft {

struct LocalOptions {
  std::uint32_t threads = 0;       // 0: all cores
  std::uint32_t partitions = 0;    // default number of partitions of shuffles; 0: by input size, at least twice the threads
  std::uint64_t memory_bytes = 0;  // 0: a quarter of the machine's
  bool overwrite = false;
  /// Of outputs of earlier runs, only the directories that this one writes are replaced (--overwrite=directories).
  bool overwrite_directories = false;
  /// Options of the job, by their names on the command line: {{"max-bad-records", "0.1%"}, {"max-attempts", "1"}}.
  std::map<std::string, std::string> job{};
  bool raw_input = false;  // read_text takes any file for lines
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
