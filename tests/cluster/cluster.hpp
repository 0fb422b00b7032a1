// A standing cluster of real processes for tests: one master, some workers, all marked so that leftovers can be found.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/cluster/programs.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::test {

inline std::string plugin(const std::string& name) { return std::string(WEFT_PLUGIN_DIR) + "/" + name + ".so"; }
class Cluster {
 public:
  explicit Cluster(int workers, std::vector<std::string> master_options = {}) : tag_(std::to_string(getpid())) {
    std::vector<std::string> command{program("weft"), "master", "--listen", "127.0.0.1:0", "--port-file", scratch_ / "port"};
    command.insert(command.end(), master_options.begin(), master_options.end());
    master_ = std::make_unique<Process>(command, daemon());
    EXPECT_TRUE(eventually([&] { return !read_file(scratch_ / "port").empty(); })) << master_->err_so_far();
    address_ = read_file(scratch_ / "port");
    address_.erase(address_.find_last_not_of('\n') + 1);
    for (int i = 0; i < workers; ++i) add_worker();
    EXPECT_TRUE(has_nodes(workers));
  }

  /// w1, w2, … with two slots unless `extra` says otherwise. Its executors see its name in $WEFT_TEST_NODE. Every second one shares
  /// nothing with its neighbours: they fetch from it.
  Process& add_worker(const std::vector<std::string>& extra = {}, const std::map<std::string, std::string>& environment = {}) {
    std::vector<std::string> command{program("weft"), "worker", "--master", address_};
    const auto says = [&extra](const char* option) { return std::find(extra.begin(), extra.end(), option) != extra.end(); };
    if (!says("--name")) command.insert(command.end(), {"--name", "w" + std::to_string(workers_.size() + 1)});
    if (!says("--slots")) command.insert(command.end(), {"--slots", "2"});
    if (workers_.size() % 2 == 1 && !says("--share")) command.insert(command.end(), {"--share", "false"});
    command.insert(command.end(), extra.begin(), extra.end());
    ProcessOptions with_name = daemon();
    with_name.environment.insert(environment.begin(), environment.end());
    with_name.environment["WEFT_TEST_NODE"] = "w" + std::to_string(workers_.size() + 1);
    workers_.push_back(std::make_unique<Process>(command, with_name));
    return *workers_.back();
  }
  /// Dead ones do not count.
  bool has_nodes(int count) {
    return eventually([&] {
      const std::string nodes = admin({"node", "list", "--json"}).out;
      const auto times = [&nodes](const std::string& part) {
        int found = 0;
        for (std::size_t at = nodes.find(part); at != std::string::npos; at = nodes.find(part, at + 1)) ++found;
        return found;
      };
      return times("\"name\"") - times("\"state\":\"dead\"") == count;
    });
  }

  const std::string& address() const { return address_; }
  Process& master() { return *master_; }
  Process& worker(std::size_t index) { return *workers_.at(index); }
  ScratchDirectory& scratch() { return scratch_; }

  ProcessResult admin(std::vector<std::string> words) const {
    words.insert(words.begin(), program("weft"));
    words.insert(words.end(), {"--master", address_});
    return run(words, {.environment = {}, .deadline = std::chrono::seconds(30)});
  }
  std::vector<std::string> job(std::vector<std::string> words) const {
    words.insert(words.begin(), program("cluster_probe"));
    words.insert(words.end(), {"--quiet", "--cluster", address_});
    return words;
  }
  ProcessOptions options() const { return {.environment = {{"WEFT_TEST_TAG", tag_}}}; }
  std::vector<int> processes() const { return processes_with("WEFT_TEST_TAG", tag_); }
  std::vector<int> executors() const { return processes_with({{"WEFT_TEST_TAG", tag_}, {"WEFT_ROLE", "executor"}}); }

 private:
  ProcessOptions daemon() const {
    ProcessOptions made = options();
    made.daemon = true;
    return made;
  }

  std::string tag_;
  ScratchDirectory scratch_;
  std::unique_ptr<Process> master_;
  std::vector<std::unique_ptr<Process>> workers_;
  std::string address_;
};

}  // namespace weft::test
