// Two masters, of which one leads, with an etcd and workers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/cluster/kept_cluster.hpp"
#include "tests/engine/master/election/etcd_server.hpp"

namespace weft::test {

class MasterGroup {
 public:
  static constexpr int kMasters = 2;

  /// The first leads, the second is in sync, and workers w1, w2, … have joined.
  explicit MasterGroup(int workers = 2) {
    for (int master = 0; master < kMasters; ++master) addresses_.push_back("127.0.0.1:" + free_port());
    start_master(0);
    EXPECT_TRUE(leads(0));
    start_master(1);
    EXPECT_TRUE(is_in_sync(1));
    for (int i = 1; i <= workers; ++i) start_worker("w" + std::to_string(i));
    EXPECT_TRUE(has_nodes(workers));
  }

  std::string data(int master) const { return scratch_ / ("data" + std::to_string(master)); }
  std::vector<std::string> master_command(int master) const {
    std::vector<std::string> command{program("weft"), "master",     "--listen",   address_of(master), "--http",
                                     "none",          "--data-dir", data(master), "--etcd",           etcd_.url()};
    if (master > 0) command.push_back("--standby");
    return command;
  }
  void start_master(int master) {
    masters_[master] = std::make_unique<Process>(
        master_command(master),
        ProcessOptions{.environment = {{"WEFT_TEST_TAG", tag_}}, .deadline = std::chrono::seconds(300), .daemon = true});
  }
  void kill_master(int master) {
    masters_[master]->signal(SIGKILL);
    masters_[master]->wait();
  }
  void start_worker(const std::string& name) {
    const std::vector<std::string> command{program("weft"), "worker", "--master",    address(),       "--name",          name,
                                           "--slots",       "2",      "--chunk-dir", scratch_ / name, "--chunk-reserve", "1MiB"};
    workers_[name] = std::make_unique<Process>(
        command, ProcessOptions{.environment = {{"WEFT_TEST_TAG", tag_}}, .deadline = std::chrono::seconds(300), .daemon = true});
  }

  Process& master(int master) { return *masters_.at(master); }
  EtcdServer& etcd() { return etcd_; }
  /// Of both.
  std::string address() const { return addresses_[0] + "," + addresses_[1]; }
  std::string address_of(int master) const { return addresses_.at(static_cast<std::size_t>(master)); }
  const ScratchDirectory& scratch() const { return scratch_; }
  std::string log_of(int master) const { return masters_.at(master)->err_so_far(); }

  /// What it last said of its part.
  bool leads(int master) const {
    return eventually([&] { return last_said(master) == Part::leads; });
  }
  bool is_in_sync(int master) const {
    return eventually([&] { return last_said(master) == Part::in_sync; });
  }
  bool stands_by(int master) const {
    return eventually([&] { return last_said(master) >= Part::copies; });
  }

  bool has_nodes(int count) const { return admin({"node", "wait", std::to_string(count), "--timeout", "60s"}).exit_code == 0; }
  ProcessResult admin(std::vector<std::string> words) const {
    words.insert(words.begin(), program("weft"));
    words.insert(words.end(), {"--master", address()});
    return run(words, {.environment = {}, .deadline = std::chrono::seconds(120)});
  }
  std::vector<std::string> job(const std::string& name, std::vector<std::string> words) const {
    words.insert(words.begin(), program(name));
    words.insert(words.end(), {"--quiet", "--cluster", address(), "--patience", "60s"});
    return words;
  }
  ProcessOptions options() const { return {.environment = {{"WEFT_TEST_TAG", tag_}}, .deadline = std::chrono::seconds(300)}; }

 private:
  enum class Part { none, leads, copies, in_sync };
  Part last_said(int master) const {
    const std::string log = log_of(master);
    Part part = Part::none;
    std::size_t latest = 0;
    for (const auto& [text, means] :
         {std::pair("this master leads cluster", Part::leads), std::pair("this master stands by", Part::copies),
          std::pair("this master has everything", Part::in_sync), std::pair("it follows from now on", Part::none)})
      if (const auto at = log.rfind(text); at != std::string::npos && at >= latest) {
        latest = at;
        part = means;
      }
    return part;
  }

  const std::string tag_ = "group-" + std::to_string(getpid());
  ScratchDirectory scratch_;
  EtcdServer etcd_;
  std::vector<std::string> addresses_;
  std::map<int, std::unique_ptr<Process>> masters_;
  std::map<std::string, std::unique_ptr<Process>> workers_;
};

}  // namespace weft::test
