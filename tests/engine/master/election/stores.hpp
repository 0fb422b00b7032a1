// The stores of elections as processes for tests: a real etcd, Lease objects of a pretended API server of Kubernetes, and what
// stands between them and a member.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/master/election/election.hpp"
#include "tests/engine/master/election/etcd_server.hpp"

namespace weft::test {

const master::LeaderRecord kFirstRecord{"c", 1, "a", "h:1", {"a"}};

/// Looks, and takes.
inline Result<bool> lead(master::Election& election, const master::LeaderRecord& record = kFirstRecord) {
  WEFT_ASSIGN(const auto seen, election.look());
  return election.take(seen, record);
}

inline bool says(const Error& error, Code code, const std::string& text) {
  EXPECT_EQ(error.code(), code) << error.to_string();
  EXPECT_NE(error.to_string().find(text), std::string::npos) << error.to_string();
  return error.code() == code;
}

class LeaseServer final : public StoreServer {
 public:
  LeaseServer() { start(); }
  ~LeaseServer() override { process_->signal(SIGKILL); }
  void start() override {
    std::vector<std::string> command{"python3", LEASE_SERVER, directory_ / "objects"};
    if (!port_.empty()) command.push_back(port_);
    process_ = std::make_unique<Process>(command, ProcessOptions{.daemon = true});
    port_ = printed_port(*process_);
  }
  /// What "POST /-/set" of the server's help says.
  void set(const std::string& json) const { ask("POST", "/-/set", json); }
  std::string state() const { return ask("GET", "/-/state", ""); }
  bool has(const std::string& text) const { return state().find(text) != std::string::npos; }
  /// An object as it is; the name as "NAMESPACE/NAME".
  void store(const std::string& name, const std::string& json) const { ask("PUT", "/-/lease/" + name, json); }
  void remove(const std::string& name) const { ask("DELETE", "/-/lease/" + name, ""); }

 private:
  std::string ask(const std::string& method, const std::string& path, const std::string& body) const {
    const HttpAnswer answer = http(address(), method, path, "", body);
    EXPECT_EQ(answer.status, 200) << path;
    return answer.body;
  }
};

/// faulty_proxy.py before a server.
class FaultyProxy {
 public:
  explicit FaultyProxy(const std::string& port)
      : process_({"python3", FAULTY_PROXY, port}, {.daemon = true}), port_(printed_port(process_)) {}
  ~FaultyProxy() { process_.signal(SIGKILL); }
  std::string address() const { return "127.0.0.1:" + port_; }
  std::string url() const { return "http://" + address(); }
  /// The next `count` requests whose "METHOD PATH" contains `match` get this fault.
  void set(const std::string& match, const std::string& fault, int count, int status = 500, const std::string& body = "") const {
    ask("POST", "/-/set",
        R"({"match":")" + match + R"(","fault":")" + fault + R"(","count":)" + std::to_string(count) + R"(,"status":)" +
            std::to_string(status) + R"(,"body":")" + body + "\"}");
  }
  void end_faults() const { set("", "", 0); }
  /// The server gets what was held.
  void release() const {
    EXPECT_EQ(ask("GET", "/-/state", "").find(R"("held": 0)"), std::string::npos);
    ask("POST", "/-/release", "{}");
  }

 private:
  std::string ask(const std::string& method, const std::string& path, const std::string& body) const {
    const HttpAnswer answer = http(address(), method, path, "", body);
    EXPECT_EQ(answer.status, 200) << path;
    return answer.body;
  }

  Process process_;
  const std::string port_;
};

}  // namespace weft::test
