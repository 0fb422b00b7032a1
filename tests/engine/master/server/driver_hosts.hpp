// Drivers in the cluster, with a core behind a shell of its own and workers that only remember what they are sent.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/master/server/drivers.hpp"
#include "schedulers/builtin.hpp"

namespace weft::master::test {

using namespace std::chrono_literals;
using Paths = std::vector<std::string>;

inline constexpr Duration kAtOnce = 1ms, kNotInThisTest = 1h;

/// Of a worker: keeps the commands, and answers questions after files at once.
class DriverHost final : public rpc::Connection {
 public:
  void request(rpc::MessageType type, rpc::Payload payload, Duration, rpc::Reply reply, std::shared_ptr<rpc::BulkSink>) override {
    ASSERT_EQ(type, protocol::kFindFiles);
    if (silent) return reply(weft::fail(Code::deadline_exceeded, "no answer"));
    rpc::Message message;
    message.header = std::move(payload.header);
    protocol::FileAnswer answer;
    const auto query = protocol::decode<protocol::FileQuery>(message).value();
    for (const std::string& path : query.paths)
      if (!files.contains(path)) answer.missing.push_back(path);
    rpc::Message back;
    back.header = protocol::encode(answer).header;
    reply(std::move(back));
  }
  void notify(rpc::MessageType type, rpc::Payload payload) override {
    ASSERT_EQ(type, protocol::kCommands);
    rpc::Message message;
    message.header = std::move(payload.header);
    auto commands = protocol::decode<protocol::Commands>(message).value();
    for (protocol::Command& command : commands.commands) {
      if (auto* start = std::get_if<protocol::StartDriver>(&command)) starts.push_back(std::move(*start));
      if (auto* stop = std::get_if<protocol::StopDriver>(&command)) stops.push_back(std::move(*stop));
    }
  }
  void close() override {}
  const std::string& peer() const override { return name; }
  Result<rpc::Protocol> protocol() const override { return rpc::kProtocols.highest; }
  const std::string& peer_software() const override { return name; }

  std::set<std::string> files;
  bool silent = false;
  std::vector<protocol::StartDriver> starts;
  std::vector<protocol::StopDriver> stops;
  std::string name = "10.0.0.1:99";
};

class DriversTest : public testing::Test, public CoreShell {
 protected:
  DriversTest() {
    times.pause = times.longest_pause = kAtOnce;
    times.attach = times.take_over = times.end = times.fail = times.unstarted = kNotInThisTest;
  }
  ~DriversTest() override {
    on_reactor([&] { drivers.reset(); });
    reactor->stop();
  }

  // CoreShell
  Time now() const override { return at; }
  Result<void> apply(Event event) override {
    std::vector<Command> commands;
    auto applied = core_.apply(at, std::move(event), commands);
    for (const Command& command : commands) {
      if (const auto* over = std::get_if<JobFailed>(&command)) drivers->job_ended(over->job, true), jobs.erase(over->job);
      if (const auto* over = std::get_if<JobFinished>(&command)) drivers->job_ended(over->job, false), jobs.erase(over->job);
      if (const auto* lost = std::get_if<NodeLost>(&command)) drivers->node_lost(lost->node);
    }
    return applied;
  }
  const Core& core() const override { return core_; }
  void note(JobId, NodeId, const shuffle::PrefetchStats&) override {}

  template <class Work>
  void on_reactor(Work work) {
    reactor->run(work);
    reactor->run([] {});  // and what it posted
  }
  bool eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    for (bool held = false; std::chrono::steady_clock::now() < end; std::this_thread::yield()) {
      on_reactor([&] { held = holds(); });
      if (held) return true;
    }
    return false;
  }

  void make() {
    on_reactor([&] {
      drivers = std::make_unique<Drivers>(
          *this, jobs, context,
          [this](const DriverState& state) {
            states[state.job] = state;
            recorder.record(state.job, fact_of(state));
          },
          times);
    });
  }
  std::shared_ptr<DriverHost> join(std::uint32_t id, double slots) {
    auto host = std::make_shared<DriverHost>();
    on_reactor([&] {
      WorkerJoined joined;
      joined.node = NodeId(id);
      joined.name = joined.host = "w" + std::to_string(id);
      joined.data_address = joined.name + ":1";
      joined.capacity.cpu = slots;
      ASSERT_TRUE(apply(joined));
      RegisteredWorker& worker = context.table.add(NodeId(id), host);
      worker.info.name = joined.name;
      worker.heard = at;
    });
    return host;
  }
  void lose(std::uint32_t id) {
    on_reactor([&] {
      context.table.erase(NodeId(id));
      ASSERT_TRUE(apply(WorkerLost{NodeId(id), "gone"}));
    });
  }
  JobId submit(std::uint64_t id, const Paths& arguments = {"in.txt"}) {
    on_reactor([&] {
      ASSERT_TRUE(apply(JobSubmitted{JobId(id), "count"}));
      client::Submit& submit = jobs[JobId(id)].submit;
      submit.name = "count";
      submit.directory = "/d";
      submit.arguments = arguments;
    });
    return JobId(id);
  }
  /// A detached job, and what its client hears.
  std::optional<Result<void>> detach(std::uint64_t id, const Paths& files = {}) {
    auto heard = std::make_shared<std::optional<Result<void>>>();
    const JobId job = submit(id);
    on_reactor([&] {
      drivers->add(job, files);
      drivers->start(job, [heard](const Result<void>& started) { *heard = started; });
    });
    return *heard;
  }
  void end(std::uint32_t node, JobId job, int status, const std::string& message, std::uint64_t key = 0) {
    on_reactor([&] {
      drivers->ended(NodeId(node), {job, key != 0 ? key : jobs.contains(job) ? jobs[job].key : 0, status, message});
    });
  }
  JobStatus status(JobId job) {
    JobStatus found;
    on_reactor([&] { found = core_.job(job).value(); });
    return found;
  }

  static constexpr int kExit3 = 3 << 8;

  Time at{1s};
  DriverTimes times;
  Core core_{schedulers::make_scheduler("fifo").value(), {}};
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("drivers");
  ServerOptions options;
  RunningJobs jobs;
  PrefetchReports prefetched;
  std::unique_ptr<StorageService> storage;
  JobRecorder recorder{*this, *reactor, [](JobId) -> Result<JobStatus> { return JobStatus{}; }};
  WorkerContext context{*this, recorder, jobs, prefetched, *reactor, *reactor, nullptr, storage, options};
  std::unique_ptr<Drivers> drivers;
  std::map<JobId, DriverState> states;  // as a journal has them
};

}  // namespace weft::master::test
