#include "storage/tables/partition_peers.hpp"

#include <deque>
#include <map>

#include <gtest/gtest.h>

namespace weft::storage::tables {
namespace {

/// Workers that answer when they are told to, and refuse what is more than `most` at once.
class Workers {
 public:
  PartitionPeers::Send send() {
    return [this](const std::string& address, rpc::Payload payload, Duration, rpc::Reply reply) {
      auto& waiting = under_way[address];
      waiting.push_back(std::move(reply));
      bytes[address] += payload.header.view().size();
      highest = std::max(highest, waiting.size());
    };
  }
  void answer(const std::string& address, Result<PartitionReply> reply = PartitionReply{}) {
    const rpc::Reply next = std::move(under_way.at(address).front());
    under_way.at(address).pop_front();
    if (!reply) return next(fail(reply.error()));
    rpc::Message message;
    message.header = encode(*reply).header;
    next(std::move(message));
  }

  ManualClock clock;
  std::map<std::string, std::deque<rpc::Reply>> under_way;
  std::map<std::string, std::size_t> bytes;
  std::size_t highest = 0;
};

PartitionRequest put_of(std::size_t bytes) { return {{}, 0, PutRows{{{"k", std::string(bytes, 'v')}}}}; }

TEST(PartitionPeers, KeepNoMoreUnderWayToAWorkerThanItTakes) {
  Workers workers;
  PartitionPeers peers(workers.send(), {.requests = 3}, workers.clock);
  int answered = 0, failed = 0;
  const auto count = [&](const Result<PartitionReply>& reply) { reply ? ++answered : ++failed; };
  for (int i = 0; i < 1000; ++i) peers.ask("a", put_of(1), std::chrono::seconds(1), count);
  peers.ask("b", put_of(1), std::chrono::seconds(1), count);
  EXPECT_EQ(workers.under_way["a"].size(), 3u);
  EXPECT_EQ(workers.under_way["b"].size(), 1u) << "workers don't wait for each other";
  for (int i = 0; i < 1000; ++i)
    workers.answer("a", i % 2 == 0 ? Result<PartitionReply>(PartitionReply{}) : fail(Code::unavailable, "gone"));
  EXPECT_EQ(answered, 500);
  EXPECT_EQ(failed, 500);
  EXPECT_EQ(workers.highest, 3u);
  EXPECT_TRUE(workers.under_way["a"].empty());
}

TEST(PartitionPeers, GiveAWorkerThatAnswersLateLessAtATimeAndAQuickOneMore) {
  Workers workers;
  PartitionPeers peers(workers.send(), {.requests = 8, .first = 4}, workers.clock);
  int answered = 0;
  const auto ask = [&](int times) {
    for (int i = 0; i < times; ++i) peers.ask("a", put_of(1), std::chrono::seconds(4), [&](const auto&) { ++answered; });
  };
  ask(100);
  EXPECT_EQ(workers.under_way["a"].size(), 4u);
  workers.clock.advance(std::chrono::seconds(2));
  for (int i = 0; i < 4; ++i) workers.answer("a");
  EXPECT_EQ(workers.under_way["a"].size(), 2u) << "halved once for the four that were sent together";
  workers.answer("a");
  EXPECT_EQ(workers.under_way["a"].size(), 3u);
  for (int i = 0; i < 20; ++i) workers.answer("a");
  EXPECT_EQ(workers.under_way["a"].size(), 8u);
  while (!workers.under_way["a"].empty()) workers.answer("a");
  EXPECT_EQ(answered, 100);
}

TEST(PartitionPeers, KeepFewLargeRequestsUnderWayButAlwaysOne) {
  Workers workers;
  PartitionPeers peers(workers.send(), {.requests = 100, .bytes = 10'000}, workers.clock);
  int answered = 0;
  for (int i = 0; i < 6; ++i) peers.ask("a", put_of(4000), std::chrono::seconds(1), [&](const auto&) { ++answered; });
  EXPECT_EQ(workers.under_way["a"].size(), 2u);
  for (int i = 0; i < 6; ++i) workers.answer("a");
  EXPECT_EQ(answered, 6);
  for (int i = 0; i < 2; ++i) peers.ask("a", put_of(50'000), std::chrono::seconds(1), [&](const auto&) { ++answered; });
  EXPECT_EQ(workers.under_way["a"].size(), 1u);
  workers.answer("a");
  workers.answer("a");
  EXPECT_EQ(answered, 8);
}

TEST(PartitionPeers, AnswerNobodyAfterTheirEnd) {
  Workers workers;
  auto peers = std::make_unique<PartitionPeers>(workers.send(), PartitionWindow{}, workers.clock);
  bool answered = false;
  peers->ask("a", put_of(1), std::chrono::seconds(1), [&](const auto&) { answered = true; });
  peers.reset();
  workers.answer("a");
  EXPECT_FALSE(answered);
}

TEST(PartitionPeers, DoNotWaitAgainAndAgainForAWorkerThatHangs) {
  using namespace std::chrono_literals;
  Workers workers;
  PartitionPeers peers(workers.send(), {.requests = 2}, workers.clock);
  int late = 0, lost = 0;
  const auto count = [&](const Result<PartitionReply>& reply) {
    ASSERT_FALSE(reply);
    reply.error().code() == Code::deadline_exceeded ? ++late : ++lost;
  };
  for (int i = 0; i < 100; ++i) peers.ask("a", put_of(1), 5s, count);
  workers.clock.advance(5s - 1ms);
  peers.ask("a", put_of(1), 5s, count);
  peers.ask("a", put_of(1), 1h, count);
  workers.clock.advance(1ms);
  workers.answer("a", fail(Code::unavailable, "gone"));
  EXPECT_EQ(late, 0) << "it may be slow, and go on";
  EXPECT_EQ(lost, 1);
  workers.answer("a", fail(Code::deadline_exceeded, "it hangs"));
  EXPECT_EQ(late, 99) << "all that waited as long";
  EXPECT_EQ(workers.under_way["a"].size(), 1u) << "the next one goes";
  workers.clock.advance(5s);
  workers.answer("a", fail(Code::deadline_exceeded, "it hangs"));
  EXPECT_EQ(late, 100);
  EXPECT_EQ(workers.under_way["a"].size(), 1u) << "its deadline is an hour";
}

TEST(PartitionPeers, AnswerNobodyWhenTheFirstWhoHearsEndsThem) {
  using namespace std::chrono_literals;
  Workers workers;
  auto peers = std::make_unique<PartitionPeers>(workers.send(), PartitionWindow{.requests = 1}, workers.clock);
  int answered = 0;
  for (int i = 0; i < 5; ++i) peers->ask("a", put_of(1), 1s, [&](const auto&) { ++answered, peers.reset(); });
  workers.clock.advance(1s);
  workers.answer("a", fail(Code::deadline_exceeded, "it hangs"));
  EXPECT_EQ(answered, 1);
}

}  // namespace
}  // namespace weft::storage::tables
