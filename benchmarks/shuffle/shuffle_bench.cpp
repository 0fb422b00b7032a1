// Map outputs handed over and moved, next to what the machine gives without weft and to their bounds:
//
//   shuffle_bench DIRECTORY [--quick]
//
//   transfer        between two processes over loopback, checked and kept     ≥ 80 % of a bare Asio sender and receiver
//   hand-over       a 64 MiB segment, from its writer to a neighbour's reader  < 1 ms
//   tiny blocks     1,000 maps × 1,000 reduces                                 ≥ 200,000 blocks a second
//
// Rounds alternate and the medians count. The directory (files in it are removed afterwards) should be in shared memory.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/file.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/ready_process.hpp"
#include "benchmarks/storage/by_hand.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/block_fetcher.hpp"
#include "shuffle/transfer/block_server.hpp"
#include "shuffle/transfer/same_host.hpp"

namespace weft::bench {
namespace {

using shuffle::BlockFetcher;
using shuffle::FetchOutcome;
using shuffle::FetchRequest;
using shuffle::MapAttempt;
using shuffle::Segment;
using shuffle::SegmentWriter;

constexpr JobId kJob{1};
constexpr ShuffleId kShuffle{1};

/// So many maps, each with so many partitions of so many bytes.
struct Shape {
  std::uint32_t maps = 0, partitions = 0;
  std::size_t block = 0;
  std::uint64_t bytes() const { return std::uint64_t{maps} * partitions * block; }
};
constexpr Shape kLarge{16, 16, 1u << 20};
constexpr Shape kTiny{1000, 1000, 20};
constexpr Shape kSegment{1, 64, 1u << 20};

shuffle::SealedSegment written(const Shape& shape, const std::string& block) {
  auto writer = need(SegmentWriter::in_memory(shape.partitions));
  for (std::uint32_t partition = 0; partition < shape.partitions; ++partition) {
    for (std::size_t at = 0; at < block.size(); at += 64u << 10)
      (void)writer->append(partition, as_bytes(std::string_view(block).substr(at, 64u << 10)), 1);
  }
  return need(writer->seal());
}

void fill(shuffle::Store& store, const Shape& shape) {
  const std::string block = content(shape.block);
  for (std::uint32_t map = 0; map < shape.maps; ++map) need(store.put({kJob, kShuffle, map, 0}, written(shape, block)));
}

/// `shuffle_bench serve large|tiny DIRECTORY`: a worker's store and data port in a process of its own.
int serve(const std::string& what, const std::string& directory) {
  const auto store = need(shuffle::Store::open(directory + "/store-" + what, std::uint64_t{4} << 30));
  fill(*store, what == "tiny" ? kTiny : what == "large" ? kLarge : kSegment);
  const auto reactor = rpc::Reactor::start("worker");
  const shuffle::BlockServer server(*store, shuffle::JobKeys::none());
  std::unique_ptr<rpc::Listener> listener, same_host;
  reactor->run([&] {
    listener = need(
        reactor->listen({"127.0.0.1:0"}, shuffle::transfer_limits(), [&](const rpc::ConnectionPtr&) { return server.handler(); }));
    same_host = need(
        reactor->listen(need(shuffle::same_host_endpoint(listener->endpoint().text)), shuffle::same_host_limits(),
                        [&](const rpc::ConnectionPtr&) { return shuffle::same_host_handler(*store, shuffle::JobKeys::none()); }));
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
        reactor_(rpc::Reactor::start("client")) {}
  ~Bench() {
    reactor_->run([&] { fetcher_.reset(); });
    reactor_->stop();
  }

  bool run() {
    std::printf("shuffle, median of %d rounds\n", rounds_);
    const bool moved = transfer(), handed = hand_over(), tiny = tiny_blocks();
    return moved && handed && tiny;
  }

 private:
  /// Every partition of all maps, as reduces fetch them.
  void fetch_all(const std::string& address, const Shape& shape) {
    std::vector<MapAttempt> maps;
    for (std::uint32_t map = 0; map < shape.maps; ++map) maps.push_back({map, 0});
    std::promise<void> all;
    std::uint32_t left = shape.partitions;
    reactor_->run([&] {
      if (!fetcher_) fetcher_ = std::make_unique<BlockFetcher>(*reactor_);  // one for all rounds, as a worker has
      for (std::uint32_t partition = 0; partition < shape.partitions; ++partition) {
        fetcher_->fetch({address, kJob, kShuffle, partition, maps}, [&](FetchOutcome outcome) {
          need(std::move(outcome.blocks));
          if (--left == 0) all.set_value();
        });
      }
    });
    all.get_future().get();
    reactor_->run([] {});  // the last callback has returned
  }

  bool transfer() {
    const std::string file = directory_ + "/plain";
    const std::string once = content(64u << 20);
    need(write_file(file, once));
    const int times = static_cast<int>(kLarge.bytes() / once.size());
    const ReadyProcess server({program_, "serve", "large", directory_});
    std::vector<double> ours, bare;
    for (int round = 0; round < rounds_; ++round) {
      ours.push_back(seconds([&] { fetch_all(server.line(), kLarge); }));
      const ReadyProcess sender({program_, "send", file, std::to_string(times)});
      bare.push_back(receive_all(static_cast<unsigned short>(std::stoi(sender.line())), kLarge.bytes()));
    }
    const double rate = static_cast<double>(kLarge.bytes()) / (1u << 30) / median(ours);
    const double ratio = median(bare) / median(ours);
    std::printf("  transfer over loopback     %6.2f GiB/s   %3.0f %% of bare Asio (%.2f GiB/s)   at least 80 %%   %s\n", rate,
                100 * ratio, static_cast<double>(kLarge.bytes()) / (1u << 30) / median(bare), ratio >= 0.8 ? "ok" : "MISSED");
    return ratio >= 0.8;
  }

  bool hand_over() {
    const ReadyProcess server({program_, "serve", "segment", directory_});
    const auto store = need(shuffle::Store::open(directory_ + "/store", std::uint64_t{4} << 30));
    std::unique_ptr<shuffle::SameHost> same_host;
    reactor_->run([&] { same_host = std::make_unique<shuffle::SameHost>(*reactor_); });
    const std::string block = content(kSegment.block);
    std::vector<double> times;
    for (int round = 0; round <= rounds_; ++round) {
      shuffle::SealedSegment sealed = written(kSegment, block);
      const double put = seconds([&] {
        need(store->put({kJob, kShuffle, static_cast<std::uint32_t>(round), 0}, std::move(sealed)));
      });
      const double opened = seconds([&] {
        std::promise<std::vector<Fd>> answer;
        reactor_->run([&] {
          same_host->open(server.line(), kJob, kShuffle, {{0, 0}},
                          [&](Result<std::vector<Fd>> found) { answer.set_value(need(std::move(found))); });
        });
        const auto segment = need(Segment::open(std::move(answer.get_future().get().front())));
        if (segment->extents(0).empty()) std::exit(1);
      });
      if (round > 0) times.push_back(put + opened);  // the first connects
    }
    reactor_->run([&] { same_host.reset(); });
    const double millis = 1e3 * median(times);
    std::printf("  hand-over of 64 MiB        %6.3f ms                                           less than 1 ms   %s\n", millis,
                millis < 1 ? "ok" : "MISSED");
    return millis < 1;
  }

  bool tiny_blocks() {
    const ReadyProcess server({program_, "serve", "tiny", directory_});
    std::vector<double> times;
    for (int round = 0; round < rounds_; ++round) times.push_back(seconds([&] { fetch_all(server.line(), kTiny); }));
    const double rate = double{kTiny.maps} * kTiny.partitions / median(times);
    std::printf("  1,000 x 1,000 tiny blocks  %7.0f blocks/s                               at least 200,000   %s\n", rate,
                rate >= 200'000 ? "ok" : "MISSED");
    return rate >= 200'000;
  }

  const std::string program_, directory_;
  const int rounds_;
  std::unique_ptr<rpc::Reactor> reactor_;
  std::unique_ptr<BlockFetcher> fetcher_;  // on the reactor's thread
};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "serve") return weft::bench::serve(words[1], words[2]);
  if (words.size() == 3 && words[0] == "send") return weft::bench::send_bare(words[1].c_str(), std::stoi(words[2]));
  const bool quick = words.size() == 2 && words[1] == "--quick";
  if (words.empty() || words.size() > 2 || (words.size() == 2 && !quick)) {
    std::fprintf(stderr, "usage: shuffle_bench DIRECTORY [--quick]\n");
    return 2;
  }
  const std::string directory = words[0] + "/shuffle_bench-" + std::to_string(::getpid());
  std::filesystem::create_directories(directory);
  const bool met = weft::bench::Bench("/proc/self/exe", directory, quick).run();
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return met ? 0 : 1;
}
