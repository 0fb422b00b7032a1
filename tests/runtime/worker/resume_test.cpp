// A whole worker whose master, a few lines of this test, goes away and comes back.
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "runtime/protocol/worker.hpp"
#include "runtime/worker/worker.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/block_fetcher.hpp"
#include "shuffle/transfer/block_server.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr JobId kJob(7);

/// Of another worker no more than its data port, with one map output of shuffle 1.
class OtherWorker {
 public:
  explicit OtherWorker(const std::string& directory) : store_(shuffle::Store::open(directory, 1u << 20).value()) {
    auto writer = shuffle::SegmentWriter::in_memory(1).value();
    EXPECT_TRUE(writer->append(0, as_bytes(std::string(100'000, 'x')), 1));
    EXPECT_TRUE(store_->put({kJob, ShuffleId(1), 0, 0}, writer->seal().value()));
    reactor_->run([this] {
      listener_ =
          reactor_
              ->listen({"127.0.0.1:0"}, shuffle::transfer_limits(), [this](const rpc::ConnectionPtr&) { return server_.handler(); })
              .value();
      address.address = listener_->endpoint().text;
    });
  }
  ~OtherWorker() { stop(); }
  /// From now on nothing can be had of it.
  void stop() {
    reactor_->run([this] { listener_.reset(); });
    reactor_->stop();
  }

  protocol::NodeAddress address{NodeId(9), "w9", "", ""};

 private:
  std::unique_ptr<shuffle::Store> store_;
  shuffle::BlockServer server_{*store_, shuffle::JobKeys::none()};
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("other worker");
  std::unique_ptr<rpc::Listener> listener_;
};

class ResumeTest : public testing::Test {
 protected:
  void SetUp() override {
    program_ = read_file(EXECUTOR_CHILD, 1u << 30).value();
    endpoint_.text = "unix:" + (directory_.path() / "master").string();
    listen();
  }
  void TearDown() override {
    worker_.reset();
    master_->run([&] { listener_.reset(); });
    master_->stop();
  }
  void start_worker(Duration patience = 10min, const std::string& masters = "") {
    WorkerOptions options;
    options.master = masters.empty() ? endpoint_.text : masters;
    options.name = "w1";
    options.slots = 2;
    options.memory_bytes = options.store_bytes = 64u << 20;
    options.directory = (directory_.path() / "worker").string();
    options.master_patience = patience;
    worker_ = Worker::start(std::move(options)).value();
    wait_for([this] { return accepted_ == 1; });
  }

  void listen() {
    master_->run(
        [&] { listener_ = master_->listen(endpoint_, limits(), [this](const rpc::ConnectionPtr&) { return handler(); }).value(); });
  }
  rpc::Limits limits() const {
    rpc::Limits limits;
    limits.protocols = protocols_;
    return limits;
  }
  /// From now on nothing listens, and there is no connection.
  void stop_master() {
    master_->run([&] {
      listener_->close();
      listener_.reset();
      if (connection_) connection_->close();
    });
  }
  void restart_master() {
    int before = 0;
    {
      const std::lock_guard lock(mutex_);
      before = accepted_;
      reported_.clear();
    }
    if (listener_) stop_master();
    listen();
    wait_for([&] { return accepted_ > before; });
  }

  rpc::Handler handler() {
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
      message.type == protocol::kRegister ? on_register(connection, message, std::move(responder))
                                          : on_fetch(connection, message, std::move(responder));
    };
    handler.on_notify = [this](const rpc::ConnectionPtr&, const rpc::Message& message) {
      const std::lock_guard lock(mutex_);
      if (message.type == protocol::kHeartbeat) {
        heartbeat_ = protocol::decode<protocol::Heartbeat>(message).value();
        ++heartbeats_;
      }
      if (message.type == protocol::kLeaving) ++leaving_;
      if (message.type == protocol::kReplicaEnded) replica_ = protocol::decode<protocol::ReplicaEnded>(message).value();
      if (message.type == protocol::kTaskEvents) {
        auto report = protocol::decode<protocol::Events>(message).value();
        for (protocol::Event& event : report.events) reported_.push_back(std::move(event));
      }
      changed_.notify_all();
    };
    return handler;
  }
  void on_register(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
    const std::lock_guard lock(mutex_);
    connection_ = connection;
    registration_ = protocol::decode<protocol::Register>(message).value();
    changed_.notify_all();
    if (!ready_) {
      ++refused_;
      return responder.fail(Error(Code::unavailable, "the master is not ready"));
    }
    ++accepted_;
    protocol::Registered as{node_, 20ms, "default", registration_->name};
    as.resumed = registration_->held.has_value() && resumes_;
    as.keeps_jobs = keeps_;
    responder.reply(protocol::encode(as));
  }
  void on_fetch(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
    const auto request = protocol::decode<protocol::BinaryRequest>(message).value();
    const std::lock_guard lock(mutex_);
    if (vanishes_) {
      ready_ = vanishes_ = false;
      return connection->close();
    }
    rpc::Payload payload = protocol::encode(protocol::BinaryChunk{program_.size()});
    payload.bulk.emplace_back(
        Buffer::copy_of(as_bytes(std::string_view(program_).substr(request.offset, protocol::kBinaryChunkBytes))));
    responder.reply(std::move(payload));
  }

  template <class Condition>
  void wait_for(Condition condition) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, 60s, condition));
  }
  /// For what does not notify.
  template <class Condition>
  static void poll(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(1ms);
    }
  }
  void set(bool& flag, bool value) {
    const std::lock_guard lock(mutex_);
    flag = value;
  }
  template <class... Command>
  void command(Command... commands) {
    protocol::Commands all;
    (all.commands.push_back(std::move(commands)), ...);
    master_->run([&] { connection_->notify(protocol::kCommands, protocol::encode(std::move(all))); });
  }
  void acknowledge(std::uint64_t events) {
    master_->run([&] { connection_->notify(protocol::kEventsKept, protocol::encode(protocol::EventsKept{events})); });
  }
  protocol::JobSetup setup() {
    protocol::JobSetup setup;
    setup.job = kJob;
    setup.name = setup.program = "child";
    setup.directory = directory_.path().string();
    setup.binary = hash_file(EXECUTOR_CHILD).value();
    return setup;
  }
  static protocol::Launch launch(std::uint32_t stage, std::uint32_t task = 0) {
    protocol::Launch launch;
    launch.attempt = {{kJob, StageId(stage), task}, 0};
    launch.spec.fingerprint = 42;
    launch.spec.output_partitions = 1;
    launch.stage_name = "the stage";
    return launch;
  }
  /// The text of the result of that task, once it has ended.
  std::string result(std::uint32_t stage, std::uint32_t task = 0) {
    std::string text;
    wait_for([&] {
      for (const protocol::Event& event : reported_) {
        if (event.attempt != launch(stage, task).attempt) continue;
        EXPECT_EQ(event.kind, TaskEnd::finished) << event.message;
        text = as_chars(event.result.view());
        return true;
      }
      return false;
    });
    return text;
  }
  /// A task runs that has committed its output; it ends when allow_end() says so. Returns the id of its process.
  pid_t run_task() {
    command(setup(), launch(8), launch(7));
    const pid_t executor = std::stoi(result(8));
    wait_until_committed();
    return executor;
  }
  /// Stage 7's only task has: its output can be had.
  void wait_until_committed() {
    poll([&] { return std::filesystem::exists(directory_.path() / "committed"); });
  }
  /// It has done all that was commanded before: then it reports a replica, of an output that is there.
  void wait_until_obeyed() {
    {
      const std::lock_guard lock(mutex_);
      replica_.reset();
    }
    command(protocol::ReplicateOutput{node_, kJob, ShuffleId(7), {0, 0, NodeId(9)}, {NodeId(9), "w9", "127.0.0.1:1", ""}});
    wait_for([&] { return replica_.has_value(); });
  }
  /// And has reported it: the second heartbeat since then was made after it.
  void wait_until_obeyed_by_heartbeat() {
    wait_for([&, from = heartbeats_] { return heartbeats_ >= from + 2; });
  }
  /// As another worker would get the output; `key` 0: without one.
  Result<void> fetch_with(std::uint64_t key) const {
    const auto reactor = rpc::Reactor::start("another");
    const auto keys = std::make_shared<shuffle::JobKeys>();
    keys->set(kJob, key);
    std::promise<shuffle::FetchOutcome> outcome;
    std::optional<shuffle::BlockFetcher> fetcher;
    reactor->run([&] {
      fetcher.emplace(*reactor, shuffle::FetchOptions{.pull = {.keys = keys}});
      fetcher->fetch({worker_->data_address(), kJob, ShuffleId(7), 0, {{0, 0}}},
                     [&](shuffle::FetchOutcome done) { outcome.set_value(std::move(done)); });
    });
    const shuffle::FetchOutcome done = outcome.get_future().get();
    reactor->run([&] { fetcher.reset(); });
    reactor->stop();
    return done.blocks.map([](const auto&) {});
  }
  void allow_end() { ASSERT_TRUE(write_file(directory_.path() / "go", "")); }
  static bool alive(pid_t process) { return ::kill(process, 0) == 0; }

  TempDir directory_ = TempDir::create().value();
  std::string program_;
  rpc::ProtocolRange protocols_ = rpc::kProtocols;  // that the master speaks
  rpc::Endpoint endpoint_;
  std::unique_ptr<rpc::Reactor> master_ = rpc::Reactor::start("master");
  std::unique_ptr<rpc::Listener> listener_;
  std::unique_ptr<Worker> worker_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  rpc::ConnectionPtr connection_;
  std::optional<protocol::Register> registration_;
  protocol::Heartbeat heartbeat_;
  std::vector<protocol::Event> reported_;  // on this registration
  NodeId node_{5};
  bool ready_ = true, resumes_ = true, keeps_ = true, vanishes_ = false;
  int accepted_ = 0, refused_ = 0, leaving_ = 0, heartbeats_ = 0;
  std::optional<protocol::ReplicaEnded> replica_;
};

TEST_F(ResumeTest, ATaskEndsWhileTheMasterIsAwayAndIsReportedAfter) {
  start_worker();
  const pid_t executor = run_task();
  acknowledge(1);
  stop_master();
  allow_end();
  restart_master();
  EXPECT_EQ(result(7), std::to_string(executor));
  ASSERT_TRUE(registration_->held);
  const protocol::Held& held = *registration_->held;
  EXPECT_EQ(held.node, NodeId(5));
  EXPECT_EQ(held.jobs, std::vector{kJob});
  EXPECT_EQ(held.running, std::vector{launch(7).attempt});
  ASSERT_EQ(held.outputs.size(), 1u);
  EXPECT_EQ(held.outputs[0].shuffle, ShuffleId(7));
  EXPECT_EQ(held.outputs[0].map, 0u);
  command(launch(8, 1));
  EXPECT_EQ(result(8, 1), std::to_string(executor)) << "the executor is the same";
}

TEST_F(ResumeTest, AMasterMayComeBackTwice) {
  start_worker();
  const pid_t executor = run_task();
  restart_master();
  EXPECT_EQ(registration_->held->running.size(), 2u) << "the end of one was not acknowledged";
  EXPECT_EQ(result(8), std::to_string(executor));
  acknowledge(1);
  restart_master();
  EXPECT_EQ(registration_->held->running, std::vector{launch(7).attempt});
  allow_end();
  EXPECT_EQ(result(7), std::to_string(executor));
  EXPECT_EQ(reported_.size(), 1u);
}

TEST_F(ResumeTest, WhatAMasterDoesNotResumeEndsAndTheJobMayBeGivenAgain) {
  start_worker();
  const pid_t executor = run_task();
  wait_for([&] { return heartbeat_.store_memory_bytes > 0; });
  set(resumes_, false);
  node_ = NodeId(6);
  restart_master();
  EXPECT_EQ(registration_->held->outputs.size(), 1u);
  command(setup(), launch(8, 1));
  EXPECT_NE(result(8, 1), std::to_string(executor));
  poll([&] { return !alive(executor); });
  wait_for([&] { return heartbeat_.store_memory_bytes == 0; });
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "worker" / "jobs" / "7"));
  command(launch(8, 2));
  (void)result(8, 2);
  EXPECT_EQ(reported_.size(), 2u) << "this node has not run the earlier attempt";
}

TEST_F(ResumeTest, AnotherMasterOfTheListTakesOver) {
  const std::string first = endpoint_.text, second = first + "2";
  start_worker(10min, first + "," + second);
  const pid_t executor = run_task();
  acknowledge(1);
  stop_master();
  endpoint_.text = second;
  restart_master();
  ASSERT_TRUE(registration_->held);
  EXPECT_EQ(registration_->held->running, std::vector{launch(7).attempt});
  allow_end();
  EXPECT_EQ(result(7), std::to_string(executor));
}

TEST_F(ResumeTest, WithAMasterThatKeepsNothingEverythingEndsAtOnce) {
  keeps_ = false;
  start_worker();
  const pid_t executor = run_task();
  stop_master();
  poll([&] { return !alive(executor); });
  restart_master();
  EXPECT_FALSE(registration_->held);
  EXPECT_TRUE(reported_.empty());
  wait_for([&] { return heartbeat_.clock > 0s && heartbeat_.store_memory_bytes == 0; });
}

TEST_F(ResumeTest, PatienceWithAMasterEnds) {
  start_worker(200ms);
  const pid_t executor = run_task();
  stop_master();
  poll([&] { return !alive(executor); });
  restart_master();
  EXPECT_FALSE(registration_->held);
  command(setup(), launch(8, 1));
  EXPECT_NE(result(8, 1), std::to_string(executor));
}

TEST_F(ResumeTest, WhatIsCommandedTwiceIsDoneOnce) {
  start_worker();
  const auto value = [](std::uint32_t action) {
    return protocol::ActionValue{kJob, ActionId(action), SharedBytes(Buffer::copy_of(as_bytes("v")))};
  };
  command(setup(), value(0), launch(8));
  const std::string executor = result(8);
  command(value(1));
  restart_master();
  command(setup(), value(0), value(1), value(2), launch(8, 1));
  EXPECT_EQ(result(8, 1), executor);
  const auto log = rpc::call(*master_, connection_, protocol::kReadLog, protocol::encode(protocol::LogRequest{kJob, 1000}), 60s);
  ASSERT_TRUE(log) << log.error().to_string();
  EXPECT_EQ(as_chars(log->bulk.view()), "value 0\nvalue 1\nvalue 2\n");
}

TEST_F(ResumeTest, AProgramIsFetchedAcrossARestart) {
  start_worker();
  set(vanishes_, true);
  command(setup(), launch(8));
  wait_for([&] { return refused_ >= 6; });  // for longer than a fetch is tried again
  EXPECT_EQ(registration_->held->running, std::vector{launch(8).attempt}) << "it waits for its program";
  set(ready_, true);
  EXPECT_FALSE(result(8).empty());
}

TEST_F(ResumeTest, AWorkerThatLeavesAnnouncesItAgain) {
  start_worker();
  worker_->drain(10min);
  wait_for([&] { return leaving_ == 1; });
  restart_master();
  wait_for([&] { return leaving_ == 2; });
}

TEST_F(ResumeTest, AReplicaThatIsThereIsMade) {
  start_worker();
  (void)run_task();
  command(protocol::ReplicateOutput{node_, kJob, ShuffleId(7), {0, 0, NodeId(9)}, {NodeId(9), "w9", "127.0.0.1:1", ""}});
  wait_for([&] { return replica_.has_value(); });
  EXPECT_EQ(replica_->error, "");
  EXPECT_EQ(replica_->replica.shuffle, ShuffleId(7));
}

TEST_F(ResumeTest, MapOutputsAreForThoseWhoKnowTheKeyOfTheJob) {
  start_worker();
  command(setup(), protocol::JobKey{kJob, 99}, launch(8), launch(7));
  wait_until_committed();
  EXPECT_TRUE(fetch_with(99));
  EXPECT_EQ(fetch_with(0).error().code(), Code::permission_denied);
  command(protocol::LowestProtocol{shuffle::kKeysSince - 1});
  wait_until_obeyed();
  EXPECT_TRUE(fetch_with(0));
  EXPECT_EQ(fetch_with(98).error().code(), Code::permission_denied);
  restart_master();
  wait_until_obeyed();
  EXPECT_TRUE(fetch_with(0)) << "it goes by what it knows until a master says otherwise";
  command(protocol::LowestProtocol{shuffle::kKeysSince});
  wait_until_obeyed();
  EXPECT_FALSE(fetch_with(0));
  EXPECT_TRUE(fetch_with(99));
  command(protocol::JobKey{kJob, 98});  // of a master that a master of an earlier release had stood in for
  wait_until_obeyed();
  EXPECT_TRUE(fetch_with(98));
  allow_end();
  result(7);
}

TEST_F(ResumeTest, UnderAMasterOfAnEarlierReleaseMapOutputsNeedNoKey) {
  start_worker();
  command(setup(), protocol::JobKey{kJob, 99}, launch(8), launch(7));
  wait_until_committed();
  EXPECT_FALSE(fetch_with(0));
  protocols_ = {1, shuffle::kKeysSince - 1};
  restart_master();
  wait_until_obeyed();
  EXPECT_TRUE(fetch_with(0)) << "such a master gives workers no keys";
  protocols_ = rpc::kProtocols;
  restart_master();
  wait_until_obeyed();
  EXPECT_TRUE(fetch_with(0)) << "workers may have none yet";
  allow_end();
  result(7);
}

TEST_F(ResumeTest, WhatWasPrefetchedStays) {
  OtherWorker other((directory_.path() / "other").string());
  start_worker();
  const std::vector<shuffle::MapOutput> outputs{{0, 0, NodeId(9)}};
  const auto prefetch = [&] {
    return protocol::PrefetchShuffle{node_, kJob, ShuffleId(1),   std::vector<std::uint32_t>{0}, outputs, 100'000,
                                     true,  {},   {other.address}};
  };
  command(setup(), prefetch());
  wait_for([&] { return heartbeat_.prefetch_memory_bytes >= 100'000; });
  const std::uint64_t held = heartbeat_.prefetch_memory_bytes, prefetched = heartbeat_.prefetch.prefetched_bytes;
  stop_master();
  other.stop();  // nothing can be fetched again
  restart_master();
  command(prefetch(),
          protocol::ShuffleLocations{
              node_, kJob, ShuffleId(1), std::make_shared<const std::vector<shuffle::MapOutput>>(outputs), 0, {other.address}});
  wait_until_obeyed_by_heartbeat();
  EXPECT_EQ(heartbeat_.prefetch_memory_bytes, held);
  EXPECT_EQ(heartbeat_.prefetch.prefetched_bytes, prefetched);
  command(launch(9));
  EXPECT_FALSE(result(9).empty());
  wait_for([&] { return heartbeat_.prefetch.read_bytes == prefetched; });
}

TEST_F(ResumeTest, JobsThatAreOverAreNotHeld) {
  start_worker();
  (void)run_task();
  command(protocol::ReleaseJob{node_, kJob});
  poll([&] { return !std::filesystem::exists(directory_.path() / "worker" / "jobs" / "7"); });
  restart_master();
  EXPECT_TRUE(registration_->held->jobs.empty());
  EXPECT_TRUE(registration_->held->outputs.empty());
}

}  // namespace
}  // namespace weft::runtime
