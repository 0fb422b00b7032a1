// Chunks read and written through the API, next to what the machine gives without weft:
//
//   storage_bench DIRECTORY [--quick]
//
//   local read      a cached chunk by descriptor          ≥ 80 % of mapping a plain file and summing it up
//   remote read     over loopback, checked at both ends   ≥ 70 % of a bare Asio sender and receiver that check nothing
//   write           to three worker processes, synced     ≥ 60 % of writing three files by hand, synced alike
//
// Rounds alternate and the medians count. Workers are processes of their own; the directory (removed afterwards) should be on a
// real disk.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/crc32c.hpp"
#include "base/file.hpp"
#include "benchmarks/e2e/setting.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/ready_process.hpp"
#include "benchmarks/storage/by_hand.hpp"
#include "storage/transfer/chunk_client.hpp"
#include "storage/transfer/chunk_server.hpp"
#include "storage/transfer/wire.hpp"

namespace weft::bench {
namespace {

namespace fs = std::filesystem;
using storage::ChunkClient;
using storage::ChunkId;

constexpr double kGiB = 1u << 30;
constexpr unsigned kChunks = 4;  // 2 GiB on the disk, all copies together

/// `storage_bench serve DIRECTORY`: a worker in a process of its own, which prints its address.
int serve(const std::string& directory) {
  storage::ChunkStoreOptions options;
  options.directories = {directory};
  options.cluster_id = "bench";
  options.scrub_rate = 0;
  const auto store = need(storage::ChunkStore::open(options));
  const auto reactor = rpc::Reactor::start("worker");
  std::unique_ptr<storage::ChunkServer> server;
  std::unique_ptr<rpc::Listener> listener;
  reactor->run([&] {
    server = std::make_unique<storage::ChunkServer>(*reactor, *store);
    listener = need(
        reactor->listen({"127.0.0.1:0"}, storage::chunk_limits(), [&](const rpc::ConnectionPtr&) { return server->handler(); }));
    (void)server->offer_to_neighbours(listener->endpoint().text);
  });
  std::printf("%s\n", listener->endpoint().text.c_str());
  std::fflush(stdout);
  while (true) ::pause();
}

class Bench {
 public:
  Bench(std::string program, std::string directory, bool quick)
      : program_(std::move(program)),
        directory_(std::move(directory)),
        rounds_(quick ? 3 : 9),
        content_(content(storage::kDefaultChunkBytes)),
        reactor_(rpc::Reactor::start("client")) {
    for (int i = 0; i < 3; ++i)
      workers_.push_back(
          std::make_unique<ReadyProcess>(std::vector{program_, std::string("serve"), directory_ + "/w" + std::to_string(i)}));
  }
  ~Bench() {
    local_.reset();
    remote_.reset();
  }

  void run() {
    local_ = std::make_unique<ChunkClient>(*reactor_);
    storage::ChunkClientOptions apart;
    apart.share = false;
    remote_ = std::make_unique<ChunkClient>(*reactor_, apart);
    std::printf("storage, %u chunks of %u MiB, median of %d rounds\n", kChunks, static_cast<unsigned>(content_.size() >> 20),
                rounds_);
    for (unsigned i = 0; i < kChunks; ++i) {
      infos_.push_back(write({workers_[0]->line()}));
      write_file(plain(i));
    }
    compare(
        "local read of a cached chunk", "mmap and CRC32C of a plain file", 0.8, [&] { read(*local_); }, [&] { sum_plain(); });
    compare(
        "remote read over loopback", "bare Asio, no checksums", 0.7, [&] { read(*remote_); }, [&] { receive_bare(); });
    std::vector<std::string> all;
    for (const auto& worker : workers_) all.push_back(worker->line());
    compare(
        "write to three workers", "three files by hand", 0.6, [&] { write_chunks(all); }, [&] { write_by_hand(); });
  }

 private:
  std::string plain(unsigned i) const { return directory_ + "/plain" + std::to_string(i); }
  void write_file(const std::string& path) const { need(weft::write_file(path, content_)); }
  storage::ChunkInfo write(const std::vector<std::string>& targets) {
    const auto writer = need(local_->create(ChunkId(++last_id_), targets));
    need(writer->append(as_bytes(content_)));
    const auto written = need(writer->seal());
    if (written.durable.size() != targets.size()) need<int>(fail(written.failures.front().error));
    return written.info;
  }

  void read(ChunkClient& client) const {
    for (const storage::ChunkInfo& info : infos_) {
      const auto reader = need(client.open({info, {workers_[0]->line()}}));
      for (std::uint64_t at = 0; at < info.length;) at += need(reader->next(at, 1u << 20)).bytes.size();
    }
  }
  void sum_plain() const {
    for (unsigned i = 0; i < kChunks; ++i) need(map_and_sum(plain(i)));
  }
  void receive_bare() const {
    const ReadyProcess sender({program_, "send", plain(0), std::to_string(kChunks)});
    bare_seconds_ = receive_all(static_cast<unsigned short>(std::stoi(sender.line())), content_.size() * kChunks);
    if (bare_seconds_ < 0) need<int>(fail(Code::io, "the bare transfer ended early"));
  }
  void write_chunks(const std::vector<std::string>& targets) {
    for (unsigned i = 0; i < kChunks; ++i) written_.push_back(write(targets));
  }
  /// Room for the next round; the workers learn of it when somebody asks for these chunks.
  void remove_written() {
    for (const storage::ChunkInfo& info : std::exchange(written_, {}))
      for (int i = 0; i < 3; ++i)
        fs::remove(directory_ + text("/w%d/chunks/%016llx", i, static_cast<unsigned long long>(info.id.value())));
  }
  void write_by_hand() {
    for (unsigned i = 0; i < kChunks; ++i) need(write_three(directory_ + "/hand", i, content_));
  }

  void compare(const char* what, const char* with, double bound, const std::function<void()>& ours,
               const std::function<void()>& limit) {
    std::vector<double> our_times, limit_times;
    for (int round = 0; round < rounds_; ++round) {
      bare_seconds_ = 0;
      const double by_limit = seconds(limit);
      limit_times.push_back(bare_seconds_ > 0 ? bare_seconds_ : by_limit);  // without the start of its process
      our_times.push_back(seconds(ours));
      remove_written();
    }
    const double bytes = static_cast<double>(content_.size()) * kChunks / kGiB;
    const double ratio = median(limit_times) / median(our_times);
    row(what, text("%.2f GiB/s (%s: %.2f)", bytes / median(our_times), with, bytes / median(limit_times)),
        text("%.0f %%, ", 100 * ratio) + at_least(100 * ratio, 100 * bound, " %"));
  }

  const std::string program_, directory_;
  const int rounds_;
  const std::string content_;
  std::unique_ptr<rpc::Reactor> reactor_;
  std::vector<std::unique_ptr<ReadyProcess>> workers_;
  std::unique_ptr<ChunkClient> local_, remote_;
  std::vector<storage::ChunkInfo> infos_, written_;
  std::uint64_t last_id_ = 0;
  mutable double bare_seconds_ = 0;
};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "serve" && argc == 3) return weft::bench::serve(argv[2]);
  if (first == "send" && argc == 4) return weft::bench::send_bare(argv[2], std::atoi(argv[3]));
  const bool quick = argc == 3 && std::string(argv[2]) == "--quick";
  if (argc < 2 || (argc > 2 && !quick)) return std::fprintf(stderr, "usage: storage_bench DIRECTORY [--quick]\n"), 2;
  auto directory = weft::bench::need(weft::TempDir::create("weft-storage-bench-", first));
  weft::bench::Bench(std::filesystem::read_symlink("/proc/self/exe"), directory.path(), quick).run();
  return 0;
}
