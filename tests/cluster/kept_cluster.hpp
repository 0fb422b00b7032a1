// A cluster whose master keeps its jobs and is killed and started again, on the same address and the same directory. Workers are
// started, killed and started again as a test wishes.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cluster/programs.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/event_lines.hpp"
#include "tests/support/process.hpp"

namespace weft::test {

/// An address where nobody listens. Ports below those that the system gives to connections stay free until a master takes them.
inline std::string free_address() {
  for (int port = 20000 + getpid() % 10000;; ++port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free = ::bind(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(socket);
    if (free) return "127.0.0.1:" + std::to_string(port);
  }
}

class KeptCluster {
 public:
  using Environment = std::map<std::string, std::string>;

  /// Nothing runs yet.
  explicit KeptCluster(std::vector<std::string> master_options = {})
      : master_options_(std::move(master_options)), address_(free_address()) {}
  /// With a master, and workers w1, w2, … that have joined.
  explicit KeptCluster(int workers, std::vector<std::string> master_options = {}) : KeptCluster(std::move(master_options)) {
    start_master();
    for (int i = 1; i <= workers; ++i) start_worker("w" + std::to_string(i));
    EXPECT_TRUE(has_nodes(workers)) << master().err_so_far();
  }

  /// Of the masters that are started from now on.
  void set_master_options(std::vector<std::string> options) { master_options_ = std::move(options); }
  std::string data() const { return scratch_ / "data"; }
  std::string journal() const { return data() + "/journal"; }
  std::vector<std::string> master_command() const {
    std::vector<std::string> command{program("weft"), "master",     "--listen", address_,      "--http",
                                     "none",          "--data-dir", data(),     "--event-log", scratch_ / "events"};
    command.insert(command.end(), master_options_.begin(), master_options_.end());
    return command;
  }
  /// It need not listen yet.
  void start_master(Environment environment = {}) {
    environment["WEFT_TEST_TAG"] = tag_;
    masters_.push_back(std::make_unique<Process>(
        master_command(), ProcessOptions{.environment = std::move(environment), .deadline = kDeadline, .daemon = true}));
  }
  void end_master(int number = SIGKILL) {
    EXPECT_TRUE(master().running()) << master().err_so_far();
    // A master that gets SIGTERM before it listens ends by the signal, not in order.
    if (number != SIGKILL) {
      EXPECT_TRUE(eventually([&] { return admin({"job", "list"}).exit_code == 0; })) << master().err_so_far();
    }
    master().signal(number);
    EXPECT_EQ(master().wait().exit_code, number == SIGKILL ? 128 + SIGKILL : 0) << master().err_so_far();
  }
  /// In place of a worker of that name, if there was one.
  Process& start_worker(const std::string& name, const std::vector<std::string>& options = {}) {
    std::vector<std::string> command{program("weft"), "worker", "--master", address_, "--name", name, "--slots", "2"};
    command.insert(command.end(), options.begin(), options.end());
    auto& worker = workers_[name];
    worker = std::make_unique<Process>(
        command,
        ProcessOptions{.environment = {{"WEFT_TEST_TAG", tag_}, {"WEFT_TEST_NODE", name}}, .deadline = kDeadline, .daemon = true});
    return *worker;
  }
  /// With its executors, as on a machine that fails.
  void kill_worker(const std::string& name) {
    worker(name).signal(SIGKILL);
    worker(name).wait();
    EXPECT_TRUE(eventually([&] { return processes_with({{"WEFT_TEST_TAG", tag_}, {"WEFT_TEST_NODE", name}}).empty(); }));
  }

  Process& master() { return *masters_.back(); }
  Process& worker(const std::string& name) { return *workers_.at(name); }
  const std::string& address() const { return address_; }
  const std::string& tag() const { return tag_; }
  const ScratchDirectory& scratch() const { return scratch_; }

  ProcessResult admin(std::vector<std::string> words) const {
    words.insert(words.begin(), program("weft"));
    words.insert(words.end(), {"--master", address_});
    return run(words, {.environment = {}, .deadline = std::chrono::seconds(60)});
  }
  bool has_nodes(int count) const { return admin({"node", "wait", std::to_string(count), "--timeout", "30s"}).exit_code == 0; }
  /// A job program with its arguments, and where its cluster is.
  std::vector<std::string> job(const std::string& name, std::vector<std::string> words) const {
    words.insert(words.begin(), program(name));
    words.insert(words.end(), {"--quiet", "--cluster", address_, "--patience", "60s"});
    return words;
  }
  ProcessOptions options() const { return {.environment = {{"WEFT_TEST_TAG", tag_}}, .deadline = kDeadline}; }
  /// The records of its journal, as lines of JSON.
  std::string facts() const { return run({program("weft"), "journal", "dump", journal()}).out; }
  std::vector<std::string> events() const { return EventLines(scratch_ / "events").read(); }
  std::size_t count(const std::string& event, const std::vector<std::string>& parts = {}) const {
    return EventLines(scratch_ / "events").count(event, parts);
  }

 private:
  static constexpr std::chrono::seconds kDeadline{300};

  const std::string tag_ = "kept-" + std::to_string(getpid());
  ScratchDirectory scratch_;
  std::vector<std::string> master_options_;
  const std::string address_;
  std::vector<std::unique_ptr<Process>> masters_;
  std::map<std::string, std::unique_ptr<Process>> workers_;
};

inline std::uint64_t member(const std::string& line, const std::string& name) {
  const auto at = line.find("\"" + name + "\":");
  return at == std::string::npos ? UINT64_MAX : std::stoull(line.substr(at + name.size() + 3));
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Launches, from line `from` of an event log on, of tasks whose end is in the journal (as `weft journal dump` prints it). Only
/// those were acknowledged: the event log may also have ends of tasks that their master had not recorded yet when it was killed.
inline std::vector<std::string> launched_again(const std::string& dump, const std::vector<std::string>& events, std::size_t from) {
  const auto task = [](const std::string& line) {
    return std::tuple(member(line, "job"), member(line, "stage"), member(line, "task"));
  };
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> ended;
  for (const std::string& line : lines_of(dump))
    if (has(line, "\"fact\":\"finish\"")) ended.insert(task(line));
  std::vector<std::string> again;
  for (std::size_t i = from; i < events.size(); ++i)
    if (has(events[i], "\"event\":\"task_launched\"") && ended.contains(task(events[i]))) again.push_back(events[i]);
  return again;
}

}  // namespace weft::test
