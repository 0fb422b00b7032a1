// A driver's link to masters that are a few lines each: which of them it is attached to when one dies, hangs, or does not lead any
// more, and what the one that is left sees.
#include "engine/client/master_link.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/client/stop_signal.hpp"
#include "tests/base/rpc_fixture.hpp"

namespace weft::client {
namespace {

using namespace std::chrono_literals;
using rpc::testing::kLong;
using rpc::testing::text_of;
using rpc::testing::text_payload;

constexpr rpc::MessageType kQuestion = kPoll;

/// Answers every question with its name, and lets every driver attach. Call die() before its reactor stops.
class Master {
 public:
  Master(rpc::Reactor& reactor, std::string name, std::vector<std::string>& events)
      : reactor_(reactor), name_(std::move(name)), events_(events) {
    listen("127.0.0.1:0");
  }
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  void listen(const std::string& where) {
    reactor_.run([&] {
      listener_ =
          reactor_.listen({where}, {}, [this](const rpc::ConnectionPtr& connection) { return handler(connection); }).value();
    });
    address_ = listener_->endpoint().text;
  }
  /// Its connections end, and nothing listens any more.
  void die() {
    reactor_.run([this] {
      listener_.reset();
      unanswered_.clear();
      for (const rpc::ConnectionPtr& connection : std::exchange(connections_, {})) connection->close();
    });
  }
  /// The next `refusals` requests are refused, because another master leads. Then nothing listens any more.
  void is_replaced(int refusals) {
    reactor_.run([&] { refusals_ = refusals; });
  }
  /// Answers nothing until a driver attaches.
  void hangs() {
    reactor_.run([this] { hangs_ = true; });
  }
  /// Leaves the next questions unanswered, as where there is no room to write what they want. Drivers may attach.
  void waits_for_room(int questions) {
    reactor_.run([&] { without_room_ = questions; });
  }
  const std::string& address() const { return address_; }

 private:
  rpc::Handler handler(const rpc::ConnectionPtr& connection) {
    connections_.push_back(connection);
    events_.push_back(name_ + ": connection");
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
      events_.push_back(name_ + (message.type == kAttachJob ? ": attach" : ": question"));
      if (refusals_ > 0 && --refusals_ == 0) reactor_.post([this] { listener_.reset(); });
      if (refusals_ >= 0) return responder.fail(Error(Code::unavailable, "the master ends"));
      if (message.type == kAttachJob) hangs_ = false;
      if (hangs_) return unanswered_.push_back(std::move(responder));
      if (message.type != kAttachJob && without_room_ > 0 && without_room_-- > 0)
        return unanswered_.push_back(std::move(responder));
      if (message.type == kAttachJob) return responder.reply(encode(Submitted{JobId(7), true, 6, 1, true}));
      responder.reply(text_payload(name_));
    };
    handler.on_close = [this](const rpc::ConnectionPtr&, const Error& why) {
      events_.push_back(name_ + (why.code() == Code::cancelled ? ": goodbye" : ": cut"));
    };
    return handler;
  }

  rpc::Reactor& reactor_;
  const std::string name_;
  std::vector<std::string>& events_;  // on the reactor's thread
  std::string address_;
  int refusals_ = -1;  // which are left; -1: it leads
  int without_room_ = 0;
  bool hangs_ = false;
  std::unique_ptr<rpc::Listener> listener_;
  std::vector<rpc::ConnectionPtr> connections_;
  std::vector<rpc::Responder> unanswered_;
};

class MasterLinkTest : public testing::Test {
 protected:
  ~MasterLinkTest() override {
    link_.reset();
    for (const auto& master : masters_) master->die();
    reactor_->stop();
  }
  Master& add_master(const std::string& name) {
    masters_.push_back(std::make_unique<Master>(*reactor_, name, events_));
    list_ += (list_.empty() ? "" : ",") + masters_.back()->address();
    return *masters_.back();
  }
  void connect(Duration away = kLong) {
    link_ = std::make_unique<MasterLink>(MasterLink::Options{rpc::Endpoint::parse_list(list_).value(), away,
                                                             [this](const std::string& line) { said_ += line + "\n"; }},
                                         stop_);
    const auto connected = link_->connect();
    ASSERT_TRUE(connected) << connected.error().to_string();
    link_->belongs_to({JobId(7), 1}, true);
  }
  /// Who answers a question.
  std::string ask(Duration deadline = kLong) {
    const auto answer = link_->call(
        kQuestion, [] { return text_payload("?"); }, deadline);
    return answer ? text_of(*answer) : answer.error().to_string();
  }
  std::vector<std::string> events() {
    std::vector<std::string> now;
    reactor_->run([&] { now = events_; });
    return now;
  }
  int count(const std::string& event) {
    const auto all = events();
    return static_cast<int>(std::count(all.begin(), all.end(), event));
  }
  void wait_for(const std::string& event, int times = 1) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (count(event) < times) ASSERT_LT(std::chrono::steady_clock::now(), deadline) << event;
  }

  const StopSignal stop_;
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("masters");
  std::vector<std::string> events_;  // reactor's thread
  std::vector<std::unique_ptr<Master>> masters_;
  std::string list_, said_;
  std::unique_ptr<MasterLink> link_;
};

TEST_F(MasterLinkTest, AnotherMasterOfTheListTakesOver) {
  Master& first = add_master("first");
  Master& second = add_master("second");
  const std::string there = second.address();
  second.die();  // it stands by
  connect();
  EXPECT_EQ(ask(), "first");
  first.die();
  second.listen(there);
  EXPECT_EQ(ask(), "second");
  EXPECT_EQ(said_, "the master at " + list_ + " is away; the job goes on when it is back\n");
  wait_for("second: attach");
}

TEST_F(MasterLinkTest, AMasterThatIsReplacedIsLeft) {
  Master& first = add_master("first");
  add_master("second");
  connect();
  EXPECT_EQ(ask(), "first");
  first.is_replaced(3);
  EXPECT_EQ(ask(), "second");
  EXPECT_EQ(count("first: attach"), 2) << "of three refusals, the other one was of the question";
  EXPECT_EQ(count("second: attach"), 1);
  wait_for("first: goodbye", 3);
}

TEST_F(MasterLinkTest, AMasterThatStaysReplacedIsGivenUpInTime) {
  Master& only = add_master("only");
  connect(200ms);
  only.is_replaced(1'000'000);
  const auto began = std::chrono::steady_clock::now();
  const std::string error = ask();
  EXPECT_GE(std::chrono::steady_clock::now() - began, 200ms) << "the last try is made when the time is over";
  EXPECT_NE(error.find("gave up: job 7 waited "), std::string::npos) << error;
  EXPECT_NE(error.find("the master ends"), std::string::npos) << error;
  EXPECT_TRUE(link_->gave_up());
}

TEST_F(MasterLinkTest, AMasterThatIsThereIsWaitedForLongerThanOneThatIsAway) {
  Master& only = add_master("only");
  connect(400ms);
  only.waits_for_room(10);
  EXPECT_EQ(ask(100ms), "only") << "after a second";
  EXPECT_GE(count("only: attach"), 10);
}

TEST_F(MasterLinkTest, AMasterThatHungFindsNoGoodbyeBeforeTheDriverIsBack) {
  Master& only = add_master("only");
  connect();
  only.hangs();
  EXPECT_EQ(ask(500ms), "only");
  wait_for("only: goodbye");
  const auto all = events();
  EXPECT_LT(std::find(all.begin(), all.end(), "only: attach"), std::find(all.begin(), all.end(), "only: goodbye"))
      << "it would end the job";
}

}  // namespace
}  // namespace weft::client
