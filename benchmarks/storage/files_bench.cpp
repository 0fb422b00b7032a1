// Files of the cluster in real processes, next to their limits:
//
//   files_bench BIN DIRECTORY [--quick]
//
//   a million files     the master starts with them in ≤ 10 s and takes ≤ 1 KiB of memory for each; a directory of 10,000 is listed
//                       in ≤ 50 ms
//   a worker's death    all chunks have their replicas again in ≤ 10 s per GiB, from when it is taken for lost on
//
// --quick: a hundred thousand files, a quarter of the bytes. The directory (removed afterwards) should be on a real disk.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "benchmarks/e2e/setting.hpp"
#include "benchmarks/measure.hpp"
#include "storage/files/file_system.hpp"
#include "storage/namespace/namespace.hpp"
#include "storage/namespace/namespace_store.hpp"
#include "tests/support/process.hpp"

namespace weft::bench {
namespace {

using namespace storage;
using namespace storage::files;
using Clock = std::chrono::steady_clock;
constexpr double kGiB = 1u << 30;
constexpr int kInDirectory = 10'000;

double since(Clock::time_point moment) { return std::chrono::duration<double>(Clock::now() - moment).count(); }

void wait_for(const char* what, const std::function<bool()>& condition, std::chrono::seconds deadline = std::chrono::seconds(600)) {
  for (const auto began = Clock::now(); !condition(); std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    if (Clock::now() - began > deadline) need<void>(fail(Code::deadline_exceeded, std::string("waited too long for ") + what));
}

/// A line of /proc/PID/status, in bytes.
double memory_of(int pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) * 1024;
  return 0;
}

class Master {
 public:
  Master(const Setting& setting, const std::string& directory) : began_(Clock::now()) {
    const std::string port = directory + "/port";
    process_ =
        std::make_unique<test::Process>(std::vector<std::string>{setting.program("weft"), "master", "--listen", "127.0.0.1:0",
                                                                 "--port-file", port, "--data-dir", directory + "/data"},
                                        test::ProcessOptions{.deadline = std::chrono::hours(1), .daemon = true});
    wait_for("the master", [&] { return !test::read_file(port).empty() || !process_->running(); });
    address_ = test::read_file(port);
    address_ = address_.substr(0, address_.find('\n'));
    files_ = need(FileSystem::connect(address_));
    need(files_->report());
    start_seconds_ = since(began_);
  }
  FileSystem& files() const { return *files_; }
  const std::string& address() const { return address_; }
  double start_seconds() const { return start_seconds_; }
  int pid() const { return process_->pid(); }

 private:
  const Clock::time_point began_;
  std::unique_ptr<test::Process> process_;
  std::string address_;
  std::shared_ptr<FileSystem> files_;
  double start_seconds_ = 0;
};

void commit(NamespaceStore& store, Namespace& ns) {
  std::promise<Result<void>> done;
  store.commit(ns.take_changes(), [&](Result<void> written) { done.set_value(std::move(written)); });
  need(done.get_future().get());
}

/// `files_bench namespace DIRECTORY COUNT`: files of one chunk each, 10,000 to a directory, as a master would have written them. In
/// a process of its own: what it takes would slow down every fork afterwards.
int make_namespace(const std::string& directory, int count) {
  const auto store = need(NamespaceStore::open(directory));
  Namespace ns;
  for (std::uint32_t i = 1; i <= 3; ++i) {
    const std::string name = "w" + std::to_string(i);
    need(ns.node_joined(NodeId(i), {name, name, "A", name}, {0, std::uint64_t{1} << 60}, Time(0)));
    need(ns.block_report(NodeId(i), {}, true, true));
  }
  for (int i = 0; i < count; ++i) {
    const std::string parent = "/directory-" + std::to_string(i / kInDirectory);
    if (i % kInDirectory == 0) need(ns.make_directory(parent, "ann", false, 1));
    const LeaseId lease = need(ns.create(parent + "/part-" + std::to_string(i % kInDirectory), "ann", {}, Time(0)));
    const Allocation allocation = need(ns.allocate(lease, "", {}, Time(0)));
    need(ns.seal(lease, {allocation.chunk, 1000, static_cast<std::uint32_t>(i)}, allocation.targets, Time(0)));
    need(ns.complete(lease, 1, Time(0)));
    if (i % kInDirectory == kInDirectory - 1) commit(*store, ns);
  }
  commit(*store, ns);
  return 0;
}

void measure_size(const Setting& setting) {
  const int count = setting.quick ? 100'000 : 1'000'000;
  const TempDir scratch = need(TempDir::create("files-bench-", setting.data));
  const double empty = [&] {
    const TempDir alone = need(TempDir::create("files-bench-", setting.data));
    const Master master(setting, alone.path());
    return memory_of(master.pid(), "VmRSS");
  }();
  const auto made = test::run(
      {std::filesystem::read_symlink("/proc/self/exe"), "namespace", scratch.path() / "data" / "namespace", std::to_string(count)},
      {{}, std::chrono::seconds(600)});
  if (made.exit_code != 0) need<void>(fail(Code::internal, made.err));
  const Master master(setting, scratch.path());
  row(text("a master's start with %d files", count), text("%.2f s", master.start_seconds()),
      at_most(master.start_seconds(), 10, " s"));
  const double each = (memory_of(master.pid(), "VmRSS") - empty) / count;
  row("its memory, for each file",
      text("%.0f bytes (at the peak of the start: %.0f)", each, (memory_of(master.pid(), "VmHWM") - empty) / count),
      at_most(each, 1024, " bytes"));
  std::vector<double> by_api, by_program;
  const int directories = count / kInDirectory;
  for (int round = 0; round < setting.rounds(); ++round) {
    const std::string path =
        "/directory-" + std::to_string(round * directories / setting.rounds());  // one that nobody looked at yet
    by_api.push_back(seconds([&] {
      if (need(master.files().list(path)).size() != kInDirectory)
        need<void>(fail(Code::internal, path + " is not as it should be"));
    }));
    const std::string other = "/directory-" + std::to_string(round * directories / setting.rounds() + 1);
    by_program.push_back(seconds([&] {
      const auto listed = test::run({setting.program("weft"), "fs", "ls", other, "--master", master.address()});
      if (listed.exit_code != 0) need<void>(fail(Code::internal, listed.err));
    }));
  }
  row("10,000 entries listed, through the API", text("%.1f ms", median(by_api) * 1e3), at_most(median(by_api) * 1e3, 50, " ms"));
  row("10,000 entries listed, by weft fs ls", text("%.1f ms", median(by_program) * 1e3),
      at_most(median(by_program) * 1e3, 50, " ms"));
}

void measure_repair(const Setting& setting) {
  constexpr int kWorkers = 4;
  const TempDir scratch = need(TempDir::create("files-bench-", setting.data));
  const Master master(setting, scratch.path());
  std::vector<std::unique_ptr<test::Process>> workers;
  for (int i = 0; i < kWorkers; ++i)
    workers.push_back(std::make_unique<test::Process>(
        std::vector<std::string>{setting.program("weft"), "worker", "--master", master.address(), "--name", "w" + std::to_string(i),
                                 "--host", "h" + std::to_string(i), "--chunk-dir",
                                 (scratch.path() / ("w" + std::to_string(i))).string()},
        test::ProcessOptions{.deadline = std::chrono::hours(1), .daemon = true}));
  FileSystem& files = master.files();
  const auto report = [&] { return need(files.report()).storage; };
  wait_for("the workers", [&] { return report().nodes.size() == kWorkers; });
  const std::uint64_t bytes = setting.scaled(std::uint64_t{1} << 30);
  const auto writer = need(files.create("/f", {}));
  const std::string piece(1u << 20, 'x');
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) need(writer->append(as_bytes(piece)));
  need(writer->close());
  std::uint64_t lost = 0;
  for (const NodeStorage& node : report().nodes)
    if (node.node.name == "w0") lost = node.space.used;
  ::kill(workers[0]->pid(), SIGKILL);
  const auto killed = Clock::now();
  wait_for("the loss to be noticed", [&] { return report().under_replicated > 0; });
  const auto noticed = Clock::now();
  const double until_noticed = since(killed);
  wait_for("the repair", [&] { return report().under_replicated == 0; });
  const double repaired = since(noticed), gigabytes = static_cast<double>(lost) / kGiB;
  row(text("replicas of a lost worker, %.2f GiB, made again", gigabytes),
      text("%.1f s (taken for lost after %.1f s): %.1f s per GiB", repaired, until_noticed, repaired / gigabytes),
      at_most(repaired / gigabytes, 10, " s per GiB"));
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "namespace") return weft::bench::make_namespace(argv[2], std::atoi(argv[3]));
  weft::bench::Setting setting;
  setting.quick = argc == 4 && std::string(argv[3]) == "--quick";
  if (argc < 3 || (argc > 3 && !setting.quick)) return std::fprintf(stderr, "usage: files_bench BIN DIRECTORY [--quick]\n"), 2;
  setting.bin = argv[1];
  setting.data = argv[2];
  weft::bench::measure_size(setting);
  weft::bench::measure_repair(setting);
  return 0;
}
