// The queue alone: turns, retries, deadlines, drops, against peers that are a few lines each.
#include "shuffle/transfer/pull_queue.hpp"

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "shuffle/transfer/block_server.hpp"

namespace weft::shuffle {
namespace {

using namespace std::chrono_literals;

/// Wants `pieces` replies; notes what is done with it.
class CountingPull final : public Pull {
 public:
  explicit CountingPull(int pieces, bool must = false) : pieces_(pieces), must_store_(must) {}
  Result<void> begin() override { return {}; }
  rpc::MessageType type() const override { return kFetchBlocks; }
  Buffer request() override {
    ++requests;
    before_ = arrived_;
    return Buffer::copy_of(as_bytes(std::string(8, 'x')));
  }
  Result<bool> arrived(rpc::Message reply) override {
    ++replies;
    if (as_chars(reply.header.view()) == "damaged!") return fail(Code::corrupt, "damaged");
    bytes_ = reply.bulk.size();
    return ++arrived_ == pieces_;
  }
  bool progressed() const override { return arrived_ != before_; }
  std::uint64_t reply_bytes() const override { return bytes_; }
  bool must_store(bool) const override { return must_store_; }
  Result<void> store(bool whole) override {
    ++stores;
    if (while_storing) while_storing();
    return whole && full_disk ? Result<void>(fail(Code::io, "the disk is full")) : Result<void>();
  }
  void undo() override { undone = true; }

  int requests = 0, stores = 0;
  bool full_disk = false;
  std::function<void()> while_storing;
  std::atomic<bool> undone{false};
  std::atomic<int> replies{0};

 private:
  const int pieces_;
  const bool must_store_;
  int arrived_ = 0, before_ = 0;
  std::uint64_t bytes_ = 0;
};

class PullQueueTest : public testing::Test {
 protected:
  using Answer = std::function<void(const rpc::ConnectionPtr&, rpc::Responder)>;

  void TearDown() override {
    client_->run([&] { queue_.reset(); });
    server_->run([&] { listener_.reset(); });
    client_->stop();
    background_->stop();
    server_->stop();
  }
  void serve(Answer answer) {
    server_->run([&] {
      listener_ =
          server_
              ->listen({"127.0.0.1:0"}, transfer_limits(),
                       [answer = std::move(answer)](const rpc::ConnectionPtr&) {
                         rpc::Handler handler;
                         handler.on_request = [answer](const rpc::ConnectionPtr& connection, const rpc::Message&,
                                                       rpc::Responder responder) { answer(connection, std::move(responder)); };
                         return handler;
                       })
              .value();
      address_ = listener_->endpoint().text;
    });
  }
  static void reply(rpc::Responder& responder, std::string_view header = "good....", std::size_t bulk = 0) {
    rpc::Payload payload{Buffer::copy_of(as_bytes(header)), {}, {}};
    if (bulk > 0) payload.bulk.emplace_back(Buffer::copy_of(as_bytes(std::string(bulk, 'b'))));
    responder.reply(std::move(payload));
  }
  std::future<Result<void>> add(std::shared_ptr<Pull> pull, JobId job = JobId(1)) {
    auto promise = std::make_shared<std::promise<Result<void>>>();
    client_->run([&] {
      if (!queue_) queue_.emplace(*client_, *background_, options_);
      queue_->add(job, address_, std::move(pull), [promise](Result<void> done) { promise->set_value(std::move(done)); });
    });
    return promise->get_future();
  }

  PullOptions options_{.backoff = 1ms};
  std::unique_ptr<rpc::Reactor> server_ = rpc::Reactor::start("server");
  std::unique_ptr<rpc::Reactor> client_ = rpc::Reactor::start("client");
  std::unique_ptr<rpc::Reactor> background_ = rpc::Reactor::start("background");
  std::unique_ptr<rpc::Listener> listener_;
  std::optional<PullQueue> queue_;
  std::string address_;
};

TEST_F(PullQueueTest, RequestsUntilAllIsThereAndCountsTheBytes) {
  options_.links = std::make_shared<Links>();
  serve([](const rpc::ConnectionPtr&, rpc::Responder responder) { reply(responder, "good....", 100); });
  auto pull = std::make_shared<CountingPull>(5);
  EXPECT_TRUE(add(pull).get());
  EXPECT_EQ(pull->requests, 5);
  client_->run([&] {
    EXPECT_EQ(options_.links->traffic().by_peer, (std::map<std::string, LinkBytes>{{address_, {500, 0}}}));
    EXPECT_TRUE(queue_->idle());
  });
}

TEST_F(PullQueueTest, TriesAgainWhatMayPassAsLongAsThereIsProgress) {
  const auto served = std::make_shared<int>(0);
  serve([served](const rpc::ConnectionPtr& connection, rpc::Responder responder) {
    switch (++*served % 5) {
      case 1:
        return reply(responder, "damaged!");
      case 2:
        return connection->close();
      case 3:
        return responder.fail(Error(Code::io, "the disk cannot be read"));
      default:
        reply(responder);
    }
  });
  auto pull = std::make_shared<CountingPull>(6);
  const auto done = add(pull).get();
  EXPECT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(pull->requests, 15);  // three of five wasted
}

TEST_F(PullQueueTest, GivesUpAfterSoManyAttemptsWithoutProgressAndAtOnceWhereThereIsNoHope) {
  const auto code = std::make_shared<Code>(Code::io);
  serve([code](const rpc::ConnectionPtr&, rpc::Responder responder) { responder.fail(Error(*code, "no")); });
  auto pull = std::make_shared<CountingPull>(1);
  EXPECT_EQ(add(pull).get().error().code(), Code::io);
  EXPECT_EQ(pull->requests, 4);
  server_->run([&] { *code = Code::not_found; });
  pull = std::make_shared<CountingPull>(1);
  EXPECT_EQ(add(pull).get().error().code(), Code::not_found);
  EXPECT_EQ(pull->requests, 1);
}

TEST_F(PullQueueTest, WhatIsMissingForAMomentIsWaitedFor) {
  const auto served = std::make_shared<int>(0);
  serve([served](const rpc::ConnectionPtr&, rpc::Responder responder) {
    ++*served < 4 ? responder.fail(Error(Code::resource_exhausted, "no descriptors")) : reply(responder);
  });
  auto pull = std::make_shared<CountingPull>(1);
  EXPECT_TRUE(add(pull).get());
  EXPECT_EQ(pull->requests, 4);
}

TEST_F(PullQueueTest, WithoutProgressTheDeadlineCountsWhateverTheAttempts) {
  options_.deadline = 20ms;
  options_.attempts = 1'000'000;
  serve([](const rpc::ConnectionPtr&, rpc::Responder responder) { reply(responder, "damaged!"); });
  EXPECT_EQ(add(std::make_shared<CountingPull>(1)).get().error().code(), Code::corrupt);
}

TEST_F(PullQueueTest, JobsTakeTurns) {
  options_.in_flight = options_.in_flight_per_node = 1;
  serve([](const rpc::ConnectionPtr&, rpc::Responder responder) { reply(responder); });
  std::vector<JobId> ended;
  std::promise<void> all;
  client_->run([&] {
    queue_.emplace(*client_, *background_, options_);
    for (std::uint32_t i = 0; i < 9; ++i) {
      const JobId job(i == 8 ? 2 : 1);
      queue_->add(job, address_, std::make_shared<CountingPull>(1), [&, job](const Result<void>&) {
        ended.push_back(job);
        if (ended.size() == 9) all.set_value();
      });
    }
  });
  all.get_future().get();
  EXPECT_EQ(ended[1], JobId(2));
}

TEST_F(PullQueueTest, StoresOffTheReactorAndAFullDiskEndsThePull) {
  serve([](const rpc::ConnectionPtr&, rpc::Responder responder) { reply(responder); });
  auto pull = std::make_shared<CountingPull>(3, true);
  EXPECT_TRUE(add(pull).get());
  EXPECT_EQ(pull->stores, 3);
  EXPECT_FALSE(pull->undone);
  pull = std::make_shared<CountingPull>(3, true);
  pull->full_disk = true;
  EXPECT_EQ(add(pull).get().error().code(), Code::io);
  EXPECT_EQ(pull->requests, 3) << "not tried again";
}

TEST_F(PullQueueTest, NobodyIsToldOfWhatIsDroppedAndWhatWasStoredOfItGoes) {
  options_.in_flight = 1;
  std::promise<void> asked;
  const auto kept = std::make_shared<std::vector<rpc::Responder>>();
  serve([&, kept](const rpc::ConnectionPtr&, rpc::Responder responder) {
    if (kept->empty()) {
      kept->push_back(std::move(responder));
      asked.set_value();
    } else {
      reply(responder);
    }
  });
  auto under_way = std::make_shared<CountingPull>(1, true);
  auto in_line = std::make_shared<CountingPull>(1);
  auto dropped = add(under_way), waiting = add(in_line);
  asked.get_future().get();
  client_->run([&] { queue_->drop([&](const Pull& pull) { return &pull == under_way.get() || &pull == in_line.get(); }); });
  server_->run([&] { reply(kept->front()); });
  EXPECT_TRUE(add(std::make_shared<CountingPull>(1)).get()) << "others go on";
  EXPECT_THROW(dropped.get(), std::future_error) << "what it would be told by is gone";
  EXPECT_THROW(waiting.get(), std::future_error);
  EXPECT_EQ(in_line->requests, 0);
  server_->run([&] { kept->clear(); });
}

TEST_F(PullQueueTest, ANodeThatIsForgottenEndsItsPullsAtOnce) {
  options_.reply_deadline = options_.backoff = 1h;
  options_.in_flight = 1;
  std::promise<void> asked;
  const auto kept = std::make_shared<std::vector<rpc::Responder>>();
  serve([&, kept](const rpc::ConnectionPtr&, rpc::Responder responder) {
    kept->push_back(std::move(responder));
    if (kept->size() == 1) asked.set_value();
  });
  auto under_way = add(std::make_shared<CountingPull>(1)), in_line = add(std::make_shared<CountingPull>(1));
  asked.get_future().get();
  client_->run([&] { queue_->forget(address_, Error(Code::unavailable, "it was lost")); });
  for (auto* pull : {&under_way, &in_line}) EXPECT_NE(pull->get().error().to_string().find("it was lost"), std::string::npos);
  server_->run([&] { kept->clear(); });
}

TEST_F(PullQueueTest, ConnectionsMayBeOthers) {
  serve([](const rpc::ConnectionPtr&, rpc::Responder responder) { reply(responder); });
  const auto connection = rpc::connect(*client_, {address_}, 10s).value();
  std::promise<Result<void>> promise;
  int tries = 0;
  client_->run([&] {
    queue_.emplace(*client_, *background_, options_, [&](const std::string& address, const rpc::Peers::Done& done) {
      EXPECT_EQ(address, "master");
      ++tries < 3 ? done(fail(Code::unavailable, "not yet")) : done(connection);
    });
    queue_->add(JobId(), "master", std::make_shared<CountingPull>(2),
                [&](Result<void> done) { promise.set_value(std::move(done)); });
  });
  EXPECT_TRUE(promise.get_future().get());
  EXPECT_EQ(tries, 4);
}

TEST_F(PullQueueTest, ProgressProlongsTheDeadline) {
  options_.deadline = 2s;
  const auto began = std::chrono::steady_clock::now();
  const auto served = std::make_shared<int>(0);
  const auto late = std::make_shared<std::vector<std::unique_ptr<rpc::Timer>>>();
  serve([this, served, late, began](const rpc::ConnectionPtr&, rpc::Responder responder) {
    if (++*served == 2) return reply(responder, "damaged!");
    if (*served > 2) return reply(responder);
    auto held = std::make_shared<rpc::Responder>(std::move(responder));
    late->push_back(server_->after(began + 2100ms - std::chrono::steady_clock::now(), [held] { reply(*held); }));
  });
  const auto done = add(std::make_shared<CountingPull>(2)).get();
  EXPECT_TRUE(done) << "it failed right after a piece that came: " << done.error().to_string();
  server_->run([&] { late->clear(); });
}

/// Into a sink on which the reply takes its time.
class SlowPull final : public Pull, public rpc::BulkSink {
 public:
  explicit SlowPull(Duration time) : time_(time) {}
  Result<void> begin() override { return {}; }
  rpc::MessageType type() const override { return kFetchBlocks; }
  Buffer request() override { return Buffer::copy_of(as_bytes(std::string(8, 'x'))); }
  rpc::BulkSink* sink() override { return this; }
  Result<bool> arrived(rpc::Message) override {
    if (++replies == 1) return fail(Code::corrupt, "damaged");
    return true;
  }
  bool progressed() const override { return false; }
  std::uint64_t reply_bytes() const override { return 0; }

  void begin(ByteView, std::uint64_t) override {}
  MutableBytes room(std::uint64_t) override { return piece_.span(); }
  void filled(std::size_t) override { std::this_thread::sleep_for(replies == 0 ? time_ : Duration(0)); }

  int replies = 0;

 private:
  const Duration time_;
  Buffer piece_{64u << 10};
};

TEST_F(PullQueueTest, AfterATryWhoseBytesCameForLongerThanTheDeadlineThereIsAnother) {
  options_.deadline = 2s;
  serve([](const rpc::ConnectionPtr&, rpc::Responder responder) { reply(responder, "good....", 100); });
  auto pull = std::make_shared<SlowPull>(2100ms);
  const auto done = add(pull).get();
  EXPECT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(pull->replies, 2);
}

TEST_F(PullQueueTest, ThePauseDoublesWithEachFailure) {
  options_.backoff = 20ms;
  options_.attempts = 5;
  serve([](const rpc::ConnectionPtr&, rpc::Responder responder) { reply(responder, "damaged!"); });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(add(std::make_shared<CountingPull>(1)).get());
  EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms) << "20, 40, 80 and 160";
}

TEST_F(PullQueueTest, APullThatPausesEndsWhenItsNodeIsForgotten) {
  options_.backoff = 1h;
  serve([](const rpc::ConnectionPtr&, rpc::Responder responder) { reply(responder, "damaged!"); });
  auto pull = std::make_shared<CountingPull>(1);
  auto done = add(pull);
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (pull->replies == 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  client_->run([&] { queue_->forget(address_, Error(Code::unavailable, "the node is gone")); });
  ASSERT_EQ(done.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(done.get().error().code(), Code::unavailable);
}

TEST_F(PullQueueTest, WhatIsDroppedWhileItIsStoredIsUndone) {
  serve([](const rpc::ConnectionPtr&, rpc::Responder responder) { reply(responder); });
  auto pull = std::make_shared<CountingPull>(1, true);
  std::promise<void> storing, dropped;
  pull->while_storing = [&] {
    storing.set_value();
    dropped.get_future().wait();
  };
  auto done = add(pull);
  storing.get_future().get();
  client_->run([&] { queue_->drop([](const Pull&) { return true; }); });
  dropped.set_value();
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!pull->undone && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(pull->undone);
  EXPECT_THROW(done.get(), std::future_error) << "nobody is told";
}

}  // namespace
}  // namespace weft::shuffle
