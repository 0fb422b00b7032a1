// Runs programs for tests: arguments, environment, output, exit status, and a deadline that no test outlives.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weft::test {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal when killed by one
  std::string out;
  std::string err;
};

struct ProcessOptions {
  std::map<std::string, std::string> environment;  // added to the test's own
  std::chrono::seconds deadline{120};              // then SIGKILL, exit_code 137
};

/// A directory that is removed with the object.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// A program that runs until it ends or the object is destroyed (then it is killed). Its output goes to files.
class Process {
 public:
  explicit Process(const std::vector<std::string>& command, const ProcessOptions& options = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int pid() const { return pid_; }
  bool running();
  void signal(int number) const;
  /// Waits for the end, at most until the deadline given at the start.
  ProcessResult wait();
  std::string out_so_far() const;
  std::string err_so_far() const;

 private:
  ScratchDirectory directory_;
  std::chrono::steady_clock::time_point deadline_;
  int pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

ProcessResult run(const std::vector<std::string>& command, const ProcessOptions& options = {});

/// Polls `condition` until it holds (true) or the deadline passes (false).
bool eventually(const std::function<bool()>& condition, std::chrono::seconds deadline = std::chrono::seconds(30));

/// Processes alive whose environment holds NAME=VALUE: finds children that a test's program left behind.
std::vector<int> processes_with(const std::string& name, const std::string& value);

void write_file(const std::string& path, const std::string& content);
std::string read_file(const std::string& path);
/// The part files of an output directory one after the other, in order of their names.
std::string part_bytes(const std::string& directory);
/// Their lines.
std::vector<std::string> part_lines(const std::string& directory);
/// Names of everything in a directory, sorted, hidden ones too.
std::vector<std::string> entries(const std::string& directory);

}  // namespace weft::test
