// How many lines of the audit log refused requests make.
#include "engine/tools/web/refusals.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace weft::web {
namespace {

using std::chrono::milliseconds;

class RefusalsTest : public testing::Test {
 protected:
  void refuse(const std::string& peer, const std::string& user = "", const char* action = "ask the page") {
    master::AuditEntry entry{user, peer, action};
    entry.error = "no";
    refusals_.add(std::move(entry), now_);
  }

  std::vector<master::AuditEntry> lines_;
  TimePoint now_ = TimePoint{} + std::chrono::hours(1);
  Refusals refusals_{[this](master::AuditEntry entry) { lines_.push_back(std::move(entry)); }};
};

TEST_F(RefusalsTest, TheFirstIsWrittenAtOnceAndThoseAfterItOnceASecond) {
  for (int i = 0; i < 1000; ++i) refuse("10.0.0.9:" + std::to_string(i));
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0].times, 1u);
  now_ += milliseconds(999);
  refusals_.write_due(now_);
  EXPECT_EQ(lines_.size(), 1u);
  now_ += milliseconds(1);
  refusals_.write_due(now_);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[1].times, 999u);
  EXPECT_EQ(lines_[1].peer, "10.0.0.9:999");
  now_ += milliseconds(500);
  refuse("10.0.0.9:1");
  EXPECT_EQ(lines_.size(), 2u) << "the second runs from the last line";
  now_ += milliseconds(500);
  refusals_.write_due(now_);
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_EQ(lines_[2].times, 1u);
}

TEST_F(RefusalsTest, WhoWasSilentIsWrittenAtOnceAgain) {
  refuse("10.0.0.9:1");
  now_ += milliseconds(1000);
  refuse("10.0.0.9:1");
  EXPECT_EQ(lines_.size(), 2u);
}

TEST_F(RefusalsTest, PeersUsersAndActionsHaveTheirOwn) {
  refuse("10.0.0.9:1");
  refuse("10.0.0.8:1");
  refuse("user bob at 10.0.0.9:1", "bob");
  refuse("user eve at 10.0.0.9:1", "eve");
  refuse("10.0.0.9:1", "", "read events");
  EXPECT_EQ(lines_.size(), 5u);
}

TEST_F(RefusalsTest, ManyStrangersShareALineAndHideNoUser) {
  for (int i = 0; i < 200; ++i) refuse(fmt::format("10.0.1.{}:1", i));
  EXPECT_EQ(lines_.size(), Refusals::kMostStrangers + 1);
  refuse("user bob at 10.0.0.9:1", "bob");
  ASSERT_EQ(lines_.size(), Refusals::kMostStrangers + 2);
  EXPECT_EQ(lines_.back().user, "bob");
  now_ += milliseconds(1000);
  refusals_.write_due(now_);
  ASSERT_EQ(lines_.size(), Refusals::kMostStrangers + 3);
  EXPECT_EQ(lines_.back().times, 200 - Refusals::kMostStrangers - 1);
  EXPECT_EQ(lines_.back().peer, "several, the last of them 10.0.1.199:1");
}

TEST(Refusals, WhatWaitsIsWrittenAtTheEnd) {
  std::uint64_t times = 0;
  {
    Refusals refusals([&](const master::AuditEntry& entry) { times += entry.times; });
    for (int i = 0; i < 3; ++i) refusals.add({"bob", "unix", "ask the page"}, TimePoint{});
    EXPECT_EQ(times, 1u);
  }
  EXPECT_EQ(times, 3u);
}

TEST(Refusals, ALineSaysWhoAskedForWhatAndIsShort) {
  http::RefusedRequest refused{403, "10.0.0.9:1", rpc::Identity{rpc::Role::user, "bob"}, "POST", "/api", "another page"};
  master::AuditEntry entry = entry_of(refused);
  EXPECT_EQ(entry.user, "bob");
  EXPECT_EQ(entry.peer, "user bob at 10.0.0.9:1");
  EXPECT_EQ(entry.object, "POST /api");
  EXPECT_EQ(entry.error, "another page");
  refused.peer = rpc::Identity{rpc::Role::worker, "w1"};
  refused.path = std::string(30'000, 'a');
  entry = entry_of(refused);
  EXPECT_EQ(entry.user, "");
  EXPECT_EQ(entry.peer, "worker w1 at 10.0.0.9:1");
  EXPECT_LT(entry.object.size(), 400u);
  refused.peer.reset();
  EXPECT_EQ(entry_of(refused).peer, "10.0.0.9:1");
}

}  // namespace
}  // namespace weft::web
