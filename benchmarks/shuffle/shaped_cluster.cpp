#include "benchmarks/shuffle/shaped_cluster.hpp"

#include <filesystem>
#include <utility>

#include <fmt/core.h>
#include <signal.h>

#include "benchmarks/measure.hpp"

namespace weft::bench {
namespace {

using Command = std::vector<std::string>;
constexpr std::chrono::seconds kReady{30}, kJob{300}, kLife{3600};

Command operator+(Command first, const Command& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

[[noreturn]] void end(const std::string& why) {
  need<void>(fail(Code::unavailable, why));
  std::abort();
}

}  // namespace

ShapedCluster::ShapedCluster(const ClusterSetting& setting) : setting_(setting) {
  std::filesystem::create_directories(setting_.directory);
  const std::string port_file = setting_.directory + "/port";
  const std::string at = setting_.network != nullptr ? test::ShapedNetwork::bridge_address() : "127.0.0.1";
  master_ =
      std::make_unique<test::Process>(at_bridge({setting_.programs + "/weft", "master", "--listen", at + ":0", "--port-file",
                                                 port_file, "--event-log", setting_.directory + "/events.jsonl", "--directory",
                                                 setting_.directory + "/programs", "--scheduler", setting_.scheduler}),
                                      test::ProcessOptions{.deadline = kLife, .daemon = true});
  if (!test::eventually([&] { return test::read_file(port_file).ends_with('\n'); }, kReady))
    end("the master does not become ready: " + master_->err_so_far());
  address_ = test::read_file(port_file);
  address_.pop_back();
  for (int node = 0; node < setting_.nodes; ++node) add_worker(node);
  const auto ready = test::run(at_bridge({setting_.programs + "/weft", "node", "wait", std::to_string(setting_.nodes), "--timeout",
                                          std::to_string(kReady.count()) + "s", "--master", address_}),
                               {.deadline = 2 * kReady});
  if (ready.exit_code != 0) end("the workers do not become ready: " + ready.err + workers_.front()->err_so_far());
}

ShapedCluster::~ShapedCluster() {
  for (const auto& worker : workers_) worker->signal(SIGTERM);
  test::eventually([&] {
    for (const auto& worker : workers_)
      if (worker->running()) return false;
    return true;
  });
  std::error_code ignored;
  workers_.clear();
  master_.reset();
  std::filesystem::remove_all(setting_.directory, ignored);
}

Command ShapedCluster::at_bridge(Command command) const {
  return setting_.network != nullptr ? setting_.network->at_bridge() + command : command;
}

void ShapedCluster::add_worker(int node) {
  const std::string name = "node" + std::to_string(node), directory = setting_.directory + "/" + name;
  const bool apart = setting_.network != nullptr;
  Command command{setting_.programs + "/weft",
                  "worker",
                  "--master",
                  address_,
                  "--name",
                  name,
                  "--host",
                  name,
                  "--listen",
                  (apart ? test::ShapedNetwork::node_address(node) : "127.0.0.1") + std::string(":0"),
                  "--share",
                  apart || !setting_.share ? "false" : "true",
                  "--slots",
                  std::to_string(setting_.slots),
                  "--memory",
                  setting_.memory,
                  "--store-memory",
                  setting_.store,
                  "--directory",
                  directory};
  if (apart) command = setting_.network->at_node(node) + command;
  test::ProcessOptions options{.deadline = kLife, .daemon = true};
  if (setting_.disk.bytes_per_second != 0) {
    options.environment = {{"LD_PRELOAD", setting_.programs + "/libslow_disk.so"},
                           {"WEFT_SLOW_DISK", fmt::format("{} {} {}.disk {}/", setting_.disk.bytes_per_second,
                                                          setting_.disk.page_cache, directory, directory)}};
  }
  workers_.push_back(std::make_unique<test::Process>(command, options));
}

FinishedJob ShapedCluster::run(Command words, const std::string& mode) {
  words.front() = setting_.programs + "/" + words.front();
  const Command command = at_bridge(std::move(words) + Command{"--cluster", address_, "--shuffle-mode", mode, "--quiet"});
  NodeSampler sampler(workers());
  const auto result = test::run(command, {{}, kJob});
  if (result.exit_code != 0) end(command.front() + " in mode " + mode + " failed: " + result.err);
  return {result.out, sampler.take()};
}

std::vector<int> ShapedCluster::workers() const {
  std::vector<int> pids;
  for (const auto& worker : workers_) pids.push_back(worker->pid());
  return pids;
}

std::vector<JobRun> ShapedCluster::runs() const { return need(read_runs(setting_.directory + "/events.jsonl")); }

}  // namespace weft::bench
