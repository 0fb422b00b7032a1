// The frame reader on its own, with random and mutated input, and the send queue.
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/rpc/capnp.hpp"
#include "base/rpc/pending.hpp"
#include "base/rpc/send_queue.hpp"
#include "tests/fuzz/frame_input.hpp"

namespace weft::rpc::testing {
namespace {

constexpr FrameReader::Bounds kBounds{4u << 20, 4u << 20, 8};

std::string random_text(Random& random, std::size_t size) {
  std::string text(size, '\0');
  for (auto& c : text) c = static_cast<char>(random());
  return text;
}

/// A stream of valid frames as the send queue makes them, taken out in odd portions.
std::string valid_stream(Random& random, std::size_t frames) {
  SendQueue queue;
  for (std::size_t i = 0; i < frames; ++i) {
    FrameHead head;
    head.kind = static_cast<FrameKind>(1 + random.below(6));
    head.type = static_cast<MessageType>(random());
    head.request_id = random();
    Payload payload;
    if (head.kind == FrameKind::hello) payload.header = encode_hello({"weft test", {2, 7}});
    if (head.kind == FrameKind::error) payload.header = encode_error(Error(Code::io, "x").wrap("y"));
    if (head.kind == FrameKind::request) payload.header = Buffer::copy_of(as_bytes(random_text(random, random.below(3000))));
    for (std::uint64_t k = random.below(4); k > 0; --k) {
      payload.bulk.emplace_back(Buffer::copy_of(as_bytes(random_text(random, random.below(2000)))));
    }
    queue.push(head, std::move(payload));
  }
  std::string stream;
  while (!queue.empty()) {
    std::string offered;
    for (const auto& piece : queue.batch().pieces) offered.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    EXPECT_FALSE(offered.empty());
    offered.resize(1 + random.below(offered.size()));  // the kernel takes only part
    queue.sent(offered.size());
    stream += offered;
  }
  EXPECT_EQ(queue.bytes(), 0u);
  return stream;
}

TEST(Frame, TheReaderFindsWhatTheQueueSentHoweverItIsCut) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t frames = 1 + random.below(20);
    const auto stream = valid_stream(random, frames);
    const auto fed = feed(as_bytes(stream), 1 + random.below(5000), kBounds);
    EXPECT_FALSE(fed.refused) << "round " << round;
    EXPECT_EQ(fed.frames, frames) << "round " << round;
  }
}

/// Takes at most so many bytes in pieces of random size; what comes behind is dropped.
class OddSink final : public BulkSink {
 public:
  OddSink(Random& random, std::size_t most) : random_(random), most_(most) {}
  void begin(ByteView header, std::uint64_t bytes) override {
    began += "[" + std::string(as_chars(header)) + std::to_string(bytes);
  }
  MutableBytes room(std::uint64_t left) override {
    EXPECT_GT(left, 0u);
    room_.resize(std::min(most_ - taken.size(), 1 + random_.below(200'000)));
    return {reinterpret_cast<std::byte*>(room_.data()), room_.size()};
  }
  void filled(std::size_t bytes) override {
    EXPECT_GT(bytes, 0u);
    taken.append(room_.data(), bytes);
  }

  std::string began, taken;

 private:
  Random& random_;
  const std::size_t most_;
  std::string room_;
};

TEST(Frame, ASinkGetsTheBulkInOrderAndTheFramesAroundItAreWhole) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    const std::string bulk = random_text(random, 1 + random.below(round % 2 == 0 ? 500'000 : 500));
    SendQueue queue;
    for (const std::uint64_t id : {1u, 2u, 3u}) {
      FrameHead head;
      head.kind = FrameKind::reply;
      head.request_id = id;
      Payload payload{Buffer::copy_of(as_bytes("head")), {}, {}};
      payload.bulk.emplace_back(Buffer::copy_of(as_bytes(bulk)));
      queue.push(head, std::move(payload));
    }
    std::string stream;
    for (const auto& piece : queue.batch().pieces) stream.append(static_cast<const char*>(piece.iov_base), piece.iov_len);

    OddSink sink(random, random.chance(0.3) ? random.below(bulk.size()) : bulk.size());
    bool waiting = true;
    Buffer buffer(random.chance(0.5) ? FrameReader::kReceiveBuffer : kFixedSize + random.below(1000));
    FrameReader reader(buffer.span(), kBounds,
                       [&](const FrameHead& head) { return waiting && head.request_id == 2 ? &sink : nullptr; });
    const std::size_t gone_after = random.chance(0.3) ? 1 + random.below(bulk.size()) : SIZE_MAX;  // nobody waits any more, then
    std::size_t gone_with = SIZE_MAX;
    std::vector<Frame> frames;
    ByteView rest = as_bytes(stream);
    while (!rest.empty()) {
      const auto space = reader.space();
      const std::size_t part = std::min({space[0].size() + space[1].size(), rest.size(), 1 + random.below(100'000)});
      const std::size_t direct = std::min(space[0].size(), part);
      if (direct != 0) std::memcpy(space[0].data(), rest.data(), direct);
      if (part != direct) std::memcpy(space[1].data(), rest.data() + direct, part - direct);
      reader.received(part);
      rest = rest.subspan(part);
      while (true) {
        auto frame = reader.next();
        ASSERT_TRUE(frame) << frame.error().to_string();
        if (!frame->has_value()) break;
        frames.push_back(std::move(**frame));
      }
      if (waiting && sink.taken.size() >= gone_after) {
        waiting = false;
        gone_with = sink.taken.size();
      }
    }
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(as_chars(frames[0].bulk.view()), bulk);
    EXPECT_EQ(as_chars(frames[2].bulk.view()), bulk);
    EXPECT_TRUE(frames[1].bulk.empty());
    EXPECT_EQ(sink.taken, bulk.substr(0, sink.taken.size()));
    EXPECT_LE(sink.taken.size(), gone_with);
    EXPECT_EQ(sink.began, "[head" + std::to_string(bulk.size()));
  }
}

TEST(Frame, RandomBytesNeverCrashTheReader) {
  Random random(8);
  for (int round = 0; round < 2000; ++round) {
    const auto stream = (round % 2 == 0 ? std::string("WEFT\x01") : std::string()) + random_text(random, random.below(500));
    feed(as_bytes(stream), 1 + random.below(100), kBounds);
  }
}

TEST(Frame, MutatedFramesAreRefusedOrReadButNeverCrash) {
  Random random(9);
  std::size_t refused = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    auto stream = valid_stream(random, 1 + random.below(3));
    for (std::uint64_t k = 1 + random.below(4); k > 0; --k) {
      const auto at = random.below(std::min<std::size_t>(stream.size(), kFixedSize + 40));
      stream[at] = static_cast<char>(static_cast<unsigned char>(stream[at]) ^ (1u << random.below(8)));
    }
    if (feed(as_bytes(stream), 1 + random.below(3000), kBounds).refused) ++refused;
  }
  EXPECT_GT(refused, kRounds / 4u);
}

TEST(Frame, MalformedHeadersOfOurOwnMessagesAreErrors) {
  Random random(10);
  const Buffer good_error = encode_error(Error(Code::io, "inner").wrap("outer"));
  const Buffer good_hello = encode_hello({"weft 1", {2, 7}});
  for (int round = 0; round < 5000; ++round) {
    Buffer bytes = Buffer::copy_of(round % 2 == 0 ? good_error.view() : good_hello.view());
    for (std::uint64_t k = 1 + random.below(6); k > 0; --k)
      bytes.data()[random.below(bytes.size())] = static_cast<std::byte>(random());
    if (random.chance(0.2)) bytes.truncate(random.below(bytes.size()));
    static_cast<void>(decode_error(bytes.view()).to_string());
    static_cast<void>(decode_hello(bytes.view()));
  }
}

TEST(Frame, AnUnalignedMessageIsRead) {
  const Buffer message = encode_hello({"weft aligned", {2, 7}});
  Buffer shifted(message.size() + 1);
  std::memcpy(shifted.data() + 1, message.data(), message.size());
  EXPECT_EQ(decode_hello(shifted.view().subspan(1)).value(), (Hello{"weft aligned", {2, 7}}));
}

TEST(Frame, ALongChainOfErrorsIsCut) {
  Error error(Code::io, std::string(100'000, 'x'));
  for (int i = 0; i < 100; ++i) error = std::move(error).wrap("level");
  const auto decoded = decode_error(encode_error(error).view());
  int levels = 0;
  for (const Error* link = &decoded; link != nullptr; link = link->cause()) ++levels;
  EXPECT_EQ(levels, 32);
}

TEST(Frame, TheLayoutIsTheDocumentedOne) {
  FrameHead head;
  head.kind = FrameKind::request;
  head.type = 0x0201;
  head.request_id = 0x1807060504030201;
  head.header_length = 3;
  head.fd_count = 5;
  head.bulk_length = 0x0102;
  const auto fixed = encode_head(head, as_bytes("abc"));
  const unsigned char expected[36] = {'W', 'E', 'F', 'T', 1, 2, 1, 2, 1, 2, 3, 4, 5, 6, 7, 0x18, 3, 0, 0, 0, 5, 0, 0, 0, 2, 1};
  EXPECT_EQ(std::memcmp(fixed.data(), expected, sizeof expected), 0);
}

TEST(PendingRequests, ExpireInOrderAndOnlyOnce) {
  PendingRequests pending;
  const TimePoint start{};
  int called = 0;
  for (std::uint64_t id = 0; id < 5000; ++id) {
    pending.add(id, start + Duration(1000 + static_cast<Duration::rep>(id * 7919 % 5000)),
                [&](const Result<Message>&) { ++called; });
    EXPECT_EQ(id % 10 != 0 && !pending.take(id).has_value(), false);
  }
  EXPECT_FALSE(pending.take(1).has_value());
  EXPECT_EQ(pending.earliest_deadline().value(), start + Duration(1000));
  EXPECT_EQ(pending.take_expired(start + Duration(1000)).size(), 1u);
  EXPECT_GT(pending.earliest_deadline().value(), start + Duration(1000));
  EXPECT_EQ(pending.take_expired(start + Duration(10'000)).size(), 499u);
  EXPECT_FALSE(pending.earliest_deadline().has_value());
  EXPECT_TRUE(pending.take_all().empty());
}

/// Takes nothing.
class NoSink final : public BulkSink {
 public:
  void begin(ByteView, std::uint64_t) override {}
  MutableBytes room(std::uint64_t) override { return {}; }
  void filled(std::size_t) override {}
};

TEST(PendingRequests, BytesOfAReplyProlongWhatWaitsForThemAndForTheRepliesBehind) {
  PendingRequests pending;
  const TimePoint start{};
  const auto sink = std::make_shared<NoSink>();
  std::vector<std::uint64_t> failed;
  const auto add = [&](std::uint64_t id, Duration deadline, std::shared_ptr<BulkSink> to) {
    pending.add(
        id, start + deadline, [&failed, id](const Result<Message>&) { failed.push_back(id); }, std::move(to), Duration(100));
  };
  const auto expire_at = [&](Duration time) {
    failed.clear();
    for (auto& reply : pending.take_expired(start + time)) reply(fail(Code::deadline_exceeded, "late"));
    return failed;
  };
  using Ids = std::vector<std::uint64_t>;
  add(1, Duration(100), sink);
  add(2, Duration(101), sink);
  add(3, Duration(102), nullptr);
  add(4, Duration(500), sink);
  pending.prolong(2, start + Duration(50));
  EXPECT_EQ(expire_at(Duration(120)), (Ids{1, 3})) << "one is before it, one has no sink";
  pending.prolong(1, start + Duration(140));
  EXPECT_EQ(expire_at(Duration(239)), Ids()) << "bytes of what was given up stand before the others, too";
  EXPECT_EQ(expire_at(Duration(240)), Ids{2}) << "silence ends it";
  EXPECT_EQ(expire_at(Duration(499)), Ids()) << "no deadline comes earlier";
  EXPECT_EQ(pending.earliest_deadline().value(), start + Duration(500));
  EXPECT_EQ(expire_at(Duration(500)), Ids{4});
  EXPECT_FALSE(pending.earliest_deadline());
}

TEST(PendingRequests, AReplyThatIsComingIsNotLateAndNorIsAQuestionOfAPeerThatIsHeard) {
  PendingRequests pending;
  const TimePoint start{};
  const auto add = [&](std::uint64_t id, bool asks) {
    pending.add(
        id, start + Duration(100), [](const Result<Message>&) {}, {}, Duration(100), asks);
  };
  add(1, false), add(2, true), add(3, false);
  pending.prolong(1, start + Duration(50));
  EXPECT_EQ(pending.take_expired(start + Duration(100)).size(), 2u) << "without a sink and behind it, and nothing was heard";
  EXPECT_EQ(pending.take_expired(start + Duration(150)).size(), 1u);
  add(4, true), add(5, false);
  pending.heard(start + Duration(99));
  EXPECT_EQ(pending.take_expired(start + Duration(198)).size(), 1u);
  EXPECT_TRUE(pending.take(4)) << "the question";
}

}  // namespace
}  // namespace weft::rpc::testing
