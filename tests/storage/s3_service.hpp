// The S3 service of tests (s3_server.py) as a process, and what tests tell it and ask it.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/objects/s3_settings.hpp"
#include "tests/support/http_connection.hpp"
#include "tests/support/process.hpp"

namespace weft::test {

class S3Service {
 public:
  /// With TLS, if it is given the files of a certificate and of its key.
  explicit S3Service(const std::vector<std::string>& tls = {}) : tls_(!tls.empty()), process_(command(tls), {.daemon = true}) {
    eventually([&] {
      port_ = process_.out_so_far();
      return port_.ends_with('\n');
    });
    port_.resize(std::min(port_.find('\n'), port_.size()));
  }
  ~S3Service() { process_.signal(SIGKILL); }

  std::string endpoint() const { return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + port_; }
  const std::string& port() const { return port_; }
  /// Of who may use it.
  storage::objects::S3Settings settings() const {
    storage::objects::S3Settings settings;
    settings.access_key = "AKIAWEFT";
    settings.secret_key = "secret/of+weft";
    settings.endpoint = endpoint();
    settings.path_style = true;
    return settings;
  }
  /// What "POST /-/set" of the server's help says.
  void set(const std::string& json) { ask("POST", "/-/set", json); }
  /// An object of the bucket "books"; the key as URLs have it.
  void store(const std::string& key, const std::string& content) { ask("PUT", "/-/object/" + key, content); }
  /// One that claims to have so many bytes, as "PUT /-/huge" of the server's help says.
  void store_huge(const std::string& key, std::uint64_t bytes) { ask("PUT", "/-/huge/" + key, std::to_string(bytes)); }
  std::string state() { return ask("GET", "/-/state", ""); }
  /// Whether objects whose keys begin so were listed.
  bool has_listed(const std::string& prefix) { return ask("GET", "/-/listed", "").find("\"" + prefix + "\"") != std::string::npos; }
  bool has(const std::string& text) { return state().find(text) != std::string::npos; }

 private:
  static std::vector<std::string> command(const std::vector<std::string>& tls) {
    std::vector<std::string> command{"python3", S3_SERVER};
    command.insert(command.end(), tls.begin(), tls.end());
    return command;
  }
  std::string ask(const std::string& method, const std::string& path, const std::string& body) {
    const HttpAnswer answer = http("127.0.0.1:" + port_, method, path, "", body);
    EXPECT_EQ(answer.status, 200) << path;
    return answer.body;
  }

  const bool tls_;
  Process process_;
  std::string port_;
};

}  // namespace weft::test
