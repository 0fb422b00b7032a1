// Runs programs for tests: arguments, environment, output, exit status, and a deadline that no test outlives. A program that ends
// otherwise than the test said is a failure of the test, whatever the program printed: retries must not hide a defect.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace weft::test {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal when killed by one
  std::string out;
  std::string err;
};

struct ProcessOptions {
  std::map<std::string, std::string> environment{};  // added to the test's own
  std::chrono::seconds deadline{120};                // then SIGKILL, exit_code 137
  bool daemon = false;                               // it runs until it is sent a signal: an earlier end is unexpected
  bool may_die = false;                              // how it ends is for the test to judge: no end is unexpected
};

/// Called with one line for every process that ended unexpectedly: by a signal that Process::signal did not send and no deadline
/// explains, or at all when it is a daemon that was sent none; and for every child of it (an executor, a private worker) that died
/// of a fatal signal, as the children say themselves (base/fatal_signal.hpp). Until one is set, the line is printed and the program
/// ends with exit code 1, which is right for benchmarks. In GoogleTest programs it is a failure of the running test
/// (fail_on_death.cpp). Call it before the first Process; it may be called back on any thread that has one.
void set_death_handler(std::function<void(const std::string&)> handler);

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

/// A program that runs until it ends or the object is destroyed (then it is killed). Its output goes to files. How it ended is
/// judged when that is noticed: by running(), wait() or the destructor.
class Process {
 public:
  explicit Process(const std::vector<std::string>& command, const ProcessOptions& options = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int pid() const { return pid_; }
  bool running();
  /// Sends the signal, and declares that it may end the process.
  void signal(int number);
  /// Declares that the process may end in any way from now on.
  void expect_death() { may_die_ = true; }
  /// Waits for the end, at most until the deadline given at the start.
  ProcessResult wait();
  std::string out_so_far() const;
  std::string err_so_far() const;
  /// What it and its children said of fatal signals, a line each.
  std::string crashes() const;

 private:
  void judge();

  ScratchDirectory directory_;
  std::chrono::steady_clock::time_point deadline_;
  const std::string name_;  // the command as it was given
  const bool daemon_;
  bool may_die_;
  std::set<int> sent_;  // signals
  int pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

ProcessResult run(const std::vector<std::string>& command, const ProcessOptions& options = {});

/// Polls `condition` until it holds (true) or the deadline passes (false).
bool eventually(const std::function<bool()>& condition, std::chrono::seconds deadline = std::chrono::seconds(30));

/// Processes alive whose environment holds NAME=VALUE: finds children that a test's program left behind.
std::vector<int> processes_with(const std::string& name, const std::string& value);
/// Those that hold all of the variables.
std::vector<int> processes_with(const std::map<std::string, std::string>& variables);

void write_file(const std::string& path, const std::string& content);
std::string read_file(const std::string& path);
/// The part files of an output directory one after the other, in order of their names.
std::string part_bytes(const std::string& directory);
/// Their lines.
std::vector<std::string> part_lines(const std::string& directory);
/// Names of everything in a directory, sorted, hidden ones too.
std::vector<std::string> entries(const std::string& directory);

}  // namespace weft::test
