#include <atomic>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "base/rpc/watched_call.hpp"

namespace weft::rpc {
namespace {

using namespace std::chrono_literals;

class WatchedCallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    serving_->run([this] {
      Handler handler;
      handler.on_request = [this](const ConnectionPtr&, const Message& message, Responder responder) {
        if (message.type != kPresence) {
          waiting_.push_back(std::move(responder));
        } else if (++questions_; knows_presence_ && !hangs_) {
          responder.reply({});
        } else if (!hangs_) {
          responder.fail(Error(Code::invalid_argument, "unknown"));
        } else {
          waiting_.push_back(std::move(responder));
        }
        if (answer_after_ > 0 && questions_ >= answer_after_) answer();
      };
      listener_ = serving_
                      ->listen({"127.0.0.1:0"}, {},
                               [this, handler](const ConnectionPtr& connection) {
                                 served_ = connection;
                                 return handler;
                               })
                      .value();
    });
    connection_ = connect(*reactor_, listener_->endpoint(), 10s).value();
  }
  ~WatchedCallTest() override {
    reactor_->stop();
    serving_->run([this] {
      waiting_.clear();
      listener_.reset();
      served_.reset();
    });
    serving_->stop();
  }
  void answer() {
    for (Responder& each : waiting_) each.reply({});
    waiting_.clear();
  }
  Result<Message> call(Duration deadline = 60s, Duration presence = 200ms) {
    return watched_call(*reactor_, connection_, 7, {}, deadline, presence);
  }

  std::atomic<bool> hangs_{false}, knows_presence_{true};
  std::atomic<int> questions_{0}, answer_after_{0};
  std::vector<Responder> waiting_;
  std::unique_ptr<Reactor> serving_ = Reactor::start("serving"), reactor_ = Reactor::start("calling");
  std::unique_ptr<Listener> listener_;
  ConnectionPtr connection_;
  ConnectionPtr served_;  // the other end of it
};

TEST_F(WatchedCallTest, WaitsForAPeerThatIsThere) {
  answer_after_ = 2;
  EXPECT_TRUE(call());
  EXPECT_EQ(questions_, 2);
}

TEST_F(WatchedCallTest, TakesARefusalOfTheQuestionForASignOfLife) {
  knows_presence_ = false;
  answer_after_ = 2;
  EXPECT_TRUE(call());
}

TEST_F(WatchedCallTest, DoesNotWaitForAPeerThatHangsAndLeavesTheConnectionOpen) {
  hangs_ = true;
  const auto hung = call();
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().code(), Code::deadline_exceeded);
  EXPECT_NE(hung.error().to_string().find("it says nothing for 200ms"), std::string::npos) << hung.error().to_string();
  hangs_ = false;
  answer_after_ = questions_ + 1;
  EXPECT_TRUE(call());
}

/// What it says stands behind much else that it sends.
TEST_F(WatchedCallTest, TakesWhateverComesForASignOfLife) {
  hangs_ = true;
  const auto began = std::chrono::steady_clock::now();
  std::thread sending([&] {
    while (questions_ == 0 || std::chrono::steady_clock::now() - began < 3s) {
      serving_->run([this] {
        if (served_) served_->notify(9, {});
      });
    }
    serving_->run([this] { answer(); });
  });
  EXPECT_TRUE(call(60s, 1s));
  sending.join();
}

TEST_F(WatchedCallTest, HasADeadlineOfItsOwn) { EXPECT_EQ(call(50ms).error().code(), Code::deadline_exceeded); }

TEST_F(WatchedCallTest, EndsWithTheConnection) {
  std::thread ending([this] {
    while (questions_ == 0) std::this_thread::yield();
    reactor_->run([this] { connection_->close(); });
  });
  EXPECT_FALSE(call());
  ending.join();
}

}  // namespace
}  // namespace weft::rpc
