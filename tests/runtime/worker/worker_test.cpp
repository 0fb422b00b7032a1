// A whole worker, with a master that is a few lines of this test and a job program that is executor_child.
#include "runtime/worker/worker.hpp"

#include <condition_variable>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

class WorkerTest : public testing::Test {
 protected:
  void SetUp() override {
    program_ = read_file(EXECUTOR_CHILD, 1u << 30).value();
    master_->run(
        [&] { listener_ = master_->listen({"127.0.0.1:0"}, {}, [this](const rpc::ConnectionPtr&) { return handler(); }).value(); });
    start();
  }
  void start(ChunkServiceFactory chunks = {}) {
    WorkerOptions options;
    options.chunks = std::move(chunks);
    options.master = listener_->endpoint().text;
    options.name = "w1";
    options.rack = "east";
    options.slots = 2;
    options.memory_bytes = options.store_bytes = 64u << 20;
    options.directory = (directory_.path() / "worker").string();
    options.private_cluster = true;
    worker_ = Worker::start(std::move(options)).value();
    wait_for([this] { return registration_.has_value(); });
  }
  void TearDown() override {
    worker_.reset();
    master_->run([&] { listener_.reset(); });
    master_->stop();
  }

  rpc::Handler handler() {
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
      if (message.type == protocol::kRegister) {
        const std::lock_guard lock(mutex_);
        connection_ = connection;
        registration_ = protocol::decode<protocol::Register>(message).value();
        protocol::Registered answer{NodeId(5), 20ms, "west", registration_->name};
        answer.numbering = numbering_;
        responder.reply(protocol::encode(std::move(answer)));
        changed_.notify_all();
      } else {
        const auto request = protocol::decode<protocol::BinaryRequest>(message).value();
        rpc::Payload payload = protocol::encode(protocol::BinaryChunk{program_.size()});
        payload.bulk.emplace_back(
            Buffer::copy_of(as_bytes(std::string_view(program_).substr(request.offset, protocol::kBinaryChunkBytes))));
        responder.reply(std::move(payload));
      }
    };
    handler.on_notify = [this](const rpc::ConnectionPtr&, const rpc::Message& message) {
      const std::lock_guard lock(mutex_);
      if (message.type == protocol::kHeartbeat) {
        ++heartbeats_;
        measured_ = protocol::decode<protocol::Heartbeat>(message).value().measured;
      }
      if (message.type == protocol::kTaskEvents) {
        auto report = protocol::decode<protocol::Events>(message).value();
        for (protocol::Event& event : report.events) events_.emplace(event.attempt, std::move(event));
      }
      if (message.type == protocol::kDriverEnded) drivers_.push_back(protocol::decode<protocol::DriverEnded>(message).value());
      changed_.notify_all();
    };
    return handler;
  }
  template <class Condition>
  void wait_for(Condition condition) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, 60s, condition));
  }
  template <class... Command>
  void command(Command... commands) {
    protocol::Commands all;
    (all.commands.push_back(std::move(commands)), ...);
    master_->run([&] { connection_->notify(protocol::kCommands, protocol::encode(std::move(all))); });
  }
  protocol::JobSetup setup() {
    protocol::JobSetup setup;
    setup.job = JobId(7);
    setup.name = setup.program = "child";
    setup.directory = directory_.path().string();
    setup.binary = hash_file(EXECUTOR_CHILD).value();
    return setup;
  }
  static protocol::Launch launch(std::uint32_t stage) {
    protocol::Launch launch;
    launch.attempt = {{JobId(7), StageId(stage), 0}, 0};
    launch.spec.fingerprint = 42;
    launch.stage_name = "the stage";
    return launch;
  }
  protocol::Event ended(std::uint32_t stage) {
    const AttemptId attempt = launch(stage).attempt;
    wait_for([&] { return events_.contains(attempt); });
    const std::lock_guard lock(mutex_);
    return std::move(events_[attempt]);
  }

  TempDir directory_ = TempDir::create().value();
  std::string program_;
  std::unique_ptr<rpc::Reactor> master_ = rpc::Reactor::start("master");
  std::unique_ptr<rpc::Listener> listener_;
  std::unique_ptr<Worker> worker_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  rpc::ConnectionPtr connection_;
  std::uint64_t numbering_ = 0;  // of its master
  std::optional<protocol::Register> registration_;
  std::map<AttemptId, protocol::Event> events_;
  std::vector<protocol::DriverEnded> drivers_;
  int heartbeats_ = 0;
  protocol::Measured measured_;  // of the last one
};

TEST_F(WorkerTest, SaysWhoItIsAndThatItLives) {
  EXPECT_EQ(registration_->name, "w1");
  EXPECT_EQ(registration_->rack, "east");
  EXPECT_EQ(registration_->slots, 2u);
  EXPECT_EQ(registration_->data_address, worker_->data_address());
  EXPECT_EQ(registration_->prefetch_bytes, 32u << 20);
  wait_for([this] { return heartbeats_ >= 3; });
  wait_for([this] { return measured_.machine.cpu > 0 && measured_.worker.memory > 1e6; });
}

TEST_F(WorkerTest, FetchesAJobsProgramRunsItsTasksAndForgetsIt) {
  command(setup(), launch(0), launch(1));
  const auto finished = ended(0);
  EXPECT_EQ(finished.kind, TaskEnd::finished) << finished.message;
  EXPECT_EQ(as_chars(finished.result.view()), "done");
  EXPECT_EQ(ended(1).kind, TaskEnd::user_code);
  const auto jobs = directory_.path() / "worker" / "jobs";
  EXPECT_TRUE(std::filesystem::exists(jobs / "7"));
  command(protocol::ReleaseJob{NodeId(1), JobId(7)});
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (std::filesystem::exists(jobs / "7") && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_FALSE(std::filesystem::exists(jobs / "7"));
}

/// It is on a file system that answers nobody, as that of a server which is gone.
TEST_F(WorkerTest, AChunkDirectoryThatHangsStopsNoPrograms) {
  struct Hanging final : ChunkService {
    rpc::Handler handler(rpc::Handler others) override { return others; }
    void registered(const rpc::ConnectionPtr&) override {}
    void lost() override {}
    bool on_notify(const rpc::Message&) override { return false; }
    void heartbeat() override {}
    void node_lost(const std::string&, const Error&) override {}
  };
  worker_.reset();
  {
    const std::lock_guard lock(mutex_);
    registration_.reset();
  }
  std::promise<void> answers;
  start([hangs = answers.get_future().share()](const ChunkShell& shell) {
    shell.chores.post([hangs] { hangs.wait(); });
    return std::make_unique<Hanging>();
  });
  command(setup(), launch(0));
  const auto finished = ended(0);
  EXPECT_EQ(finished.kind, TaskEnd::finished) << finished.message;
  answers.set_value();
}

TEST_F(WorkerTest, StartsAnotherExecutorAfterACrashAndShowsTheLog) {
  command(setup(), launch(2));
  EXPECT_EQ(ended(2).kind, TaskEnd::crashed);
  command(launch(0));
  EXPECT_EQ(ended(0).kind, TaskEnd::finished);
  const auto log =
      rpc::call(*master_, connection_, protocol::kReadLog, protocol::encode(protocol::LogRequest{JobId(7), 1u << 20}), 60s);
  ASSERT_TRUE(log) << log.error().to_string();
  EXPECT_NE(as_chars(log->bulk.view()).find("the last line before the end"), std::string_view::npos);
}

TEST_F(WorkerTest, WhenItsMasterBeginsJobIdsAgainItShowsNoLogOfTheJobThatHadTheId) {
  const auto log_of_job = [&] {
    const auto log =
        rpc::call(*master_, connection_, protocol::kReadLog, protocol::encode(protocol::LogRequest{JobId(7), 1u << 20}), 60s);
    return log ? std::string(as_chars(log->bulk.view())) : log.error().to_string();
  };
  const auto restart = [&] {
    worker_.reset();
    registration_.reset();
    start();
  };
  numbering_ = 77;
  restart();
  ASSERT_TRUE(write_file(directory_.path() / "worker/logs/job-7.log", "alice's secret\n"));
  restart();
  EXPECT_EQ(log_of_job(), "alice's secret\n") << "the master is the same";
  numbering_ = 78;
  restart();
  EXPECT_EQ(log_of_job(), "");
}

TEST_F(WorkerTest, KillsWhatRunsAndWhatWaitsForItsProgram) {
  command(setup(), launch(3), protocol::KillTask{NodeId(1), launch(3).attempt, protocol::KillCause::preempted, "preempted"});
  const auto killed = ended(3);
  EXPECT_EQ(killed.kind, TaskEnd::killed);
  EXPECT_EQ(killed.message, "preempted");
}

/// A small disk may be full for a moment.
TEST_F(WorkerTest, AJobThatCouldNotBePreparedIsPreparedForTheNextTask) {
  const auto jobs = directory_.path() / "worker" / "jobs", away = directory_.path() / "away";
  std::filesystem::rename(jobs, away);
  command(setup(), launch(1));
  EXPECT_EQ(ended(1).kind, TaskEnd::environment);
  std::filesystem::rename(away, jobs);
  std::filesystem::create_directory_symlink(directory_.path(), jobs / "7");  // as its user can, of a job of before
  command(launch(0));
  const auto event = ended(0);
  EXPECT_EQ(event.kind, TaskEnd::finished) << event.message;
  EXPECT_FALSE(std::filesystem::is_symlink(jobs / "7"));
}

TEST_F(WorkerTest, AJobWhoseProgramWasRemovedFetchesItForItsNextExecutor) {
  const auto file = directory_.path() / "worker" / "binaries" / to_string(setup().binary);
  command(setup(), launch(0));
  EXPECT_EQ(ended(0).kind, TaskEnd::finished);
  ASSERT_TRUE(std::filesystem::remove(file));
  command(launch(2));
  EXPECT_EQ(ended(2).kind, TaskEnd::crashed);
  EXPECT_FALSE(std::filesystem::exists(file)) << "the executor that ran needs none";
  command(launch(8));
  const auto event = ended(8);
  EXPECT_EQ(event.kind, TaskEnd::finished) << event.message;
  EXPECT_TRUE(std::filesystem::exists(file));
}

/// Another worker, node 9, that keeps whoever asks for its map outputs waiting.
class SilentWorker {
 public:
  SilentWorker() {
    rpc::Handler silent;
    silent.on_request = [this](const rpc::ConnectionPtr&, const rpc::Message&, rpc::Responder responder) {
      kept_.push_back(std::move(responder));
      if (kept_.size() == 1) asked_.set_value();
    };
    reactor_->run(
        [&] { port_ = reactor_->listen({"127.0.0.1:0"}, {}, [=](const rpc::ConnectionPtr&) { return silent; }).value(); });
  }
  ~SilentWorker() {
    reactor_->run([this] {
      kept_.clear();
      port_.reset();
    });
    reactor_->stop();
  }
  std::string address() const { return port_->endpoint().text; }
  bool was_asked() { return asked_.get_future().wait_for(60s) == std::future_status::ready; }
  /// It has the output of map 0 of shuffle 1 of job 7.
  protocol::ShuffleLocations locations() const {
    protocol::ShuffleLocations locations{NodeId(5), JobId(7), ShuffleId(1)};
    locations.outputs = std::make_shared<const std::vector<shuffle::MapOutput>>(1, shuffle::MapOutput{0, 0, NodeId(9)});
    locations.holders = {{NodeId(9), "w9", address(), ""}};
    return locations;
  }

 private:
  const std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("silent");
  std::vector<rpc::Responder> kept_;
  std::promise<void> asked_;
  std::unique_ptr<rpc::Listener> port_;
};

/// It has begun before all maps have ended.
TEST_F(WorkerTest, ATaskThatReadsFromAWorkerThatIsLostWaitsForTheMapToRunAgain) {
  SilentWorker other;
  protocol::ShuffleLocations locations = other.locations();
  locations.maps = 2;
  command(setup(), locations, launch(9));
  ASSERT_TRUE(other.was_asked());
  command(protocol::NodeLost{NodeId(9), "its power failed", other.address()});
  SilentWorker another;
  protocol::ShuffleExtended again{NodeId(5), JobId(7), ShuffleId(1), shuffle::MapOutput{0, 1, NodeId(10)}};
  again.holders = {{NodeId(10), "w10", another.address(), ""}};
  command(again);
  EXPECT_TRUE(another.was_asked());
}

TEST_F(WorkerTest, ATaskThatWaitsForAnotherWorkerStopsWhenItIsAskedToAndTheOthersOfItsExecutorGoOn) {
  SilentWorker other;
  command(setup(), other.locations(), launch(7), launch(9));
  ASSERT_TRUE(other.was_asked());
  command(protocol::KillTask{NodeId(5), launch(9).attempt, protocol::KillCause::preempted, "preempted"});
  EXPECT_EQ(ended(9).kind, TaskEnd::killed);
  ASSERT_TRUE(write_file(directory_.path() / "go", ""));
  const auto beside_it = ended(7);
  EXPECT_EQ(beside_it.kind, TaskEnd::finished) << beside_it.message;
}

TEST_F(WorkerTest, AProgramThatIsAnotherIsNotRun) {
  auto other = setup();
  other.binary.low ^= 1;
  command(other, launch(0));
  const auto event = ended(0);
  EXPECT_EQ(event.kind, TaskEnd::environment);
  EXPECT_NE(event.message.find("damaged"), std::string::npos) << event.message;
}

TEST_F(WorkerTest, RunsADriverReportsItsEndAndShowsWhatItPrinted) {
  protocol::StartDriver start{
      JobId(9), 77, "child", "child", {"--crowd"}, directory_.path().string(), hash_file(EXECUTOR_CHILD).value(), "ann"};
  command(start);
  wait_for([this] { return drivers_.size() == 1; });
  EXPECT_EQ(drivers_[0].job, JobId(9));
  EXPECT_EQ(drivers_[0].key, 77u);
  EXPECT_EQ(WEXITSTATUS(drivers_[0].status), 7) << "which is what the program does where it is no executor";
  EXPECT_EQ(drivers_[0].message, "exit code 7");
  start.binary.low ^= 1;
  start.key = 78;
  command(start);
  wait_for([this] { return drivers_.size() == 2; });
  EXPECT_EQ(drivers_[1].key, 78u);
  EXPECT_EQ(drivers_[1].status, -1);
  EXPECT_NE(drivers_[1].message.find("damaged"), std::string::npos) << drivers_[1].message;
  const auto logs = directory_.path() / "worker" / "logs";
  ASSERT_TRUE(std::filesystem::exists(logs / "job-9.driver.log"));
  ASSERT_TRUE(write_file(logs / "job-9.driver.log", "hello\n"));
  const auto log =
      rpc::call(*master_, connection_, protocol::kReadLog, protocol::encode(protocol::LogRequest{JobId(9), 100, true}), 60s);
  ASSERT_TRUE(log) << log.error().to_string();
  EXPECT_EQ(as_chars(log->bulk.view()), "hello\n");
}

TEST_F(WorkerTest, SaysWhichFilesItLacks) {
  ASSERT_TRUE(write_file(directory_.path() / "here", "x"));
  const protocol::FileQuery query{{directory_.path() / "here", directory_.path(), directory_.path() / "none", "/dev/null"}};
  const auto answer = rpc::call(*master_, connection_, protocol::kFindFiles, protocol::encode(query), 60s);
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(protocol::decode<protocol::FileAnswer>(*answer)->missing,
            (std::vector<std::string>{directory_.path() / "none", "/dev/null"}));
}

TEST_F(WorkerTest, WhatCannotBeRemovedOfAnEarlierWorkersJobsIsOutOfTheWay) {
  namespace fs = std::filesystem;
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount";
  const fs::path directory = directory_.path() / "worker", held = directory / "jobs/job-9";
  worker_.reset();
  registration_.reset();
  fs::create_directories(held);
  if (::mount("none", held.c_str(), "tmpfs", 0, nullptr) != 0) GTEST_SKIP() << "mounts are not allowed here";
  start();
  EXPECT_TRUE(fs::is_empty(directory / "jobs"));
  const auto aside = [&] {
    for (const auto& entry : fs::directory_iterator(directory))
      if (entry.path().filename().string().starts_with("jobs.left-")) return entry.path();
    return fs::path();
  };
  ASSERT_TRUE(fs::exists(aside() / "job-9"));
  EXPECT_EQ(::umount((aside() / "job-9").c_str()), 0);
  worker_.reset();
  registration_.reset();
  start();
  EXPECT_EQ(aside(), fs::path()) << "the next worker removes it";
}

TEST_F(WorkerTest, OfAPrivateClusterEndsWithItsMaster) {
  command(setup(), launch(4));
  master_->run([&] { connection_->close(); });
  EXPECT_NE(worker_->wait().code(), Code::internal);
}

}  // namespace
}  // namespace weft::runtime
