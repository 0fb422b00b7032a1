#include "tests/support/process.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::test {

namespace fs = std::filesystem;

namespace {

constexpr auto kPoll = std::chrono::milliseconds(2);

[[noreturn]] void become(const std::vector<std::string>& command, const ProcessOptions& options, const std::string& directory) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open((directory + "/out").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  const int err = ::open((directory + "/err").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  const int in = ::open("/dev/null", O_RDONLY);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::setenv("TMPDIR", directory.c_str(), 1);  // what a killed program leaves behind goes with the object
  ::setenv("WEFT_CRASH_LOG", (directory + "/crashes").c_str(), 1);
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

[[noreturn]] void end_program(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

std::function<void(const std::string&)>& death_handler() {
  static std::function<void(const std::string&)> handler = end_program;
  return handler;
}

std::string last_lines(const std::string& text) {
  constexpr std::size_t kMost = 2000;
  return text.size() <= kMost ? text : "…" + text.substr(text.size() - kMost);
}

int exit_code(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

ScratchDirectory::ScratchDirectory() {
  std::string name = (fs::temp_directory_path() / "weft-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void set_death_handler(std::function<void(const std::string&)> handler) { death_handler() = std::move(handler); }

Process::Process(const std::vector<std::string>& command, const ProcessOptions& options)
    : deadline_(std::chrono::steady_clock::now() + options.deadline),
      name_(joined(command)),
      daemon_(options.daemon),
      may_die_(options.may_die) {
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) become(command, options, directory_.path());
}

Process::~Process() {
  if (!running()) return;
  signal(SIGKILL);
  ::waitpid(pid_, &status_, 0);
  judge();
}

bool Process::running() {
  if (!ended_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) {
    ended_ = true;
    judge();
  }
  return !ended_;
}

void Process::signal(int number) {
  if (ended_) return;
  sent_.insert(number);
  ::kill(pid_, number);
}

/// Once, when the process has ended.
void Process::judge() {
  if (may_die_) return;
  std::string how;
  if (WIFSIGNALED(status_) && !sent_.contains(WTERMSIG(status_))) {
    how = std::string("of SIG") + ::sigabbrev_np(WTERMSIG(status_));
  } else if (daemon_ && sent_.empty()) {
    how = "with exit code " + std::to_string(exit_code(status_)) + ", though nobody asked it to end";
  }
  const std::string process = "process " + std::to_string(pid_);
  if (!how.empty()) death_handler()(name_ + ": " + process + " ended unexpectedly, " + how + ": " + last_lines(err_so_far()));
  std::istringstream all(crashes());
  for (std::string line; std::getline(all, line);)
    if (line.find("(" + process + ")") == std::string::npos)
      death_handler()(name_ + ": of its processes, one died unexpectedly: " + line);
}

ProcessResult Process::wait() {
  while (running()) {
    if (std::chrono::steady_clock::now() > deadline_) signal(SIGKILL);
    std::this_thread::sleep_for(kPoll);
  }
  return {exit_code(status_), out_so_far(), err_so_far()};
}

std::string Process::out_so_far() const { return read_file(directory_ / "out"); }
std::string Process::crashes() const { return read_file(directory_ / "crashes"); }
std::string Process::err_so_far() const { return read_file(directory_ / "err"); }

ProcessResult run(const std::vector<std::string>& command, const ProcessOptions& options) {
  return Process(command, options).wait();
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

std::vector<int> processes_with(const std::string& name, const std::string& value) { return processes_with({{name, value}}); }

std::vector<int> processes_with(const std::map<std::string, std::string>& variables) {
  std::vector<int> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename().string();
    if (!std::all_of(pid.begin(), pid.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    std::istringstream environment(read_file("/proc/" + pid + "/environ"));
    std::size_t held = 0;
    for (std::string variable; std::getline(environment, variable, '\0');) {
      const auto wanted = variables.find(variable.substr(0, variable.find('=')));
      if (wanted != variables.end() && variable == wanted->first + "=" + wanted->second) ++held;
    }
    if (held == variables.size()) found.push_back(std::stoi(pid));
  }
  return found;
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::vector<std::string> entries(const std::string& directory) {
  std::vector<std::string> names;
  if (!fs::exists(directory)) return names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string part_bytes(const std::string& directory) {
  std::string all;
  for (const std::string& name : entries(directory))
    if (name.rfind("part-", 0) == 0) all += read_file(directory + "/" + name);
  return all;
}

std::vector<std::string> part_lines(const std::string& directory) {
  std::vector<std::string> lines;
  std::istringstream all(part_bytes(directory));
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

}  // namespace weft::test
