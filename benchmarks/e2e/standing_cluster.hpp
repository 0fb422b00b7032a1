// A master and two workers on loopback; the port is the kernel's choice, read back from a file.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "benchmarks/e2e/command.hpp"
#include "benchmarks/e2e/setting.hpp"

namespace weft::bench {

class StandingCluster {
 public:
  /// `options`: of the master. `files`: it keeps files. `name`: of its directory, for several at a time.
  StandingCluster(const Setting& setting, const Command& options, bool files = false, const std::string& name = "cluster")
      : directory_(setting.data + "/" + name), master_(master_command(setting, directory_, options, files)) {
    const std::string port_file = directory_ + "/port";
    for (int tries = 0; tries < 1000 && address_.empty(); ++tries) {
      ::usleep(10'000);
      std::ifstream(port_file) >> address_;
    }
    if (address_.find(':') == std::string::npos) address_ = "127.0.0.1:" + address_;
    for (int i = 0; i < 2; ++i) {
      const std::string directory = directory_ + "/worker" + std::to_string(i);
      Command command{setting.program("weft"), "worker",  "--master", address_, "--slots", "1",
                      "--directory",           directory, "--log",    "warn"};
      if (files) command.insert(command.end(), {"--chunk-dir", directory + "-chunks"});
      workers_.push_back(std::make_unique<Background>(command));
    }
  }
  ~StandingCluster() {
    workers_.clear();
    std::filesystem::remove_all(directory_);
  }
  StandingCluster(const StandingCluster&) = delete;
  StandingCluster& operator=(const StandingCluster&) = delete;
  const std::string& address() const { return address_; }

 private:
  static Command master_command(const Setting& setting, const std::string& directory, const Command& options, bool files) {
    std::filesystem::create_directories(directory);
    Command command{setting.program("weft"), "master", "--listen", "127.0.0.1:0", "--port-file",
                    directory + "/port",     "--log",  "warn"};
    if (files) command.insert(command.end(), {"--data-dir", directory + "/namespace"});
    command.insert(command.end(), options.begin(), options.end());
    return command;
  }

  std::string directory_;
  std::string address_;
  Background master_;
  std::vector<std::unique_ptr<Background>> workers_;
};

}  // namespace weft::bench
