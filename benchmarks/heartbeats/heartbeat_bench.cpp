// What heartbeats cost: a real master with thousands of made-up workers over loopback, each with a connection of its own and a
// heartbeat with measurements a second, also while a page of it is open; and a worker that measures itself. Every figure next to
// its limit.
//
//   heartbeat_bench BIN [--workers N] [--seconds N]        BIN: the directory of the program weft
//   heartbeat_bench --master HOST:PORT [--workers N]       only the made-up workers, for a master that is there, until standard
//   input ends
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include "base/clock.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/rpc/rpc.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"
#include "benchmarks/measure.hpp"
#include "runtime/protocol/worker.hpp"
#include "runtime/worker/measurements.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/http_connection.hpp"
#include "tests/support/process.hpp"

namespace weft::bench {
namespace {

using namespace std::chrono_literals;
namespace protocol = runtime::protocol;

constexpr double kMasterLimit = 0.2, kWorkerLimit = 0.005, kPageLimit = 0.05;  // processors
constexpr std::size_t kHeartbeatLimit = 1024;                                  // bytes
constexpr int kTicks = 100;                                                    // a second
constexpr int kBeatsOfAWorker = 2;                                             // a second, as a master asks for

struct Options {
  std::string bin;
  std::string master;  // that is there
  int workers = 10'000;
  int seconds = 10;
};

bool print(const char* what, double value, double limit, const char* unit) {
  std::printf("%-58s %8.2f %-10s limit %.2f%s\n", what, value, unit, limit, value <= limit ? "" : "  MISSED");
  return value <= limit;
}

/// Of a worker that does something: amounts change by more than 5 % from one to the next.
protocol::Heartbeat heartbeat(int worker, int second) {
  protocol::Heartbeat beat;
  const double part = 1 + (worker + second) % 7;
  beat.measured.worker = {part / 2, part * 1e9, part * 1e7, part * 2e7, part * 3e7, part * 4e7};
  beat.measured.machine = {part, part * 2e9, part * 1e7, part * 2e7, part * 3e7, part * 4e7};
  beat.measured.cross_rack_in = part * 1e6;
  beat.measured.cross_rack_out = part * 2e6;
  for (std::size_t rack = 0; rack < protocol::kMostRacks; ++rack)
    beat.measured.racks.push_back({"rack-" + std::to_string(rack), part * 1e5, part * 2e5});
  beat.clock = std::chrono::system_clock::now().time_since_epoch();
  return beat;
}

/// Made-up workers. Everything but start() and stop() happens on the reactor's thread.
class Workers {
 public:
  Workers(const std::string& master, int count) : reactor_(rpc::Reactor::start("workers")) {
    const rpc::Endpoint endpoint = need(rpc::Endpoint::parse(master));
    const rpc::Limits limits = protocol::peer_limits();
    for (int i = 0; i < count; ++i) {
      connections_.push_back(need(rpc::connect(*reactor_, endpoint, 30s, {}, limits)));
      const std::string name = "w" + std::to_string(i);
      const protocol::Register registration{name, name, "rack-" + std::to_string(i % 100), "127.0.0.1:1", 2, 1 << 30, {}};
      need(rpc::call(*reactor_, connections_.back(), protocol::kRegister, protocol::encode(registration), 30s));
      if (i % 1000 == 999) reactor_->run([this] { send(static_cast<int>(connections_.size())); });  // nobody is silent for long
    }
  }
  ~Workers() { reactor_->stop(); }

  void start() {
    reactor_->run([this] { tick(); });
  }
  std::uint64_t sent() const { return sent_.load(); }

 private:
  /// The first `count` of them.
  void send(int count) {
    for (int i = 0; i < count; ++i) send_one(i);
  }
  void send_one(int worker) {
    ++sent_;
    connections_[static_cast<std::size_t>(worker)]->notify(protocol::kHeartbeat,
                                                           protocol::encode(heartbeat(worker, ticks_ / kTicks)));
  }
  /// An equal part of them each time, so that each has its turn once a second.
  void tick() {
    if (ticks_ == 0) next_ = SystemClock().now();
    for (int i = ticks_ % kTicks; i < static_cast<int>(connections_.size()); i += kTicks) send_one(i);
    ++ticks_;
    next_ += Duration(1s) / kTicks;
    timer_ = reactor_->after(std::max(Duration(0), next_ - SystemClock().now()), [this] { tick(); });
  }

  std::unique_ptr<rpc::Reactor> reactor_;
  std::vector<rpc::ConnectionPtr> connections_;
  std::unique_ptr<rpc::Timer> timer_;
  std::atomic<std::uint64_t> sent_{0};
  TimePoint next_{};
  int ticks_ = 0;
};

/// Of the master, in the time that is measured.
struct Load {
  double cpu = 0, heartbeats = 0;  // processors; a second
  double memory = 0;               // bytes
};

Load load(const test::Process& master, const Workers& workers, const Options& options) {
  const auto usage = [&master] {
    const auto used = process_usage(master.pid());
    return need(used ? Result<UsageCounters>(*used) : fail(Code::unavailable, "the master ended: " + master.err_so_far()));
  };
  const UsageCounters before = usage();
  const std::uint64_t sent_before = workers.sent();
  const TimePoint began = SystemClock().now();
  std::this_thread::sleep_for(std::chrono::seconds(options.seconds));
  const UsageCounters after = usage();
  const double elapsed = in_seconds(SystemClock().now() - began);
  return {in_seconds(after.cpu - before.cpu) / elapsed, static_cast<double>(workers.sent() - sent_before) / elapsed,
          static_cast<double>(after.memory)};
}

std::string page_address(const test::Process& master) {
  const std::string out = master.out_so_far(), before = "http://";
  const std::size_t at = out.find(before);
  return at == std::string::npos ? "" : out.substr(at + before.size(), out.find('/', at + before.size()) - at - before.size());
}

/// The view of the cluster in a browser, as the master sees it.
class Page {
 public:
  explicit Page(const std::string& master) : connection_(master) {
    if (!connection_.send("GET /api/v1/events?changes=1&watch=/nodes,/racks HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") ||
        !connection_.read_until("event: /nodes", 30s))
      need<void>(fail(Code::unavailable, "the master has no page"));
    reader_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        connection_.read_until("\n\n", 100ms);
        bytes_ += connection_.got().size();
        connection_.forget();
      }
    });
  }
  std::uint64_t bytes() const { return bytes_.load(); }

 private:
  test::HttpConnection connection_;
  std::atomic<std::uint64_t> bytes_{0};
  std::jthread reader_;
};

bool master_figures(const Options& options) {
  const test::ScratchDirectory files;
  test::Process master({options.bin + "/weft", "--log", "error", "master", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                        "--port-file", files / "port"},
                       {{}, std::chrono::hours(1)});
  if (!test::eventually([&] { return !test::read_file(files / "port").empty(); }))
    need<void>(fail(Code::unavailable, "the master does not become ready: " + master.err_so_far()));
  const std::string address(trim(test::read_file(files / "port")));
  Workers workers(address, options.workers);
  workers.start();
  std::this_thread::sleep_for(2s);
  const Load alone = load(master, workers, options);
  const double scale = options.workers / 10'000.0;
  const std::string what = "master: heartbeats of " + std::to_string(options.workers) + " workers, one a second";
  bool good = print(what.c_str(), 100 * alone.cpu, 100 * kMasterLimit * scale, "% of core");
  std::printf("%-58s %8.0f a second\n", "  heartbeats that were sent", alone.heartbeats);
  std::printf("%-58s %8.0f MiB\n", "  its memory", alone.memory / (1 << 20));
  const Page page(page_address(master));
  std::this_thread::sleep_for(5s);  // what comes first is everything
  const std::uint64_t sent_before = page.bytes();
  const Load watched = load(master, workers, options);
  good &= print("  a page of them that is open", 100 * (watched.cpu - alone.cpu), 100 * kPageLimit, "% of core");
  std::printf("%-58s %8.2f MiB a second\n", "  differences sent to it",
              static_cast<double>(page.bytes() - sent_before) / options.seconds / (1 << 20));
  good &= print("a heartbeat with measurements", static_cast<double>(protocol::encode(heartbeat(3, 5)).header.size()),
                kHeartbeatLimit, "bytes");
  return good;
}

Duration thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

bool worker_figures() {
  constexpr int kMeasurements = 2000;
  constexpr std::size_t kProcesses = 9;  // a worker with eight executors: this process, as often
  runtime::Measurements measurements;
  const std::vector<pid_t> processes(kProcesses, getpid());
  shuffle::LinkTraffic traffic;
  for (int rack = 0; rack < 20; ++rack) traffic.by_rack["rack-" + std::to_string(rack)] = {1, 1};
  const Duration before = thread_time();
  for (int i = 0; i < kMeasurements; ++i) measurements.measure(processes, traffic, {}, TimePoint(std::chrono::seconds(i + 1)));
  const double each = in_seconds(thread_time() - before) / kMeasurements;
  return print("worker with 8 executors: measuring, twice a second", 100 * each * kBeatsOfAWorker, 100 * kWorkerLimit, "% of core");
}

/// Says when all have registered.
int beat_until_input_ends(const Options& options) {
  Workers workers(options.master, options.workers);
  workers.start();
  std::printf("%d workers\n", options.workers);
  std::fflush(stdout);
  char unused = 0;
  while (::read(STDIN_FILENO, &unused, 1) > 0) {
  }
  return 0;
}

int run(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    int* const number = words[i] == "--workers" ? &options.workers : words[i] == "--seconds" ? &options.seconds : nullptr;
    const auto value = number != nullptr && i + 1 < words.size() ? parse_number<int>(words[i + 1]) : std::nullopt;
    if (number != nullptr && value && *value > 0) {
      *number = *value;
      ++i;
    } else if (words[i] == "--master" && i + 1 < words.size()) {
      options.master = words[++i];
    } else if (options.bin.empty() && !words[i].starts_with("--")) {
      options.bin = words[i];
    } else {
      std::fprintf(stderr, "heartbeat_bench: '%s' is no option, or has no number above 0\n", words[i].c_str());
      return 2;
    }
  }
  if (options.bin.empty() == options.master.empty()) {
    std::fprintf(stderr,
                 "usage: heartbeat_bench BIN [--workers N] [--seconds N], or heartbeat_bench --master HOST:PORT [--workers N]\n");
    return 2;
  }
  rpc::raise_descriptor_limit();
  if (!options.master.empty()) return beat_until_input_ends(options);
  const bool master = master_figures(options), worker = worker_figures();
  return master && worker ? 0 : 1;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::run({argv + 1, argv + argc}); }
