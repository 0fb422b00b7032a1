// Event logs that tests write line by line, and read back.
#pragma once

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/simulator/workloads/recording.hpp"
#include "tests/engine/simulator/workload_files.hpp"

namespace weft::simulator::workloads {

/// Lines of a log: times in milliseconds.
class LogText {
 public:
  void add(int ms, const std::string& event, const std::string& members) {
    text_ += fmt::format(R"({{"time_ns":{},"event":"{}",{}}})", ms * 1'000'000LL, event, members) + "\n";
  }
  void job(int ms, int id) { add(ms, "job_submitted", fmt::format(R"("job":{},"name":"j","max_attempts":6)", id)); }
  void plan(int ms, int id) {
    add(ms, "plan_extended", fmt::format(R"("job":{},"stages":[{{"stage":0,"tasks":2}}],"targets":[0])", id));
  }
  void join(int ms, int node, const std::string& name) {
    add(ms, "worker_joined",
        fmt::format(R"("node":{},"name":"{}","host":"{}","rack":"r","capacity":{{"cpu":1}})", node, name, name));
  }
  void task(int ms, const std::string& event, int job, int task, int attempt, const std::string& more = "") {
    add(ms, event, fmt::format(R"("job":{},"stage":0,"task":{},"attempt":{},"node":1{})", job, task, attempt, more));
  }
  /// From its launch to its end.
  void ran(int from, int to, int stage, int task, int attempt = 0, const std::string& more = "") {
    const std::string of = fmt::format(R"("job":1,"stage":{},"task":{},"attempt":{},"node":1)", stage, task, attempt);
    add(from, "task_launched", of);
    add(to, "task_finished", of + more);
  }
  Result<Recording> read(bool transfers_apart = false, Time last = Time(0)) const {
    auto directory = TempDir::create();
    const std::string path = directory->path() / "log";
    EXPECT_TRUE(write_file(path, text_));
    return read_event_log(path, transfers_apart, last);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace weft::simulator::workloads
