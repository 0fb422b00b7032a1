// What is asked in threads of their own, and may never be answered.
#include "runtime/worker/lookups.hpp"

#include <future>

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

class LookupsTest : public testing::Test {
 protected:
  void make(Duration deadline) {
    reactor_->run([&] {
      lookups_ = std::make_unique<Lookups<int>>(*reactor_, Lookups<int>::Kind{"lookups", "is it there?", deadline});
    });
  }
  ~LookupsTest() override {
    reactor_->run([this] { lookups_.reset(); });
    reactor_->stop();
  }
  std::future<Result<int>> find(std::function<int()> look) {
    const auto answer = std::make_shared<std::promise<Result<int>>>();
    reactor_->run([&] { lookups_->find(std::move(look), [answer](Result<int> found) { answer->set_value(std::move(found)); }); });
    return answer->get_future();
  }

  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("test");
  std::unique_ptr<Lookups<int>> lookups_;
};

TEST_F(LookupsTest, OneThatTakesLongHoldsUpNoOther) {
  make(1h);
  std::promise<void> go_on;
  auto held = find([answers = go_on.get_future().share()] { return answers.wait(), 1; });
  EXPECT_EQ(find([] { return 2; }).get(), 2);
  EXPECT_EQ(held.wait_for(0s), std::future_status::timeout);
  go_on.set_value();
  EXPECT_EQ(held.get(), 1);
}

TEST_F(LookupsTest, OneThatTakesTooLongIsAnErrorAndItsAnswerIsDropped) {
  make(1ms);
  std::promise<void> go_on;
  const auto late = find([answers = go_on.get_future().share()] { return answers.wait(), 1; }).get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::deadline_exceeded);
  EXPECT_EQ(late.error().message(), "lookups have not ended; is it there?");
  go_on.set_value();
  make(1h);
  EXPECT_EQ(find([] { return 2; }).get(), 2);
}

}  // namespace
}  // namespace weft::runtime
