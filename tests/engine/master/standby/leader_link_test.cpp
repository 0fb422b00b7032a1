// A follower's connection over a slow link: what comes slowly is not late, what does not come is.
#include "engine/master/standby/leader_link.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::master {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPerSecond = 2u << 20;

/// A listener that passes what comes for one connection on to another port: what comes back, at kPerSecond.
class SlowLink {
 public:
  explicit SlowLink(std::uint16_t to) : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), to_(to) {
    sockaddr_in address = local(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listening_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { pass(); });
  }
  ~SlowLink() { thread_.join(); }  // both sides have closed
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  static sockaddr_in local(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  void pass() const {
    const Fd near(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)),
        far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = local(to_);
    EXPECT_EQ(::connect(far.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::array<char, kPerSecond / 100> piece{};
    std::array<pollfd, 2> ends{{{near.get(), POLLIN, 0}, {far.get(), POLLIN, 0}}};
    while (::poll(ends.data(), ends.size(), -1) > 0) {
      for (std::size_t from : {0u, 1u}) {
        if (ends[from].revents == 0) continue;
        const ssize_t came = ::recv(ends[from].fd, piece.data(), piece.size(), 0);
        if (came <= 0) return;
        if (from == 1)
          std::this_thread::sleep_for(std::chrono::nanoseconds(came * 1'000'000'000 / static_cast<ssize_t>(kPerSecond)));
        (void)::send(ends[1 - from].fd, piece.data(), static_cast<std::size_t>(came), MSG_NOSIGNAL);
      }
    }
  }

  Fd listening_;
  std::uint16_t to_ = 0, port_ = 0;
  std::thread thread_;
};

/// A leader that has one large entry, and a program.
class LeaderLinkTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 3 * kPerSecond;  // more than the leader may be silent for
  static constexpr std::size_t kProgram = 1000;

  LeaderLinkTest() {
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
      if (message.type == kFollow) return responder.reply(to_payload(Following{1, "cluster", 2}));
      if (message.type == kPull && !std::exchange(pulled_, true))
        return responder.reply(to_payload(Pulled{{{Store::journal, SharedBytes(Buffer(kBytes))}}, true}));
      if (message.type == runtime::protocol::kFetchBinary && !std::exchange(fetched_, true))
        return responder.reply(
            rpc::with_bulk(runtime::protocol::encode(runtime::protocol::BinaryChunk{kProgram}), SharedBytes(Buffer(kProgram))));
      silent_.push_back(std::move(responder));
    };
    reactor_->run([&] {
      listener_ =
          reactor_->listen(rpc::Endpoint::parse("127.0.0.1:0").value(), {}, [handler](const auto&) { return handler; }).value();
    });
  }
  ~LeaderLinkTest() override {
    reactor_->run([this] {
      silent_.clear();
      listener_.reset();
    });
    reactor_->stop();
  }

  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("leader");
  std::unique_ptr<rpc::Listener> listener_;
  bool pulled_ = false, fetched_ = false;
  std::vector<rpc::Responder> silent_;
};

TEST_F(LeaderLinkTest, WhatComesSlowlyIsNotLateAndALeaderThatIsSilentIs) {
  const std::string& leader = listener_->endpoint().text;
  const SlowLink slow(static_cast<std::uint16_t>(std::stoi(leader.substr(leader.rfind(':') + 1))));
  {
    const auto link = LeaderLink::open(slow.address(), {"member", "cluster", "127.0.0.1:1"}, {});
    ASSERT_TRUE(link) << link.error().to_string();
    EXPECT_EQ((*link)->leader().epoch, 2u);
    const auto pulled = (*link)->pull();
    ASSERT_TRUE(pulled) << pulled.error().to_string();
    ASSERT_EQ(pulled->entries.size(), 1u);
    EXPECT_EQ(pulled->entries[0].bytes.bytes.size(), kBytes);
    EXPECT_TRUE(pulled->in_sync);
    const auto program = (*link)->fetch({}, 0);
    ASSERT_TRUE(program) << program.error().to_string();
    EXPECT_EQ(program->bytes.size(), kProgram);
    const auto began = std::chrono::steady_clock::now();
    const auto silent = (*link)->pull();
    ASSERT_FALSE(silent);
    EXPECT_EQ(silent.error().code(), Code::deadline_exceeded);
    const auto silent_too = (*link)->fetch({}, 0);
    ASSERT_FALSE(silent_too);
    EXPECT_EQ(silent_too.error().code(), Code::deadline_exceeded);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 8s) << "another master has to lead by then";
  }
}

}  // namespace
}  // namespace weft::master
