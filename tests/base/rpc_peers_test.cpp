// Cached connections, and waiting for callbacks.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.hpp"
#include "base/rpc/await.hpp"
#include "base/rpc/peers.hpp"

namespace weft::rpc {
namespace {

using namespace std::chrono_literals;

class PeersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    serving_ = Reactor::start("serving");
    asking_ = Reactor::start("asking");
    listen("127.0.0.1:0");
    address_ = listener_->endpoint().text;
  }
  void TearDown() override {
    asking_->run([&] { peers_.reset(); });
    asking_->stop();
    serving_->run([&] { listener_.reset(); });
    serving_->stop();
  }

  void listen(const std::string& where) {
    serving_->run([&] {
      auto listener = serving_->listen({where}, {}, [this](const ConnectionPtr& connection) {
        last_ = connection;
        ++accepted_;
        accepted_.notify_all();
        return Handler{};
      });
      ASSERT_TRUE(listener) << listener.error().to_string();
      listener_ = std::move(*listener);
    });
  }
  /// The connecting side may be told before the accepting one.
  void wait_accepted(int count) {
    for (int now = accepted_; now < count; now = accepted_) accepted_.wait(now);
    EXPECT_EQ(accepted_, count);
  }
  void stop_listening() {
    serving_->run([&] { listener_.reset(); });
  }
  void make(bool remember_failures) {
    asking_->run([&] {
      PeersOptions options;
      options.connect_deadline = 5s;
      options.remember_failures = remember_failures;
      peers_ = std::make_unique<Peers>(*asking_, options);
    });
  }
  Result<ConnectionPtr> get(const std::string& address) {
    return await<ConnectionPtr>(*asking_, "connecting", [&](auto done) { peers_->get(address, done); });
  }

  std::unique_ptr<Reactor> serving_, asking_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Peers> peers_;
  std::string address_;
  std::atomic<int> accepted_ = 0;
  ConnectionPtr last_;
};

TEST_F(PeersTest, OneConnectionServesAll) {
  make(false);
  std::atomic<int> answers = 0;
  asking_->run([&] {
    for (int i = 0; i < 5; ++i)
      peers_->get(address_, [&](const Result<ConnectionPtr>& connection) { answers += connection ? 1 : 100; });
  });
  const auto first = get(address_);
  const auto second = get(address_);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(answers, 5);
  wait_accepted(1);
}

TEST_F(PeersTest, AConnectionThatEndedIsMadeAgain) {
  make(false);
  const auto first = get(address_);
  ASSERT_TRUE(first);
  wait_accepted(1);
  serving_->run([&] { last_->close(); });
  auto again = first;
  while (again && *again == *first) {  // until the end has arrived
    std::this_thread::yield();
    again = get(address_);
  }
  EXPECT_TRUE(again);
  wait_accepted(2);
  asking_->run([&] { peers_->forget(address_); });
  auto third = get(address_);
  while (third && *third == *again) third = get(address_);
  EXPECT_TRUE(third);
}

TEST_F(PeersTest, FailuresAreTriedAgainUnlessTheyAreToBeRemembered) {
  stop_listening();
  make(false);
  EXPECT_EQ(get(address_).error().code(), Code::unavailable);
  EXPECT_EQ(get("no address").error().code(), Code::invalid_argument);
  listen(address_);
  EXPECT_TRUE(get(address_));
  stop_listening();

  make(true);
  EXPECT_EQ(get(address_).error().code(), Code::unavailable);
  listen(address_);
  EXPECT_EQ(get(address_).error().code(), Code::unavailable);
  asking_->run([&] { peers_->forget(address_); });
  EXPECT_TRUE(get(address_));
}

TEST_F(PeersTest, WhoWaitsForAPeerThatIsForgottenIsToldAtOnce) {
  const Fd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // takes connections and never shakes hands
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<sockaddr*>(&where), size), 0);
  ASSERT_EQ(::listen(silent.get(), 8), 0);
  ASSERT_EQ(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&where), &size), 0);
  const std::string address = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
  asking_->run([&] {
    PeersOptions options;
    options.connect_deadline = 1h;
    peers_ = std::make_unique<Peers>(*asking_, options);
  });
  for (int round = 0; round < 2; ++round) {
    std::vector<Code> told;
    asking_->run([&] {
      for (int i = 0; i < 2; ++i)
        peers_->get(address, [&](const Result<ConnectionPtr>& connection) {
          told.push_back(connection ? Code::internal : connection.error().code());
        });
      peers_->forget(address);
    });
    EXPECT_EQ(told, (std::vector<Code>{Code::unavailable, Code::unavailable}));
  }
}

TEST_F(PeersTest, NothingIsCalledAfterTheEnd) {
  make(false);
  std::atomic<bool> called = false;
  asking_->run([&] {
    peers_->get(address_, [&](const Result<ConnectionPtr>&) { called = true; });
    peers_.reset();
  });
  asking_->run([] {});
  EXPECT_FALSE(called);
}

TEST_F(PeersTest, WaitingEndsWithTheReactor) {
  const auto doomed = Reactor::start("doomed");
  std::thread stopper;
  const auto result = await<int>(*doomed, "waiting", [&](auto) { stopper = std::thread([&] { doomed->stop(); }); });
  stopper.join();
  EXPECT_EQ(result.error().code(), Code::unavailable);
}

}  // namespace
}  // namespace weft::rpc
