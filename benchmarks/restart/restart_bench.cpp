// What a restart of the master costs: a master with 1,000 jobs in its journal and 100 made-up workers, killed and started again,
// and a job of 10,000 tasks on a real cluster whose master is killed in its middle. Every figure next to its limit.
//
//   restart_bench BIN [--workers N] [--jobs N] [--tasks N]        BIN: the directory of the programs weft and noop
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/text.hpp"
#include "benchmarks/measure.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "runtime/worker/registration.hpp"
#include "tests/support/process.hpp"

namespace weft::bench {
namespace {

using namespace std::chrono_literals;
namespace protocol = runtime::protocol;
using Clock = std::chrono::steady_clock;

constexpr double kBackLimit = 3;       // seconds from when the master listens again
constexpr double kSlowerLimit = 1.05;  // of the job with a restart, over the one without
constexpr std::uint32_t kTasksOfAJob = 20;

struct Options {
  std::string bin;
  int workers = 100;
  int jobs = 1000;
  int tasks = 10'000;
};

bool print(const std::string& what, double value, double limit, const char* unit) {
  std::printf("%-66s %8.3f %-4s limit %.2f%s\n", what.c_str(), value, unit, limit, value <= limit ? "" : "  MISSED");
  std::fflush(stdout);
  return value <= limit;
}

/// A master on a port that stays.
class Master {
 public:
  Master(std::string bin, const std::filesystem::path& directory) : bin_(std::move(bin)), directory_(directory) {
    start("127.0.0.1:0");
  }
  const std::string& address() const { return address_; }
  /// SIGKILL, and another one in its place. Returns when that listens.
  void restart() {
    process_->signal(SIGKILL);
    (void)process_->wait();
    start(address_);
  }

 private:
  void start(const std::string& listen) {
    const std::string port = directory_ / "port";
    std::filesystem::remove(port);
    test::ProcessOptions options;
    options.daemon = true;
    process_ = std::make_unique<test::Process>(
        std::vector<std::string>{bin_ + "/weft", "master", "--listen", listen, "--port-file", port, "--http", "none", "--data-dir",
                                 directory_ / "master", "--log", "warn"},
        options);
    for (address_.clear(); address_.empty(); std::this_thread::sleep_for(1ms))
      if (auto text = read_file(port, 100); text && text->ends_with('\n')) address_ = text->substr(0, text->size() - 1);
  }

  std::string bin_;
  std::filesystem::path directory_;
  std::unique_ptr<test::Process> process_;
  std::string address_;
};

/// A worker that says of each task at once that it has finished, but for every second one, which runs on.
class MadeUpWorker {
 public:
  MadeUpWorker(rpc::Reactor& reactor, const rpc::Endpoint& master, int number, std::atomic<int>& registered)
      : registered_(registered) {
    protocol::Register info;
    info.name = info.host = fmt::format("w{}", number);
    info.data_address = "127.0.0.1:1";
    info.slots = 200;
    info.process = static_cast<std::uint64_t>(number) + 1;
    runtime::Registration::Callbacks callbacks;
    callbacks.on_registered = [this](const protocol::Registered&) { ++registered_; };
    callbacks.on_commands = [this](const std::vector<protocol::Command>& commands) { obey(commands); };
    callbacks.on_read_log = [](const protocol::LogRequest&, rpc::Responder responder) { responder.reply({}); };
    callbacks.heartbeat = [] {
      protocol::Heartbeat heartbeat;
      heartbeat.clock = std::chrono::system_clock::now().time_since_epoch();
      return heartbeat;
    };
    callbacks.held = [this] { return held_; };
    callbacks.on_away = [] {};
    callbacks.on_lost = [this](const Error&, bool) { held_ = {}; };
    link_ = std::make_unique<runtime::Registration>(reactor, master, info, true, 10min, std::move(callbacks));
    reactor.run([this] { link_->connect(); });
  }
  void close() { link_->close(); }

 private:
  void obey(const std::vector<protocol::Command>& commands) {
    for (const protocol::Command& command : commands) {
      if (const auto* setup = std::get_if<protocol::JobSetup>(&command)) held_.jobs.push_back(setup->job);
      const auto* launch = std::get_if<protocol::Launch>(&command);
      if (launch == nullptr) continue;
      held_.running.push_back(launch->attempt);
      if (launch->attempt.task.index % 2 == 1) continue;
      std::vector<protocol::Event> ends(1);
      ends[0].attempt = launch->attempt;
      held_.running.pop_back();
      link_->report(std::move(ends));
    }
  }

  std::atomic<int>& registered_;
  protocol::Held held_;
  std::unique_ptr<runtime::Registration> link_;
};

plan::PlanPart tasks(std::uint32_t count) {
  plan::Stage stage;
  stage.name = "tasks";
  stage.output = plan::OutputKind::result;
  stage.branches.push_back({plan::BranchKind::splits, count, {}, {}, {}});
  plan::PlanPart part;
  part.stages.push_back(stage);
  part.targets.push_back(stage.id);
  return part;
}

template <class Done>
double seconds_until(Clock::time_point from, Done done) {
  while (!done()) std::this_thread::sleep_for(1ms);
  return std::chrono::duration<double>(Clock::now() - from).count();
}

bool many_jobs(const Options& options, const std::filesystem::path& scratch) {
  Master master(options.bin, scratch);
  const rpc::Endpoint at = need(rpc::Endpoint::parse(master.address()));
  const auto reactor = rpc::Reactor::start("workers");
  std::atomic<int> registered{0};
  std::vector<std::unique_ptr<MadeUpWorker>> workers;
  for (int i = 0; i < options.workers; ++i) workers.push_back(std::make_unique<MadeUpWorker>(*reactor, at, i, registered));
  seconds_until(Clock::now(), [&] { return registered == options.workers; });
  auto client = need(rpc::connect(*reactor, at, 30s));
  const auto call = [&](rpc::MessageType type, rpc::Payload payload) {
    return need(rpc::call(*reactor, client, type, std::move(payload), 30s));
  };
  const auto count = [&](auto member) {
    std::uint64_t sum = 0;
    for (const auto& job : need(client::decode<client::JobList>(call(client::kListJobs, {}))).jobs) sum += job.tasks.*member;
    return sum;
  };
  std::vector<client::Submitted> jobs;
  for (int i = 0; i < options.jobs; ++i) {
    client::Submit submit;
    submit.name = "job";
    submit.same_binary = true;
    jobs.push_back(need(client::decode<client::Submitted>(call(client::kSubmitJob, client::encode(submit)))));
    call(client::kRunPart,
         rpc::with_bulk(client::encode(client::JobRequest{jobs.back().job}), SharedBytes(plan::encode(tasks(kTasksOfAJob)))));
  }
  const auto finished = static_cast<std::uint64_t>(options.jobs) * kTasksOfAJob / 2;
  const auto ready = [&] {
    return count(&master::TaskCounts::finished) == finished && count(&master::TaskCounts::running) == finished;
  };
  seconds_until(Clock::now(), ready);
  registered = 0;
  master.restart();
  const auto listens = Clock::now();
  const double back = seconds_until(listens, [&] { return registered == options.workers; });
  client = need(rpc::connect(*reactor, at, 30s));
  for (const client::Submitted& job : jobs) call(client::kAttachJob, client::encode(client::Attach{job.job, job.key}));
  const double attached = seconds_until(listens, ready);
  bool met = print(fmt::format("{} workers are back after the master listens again", options.workers), back, kBackLimit, "s");
  met &= print(fmt::format("and {} jobs of {} tasks as they were, their drivers attached", options.jobs, kTasksOfAJob), attached,
               kBackLimit, "s");
  reactor->run([&] {
    for (auto& worker : workers) worker->close();
    workers.clear();
  });
  reactor->stop();
  return met;
}

double run_job(const Options& options, Master& master, bool kill) {
  const auto began = Clock::now();
  test::Process job({options.bin + "/noop", "--tasks", std::to_string(options.tasks), "--milliseconds", "20", "--quiet",
                     "--cluster", master.address()});
  if (kill) {
    std::this_thread::sleep_for(std::chrono::milliseconds(options.tasks / 2));
    master.restart();
  }
  if (const auto ended = job.wait(); ended.exit_code != 0) {
    std::fprintf(stderr, "benchmark: %s\n", ended.err.c_str());
    std::exit(1);
  }
  return std::chrono::duration<double>(Clock::now() - began).count();
}

bool one_job(const Options& options, const std::filesystem::path& scratch) {
  Master master(options.bin, scratch);
  test::ProcessOptions daemon;
  daemon.daemon = true;
  std::vector<std::unique_ptr<test::Process>> workers;
  for (const char* name : {"w1", "w2"})
    workers.push_back(std::make_unique<test::Process>(
        std::vector<std::string>{options.bin + "/weft", "worker", "--master", master.address(), "--name", name, "--slots", "4",
                                 "--directory", scratch / name, "--log", "warn"},
        daemon));
  run_job({options.bin, 0, 0, 100}, master, false);
  std::vector<double> calm, killed;
  for (int i = 0; i < 3; ++i) {
    calm.push_back(run_job(options, master, false));
    killed.push_back(run_job(options, master, true));
  }
  std::printf("a job of %d tasks of 20 ms in 8 slots: %.2f s, with a restart of the master %.2f s (medians of 3)\n", options.tasks,
              median(calm), median(killed));
  return print("so much longer with a restart", median(killed) / median(calm), kSlowerLimit, "x");
}

int run(int argc, char** argv) {
  Options options;
  options.bin = argc > 1 ? argv[1] : "build/release/bin";
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    int* const value = name == "--workers" ? &options.workers : name == "--jobs" ? &options.jobs : &options.tasks;
    *value = std::atoi(argv[i + 1]);
  }
  configure_logging(LogLevel::error);  // workers that lose their master say so
  rpc::raise_descriptor_limit();
  const TempDir scratch = need(TempDir::create("weft-restart-"));
  for (const char* name : {"many", "one"}) std::filesystem::create_directory(scratch.path() / name);
  const bool many = many_jobs(options, scratch.path() / "many"), one = one_job(options, scratch.path() / "one");
  return many && one ? 0 : 1;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::run(argc, argv); }
