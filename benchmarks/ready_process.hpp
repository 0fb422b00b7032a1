// A process that serves, and says on its first line where.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/measure.hpp"
#include "tests/support/process.hpp"

namespace weft::bench {

/// Started and ready after construction, killed on destruction; the benchmark ends if it does not become ready.
class ReadyProcess {
 public:
  explicit ReadyProcess(std::vector<std::string> command) : process_(std::move(command), {{}, std::chrono::hours(1)}) {
    const auto ready = [&] { return process_.out_so_far().find('\n') != std::string::npos; };
    if (!test::eventually(ready, std::chrono::minutes(2))) {
      need<void>(fail(Code::unavailable, "a process does not become ready: " + process_.err_so_far()));
    }
    line_ = process_.out_so_far();
    line_.resize(line_.find('\n'));
  }
  /// What it said.
  const std::string& line() const { return line_; }

 private:
  test::Process process_;
  std::string line_;
};

}  // namespace weft::bench
