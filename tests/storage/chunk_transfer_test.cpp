#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/sanitized.hpp"
#include "storage/chunks/chunk_file.hpp"
#include "storage/transfer/read_turns.hpp"
#include "tests/storage/transfer_fixture.hpp"

namespace weft::storage {
namespace {

using namespace std::chrono_literals;

TEST_F(ChunkTransferTest, EveryReplicaHoldsWhatWasWritten) {
  start(3);
  ChunkClient remote(*reactor_, quick_options(false));
  std::uint64_t id = 0;
  for (const std::size_t size : {0u, 1u, 65'535u, 65'536u, 65'537u, 1'048'576u, 5'000'001u, 12'345'678u}) {
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
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 30u : 200u); ++seed) {
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
  options.idle_deadline = 500ms;
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

/// A worker that answers reads when it is let, of chunks of zeros.
class SlowWorker {
 public:
  SlowWorker() {
    reactor_->run([&] {
      listener_ = *reactor_->listen({"127.0.0.1:0"}, chunk_limits(), [&](const rpc::ConnectionPtr&) {
        rpc::Handler handler;
        handler.on_request = [&](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
          if (message.type == kOpenChunk) return responder.reply({encode_served(""), {checksums()}, {}});
          const std::uint32_t bytes = decode_read(message.header.view()).value().length;
          if (answers_) return reply(responder, bytes);
          held_.emplace_back(std::move(responder), bytes);
        };
        return handler;
      });
    });
  }
  ~SlowWorker() {
    reactor_->run([&] {
      held_.clear();
      listener_.reset();
    });
    reactor_->stop();
  }
  static ChunkInfo chunk() { return {ChunkId(1), kPages * kPageBytes, digest_of(sums())}; }
  std::string address() const { return listener_->endpoint().text; }
  std::size_t held() {
    std::size_t count = 0;
    reactor_->run([&] { count = held_.size(); });
    return count;
  }
  void answer() {
    reactor_->run([&] {
      answers_ = true;
      for (auto& [responder, bytes] : std::exchange(held_, {})) reply(responder, bytes);
    });
  }

 private:
  static constexpr std::uint64_t kPages = 4;
  static std::vector<std::uint32_t> sums() {
    PageChecksums pages;
    const std::string zeros(kPages * kPageBytes, '\0');
    pages.add(as_bytes(zeros));
    return pages.finish();
  }
  static SharedBytes checksums() {
    const auto kept = std::make_shared<const std::vector<std::uint32_t>>(sums());
    return {{reinterpret_cast<const std::byte*>(kept->data()), kept->size() * sizeof(std::uint32_t)}, kept};
  }
  static void reply(rpc::Responder& responder, std::uint32_t bytes) {
    const auto zeros = std::make_shared<const std::string>(bytes, '\0');
    responder.reply({{}, {SharedBytes(as_bytes(*zeros), zeros)}, {}});
  }

  const std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("slow");
  std::unique_ptr<rpc::Listener> listener_;
  std::vector<std::pair<rpc::Responder, std::uint32_t>> held_;
  bool answers_ = false;
};

TEST_F(ChunkTransferTest, ReadsOfOneConnectionTakeTurns) {
  SlowWorker worker;
  const auto connection = rpc::connect(*reactor_, {worker.address()}, std::chrono::seconds(5), {}, chunk_limits());
  ASSERT_TRUE(connection);
  constexpr std::uint32_t kRequests = 200;
  const auto turns = std::make_shared<ReadTurns>();
  std::atomic<std::uint32_t> answered = 0, failed = 0;
  reactor_->run([&] {
    for (std::uint32_t i = 0; i < kRequests; ++i)
      turns->request(*connection, {ChunkId(1), 0, kPageBytes}, std::chrono::seconds(60),
                     [&](const Result<rpc::Message>& reply) { ++(reply ? answered : failed); });
  });
  // What is answered at once came behind all that was sent.
  ASSERT_TRUE(
      rpc::call(*reactor_, *connection, kOpenChunk, {encode_open({SlowWorker::chunk(), {}}), {}, {}}, std::chrono::seconds(60)));
  EXPECT_EQ(worker.held(), ReadTurns::kMostReads);
  worker.answer();
  EXPECT_TRUE(test::eventually([&] { return answered + failed == kRequests; }));
  EXPECT_EQ(failed, 0u);
}

TEST_F(ChunkTransferTest, ManyReadersOfOneProcessDoNotCrowdEachOtherOut) {
  constexpr std::size_t kReaders = 80;
  SlowWorker worker;
  auto options = quick_options(false);
  options.read_deadline = std::chrono::seconds(60);
  options.read_bytes = kPageBytes;
  ChunkClient client(*reactor_, options);
  std::atomic<std::size_t> begun = 0;
  std::vector<std::future<Result<std::string>>> readers;
  for (std::size_t i = 0; i < kReaders; ++i)
    readers.push_back(std::async(std::launch::async, [&]() -> Result<std::string> {
      WEFT_ASSIGN(const auto reader, client.open({SlowWorker::chunk(), {worker.address()}}));
      reader->will_read(SlowWorker::chunk().length);
      ++begun;
      return read_all(*reader);
    }));
  EXPECT_TRUE(test::eventually([&] { return begun == kReaders && worker.held() >= ReadTurns::kMostReads; }));
  worker.answer();
  for (auto& reader : readers) {
    const auto content = reader.get();
    ASSERT_TRUE(content) << content.error().to_string();
    EXPECT_TRUE(*content == std::string(SlowWorker::chunk().length, '\0'));
  }
}

}  // namespace
}  // namespace weft::storage
