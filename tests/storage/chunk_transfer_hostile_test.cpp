#include <filesystem>
#include <future>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/storage/transfer_fixture.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

TEST_F(ChunkTransferTest, BytesDamagedOnTheWayAreNeverBelieved) {
  start(2);
  const ChunkWritten written = put(ChunkId(1), 2'000'000);
  ChunkClient remote(*reactor_, quick_options(false));
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const DamagingProxy proxy(workers_[0]->address(), true, 8 * (100 + random.below(1'990'000)));
    auto reader = remote.open({written.info, {proxy.address(), workers_[1]->address()}});
    ASSERT_TRUE(reader) << reader.error().to_string();
    const auto content = read_all(**reader);
    ASSERT_TRUE(content) << content.error().to_string();
    EXPECT_TRUE(*content == content_of(1, 2'000'000));
    EXPECT_EQ((*reader)->failures().size(), 1u);
  }
  EXPECT_EQ(workers_[0]->store().list().size(), 1u);  // its replica is right: a report alone sets nothing aside
}

TEST_F(ChunkTransferTest, NoticesAPeerThatNeverAnswers) {
  std::vector<rpc::Responder> held;
  std::unique_ptr<rpc::Listener> listener;
  const auto silent = rpc::Reactor::start("silent");
  silent->run([&] {
    listener = *silent->listen({"127.0.0.1:0"}, chunk_limits(), [&](const rpc::ConnectionPtr&) {
      rpc::Handler handler;
      handler.on_request = [&](const rpc::ConnectionPtr&, rpc::Message, rpc::Responder responder) {
        held.push_back(std::move(responder));
      };
      return handler;
    });
  });
  auto options = quick_options();
  options.read_deadline = 50ms;
  options.connect_deadline = 50ms;
  ChunkClient client(*reactor_, options);
  const std::string address = listener->endpoint().text;
  EXPECT_EQ(client.open({{ChunkId(1), 10, 10}, {address}}).error().code(), Code::deadline_exceeded);
  EXPECT_EQ(client.create(ChunkId(1), {address}).error().code(), Code::deadline_exceeded);
  silent->run([&] {
    held.clear();
    listener.reset();
  });
  silent->stop();
}

TEST_F(ChunkTransferTest, WhatWasOpenedForNobodyIsClosed) {
  std::vector<rpc::Responder> held;
  std::vector<ChunkId> closed;  // on the reactor's thread, as all here
  std::unique_ptr<rpc::Listener> listener;
  const auto slow = rpc::Reactor::start("slow");
  slow->run([&] {
    listener = *slow->listen({"127.0.0.1:0"}, chunk_limits(), [&](const rpc::ConnectionPtr&) {
      rpc::Handler handler;
      handler.on_request = [&](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
        const ChunkId id = decode_open(message.header.view()).value().info.id;
        if (id == ChunkId(1)) return held.push_back(std::move(responder));
        // No checksums, or others than those of the chunk.
        responder.reply({encode_served(""), {SharedBytes(Buffer(id == ChunkId(2) ? 0 : sizeof(std::uint32_t)))}, {}});
      };
      handler.on_notify = [&](const rpc::ConnectionPtr&, const rpc::Message& message) {
        if (message.type == kCloseChunk) closed.push_back(decode_name(message.header.view()).value());
      };
      return handler;
    });
  });
  const auto are_closed = [&](const std::vector<ChunkId>& expected) {
    return test::eventually([&] {
      bool met = false;
      slow->run([&] { met = closed == expected; });
      return met;
    });
  };
  const std::string address = listener->endpoint().text;
  {
    ChunkClient client(*reactor_, quick_options(false));
    for (const ChunkId id : {ChunkId(2), ChunkId(3)})
      EXPECT_EQ(client.open({{id, 10, 10}, {address}}).error().code(), Code::corrupt) << to_string(id);
    EXPECT_TRUE(are_closed({ChunkId(2), ChunkId(3)}));
  }
  auto options = quick_options(false);
  options.read_deadline = 50ms;
  ChunkClient client(*reactor_, options);
  EXPECT_EQ(client.open({{ChunkId(1), 10, 10}, {address}}).error().code(), Code::deadline_exceeded);
  slow->run([&] { held.at(0).reply({encode_served(""), {SharedBytes(Buffer(sizeof(std::uint32_t)))}, {}}); });
  EXPECT_TRUE(are_closed({ChunkId(2), ChunkId(3), ChunkId(1)}));
  slow->run([&] {
    held.clear();
    listener.reset();
  });
  slow->stop();
}

TEST_F(ChunkTransferTest, AChainIsCutBeforeAMemberThatIsForgotten) {
  start(1);
  for (const rpc::MessageType last : {kBeginWrite, kWriteBytes, kSealChunk}) {  // from here on it answers nothing
    std::vector<rpc::Responder> held;
    std::promise<void> asked;
    std::unique_ptr<rpc::Listener> listener;
    const auto stopped = rpc::Reactor::start("stopped");
    stopped->run([&] {
      listener = *stopped->listen({"127.0.0.1:0"}, chunk_limits(), [&](const rpc::ConnectionPtr&) {
        rpc::Handler handler;
        handler.on_request = [&](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
          if (held.empty() && message.type != last) return responder.reply({});
          held.push_back(std::move(responder));
          if (held.size() == 1) asked.set_value();
        };
        return handler;
      });
    });
    auto options = quick_options();
    options.connect_deadline = options.write_deadline = options.seal_deadline = 1h;
    ChunkClient client(*reactor_, options);
    const std::vector<std::string> targets{addresses().front(), listener->endpoint().text};
    auto written = std::async(std::launch::async, [&] { return write_chunk(client, ChunkId(last), 3'000'000, targets, random_); });
    asked.get_future().wait();
    workers_[0]->forget(targets[1]);
    const auto result = written.get();
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(result->durable, addresses());
    ASSERT_EQ(result->failures.size(), 1u);
    EXPECT_EQ(result->failures[0].address, targets[1]);
    EXPECT_EQ(result->failures[0].error.to_string(), "it was lost");
    stopped->run([&] {
      held.clear();
      listener.reset();
    });
    stopped->stop();
  }
}

TEST_F(ChunkTransferTest, CopiesAChunkNotFasterThanAllowed) {
  ChunkServerOptions options;
  options.copy_rate = 20u << 20;
  start(3, options);
  const ChunkInfo info = put_chunk(workers_[0]->store(), ChunkId(5), content_of(5, 4u << 20));
  const auto began = std::chrono::steady_clock::now();
  auto copied = workers_[0]->copy(ChunkId(5), {workers_[1]->address(), workers_[2]->address()});
  ASSERT_TRUE(copied) << copied.error().to_string();
  EXPECT_GE(std::chrono::steady_clock::now() - began, 140ms);  // the last of four steps leaves after three fifths of the 200
  EXPECT_EQ(copied->durable.size(), 2u);
  EXPECT_EQ(copied->info, info);
  for (std::size_t i = 1; i < 3; ++i) expect_content(*client_, info, {workers_[i]->address()});
  EXPECT_EQ(workers_[0]->copy(ChunkId(6), {workers_[1]->address()}).error().code(), Code::not_found);
  EXPECT_EQ(workers_[0]->copy(ChunkId(5), {workers_[1]->address()}).error().code(), Code::already_exists);
  EXPECT_EQ(workers_[0]->copy(ChunkId(5), {"127.0.0.1:1"}).error().code(), Code::unavailable);
}

TEST_F(ChunkTransferTest, ADamagedChunkIsNotCopied) {
  start(2);
  put_chunk(workers_[0]->store(), ChunkId(5), content_of(5, 3'000'000));
  flip_bit(file(0, 5), 8 * 2'900'000);
  EXPECT_EQ(workers_[0]->copy(ChunkId(5), {workers_[1]->address()}).error().code(), Code::corrupt);
  EXPECT_TRUE(events_[0].of(ChunkEvent::corrupt).contains(ChunkId(5)));
  expect_no_trace(1);
}

TEST_F(ChunkTransferTest, RefusesMessagesThatMakeNoSense) {
  start(1);
  const ChunkInfo info = put_chunk(workers_[0]->store(), ChunkId(1), content_of(1, 100'000));
  const auto connection = rpc::connect(*reactor_, {workers_[0]->address()}, 5s, {}, chunk_limits());
  ASSERT_TRUE(connection);
  const auto code = [&](rpc::MessageType type, Buffer header, std::size_t bulk = 0) {
    rpc::Payload payload{std::move(header), {}, {}};
    if (bulk != 0) payload.bulk.emplace_back(Buffer(bulk));
    const auto reply = rpc::call(*reactor_, *connection, type, std::move(payload), 5s);
    return reply ? Code{} : reply.error().code();
  };
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 0, 1000})), Code::invalid_argument);  // not open
  EXPECT_EQ(code(kOpenChunk, encode_open({info, {}})), Code{});
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 0, 1000})), Code{});
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 1, 1000})), Code::invalid_argument);
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 65'536, 65'536})), Code::invalid_argument);
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 0, 0})), Code::invalid_argument);
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 0, 1u << 30})), Code::invalid_argument);
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), std::uint64_t{1} << 63, 65'536})), Code::invalid_argument);
  EXPECT_EQ(code(kOpenChunk, Buffer::copy_of(as_bytes("no message at all"))), Code::corrupt);
  EXPECT_EQ(code(kOpenDamaged, encode_open({info, {}})), Code{});
  EXPECT_EQ(code(kOpenDamaged, encode_open({{ChunkId(1), kLargestChunkBytes, info.digest}, {}})), Code::corrupt);
  EXPECT_EQ(code(kOpenDamaged, encode_open({{ChunkId(9), 10, 10}, {}})), Code::not_found);
  EXPECT_EQ(code(kReadDamaged, encode_damaged({info, 65'536, 100'000 - 65'536})), Code{});
  EXPECT_EQ(code(kReadDamaged, encode_damaged({info, 1, 1000})), Code::invalid_argument);
  EXPECT_EQ(code(kReadDamaged, encode_damaged({info, 65'536, 65'536})), Code::invalid_argument);
  EXPECT_EQ(code(kReadDamaged, encode_damaged({info, std::uint64_t{1} << 63, 65'536})), Code::invalid_argument);
  EXPECT_EQ(code(kReadDamaged, encode_damaged({{ChunkId(1), kLargestChunkBytes, 0}, 0, 1u << 30})), Code::invalid_argument);
  EXPECT_EQ(code(kReadDamaged, encode_damaged({{ChunkId(9), 10, 10}, 0, 10})), Code::not_found);
  EXPECT_EQ(code(kReadDamaged, Buffer::copy_of(as_bytes("no message at all"))), Code::corrupt);
  EXPECT_EQ(code(kWriteBytes, encode_position({ChunkId(2), 0}), 10), Code::invalid_argument);
  EXPECT_EQ(code(kSealChunk, encode_seal({ChunkId(2), 0, 0})), Code::invalid_argument);
  EXPECT_EQ(code(kBeginWrite, encode_begin({ChunkId(2), 10, "me", {}})), Code{});
  EXPECT_EQ(code(kBeginWrite, encode_begin({ChunkId(2), 10, "me", {}})), Code::already_exists);
  EXPECT_EQ(code(kBeginWrite, encode_begin({ChunkId(1), 10, "me", {}})), Code::already_exists);
  EXPECT_EQ(code(kBeginWrite, encode_begin({ChunkId(3), 10, "me", std::vector<std::string>(17, "x:1")})), Code::invalid_argument);
  EXPECT_EQ(code(kBeginWrite, encode_begin({ChunkId(3), 10, std::string(2000, 'x'), {}})), Code::invalid_argument);
  EXPECT_EQ(code(kWriteBytes, encode_position({ChunkId(2), 5}), 10), Code::invalid_argument);
  EXPECT_EQ(code(kWriteBytes, encode_position({ChunkId(2), 0})), Code::invalid_argument);
  EXPECT_EQ(code(kWriteBytes, encode_position({ChunkId(2), 0}), kMostPacketBytes + 1), Code::invalid_argument);
  EXPECT_EQ(code(kWriteBytes, encode_position({ChunkId(2), 0}), 10), Code{});
  EXPECT_EQ(code(kSealChunk, encode_seal({ChunkId(2), 11, 0})), Code::invalid_argument);
  EXPECT_EQ(code(499, {}), Code::invalid_argument);
  EXPECT_EQ(workers_[0]->store().list().size(), 1u);
}

TEST_F(ChunkTransferTest, AConnectionThatBeginsManyChunksLeavesRoomForOthers) {
  start(1);
  const auto greedy = rpc::connect(*reactor_, {workers_[0]->address()}, 5s, {}, chunk_limits());
  ASSERT_TRUE(greedy);
  const std::uint32_t share = ChunkServerOptions{}.writes / 4;
  std::optional<Error> refused;
  std::uint32_t taken = 0;
  for (std::uint64_t i = 0; i < ChunkServerOptions{}.writes; ++i) {
    const auto begun = rpc::call(*reactor_, *greedy, kBeginWrite, {encode_begin({ChunkId(1000 + i), 10, "me", {}}), {}, {}}, 60s);
    begun ? void(++taken) : void(refused = begun.error());
  }
  EXPECT_EQ(taken, share);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), Code::resource_exhausted);
  EXPECT_EQ(refused->to_string(), "too many chunks are being written to this worker by one connection");
  put(ChunkId(1), 1000);
  // What it gives up counts no longer.
  reactor_->run([&] { (*greedy)->notify(kAbandonWrite, {encode_name(ChunkId(1000)), {}, {}}); });
  EXPECT_TRUE(rpc::call(*reactor_, *greedy, kBeginWrite, {encode_begin({ChunkId(2), 10, "me", {}}), {}, {}}, 60s));
}

TEST_F(ChunkTransferTest, WhatIsSentBehindARefusedBeginIsRefused) {
  start(1);
  const ChunkInfo info = put_chunk(workers_[0]->store(), ChunkId(1), content_of(1, 1000));
  for (const bool bytes : {true, false}) {
    SCOPED_TRACE(bytes);
    for (int round = 0; round < 40; ++round) {
      const auto connection = rpc::connect(*reactor_, {workers_[0]->address()}, 5s, {}, chunk_limits());
      ASSERT_TRUE(connection);
      std::vector<std::promise<bool>> answers(2);
      reactor_->run([&] {
        const auto send = [&](std::size_t at, rpc::MessageType type, rpc::Payload payload) {
          (*connection)->request(type, std::move(payload), 5s, [&answers, at](Result<rpc::Message> reply) {
            answers[at].set_value(reply.has_value());
          });
        };
        send(0, kBeginWrite, {encode_begin({info.id, 10, "me", {}}), {}, {}});
        rpc::Payload next{bytes ? encode_position({info.id, 0}) : encode_seal({info.id, 0, 0}), {}, {}};
        if (bytes) next.bulk.emplace_back(Buffer(10));
        send(1, bytes ? kWriteBytes : kSealChunk, std::move(next));
      });
      for (auto& answer : answers) ASSERT_FALSE(answer.get_future().get());
    }
  }
  expect_content(*client_, info, addresses());
}

TEST_F(ChunkTransferTest, ReportsOfDamageCostOneLookAtATime) {
  ChunkServerOptions options;
  options.threads = 1;
  start(1, options);
  constexpr std::uint64_t kLength = 4u << 20;
  const ChunkInfo info = put_chunk(workers_[0]->store(), ChunkId(1), content_of(1, kLength));
  const ChunkInfo slow = put_chunk(workers_[0]->store(), ChunkId(2), content_of(2, 1000));
  fs::remove(file(0, 2));
  ASSERT_EQ(::mkfifo(file(0, 2).c_str(), 0600), 0);  // whose open waits for a writer, and the worker's only thread with it
  const auto connection = rpc::connect(*reactor_, {workers_[0]->address()}, 5s, {}, chunk_limits());
  ASSERT_TRUE(connection);
  std::promise<void> opened;
  reactor_->run([&] {
    (*connection)->request(kOpenChunk, {encode_open({slow, {}}), {}, {}}, 60s, [&](Result<rpc::Message>) { opened.set_value(); });
    for (int i = 0; i < 200; ++i) (*connection)->notify(kReportDamage, {encode_name(info.id), {}, {}});
  });
  // A question that needs no disk: when it is answered, the worker has heard all that.
  EXPECT_FALSE(rpc::call(*reactor_, *connection, kReadPages, {encode_read({ChunkId(9), 0, 1000}), {}, {}}, 5s));
  const auto bytes_read = [] {
    std::ifstream io("/proc/self/io");
    std::string name;
    std::uint64_t bytes = 0;
    io >> name >> bytes;
    return bytes;
  };
  const std::uint64_t before = bytes_read();
  const Fd writer(::open(file(0, 2).c_str(), O_WRONLY | O_CLOEXEC));
  opened.get_future().wait();
  EXPECT_TRUE(
      rpc::call(*reactor_, *connection, kOpenChunk, {encode_open({info, {}}), {}, {}}, 60s));  // after what waited before it
  EXPECT_LT(bytes_read() - before, 20 * kLength);
  EXPECT_GE(bytes_read() - before, kLength);
}

TEST_F(ChunkTransferTest, AReaderThatLeavesBeforeItsAnswerLeavesNothingOpen) {
  ChunkServerOptions options;
  options.threads = 1;
  start(1, options);
  const ChunkInfo info = put_chunk(workers_[0]->store(), ChunkId(1), content_of(1, 1000));
  const ChunkInfo slow = put_chunk(workers_[0]->store(), ChunkId(2), content_of(2, 1000));
  fs::remove(file(0, 2));
  ASSERT_EQ(::mkfifo(file(0, 2).c_str(), 0600), 0);  // whose open waits for a writer
  const auto here = rpc::connect(*reactor_, {workers_[0]->address()}, 5s, {}, chunk_limits());
  ASSERT_TRUE(here);
  const auto send = [&](const rpc::ConnectionPtr& connection, const ChunkInfo& wanted) {
    auto answered = std::make_shared<std::promise<void>>();
    reactor_->run([&] {
      connection->request(kOpenChunk, {encode_open({wanted, {}}), {}, {}}, 60s,
                          [answered](Result<rpc::Message>) { answered->set_value(); });
    });
    return answered->get_future();
  };
  auto waiting = send(*here, slow);
  {
    const auto leaves = rpc::connect(*reactor_, {workers_[0]->address()}, 5s, {}, chunk_limits());
    ASSERT_TRUE(leaves);
    auto answered = send(*leaves, info);
    reactor_->run([&] { (*leaves)->close(); });
    answered.wait();
  }
  // Questions that need no disk: once they are answered, the worker has seen the other connection end.
  for (int i = 0; i < 20; ++i)
    EXPECT_FALSE(rpc::call(*reactor_, *here, kReadPages, {encode_read({ChunkId(9), 0, 1000}), {}, {}}, 5s));
  const Fd writer(::open(file(0, 2).c_str(), O_WRONLY | O_CLOEXEC));
  waiting.wait();
  const auto held = [&] {
    std::size_t found = 0;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code closed;
      found += fs::read_symlink(entry.path(), closed) == file(0, 1) ? 1 : 0;
    }
    return found;
  };
  EXPECT_TRUE(test::eventually([&] { return held() == 0; })) << held();
}

}  // namespace
}  // namespace weft::storage
