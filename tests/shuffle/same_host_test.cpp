#include "shuffle/transfer/same_host.hpp"

#include <future>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.hpp"
#include "shuffle/transfer/block_server.hpp"

namespace weft::shuffle {
namespace {

using Opened = Result<std::vector<Fd>>;

/// One worker that shares its store and one that asks.
class SameHostTest : public testing::Test {
 protected:
  void SetUp() override {
    auto dir = TempDir::create();
    ASSERT_TRUE(dir);
    dir_.emplace(std::move(*dir));
    store_ = Store::open(dir_->path() / "store", 1u << 20).value();
    reactor_ = rpc::Reactor::start("asking");
    serving_ = rpc::Reactor::start("serving");
    reactor_->run([&] { same_host_ = std::make_unique<SameHost>(*reactor_); });
  }
  void TearDown() override {
    reactor_->run([&] { same_host_.reset(); });
    stop_sharing();
    reactor_->stop();
    serving_->stop();
  }

  void share() {
    serving_->run([&] {
      auto listener = serving_->listen(same_host_endpoint(address_).value(), same_host_limits(),
                                       [&](const rpc::ConnectionPtr&) { return same_host_handler(*store_, JobKeys::none()); });
      ASSERT_TRUE(listener) << listener.error().to_string();
      listener_ = *std::move(listener);
    });
  }
  void stop_sharing() {
    serving_->run([&] { listener_.reset(); });
  }

  void put(std::uint32_t map, const std::string& text) {
    auto writer = SegmentWriter::in_memory(1);
    ASSERT_TRUE((*writer)->append(0, as_bytes(text), 1));
    ASSERT_TRUE(store_->put({JobId(1), ShuffleId(2), map, 0}, (*writer)->seal().value()));
  }

  Opened open(std::vector<MapAttempt> maps) {
    std::promise<Opened> answer;
    reactor_->run([&] {
      same_host_->open(address_, JobId(1), ShuffleId(2), std::move(maps),
                       [&](Opened opened) { answer.set_value(std::move(opened)); });
    });
    return answer.get_future().get();
  }

  const std::string address_ = "127.0.0.1:" + std::to_string(::getpid()) + "-test";
  std::optional<TempDir> dir_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<rpc::Reactor> reactor_, serving_;
  std::unique_ptr<SameHost> same_host_;
  std::unique_ptr<rpc::Listener> listener_;
};

TEST_F(SameHostTest, GivesTheVerySegmentsThatAreThere) {
  share();
  put(3, "three");
  put(5, "five");
  auto opened = open({{3, 0}, {4, 0}, {5, 0}, {5, 1}});
  ASSERT_TRUE(opened) << opened.error().to_string();
  ASSERT_EQ(opened->size(), 4u);
  EXPECT_FALSE((*opened)[1].valid()) << "there is no such map";
  EXPECT_FALSE((*opened)[3].valid()) << "there is no such attempt";
  for (const auto& [index, text] : {std::pair(0, "three"), std::pair(2, "five")}) {
    const auto segment = Segment::open(std::move((*opened)[static_cast<std::size_t>(index)]));
    ASSERT_TRUE(segment) << segment.error().to_string();
    EXPECT_EQ(as_chars((*segment)->bytes((*segment)->extents(0)[0])), text);
  }
}

TEST_F(SameHostTest, WhatWasOpenedStaysWhenItsStoreIsGone) {
  share();
  put(0, "still here");
  auto opened = open({{0, 0}});
  ASSERT_TRUE(opened);
  store_->release(JobId(1));
  const auto segment = Segment::open(std::move(opened->front()));
  ASSERT_TRUE(segment);
  EXPECT_EQ(as_chars((*segment)->bytes((*segment)->extents(0)[0])), "still here");
}

TEST_F(SameHostTest, DoesNotIncludeWorkersThatCannotBeReachedOnThisMachine) {
  for (int i = 0; i < 2; ++i) {  // asked once, remembered then
    const auto opened = open({{0, 0}});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Code::unavailable);
  }
}

TEST_F(SameHostTest, WorkersThatEndTheirSharingAreUnavailable) {
  share();
  put(0, "x");
  ASSERT_TRUE(open({{0, 0}}));
  stop_sharing();
  serving_->stop();
  EXPECT_FALSE(open({{0, 0}}));
}

TEST_F(SameHostTest, RefusesTooManyAtATimeAndOtherMessages) {
  share();
  const auto opened = open(std::vector<MapAttempt>(kOutputsPerRequest + 1));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::invalid_argument);
  auto connection = rpc::connect(*reactor_, same_host_endpoint(address_).value(), std::chrono::seconds(30));
  ASSERT_TRUE(connection);
  const auto answer = rpc::call(*reactor_, *connection, kFetchBlocks, {}, std::chrono::seconds(30));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::invalid_argument);
  EXPECT_FALSE(rpc::call(*reactor_, *connection, kOpenOutputs, {}, std::chrono::seconds(30))) << "an empty message";
}

}  // namespace
}  // namespace weft::shuffle
