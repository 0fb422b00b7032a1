// A cluster on a network: a master at a bridge and workers in network namespaces of their own, which share nothing but its links.
#pragma once

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cluster/programs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/shaped_network.hpp"

namespace weft::test {

struct Network {
  std::string name;
  int megabits = 0;  // of each worker's link, in either direction; 0: no limit
  double loss = 0;   // part of the packets that come to a worker and are lost
  friend std::ostream& operator<<(std::ostream& out, const Network& network) { return out << network.name; }
};

/// Workers w1, w2, … with two slots; every second one is in rack B, the others in rack A. It keeps files and tables. All
/// connections are encrypted, and everybody shows a certificate: the master and the workers theirs, programs that of a user.
class NetworkCluster {
 public:
  NetworkCluster(int workers, const Network& network) : network_("weft", workers, network.megabits) {
    make_certificates(workers);
    start_master();
    for (int i = 0; i < workers; ++i) {
      workers_.emplace_back();
      start_worker(i);
      if (network.loss > 0) missing_ += network_.lose(i, network.loss);
    }
    EXPECT_TRUE(ready());
  }
  /// Everybody leaves in good order.
  ~NetworkCluster() {
    for (const auto& worker : workers_) worker->signal(SIGTERM);
    for (const auto& worker : workers_) EXPECT_EQ(worker->wait().exit_code, 0) << worker->err_so_far();
    master_->signal(SIGTERM);
    EXPECT_EQ(master_->wait().exit_code, 0) << master_->err_so_far();
  }

  /// Why the network is not what was asked for; empty when it is.
  const std::string& missing() const { return missing_; }
  const ShapedNetwork& network() const { return network_; }
  Process& master() { return *master_; }
  Process& worker(int index) { return *workers_.at(static_cast<std::size_t>(index)); }

  void start_worker(int index) {
    const std::string number = std::to_string(index + 1);
    workers_.at(static_cast<std::size_t>(index)) = start(network_.at_node(index), "worker",
                                                         {"worker",
                                                          "--master",
                                                          address_,
                                                          "--listen",
                                                          ShapedNetwork::node_address(index) + ":0",
                                                          "--name",
                                                          "w" + number,
                                                          "--host",
                                                          "h" + number,
                                                          "--rack",
                                                          index % 2 == 0 ? "A" : "B",
                                                          "--slots",
                                                          "2",
                                                          "--memory",
                                                          "256MiB",
                                                          "--store-memory",
                                                          "256MiB",
                                                          "--share",
                                                          "false",
                                                          "--directory",
                                                          scratch_ / ("w" + number),
                                                          "--chunk-dir",
                                                          scratch_ / ("chunks-" + number),
                                                          "--chunk-reserve",
                                                          "1MiB"});
  }
  bool ready() {
    const auto waited = weft({"node", "wait", std::to_string(workers_.size()), "--timeout", "60s"});
    return waited.exit_code == 0;
  }
  /// Whether all processes that were started live.
  bool alive() {
    bool all = master_->running();
    for (const auto& worker : workers_) all = worker->running() && all;
    return all;
  }

  /// A program beside the master, with its address.
  std::vector<std::string> command(std::vector<std::string> words, const std::string& option) const {
    words.front() = program(words.front());
    words.insert(words.end(), {option, address_});
    const auto at = network_.at_bridge();
    words.insert(words.begin(), at.begin(), at.end());
    return words;
  }
  ProcessResult weft(std::vector<std::string> words) const {
    words.insert(words.begin(), "weft");
    return run(command(std::move(words), "--master"), {.environment = as("alice"), .deadline = kPatience});
  }
  ProcessResult job(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, "--quiet");
    return run(job_command(std::move(words)), {.environment = as("alice"), .deadline = kPatience});
  }
  /// The environment of a process with that identity.
  std::map<std::string, std::string> as(const std::string& identity) const {
    return {{"WEFT_SECURITY", scratch_ / ("security/" + identity)}};
  }
  std::vector<std::string> job_command(std::vector<std::string> words) const { return command(std::move(words), "--cluster"); }

 private:
  void make_certificates(int workers) const {
    std::vector<std::string> words{program("weft"), "security", "init", scratch_ / "security", "--user", "alice"};
    words.insert(words.end(), {"--host", ShapedNetwork::bridge_address()});
    for (int i = 0; i < workers; ++i) words.insert(words.end(), {"--host", ShapedNetwork::node_address(i)});
    const auto made = run(words);
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  static constexpr std::chrono::seconds kPatience{120}, kLife{7200};

  std::unique_ptr<Process> start(std::vector<std::string> words, const std::string& identity,
                                 const std::vector<std::string>& arguments) const {
    words.push_back(program("weft"));
    words.insert(words.end(), arguments.begin(), arguments.end());
    return std::make_unique<Process>(words, ProcessOptions{.environment = as(identity), .deadline = kLife, .daemon = true});
  }
  void start_master() {
    master_ = start(network_.at_bridge(), "master",
                    {"master", "--listen", ShapedNetwork::bridge_address() + ":0", "--port-file", scratch_ / "port", "--data-dir",
                     scratch_ / "data"});
    EXPECT_TRUE(eventually([&] { return read_file(scratch_ / "port").ends_with('\n'); })) << master_->err_so_far();
    address_ = read_file(scratch_ / "port");
    address_.pop_back();
  }

  ScratchDirectory scratch_;
  ShapedNetwork network_;
  std::string missing_;
  std::string address_;
  std::unique_ptr<Process> master_;
  std::vector<std::unique_ptr<Process>> workers_;
};

}  // namespace weft::test
