#include <csignal>
#include <filesystem>
#include <future>
#include <sstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/storage/transfer_fixture.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class ChunkTransferTest : public testing::Test {
 protected:
  void SetUp() override { reactor_ = rpc::Reactor::start("client"); }
  void TearDown() override {
    client_.reset();
    workers_.clear();
    reactor_->stop();
  }

  void start(std::size_t workers, ChunkServerOptions options = {}) {
    for (std::size_t i = 0; i < workers; ++i)
      workers_.push_back(std::make_unique<Worker>(quiet_options({directory(i)}, events_[i].listener()), options));
    client_ = std::make_unique<ChunkClient>(*reactor_, quick_options());
  }
  std::string directory(std::size_t worker) const { return scratch_ / ("w" + std::to_string(worker)); }
  std::string file(std::size_t worker, std::uint64_t id) const { return directory(worker) + "/chunks/" + hex_name(id); }
  std::vector<std::string> addresses() const {
    std::vector<std::string> all;
    for (const auto& worker : workers_) all.push_back(worker->address());
    return all;
  }
  ChunkWritten put(ChunkId id, std::size_t length) {
    auto written = write_chunk(*client_, id, length, addresses(), random_);
    EXPECT_TRUE(written) << written.error().to_string();
    if (!written) return {};
    EXPECT_EQ(written->durable, addresses());
    return *written;
  }
  void expect_content(ChunkClient& client, const ChunkInfo& info, const std::vector<std::string>& replicas) {
    auto reader = client.open({info, replicas});
    ASSERT_TRUE(reader) << reader.error().to_string();
    const auto content = read_all(**reader);
    ASSERT_TRUE(content) << content.error().to_string();
    EXPECT_TRUE(*content == content_of(info.id.value(), info.length));
  }
  void expect_no_trace(std::size_t worker) {
    EXPECT_TRUE(test::eventually([&] { return test::entries(directory(worker) + "/unsealed").empty(); }));
    EXPECT_TRUE(workers_[worker]->store().list().empty());
  }

  test::ScratchDirectory scratch_;
  Events events_[4];
  Random random_{1};
  std::unique_ptr<rpc::Reactor> reactor_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<ChunkClient> client_;
};

TEST_F(ChunkTransferTest, EveryReplicaHoldsWhatWasWritten) {
  start(3);
  ChunkClient remote(*reactor_, quick_options(false));
  std::uint64_t id = 0;
  for (const std::size_t size : {0, 1, 65'535, 65'536, 65'537, 1'048'576, 5'000'001, 12'345'678}) {
    SCOPED_TRACE(size);
    const ChunkWritten written = put(ChunkId(++id), size);
    EXPECT_TRUE(written.failures.empty());
    EXPECT_EQ(written.info.length, size);
    for (const std::string& address : addresses()) {
      expect_content(*client_, written.info, {address});
      expect_content(remote, written.info, {address});
    }
    EXPECT_EQ(client_->open({written.info, addresses()}).value()->local(), true);
    EXPECT_EQ(remote.open({written.info, addresses()}).value()->local(), false);
  }
}

TEST_F(ChunkTransferTest, AnyPartCanBeReadInAnyOrder) {
  start(1);
  const ChunkWritten written = put(ChunkId(1), 3'210'987);
  const std::string content = content_of(1, 3'210'987);
  for (const bool share : {true, false}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Random random(seed);
      auto options = quick_options(share);
      options.read_bytes = 1 + random.below(1u << 20);
      options.read_window = static_cast<std::uint32_t>(random.below(6));
      ChunkClient client(*reactor_, options);
      auto reader = client.open({written.info, addresses()});
      ASSERT_TRUE(reader);
      std::uint64_t at = 0;
      for (int i = 0; i < 150; ++i) {
        if (random.chance(0.2)) at = random.below(content.size() + 100);
        const std::uint64_t wanted = random.below(random.chance(0.2) ? 2'000'000 : 30'000);
        const auto part = (*reader)->next(at, wanted);
        ASSERT_TRUE(part) << part.error().to_string();
        ASSERT_LE(part->bytes.size(), wanted);
        if (at < content.size() && wanted != 0) {
          ASSERT_FALSE(part->bytes.empty());
          ASSERT_TRUE(as_chars(part->bytes) == content.substr(at, part->bytes.size())) << at;
        }
        at += part->bytes.size();
      }
    }
  }
}

TEST_F(ChunkTransferTest, ADamagedReplicaIsReplacedByTheNextAndSetAside) {
  for (const bool share : {true, false}) {
    SCOPED_TRACE(share);
    workers_.clear();
    start(2);
    ChunkClient client(*reactor_, quick_options(share));
    const ChunkId id(share ? 1 : 2);
    const ChunkWritten written = put(id, 3'000'000);
    flip_bit(file(0, id.value()), 8 * 2'500'000 + 3);
    auto reader = client.open({written.info, addresses()});
    ASSERT_TRUE(reader);
    const auto content = read_all(**reader);
    ASSERT_TRUE(content) << content.error().to_string();
    EXPECT_TRUE(*content == content_of(id.value(), 3'000'000));
    ASSERT_EQ((*reader)->failures().size(), 1u);
    EXPECT_EQ((*reader)->failures()[0].address, workers_[0]->address());
    EXPECT_EQ((*reader)->failures()[0].error.code(), Code::corrupt);
    EXPECT_TRUE(test::eventually([&] { return events_[0].of(ChunkEvent::corrupt).contains(id); }));
    EXPECT_EQ(workers_[0]->store().find(id).error().code(), Code::not_found);
  }
}

/// Wherever the bit is: in the pages or in what follows them, in memory or on the disk only, there before the reader or behind its
/// back.
TEST_F(ChunkTransferTest, NoFlippedBitReachesARemoteReaderAndEveryOneIsMended) {
  start(2);
  ChunkClient remote(*reactor_, quick_options(false));
  const ChunkWritten written = put(ChunkId(1), 1'000'003);
  const std::string content = content_of(1, 1'000'003), path = file(0, 1);
  const std::uint64_t bits = 8 * size_of(path);
  for (std::uint64_t seed = 1; seed <= (test::kSanitized ? 30u : 200u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const bool late = random.chance(0.3);
    const std::uint64_t bit = late ? 8 * 600'000 + random.below(8 * 400'003) : random.below(bits);
    std::unique_ptr<ChunkReader> reader;
    std::string got(content.size(), '\0');
    const MutableBytes room{reinterpret_cast<std::byte*>(got.data()), got.size()};
    std::size_t done = 0;
    auto options = quick_options(false);
    options.read_window = 1;  // nothing is under way that was asked for before
    ChunkClient slow(*reactor_, options);
    if (late) {
      reader = std::move(slow.open({written.info, addresses()}).value());
      done = reader->read(0, room.first(1 + random.below(60'000))).value();
    }
    flip_bit(path, bit);
    if (random.chance(0.5)) {
      const Fd on_disk(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      ::fsync(on_disk.get());
      ::posix_fadvise(on_disk.get(), 0, 0, POSIX_FADV_DONTNEED);
    }
    if (!late) reader = std::move(remote.open({written.info, addresses()}).value());
    const auto rest = reader->read(done, room.subspan(done));
    ASSERT_TRUE(rest) << rest.error().to_string();
    ASSERT_TRUE(got == content);
    ASSERT_EQ(reader->failures().size(), 1u);
    ASSERT_EQ(reader->failures()[0].address, workers_[0]->address());
    ASSERT_TRUE(test::eventually([&] { return !workers_[0]->store().find(ChunkId(1)); }));
    reader.reset();
    workers_[0]->store().erase(std::array{ChunkId(1)});
    ASSERT_TRUE(workers_[1]->copy(ChunkId(1), {workers_[0]->address()}));
  }
}

TEST_F(ChunkTransferTest, ReplicasThatAreAllDamagedGiveAnErrorAndNoBytes) {
  start(2);
  const ChunkWritten written = put(ChunkId(1), 100'000);
  flip_bit(file(0, 1), 8 * 70'000);
  flip_bit(file(1, 1), 8 * 80'000);
  auto reader = client_->open({written.info, addresses()});
  ASSERT_TRUE(reader);
  std::byte one{};
  EXPECT_TRUE((*reader)->read(10, {&one, 1}));  // the first page is right
  const auto read = (*reader)->read(90'000, {&one, 1});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), Code::corrupt);
  for (const std::string& address : addresses()) EXPECT_NE(read.error().to_string().find(address), std::string::npos);
}

TEST_F(ChunkTransferTest, AnotherChunkUnderTheSameIdIsNotServed) {
  start(1);
  const ChunkWritten written = put(ChunkId(1), 1000);
  ChunkInfo other = written.info;
  other.digest ^= 1;
  EXPECT_FALSE(client_->open({other, addresses()}));
  EXPECT_EQ(client_->open({{ChunkId(77), 5, 5}, addresses()}).error().code(), Code::not_found);
  EXPECT_EQ(client_->open({written.info, {}}).error().code(), Code::unavailable);
  EXPECT_EQ(workers_[0]->store().list().size(), 1u);  // nothing is wrong with it
}

TEST_F(ChunkTransferTest, AWorkerThatIsGoneIsPassedOver) {
  start(3);
  const ChunkWritten written = put(ChunkId(1), 2'000'000);
  const auto replicas = addresses();
  ChunkClient remote(*reactor_, quick_options(false));
  auto reader = remote.open({written.info, replicas});
  ASSERT_TRUE(reader);
  std::byte one{};
  ASSERT_TRUE((*reader)->read(0, {&one, 1}));
  workers_.erase(workers_.begin());  // in the middle
  const auto content = read_all(**reader);
  ASSERT_TRUE(content) << content.error().to_string();
  EXPECT_TRUE(*content == content_of(1, 2'000'000));
  expect_content(*client_, written.info, replicas);
}

TEST_F(ChunkTransferTest, AnAbandonedChunkLeavesNoTrace) {
  start(3);
  {
    auto writer = client_->create(ChunkId(1), addresses());
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->append(as_bytes(content_of(1, 3'000'000))));
  }
  for (std::size_t i = 0; i < 3; ++i) expect_no_trace(i);
  put(ChunkId(1), 1000);  // the id is free again
}

TEST_F(ChunkTransferTest, ASilentWriterIsGivenUp) {
  ChunkServerOptions options;
  options.idle_deadline = 50ms;
  start(2, options);
  auto writer = client_->create(ChunkId(1), addresses());
  ASSERT_TRUE(writer);
  for (std::size_t i = 0; i < 2; ++i) expect_no_trace(i);
  EXPECT_TRUE((*writer)->append(as_bytes("too late")));
  EXPECT_FALSE((*writer)->seal());
}

TEST_F(ChunkTransferTest, TargetsThatCannotBeReachedAreNamed) {
  start(3);
  auto targets = addresses();
  workers_.erase(workers_.begin() + 1);
  auto written = write_chunk(*client_, ChunkId(1), 2'500'000, targets, random_);
  ASSERT_TRUE(written) << written.error().to_string();
  EXPECT_EQ(written->durable, std::vector{targets[0]});
  ASSERT_EQ(written->failures.size(), 2u);
  EXPECT_EQ(written->failures[0].address, targets[1]);
  EXPECT_EQ(written->failures[1].address, targets[2]);
  expect_content(*client_, written->info, {targets[0]});
  EXPECT_EQ(client_->create(ChunkId(2), {targets[1], targets[0]}).error().code(), Code::unavailable);
  EXPECT_EQ(client_->create(ChunkId(2), {}).error().code(), Code::invalid_argument);
  EXPECT_EQ(client_->create(ChunkId(2), {"no address"}).error().code(), Code::invalid_argument);
}

TEST_F(ChunkTransferTest, AFullDiskInTheChainIsNamed) {
  start(1);
  auto full = quiet_options({directory(1)});
  full.reserve = std::uint64_t{1} << 60;
  workers_.push_back(std::make_unique<Worker>(full));
  auto written = write_chunk(*client_, ChunkId(1), 2'500'000, addresses(), random_);
  ASSERT_TRUE(written) << written.error().to_string();
  EXPECT_EQ(written->durable, std::vector{workers_[0]->address()});
  ASSERT_EQ(written->failures.size(), 1u);
  EXPECT_EQ(written->failures[0].error.code(), Code::resource_exhausted);
  EXPECT_EQ(client_->create(ChunkId(2), {workers_[1]->address()}).error().code(), Code::resource_exhausted);
}

TEST_F(ChunkTransferTest, BytesDamagedOnTheWayAreNeverDurable) {
  start(2);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const DamagingProxy proxy(workers_[1]->address(), false, 8 * (1000 + random.below(1'990'000)));
    auto written = write_chunk(*client_, ChunkId(seed), 2'000'000, {workers_[0]->address(), proxy.address()}, random);
    ASSERT_TRUE(written) << written.error().to_string();
    EXPECT_EQ(written->durable, std::vector{workers_[0]->address()});
    EXPECT_TRUE(workers_[1]->store().list().empty());
    const auto alone = write_chunk(*client_, ChunkId(100 + seed), 2'000'000, {proxy.address()}, random);
    EXPECT_FALSE(alone);
    EXPECT_TRUE(workers_[1]->store().list().empty());
  }
}

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

TEST_F(ChunkTransferTest, AChainIsCutBeforeAMemberThatIsForgotten) {
  start(1);
  for (const rpc::MessageType last : {kBeginWrite, kWriteBytes, kSealChunk}) {  // what it does not answer any more
    std::vector<rpc::Responder> held;
    std::promise<void> asked;
    std::unique_ptr<rpc::Listener> listener;
    const auto stopped = rpc::Reactor::start("stopped");
    stopped->run([&] {
      listener = *stopped->listen({"127.0.0.1:0"}, chunk_limits(), [&](const rpc::ConnectionPtr&) {
        rpc::Handler handler;
        handler.on_request = [&](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
          if (message.type != last) return responder.reply({});
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
  EXPECT_EQ(code(kOpenChunk, encode_open(info)), Code{});
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 0, 1000})), Code{});
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 1, 1000})), Code::invalid_argument);
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 65'536, 65'536})), Code::invalid_argument);
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 0, 0})), Code::invalid_argument);
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), 0, 1u << 30})), Code::invalid_argument);
  EXPECT_EQ(code(kReadPages, encode_read({ChunkId(1), std::uint64_t{1} << 63, 65'536})), Code::invalid_argument);
  EXPECT_EQ(code(kOpenChunk, Buffer::copy_of(as_bytes("no message at all"))), Code::corrupt);
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
    (*connection)->request(kOpenChunk, {encode_open(slow), {}, {}}, 60s, [&](Result<rpc::Message>) { opened.set_value(); });
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
  EXPECT_TRUE(rpc::call(*reactor_, *connection, kOpenChunk, {encode_open(info), {}, {}}, 60s));  // after what waited before it
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
      connection->request(kOpenChunk, {encode_open(wanted), {}, {}}, 60s,
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

// ---- deaths of processes

struct ServerProcess {
  explicit ServerProcess(const std::string& directory)
      : process(std::make_unique<test::Process>(std::vector<std::string>{CHUNK_CHILD, "serve", directory})) {
    EXPECT_TRUE(test::eventually([&] { return process->out_so_far().find('\n') != std::string::npos; })) << process->err_so_far();
    address = process->out_so_far();
    address.resize(address.find('\n'));
  }
  std::unique_ptr<test::Process> process;
  std::string address;
};

TEST_F(ChunkTransferTest, WhatIsAcknowledgedSurvivesTheDeathOfAnyMember) {
  client_ = std::make_unique<ChunkClient>(*reactor_, quick_options());
  std::size_t survived = 0;
  for (std::uint64_t seed = 1; seed <= (test::kSanitized ? 6u : 20u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<ServerProcess> servers;
    std::vector<std::string> targets;
    const auto home = [&](std::size_t i) { return scratch_ / ("s" + std::to_string(seed) + "-" + std::to_string(i)); };
    for (std::size_t i = 0; i < 3; ++i) targets.push_back(servers.emplace_back(home(i)).address);
    const std::size_t victim = random.below(3);
    const std::uint64_t delay = random.below(60'000);
    std::thread killer([&] {
      ::usleep(static_cast<useconds_t>(delay));
      servers[victim].process->signal(SIGKILL);
    });
    const auto written = write_chunk(*client_, ChunkId(seed), 1 + random.below(20'000'000), targets, random);
    killer.join();
    for (auto& server : servers) server.process->signal(SIGKILL);
    for (auto& server : servers) server.process->wait();
    if (!written) {
      EXPECT_EQ(victim, 0u) << written.error().to_string();  // only the first can end it
      continue;
    }
    ++survived;
    EXPECT_EQ(written->durable.size() + written->failures.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      auto store = open_store(quiet_options({home(i)}, events_[i].listener()));
      ASSERT_NE(store, nullptr);
      const bool durable = std::count(written->durable.begin(), written->durable.end(), targets[i]) != 0;
      if (!durable) continue;
      const auto content = read_chunk(*store, written->info);
      ASSERT_TRUE(content) << content.error().to_string();
      EXPECT_TRUE(*content == content_of(seed, written->info.length));
    }
  }
  EXPECT_GT(survived, 0u);
  for (const Events& events : events_) EXPECT_TRUE(events.of(ChunkEvent::corrupt).empty());
}

TEST_F(ChunkTransferTest, TheDeathOfAWriterLeavesWholeChunksOnly) {
  start(3);
  for (std::uint64_t seed = 1; seed <= (test::kSanitized ? 6u : 20u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::string> command = {CHUNK_CHILD, "put", std::to_string(seed * 1000)};
    for (const std::string& address : addresses()) command.push_back(address);
    test::Process writer(command);
    const std::size_t enough = random.below(6) * 8;
    ASSERT_TRUE(test::eventually([&] { return writer.out_so_far().size() >= enough; }));
    ::usleep(static_cast<useconds_t>(random.below(30'000)));
    writer.signal(SIGKILL);
    const std::string out = writer.wait().out;
    std::istringstream lines(out.substr(0, out.rfind('\n') + 1));
    std::uint64_t id = 0, length = 0;
    while (lines >> id >> length)
      for (const auto& worker : workers_) EXPECT_EQ(worker->store().find(ChunkId(id)).value_or(ChunkInfo{}).length, length);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(test::eventually([&] { return test::entries(directory(i) + "/unsealed").empty(); }));
  }
  for (const auto& worker : workers_) {
    for (const StoredChunk& chunk : worker->store().list()) {
      const auto content = read_chunk(worker->store(), chunk.info);
      ASSERT_TRUE(content);
      EXPECT_TRUE(*content == content_of(chunk.info.id.value(), chunk.info.length));
    }
  }
}

}  // namespace
}  // namespace weft::storage
