// A cluster of real processes with certificates: an authority, a master, a worker, and the user alice.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cluster/cluster.hpp"

namespace weft::test {

using Words = std::vector<std::string>;

class SecureClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto made = security({"init", authority(), "--user", "alice"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    for (const std::string& user : more_users()) ASSERT_EQ(security({"issue", authority(), user}).exit_code, 0);
    Words options = master_options();
    options.insert(options.end(), {"--security", identity("master")});
    start_master(options);
    worker_ = std::make_unique<Process>(worker_words("w1"), ProcessOptions{.environment = as("worker"), .daemon = true});
    ASSERT_EQ(weft({"node", "wait", "1", "--timeout", "60s"}, "alice").exit_code, 0) << worker_->err_so_far();
  }
  void TearDown() override {
    for (Process* const process : {worker_.get(), master_.get()}) {
      if (process == nullptr) continue;
      process->signal(SIGTERM);
      EXPECT_EQ(process->wait().exit_code, 0) << process->err_so_far();
    }
  }

  virtual Words more_users() const { return {}; }
  virtual Words master_options() const { return {}; }

  void start_master(const Words& options) {
    Words command{program("weft"), "master",      "--listen",      "127.0.0.1:0", "--http",
                  "127.0.0.1:0",   "--port-file", files_ / "port", "--data-dir",  files_ / "data"};
    command.insert(command.end(), options.begin(), options.end());
    master_ = std::make_unique<Process>(command, ProcessOptions{.daemon = true});
    EXPECT_TRUE(eventually([&] { return read_file(files_ / "port").ends_with('\n'); })) << master_->err_so_far();
    address_ = read_file(files_ / "port");
    address_.pop_back();
  }
  Words worker_words(const std::string& name) const {
    return {program("weft"),   "worker",
            "--master",        address_,
            "--name",          name,
            "--slots",         "2",
            "--chunk-dir",     files_ / ("chunks-" + name),
            "--chunk-reserve", "1MiB"};
  }

  std::string authority() const { return files_ / "certificates"; }
  std::string identity(const std::string& name) const { return authority() + "/" + name; }
  std::map<std::string, std::string> as(const std::string& name) const { return {{"WEFT_SECURITY", identity(name)}}; }
  ProcessResult security(Words words) const {
    words.insert(words.begin(), {program("weft"), "security"});
    return run(words);
  }
  ProcessResult weft(Words words, const std::string& who) const {
    words.insert(words.begin(), program("weft"));
    words.insert(words.end(), {"--master", address_});
    return run(words, {.environment = as(who)});
  }
  ProcessResult job(Words words, const std::string& who) const {
    words.insert(words.begin(), program("cluster_probe"));
    words.insert(words.end(), {"--quiet", "--cluster", address_});
    return run(words, {.environment = as(who)});
  }

  ScratchDirectory files_;
  std::string address_;
  std::unique_ptr<Process> master_, worker_;
};

}  // namespace weft::test
