// A real etcd as a process for tests.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "tests/support/http_connection.hpp"
#include "tests/support/process.hpp"

namespace weft::test {

inline std::string free_port() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return std::to_string(ntohs(address.sin_port));
}

/// Where etcd is; empty: nowhere.
inline std::string etcd_program() {
  const char* const path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':'))
    if (const std::string file = std::string(folder) + "/etcd"; ::access(file.c_str(), X_OK) == 0) return file;
  return "";
}

/// What a Python program prints first: its port.
inline std::string printed_port(const Process& process) {
  std::string port;
  EXPECT_TRUE(eventually([&] {
    port = process.out_so_far();
    return port.ends_with('\n');
  })) << process.err_so_far();
  port.resize(std::min(port.find('\n'), port.size()));
  return port;
}

/// A server with a port of its own that can be stopped for a while, and killed and started again with what it has kept.
class StoreServer {
 public:
  virtual ~StoreServer() = default;
  virtual void start() = 0;
  const std::string& port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + port_; }
  std::string url() const { return "http://" + address(); }
  void kill() {
    process_->signal(SIGKILL);
    process_->wait();
  }
  /// Returns when it stands still: a signal to stop reaches one thread after the other.
  void pause() {
    process_->signal(SIGSTOP);
    EXPECT_TRUE(eventually([&] { return stands_still(); }));
  }
  void resume() { process_->signal(SIGCONT); }

 protected:
  ScratchDirectory directory_;
  std::string port_;
  std::unique_ptr<Process> process_;

 private:
  bool stands_still() const {
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process_->pid()) + "/task")) {
      const std::string status = read_file(thread.path() / "stat");
      if (status.find(") T ") == std::string::npos) return false;
    }
    return true;
  }
};

/// One member of etcd.
class EtcdServer final : public StoreServer {
 public:
  /// `tls`: the files of a certificate and of its key.
  explicit EtcdServer(std::vector<std::string> tls = {}) : tls_(std::move(tls)) {
    // A port may be taken by another process before etcd has it.
    for (int tries = 0; tries < 5 && !try_to_start(); ++tries) port_ = peer_port_ = "";
    EXPECT_FALSE(port_.empty());
  }
  ~EtcdServer() override {
    if (process_) process_->signal(SIGKILL);
  }
  void start() override {
    EXPECT_TRUE(eventually([&] { return try_to_start(); }));
  }
  /// One request to the gateway; the answer's body.
  std::string ask(const std::string& path, const std::string& body) const {
    const HttpAnswer answer = http(address(), "POST", "/v3/" + path, "", body);
    EXPECT_EQ(answer.status, 200) << path << answer.body;
    return answer.body;
  }

 private:
  bool try_to_start() {
    if (port_.empty()) {
      port_ = free_port();
      peer_port_ = free_port();
    }
    const std::string client = (tls_.empty() ? "http://" : "https://") + address(), peer = "http://127.0.0.1:" + peer_port_;
    std::vector<std::string> command{etcd_program(),
                                     "--name",
                                     "one",
                                     "--data-dir",
                                     directory_ / "data",
                                     "--unsafe-no-fsync",
                                     "--listen-client-urls",
                                     client,
                                     "--advertise-client-urls",
                                     client,
                                     "--listen-peer-urls",
                                     peer,
                                     "--initial-advertise-peer-urls",
                                     peer,
                                     "--initial-cluster",
                                     "one=" + peer};
    if (!tls_.empty()) command.insert(command.end(), {"--cert-file", tls_[0], "--key-file", tls_[1]});
    process_ = std::make_unique<Process>(command, ProcessOptions{.deadline = std::chrono::seconds(600), .may_die = true});
    return eventually([&] { return !process_->running() || ready(); }) && process_->running();
  }
  bool ready() const {
    if (!tls_.empty()) return process_->err_so_far().find("serving client requests securely") != std::string::npos || serves();
    return http(address(), "GET", "/health").body.find("true") != std::string::npos;
  }
  bool serves() const { return process_->err_so_far().find("ready to serve client requests") != std::string::npos; }

  const std::vector<std::string> tls_;
  std::string peer_port_;
};

}  // namespace weft::test
