#include "base/rpc/rpc.hpp"

#include <chrono>
#include <cstring>
#include <deque>
#include <thread>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.hpp"
#include "base/random.hpp"
#include "tests/base/rpc_fixture.hpp"

namespace weft::rpc::testing {
namespace {

using namespace std::chrono_literals;

Buffer random_bytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Buffer buffer(size);
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    const std::uint64_t word = random();
    std::memcpy(buffer.data() + at, &word, 8);
  }
  for (; at < size; ++at) buffer.data()[at] = static_cast<std::byte>(random());
  return buffer;
}

TEST_P(RpcTest, ARequestGetsItsReply) {
  serve(echo_handler());
  const auto reply = call(connect_client(), text_payload("hello"));
  ASSERT_TRUE(reply.has_value()) << reply.error().to_string();
  EXPECT_EQ(text_of(*reply), "hello");
}

TEST_P(RpcTest, AnEmptyPayloadTravels) {
  serve(echo_handler());
  const auto reply = call(connect_client(), {});
  ASSERT_TRUE(reply.has_value());
  EXPECT_TRUE(reply->header.empty());
  EXPECT_TRUE(reply->bulk.empty());
}

TEST_P(RpcTest, BothSidesMayAsk) {
  serve({});
  const auto client = connect_client(echo_handler());
  Awaited<std::string> answer;
  const auto server = accepted_.get();
  reactor_->post([&] {
    server->request(1, text_payload("to the client"), kLong, [&](Result<Message> reply) { answer.set(text_of(reply.value())); });
  });
  EXPECT_EQ(answer.get(), "to the client");
}

TEST_P(RpcTest, AnErrorReplyKeepsItsCodesAndCauses) {
  Handler handler;
  handler.on_request = [](const ConnectionPtr&, Message, Responder responder) {
    responder.fail(Error(Code::not_found, "no such file").wrap("cannot read input").wrap(Code::user_code, "task failed"));
  };
  serve(handler);
  const auto reply = call(connect_client(), {});
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().to_string(), "task failed: cannot read input: no such file");
  EXPECT_EQ(reply.error().code(), Code::user_code);
  EXPECT_EQ(reply.error().cause()->cause()->code(), Code::not_found);
}

TEST_P(RpcTest, ADroppedRequestIsAnsweredAsByAPeerThatEnds) {
  Handler handler;
  handler.on_request = [](const ConnectionPtr&, Message, Responder) {};
  serve(handler);
  const auto reply = call(connect_client(), {});
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code(), Code::unavailable);
}

TEST_P(RpcTest, APeerWithoutAHandlerSaysSo) {
  serve({});
  const auto reply = call(connect_client(), {});
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code(), Code::invalid_argument);
}

TEST_P(RpcTest, NotificationsArriveInOrder) {
  constexpr int kCount = 10'000;
  int next = 0;
  bool ordered = true;
  Awaited<bool> all;
  Handler handler;
  handler.on_notify = [&](const ConnectionPtr&, const Message& message) {
    ordered = ordered && text_of(message) == std::to_string(next) && message.type == next % 100;
    if (++next == kCount) all.set(ordered);
  };
  serve(handler);
  const auto client = connect_client();
  reactor_->post([&] {
    for (int i = 0; i < kCount; ++i) client->notify(static_cast<MessageType>(i % 100), text_payload(std::to_string(i)));
  });
  EXPECT_TRUE(all.get());
}

TEST_P(RpcTest, PartsOfALongMessageAreSignsOfItsSender) {
  std::vector<std::string> heard;
  Awaited<bool> all;
  Handler handler;
  handler.on_part = [&](const ConnectionPtr&) { heard.emplace_back("part"); };
  handler.on_notify = [&](const ConnectionPtr&, const Message& message) {
    heard.push_back(message.bulk.empty() ? "short" : "long");
    if (heard.back() == "long") all.set(true);
  };
  serve(handler);
  const auto client = connect_client();
  reactor_->post([&] {
    client->notify(1, {});
    Payload payload;
    payload.bulk.emplace_back(Buffer(64u << 20));
    client->notify(1, std::move(payload));
  });
  EXPECT_TRUE(all.get());
  EXPECT_GE(heard.size(), 3u);
  EXPECT_EQ(std::count(heard.begin(), heard.end(), "short"), 1);
  EXPECT_EQ(heard.back(), "long") << "a part came before";
}

TEST_P(RpcTest, RepliesInAnyOrderReachTheirRequests) {
  constexpr int kCount = 1000;
  std::deque<std::pair<Buffer, Responder>> held;
  Handler handler;
  handler.on_request = [&](const ConnectionPtr&, Message message, Responder responder) {
    held.emplace_back(std::move(message.header), std::move(responder));
    if (held.size() < kCount) return;
    for (; !held.empty(); held.pop_back()) held.back().second.reply({std::move(held.back().first), {}, {}});
  };
  serve(handler);
  const auto client = connect_client();
  int right = 0, answered = 0;
  Awaited<int> all;
  reactor_->post([&] {
    for (int i = 0; i < kCount; ++i) {
      client->request(1, text_payload(std::to_string(i)), kLong, [&, i](Result<Message> reply) {
        if (reply && text_of(*reply) == std::to_string(i)) ++right;
        if (++answered == kCount) all.set(right);
      });
    }
  });
  EXPECT_EQ(all.get(), kCount);
}

TEST_P(RpcTest, LargeBulkInManyPiecesArrivesIntact) {
  Handler handler = echo_handler();
  serve(handler);
  const auto client = connect_client();
  Payload payload;
  std::uint32_t sum = 0;
  std::size_t total = 0;
  Random random(11);
  for (int i = 0; i < 700; ++i) {  // more pieces than one system call takes
    Buffer piece = random_bytes(random.below(200'000), random());
    sum = crc32c(piece.view(), sum);
    total += piece.size();
    payload.bulk.emplace_back(std::move(piece));
  }
  const auto reply = call(client, std::move(payload));
  ASSERT_TRUE(reply.has_value()) << reply.error().to_string();
  EXPECT_EQ(reply->bulk.size(), total);
  EXPECT_EQ(crc32c(reply->bulk.view()), sum);
}

TEST_P(RpcTest, ALargeHeaderArrivesIntact) {
  serve(echo_handler());
  const Buffer header = random_bytes(9'000'001, 5);
  const auto reply = call(connect_client(), {Buffer::copy_of(header.view()), {}, {}});
  ASSERT_TRUE(reply.has_value()) << reply.error().to_string();
  EXPECT_EQ(as_chars(reply->header.view()), as_chars(header.view()));
}

TEST_P(RpcTest, AnUnansweredRequestFailsAtItsDeadlineAndTheLateReplyIsIgnored) {
  std::deque<Responder> held;
  Handler handler;
  handler.on_request = [&](const ConnectionPtr&, const Message& message, Responder responder) {
    if (text_of(message) == "hold") return held.push_back(std::move(responder));
    held.front().reply(text_payload("late"));
    responder.reply(text_payload("now"));
  };
  serve(handler);
  const auto client = connect_client();
  const auto late = call(client, text_payload("hold"), std::chrono::milliseconds(20));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code(), Code::deadline_exceeded);
  const auto reply = call(client, text_payload("answer"));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(text_of(*reply), "now");
  reactor_->run([&] { held.clear(); });
}

/// As slow as a link that needs longer for a reply than its deadline is.
class SlowSink final : public BulkSink {
 public:
  void begin(ByteView, std::uint64_t) override {}
  MutableBytes room(std::uint64_t) override { return piece_.span(); }
  void filled(std::size_t bytes) override {
    came += bytes;
    std::this_thread::sleep_for(std::chrono::microseconds(bytes / 8));  // 8 MB/s
  }
  std::size_t came = 0;

 private:
  Buffer piece_{64u << 10};
};

TEST_P(RpcTest, AReplyThatGoesToASinkIsNotLateWhileItComesNorIsTheOneBehindIt) {
  constexpr std::size_t kBytes = 32u << 20;  // 4 s
  Handler handler;
  handler.on_request = [](const ConnectionPtr&, const Message& message, Responder responder) {
    Payload payload;
    payload.bulk.emplace_back(Buffer(text_of(message) == "long" ? kBytes : 64));
    responder.reply(std::move(payload));
  };
  const auto server = Reactor::start("server", security_of(GetParam()));
  std::unique_ptr<Listener> listener;
  server->run([&] { listener = server->listen(any_endpoint(), {}, [handler](const ConnectionPtr&) { return handler; }).value(); });
  const auto client = rpc::connect(*reactor_, listener->endpoint(), kLong).value();
  const auto first = std::make_shared<SlowSink>(), second = std::make_shared<SlowSink>();
  Awaited<bool> first_came, second_came;
  reactor_->run([&] {
    const auto ask = [&](std::string_view what, const std::shared_ptr<BulkSink>& sink, Awaited<bool>& came) {
      client->request(
          7, text_payload(what), 2s, [&came](const Result<Message>& reply) { came.set(reply.has_value()); }, sink);
    };
    ask("long", first, first_came);
    ask("short", second, second_came);
  });
  EXPECT_TRUE(first_came.get());
  EXPECT_TRUE(second_came.get()) << "it was in line behind the long one";
  EXPECT_EQ(first->came, kBytes);
  server->run([&] { listener.reset(); });
  server->stop();
}

TEST_P(RpcTest, ManyDeadlinesPassEachOnce) {
  std::deque<Responder> held;
  Handler handler;
  handler.on_request = [&](const ConnectionPtr&, const Message&, Responder responder) { held.push_back(std::move(responder)); };
  serve(handler);
  const auto client = connect_client();
  constexpr int kCount = 500;
  int failed = 0, late = 0;
  Awaited<int> all;
  reactor_->post([&] {
    for (int i = 0; i < kCount; ++i) {
      client->request(1, {}, std::chrono::milliseconds((i * 37) % 50), [&](const Result<Message>& reply) {
        if (!reply && reply.error().code() == Code::deadline_exceeded) ++late;
        if (++failed == kCount) all.set(late);
      });
    }
  });
  EXPECT_EQ(all.get(), kCount);
  reactor_->run([&] { held.clear(); });
}

INSTANTIATE_TEST_SUITE_P(Rpc, RpcTest, ::testing::Values(Transport::tcp, Transport::tls, Transport::unix_socket), transport_name);

}  // namespace
}  // namespace weft::rpc::testing
