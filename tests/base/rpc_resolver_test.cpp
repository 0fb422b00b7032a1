#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>

#include <gtest/gtest.h>

#include "base/rpc/loop.hpp"
#include "base/rpc/resolver.hpp"

namespace weft::rpc {
namespace {

using namespace std::chrono_literals;

/// Look-ups of names that begin with "slow" end when the test says so. Outlives the resolver: its threads use it.
struct NameServer {
  Resolver::Addresses look_up(const std::string& host) {
    std::unique_lock lock(mutex);
    ++asked;
    changed.notify_all();
    if (host.starts_with("slow")) {
      EXPECT_TRUE(changed.wait_for(lock, 60s, [this] { return answers; }));
    }
    if (host == "slow.unknown") return fail(Code::not_found, "no such name");
    return std::vector<Address>{*Address::numeric("127.0.0.7", "1")};
  }

  bool await_asked(int count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 60s, [&] { return asked >= count; });
  }

  void answer() {
    const std::lock_guard lock(mutex);
    answers = true;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  int asked = 0;
  bool answers = false;
};

/// The loop's thread is the test's: tasks run in run_one(). Outlives the resolver, as a loop does.
struct Tasks {
  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(task));
    changed.notify_all();
  }

  bool run_one() {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex);
      if (!changed.wait_for(lock, 60s, [this] { return !waiting.empty(); })) return false;
      task = std::move(waiting.front());
      waiting.pop_front();
    }
    task();
    return true;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
};

class ResolverTest : public ::testing::Test {
 protected:
  void resolve(const std::string& host) {
    resolver_->resolve(host, "1", [this, host](Resolver::Addresses found) {
      answers_.push_back(host + ": " + (found ? found->at(0).to_string() : found.error().to_string()));
    });
  }

  std::shared_ptr<NameServer> server_ = std::make_shared<NameServer>();
  std::shared_ptr<Tasks> tasks_ = std::make_shared<Tasks>();
  std::optional<Resolver> resolver_{
      std::in_place, [tasks = tasks_](std::function<void()> task) { tasks->post(std::move(task)); },
      [server = server_](const std::string& host, const std::string&) { return server->look_up(host); }};
  std::vector<std::string> answers_;
};

TEST_F(ResolverTest, ANameWithoutAnAnswerDelaysNoOther) {
  resolve("slow.one");
  ASSERT_TRUE(server_->await_asked(1));
  resolve("quick");
  ASSERT_TRUE(tasks_->run_one());
  EXPECT_EQ(answers_, std::vector<std::string>{"quick: 127.0.0.7:1"});
  server_->answer();
  ASSERT_TRUE(tasks_->run_one());
  EXPECT_EQ(answers_.at(1), "slow.one: 127.0.0.7:1");
}

TEST_F(ResolverTest, CallsForTheSameNameShareALookUpAndItsError) {
  for (int i = 0; i < 3; ++i) resolve("slow.unknown");
  ASSERT_TRUE(server_->await_asked(1));
  server_->answer();
  ASSERT_TRUE(tasks_->run_one());
  EXPECT_EQ(answers_.size(), 3U);
  EXPECT_NE(answers_.at(2).find("slow.unknown: no such name"), std::string::npos) << answers_.at(2);
  EXPECT_EQ(server_->asked, 1);
  resolve("slow.unknown");  // an answer is not kept
  ASSERT_TRUE(tasks_->run_one());
  EXPECT_EQ(server_->asked, 2);
}

TEST_F(ResolverTest, NamesInFlightAreBounded) {
  for (std::size_t i = 0; i < Resolver::kMostNames; ++i) resolve("slow." + std::to_string(i));
  resolve("slow.more");
  ASSERT_TRUE(tasks_->run_one());
  EXPECT_NE(answers_.at(0).find("64 other names are being looked up"), std::string::npos) << answers_.at(0);
  server_->answer();
  for (std::size_t i = 0; i < Resolver::kMostNames; ++i) ASSERT_TRUE(tasks_->run_one());
  resolve("slow.more");
  ASSERT_TRUE(tasks_->run_one());
  EXPECT_EQ(answers_.back(), "slow.more: 127.0.0.7:1");
}

TEST_F(ResolverTest, ItsEndWaitsForNobody) {
  resolve("slow.one");
  ASSERT_TRUE(server_->await_asked(1));
  resolver_.reset();
  server_->answer();
  ASSERT_TRUE(tasks_->run_one());
  EXPECT_TRUE(answers_.empty());
}

TEST(LoopResolver, KnowsTheNamesOfThisMachineAndNoOthers) {
  Loop loop("names");
  std::promise<std::string> known, unknown;
  loop.post([&] {
    loop.resolve("localhost", "77",
                 [&](Resolver::Addresses found) { known.set_value(found ? found->at(0).to_string() : found.error().to_string()); });
    loop.resolve("nobody.invalid", "77", [&](Resolver::Addresses found) {
      unknown.set_value(found ? found->at(0).to_string() : found.error().to_string());
    });
  });
  const std::string address = known.get_future().get();
  EXPECT_TRUE(address == "127.0.0.1:77" || address == "[::1]:77") << address;
  EXPECT_NE(unknown.get_future().get().find("cannot resolve host 'nobody.invalid'"), std::string::npos);
}

}  // namespace
}  // namespace weft::rpc
