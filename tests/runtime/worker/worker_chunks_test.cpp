// A worker's chunks and what it tells a master, which is pretended here.
#include "runtime/worker/worker_chunks.hpp"

#include <future>
#include <optional>
#include <set>

#include <sys/resource.h>

#include "base/sanitized.hpp"
#include "storage/files/protocol.hpp"
#include "tests/storage/chunk_fixture.hpp"

namespace weft::runtime {
namespace {

using namespace storage;
using namespace storage::files;
using test::eventually;

class WorkerChunksTest : public testing::Test {
 protected:
  WorkerChunksTest() {
    reactor_->run([&] {
      listener_ = *reactor_->listen({"127.0.0.1:0"}, {}, [this](const rpc::ConnectionPtr& connection) {
        master_ = connection;
        return master();
      });
    });
  }
  ~WorkerChunksTest() override {
    reactor_->run([&] {
      service_.reset();
      connection_.reset();
    });
    EXPECT_TRUE(!given_up_ || cluster_ != "test-cluster") << given_up_->to_string();
    chores_->stop();
    reactor_->stop();
  }

  void put(std::uint64_t count) {
    const auto store = open_store(quiet_options({scratch_ / "chunks"}));
    for (std::uint64_t id = 1; id <= count; ++id) put_chunk(*store, ChunkId(id), content_of(id, 100));
  }
  void start(WorkerChunkOptions options = {}) {
    options.directories = {scratch_ / "chunks"};
    options.reserve = 0;
    options.scrub_rate = 0;
    reactor_->run([&] {
      service_ =
          worker_chunks(options)(ChunkShell{*reactor_, *chores_, "127.0.0.1:1", [this](const Error& why) { given_up_ = why; }});
    });
  }
  void start_and_join(WorkerChunkOptions options = {}) {
    start(std::move(options));
    join();
  }
  void join() {
    register_again();
    ASSERT_TRUE(eventually([&] { return seen([&] { return listed_.size() == 1; }); }));
  }
  void register_again() {
    connect();
    reactor_->run([&] { service_->registered(connection_); });
  }
  void connect() {
    rpc::Handler handler;
    handler.on_notify = [this](const rpc::ConnectionPtr&, const rpc::Message& message) { service_->on_notify(message); };
    const auto connection = rpc::connect(*reactor_, listener_->endpoint(), std::chrono::seconds(10), std::move(handler));
    ASSERT_TRUE(connection) << connection.error().to_string();
    reactor_->run([&] { connection_ = *connection; });
  }
  /// It has the answers of the master to all that it has asked so far.
  void await_answers() {
    std::promise<void> answered;
    reactor_->run(
        [&] { connection_->request(kStorageSpace, {}, std::chrono::seconds(10), [&](const auto&) { answered.set_value(); }); });
    answered.get_future().wait();
  }
  /// The worker's disks answer nobody until the result goes.
  std::shared_ptr<void> busy() {
    auto over = std::make_shared<std::promise<void>>();
    chores_->post([waiting = std::make_shared<std::future<void>>(over->get_future())] { waiting->wait(); });
    return {over.get(), [over](void*) { over->set_value(); }};
  }
  void command_erasure(std::uint64_t most) {
    std::vector<ChunkId> ids;
    for (std::uint64_t id = 1; id <= most; ++id) ids.emplace_back(id);
    reactor_->run([&] {
      service_->on_notify({kChunkCommands, Buffer(encode(ChunkCommands{{EraseChunks{{}, ids}}}).header), {}, {}});
    });
  }
  /// On the thread that hears of things.
  template <class F>
  bool seen(F&& what) {
    bool result = false;
    reactor_->run([&] { result = what(); });
    return result;
  }

  test::ScratchDirectory scratch_;
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("worker"), chores_ = rpc::Reactor::start("chores");
  std::unique_ptr<ChunkService> service_;
  rpc::ConnectionPtr connection_;              // of the worker to the master
  std::string cluster_ = "test-cluster";       // of the master
  std::size_t joins_ = 0;                      // answered
  std::optional<Error> given_up_;              // by the service
  std::size_t spaces_ = 0;                     // heartbeats
  std::vector<std::set<ChunkId>> listed_;      // of whole reports
  std::vector<std::vector<ChunkNote>> notes_;  // of each message

 private:
  rpc::Handler master() {
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
      if (message.type == kStorageHello) return responder.reply(encode(StorageSite{true, cluster_, {}}));
      if (message.type == kStorageJoin) ++joins_;
      responder.reply({});
    };
    handler.on_notify = [this](const rpc::ConnectionPtr&, const rpc::Message& message) {
      if (message.type == kStorageSpace) ++spaces_;
      if (message.type == kChunkUpdate) notes_.push_back(decode<ChunkUpdate>(message).value().notes);
      if (message.type != kBlockReport) return;
      const ChunkReport report = decode<ChunkReport>(message).value();
      if (report.first) listing_.clear();
      for (const ChunkInfo& info : report.chunks) listing_.insert(info.id);
      if (report.last) listed_.push_back(listing_);
    };
    return handler;
  }

  std::unique_ptr<rpc::Listener> listener_;
  rpc::ConnectionPtr master_;
  std::set<ChunkId> listing_;
};

TEST_F(WorkerChunksTest, HeartbeatsGoOutWhileDisksAreBusy) {
  start_and_join();
  const auto until = busy();
  for (std::size_t i = 1; i <= 3; ++i) {
    reactor_->run([&] { service_->heartbeat(); });
    EXPECT_TRUE(eventually([&] { return seen([&] { return spaces_ >= i; }); })) << i;
  }
}

TEST_F(WorkerChunksTest, ErasuresAreAcknowledgedPieceByPiece) {
  put(250);
  start_and_join();
  EXPECT_EQ(listed_[0].size(), 250u);
  command_erasure(260);  // some of which are not here
  std::set<ChunkId> erased;
  ASSERT_TRUE(eventually([&] {
    return seen([&] {
      for (const auto& some : notes_)
        for (const ChunkNote& note : some)
          if (note.event == ChunkEvent::erased) erased.insert(note.chunk.id);
      return erased.size() == 260;
    });
  }));
  EXPECT_GE(notes_.size(), 3u);
}

TEST_F(WorkerChunksTest, AMassDeletionLeavesOthersTheirTurns) {
  put(250);
  start_and_join();
  auto until = busy();
  command_erasure(250);
  std::promise<std::size_t> between;
  chores_->post([&] {
    std::size_t left = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(scratch_ / "chunks/chunks")) ++left;
    between.set_value(left);
  });
  until.reset();
  EXPECT_EQ(between.get_future().get(), 150u);
}

TEST_F(WorkerChunksTest, WhatIsInADirectoryThatJoinsLaterIsReported) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer looks at objects through pipes, and takes them for invalid without descriptors";
  put(3);
  start();
  connect();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};  // short of descriptors it is as if the disk were full
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  reactor_->run([&] { service_->registered(connection_); });
  const bool joined = eventually([&] { return seen([&] { return listed_.size() == 1; }); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(joined);
  EXPECT_TRUE(seen([&] { return listed_[0].empty(); }));
  reactor_->run([&] { service_->heartbeat(); });
  ASSERT_TRUE(eventually([&] { return seen([&] { return listed_.size() == 2; }); }));
  EXPECT_EQ(listed_[1].size(), 3u);
}

TEST_F(WorkerChunksTest, WhatWasOrderedAndNotDoneEndsWithTheRegistration) {
  put(10);
  start_and_join();
  auto until = busy();
  command_erasure(10);
  reactor_->run([&] {
    service_->lost();
    listed_.clear();
  });
  until.reset();
  join();
  EXPECT_EQ(listed_[0].size(), 10u);
  EXPECT_TRUE(seen([&] { return notes_.empty(); }));
}

TEST_F(WorkerChunksTest, AMasterOfAnotherClusterGetsNoReportOfDirectoriesThatAreBeingOpened) {
  put(5);
  auto until = busy();
  start();
  register_again();
  await_answers();
  reactor_->run([&] {
    service_->lost();
    cluster_ = "another";
  });
  register_again();
  ASSERT_TRUE(eventually([&] { return seen([&] { return given_up_.has_value(); }); }));
  EXPECT_EQ(given_up_->code(), Code::version_mismatch);
  until.reset();
  std::promise<void> opened;
  chores_->post([&] { opened.set_value(); });
  opened.get_future().wait();
  reactor_->run([] {});
  EXPECT_TRUE(seen([&] { return joins_ == 0 && listed_.empty(); }));
}

TEST_F(WorkerChunksTest, AllChunksAreReportedAgainNowAndThen) {
  put(5);
  WorkerChunkOptions options;
  options.report_interval = std::chrono::milliseconds(5);
  start_and_join(options);
  EXPECT_TRUE(eventually([&] { return seen([&] { return listed_.size() >= 4; }); }));
  EXPECT_TRUE(seen([&] { return std::all_of(listed_.begin(), listed_.end(), [](const auto& all) { return all.size() == 5; }); }));
}

}  // namespace
}  // namespace weft::runtime
