// HDFS of tests (hdfs_server.py) as a process, and what tests tell it and ask it.
#pragma once

#include <csignal>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "storage/hdfs/settings.hpp"
#include "tests/support/http_connection.hpp"
#include "tests/support/process.hpp"

namespace weft::test {

class HdfsService {
 public:
  HdfsService() : process_({"python3", HDFS_SERVER}, {.daemon = true}) {
    std::string ports;
    eventually([&] {
      ports = process_.out_so_far();
      return ports.ends_with('\n');
    });
    std::istringstream(ports) >> port_ >> other_port_;
  }
  ~HdfsService() { process_.signal(SIGKILL); }

  /// "hdfs://HOST:PORT" + path.
  std::string url(const std::string& path) const { return "hdfs://127.0.0.1:" + port_ + path; }
  std::string address() const { return "127.0.0.1:" + port_; }
  /// Of the second NameNode, which is in standby at first.
  std::string other_address() const { return "127.0.0.1:" + other_port_; }
  /// Knows both NameNodes as "hdfs://both/…".
  storage::hdfs::HdfsSettings settings() const {
    storage::hdfs::HdfsSettings settings;
    settings.user = "weft";
    settings.name_nodes["both"] = {"http://" + other_address(), "http://" + address()};
    return settings;
  }
  /// What "POST /-/set" of the server's help says.
  void set(const std::string& json) { ask("POST", "/-/set", json); }
  /// The path as URLs have it.
  void store(const std::string& path, const std::string& content) { ask("PUT", "/-/file" + path, content); }
  std::string state() { return ask("GET", "/-/state", ""); }
  bool has(const std::string& text) { return state().find(text) != std::string::npos; }

 private:
  std::string ask(const std::string& method, const std::string& path, const std::string& body) {
    const HttpAnswer answer = http(address(), method, path, "", body);
    EXPECT_EQ(answer.status, 200) << path;
    return answer.body;
  }

  Process process_;
  std::string port_, other_port_;
};

}  // namespace weft::test
