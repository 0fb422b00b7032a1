// A worker whose store is read and one that prefetches, for tests of the prefetcher.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.hpp"
#include "shuffle/prefetch/prefetch.hpp"
#include "shuffle/transfer/block_server.hpp"

namespace weft::shuffle::test {

using namespace std::chrono_literals;
constexpr JobId kJob{7};
constexpr ShuffleId kShuffle{3};
constexpr std::uint32_t kPartitions = 8;
constexpr std::size_t kBlock = 32u << 10;

inline std::string block_of(std::uint32_t map, std::uint32_t partition) {
  return std::string(kBlock, static_cast<char>('a' + (map * kPartitions + partition) % 26)) + std::to_string(map) + "." +
         std::to_string(partition);
}

class PrefetchTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_.emplace(TempDir::create().value());
    source_ = Store::open(dir_->path() / "source", 1u << 30).value();
    serving_ = rpc::Reactor::start("serving");
    reactor_ = rpc::Reactor::start("prefetching");
    background_ = rpc::Reactor::start("background");
    server_.emplace(*source_, JobKeys::none());
    serving_->run([&] {
      listener_ =
          serving_->listen({"127.0.0.1:0"}, transfer_limits(), [this](const rpc::ConnectionPtr&) { return server_->handler(); })
              .value();
      address_ = listener_->endpoint().text;
    });
    options_.memory_bytes = options_.disk_bytes = 1u << 30;
    options_.fetch.pull.backoff = 1ms;
  }
  void TearDown() override {
    reactor_->run([&] {
      prefetcher_.reset();
      same_host_.reset();
    });
    serving_->run([&] {
      listener_.reset();
      same_host_listener_.reset();
    });
    reactor_.reset();
    background_.reset();
    serving_->stop();
  }

  void open(std::uint64_t store_bytes = 1u << 30) {
    store_ = Store::open(dir_->path() / "store", store_bytes).value();
    reactor_->run([&] {
      if (!same_host_) same_host_ = std::make_unique<SameHost>(*reactor_, false);
      prefetcher_ = std::make_unique<Prefetcher>(*reactor_, *background_, *store_, *same_host_, options_);
    });
  }
  /// The worker whose store is read is one of the same host.
  void share() {
    serving_->run([&] {
      same_host_listener_ = serving_
                                ->listen(same_host_endpoint(address_).value(), same_host_limits(),
                                         [&](const rpc::ConnectionPtr&) { return same_host_handler(*source_, JobKeys::none()); })
                                .value();
    });
    reactor_->run([&] { same_host_ = std::make_unique<SameHost>(*reactor_); });
  }
  RemoteOutput put(std::uint32_t map, std::uint32_t attempt = 0) {
    auto writer = SegmentWriter::in_memory(kPartitions).value();
    for (std::uint32_t i = 0; i < kPartitions; ++i) EXPECT_TRUE(writer->append(i, as_bytes(block_of(map, i)), 1));
    EXPECT_TRUE(source_->put({kJob, kShuffle, map, attempt}, writer->seal().value()));
    return {address_, {map, attempt}};
  }
  std::vector<RemoteOutput> put_all(std::uint32_t maps) {
    std::vector<RemoteOutput> outputs;
    for (std::uint32_t map = 0; map < maps; ++map) outputs.push_back(put(map));
    return outputs;
  }
  void expect(const std::vector<std::uint32_t>& partitions) {
    reactor_->run([&] { prefetcher_->expect(kJob, kShuffle, partitions); });
  }
  void offer(const std::vector<RemoteOutput>& outputs, bool complete, std::uint64_t block_bytes = kBlock) {
    reactor_->run([&] { prefetcher_->offer(kJob, kShuffle, outputs, block_bytes, complete); });
  }
  PrefetcherState stats() {
    PrefetcherState stats;
    reactor_->run([&] { stats = prefetcher_->state(); });
    return stats;
  }
  template <class Condition>
  bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition(stats())) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  std::vector<HeldPtr> take(std::uint32_t partition) {
    auto promise = std::make_shared<std::promise<std::vector<HeldPtr>>>();
    reactor_->run([&] {
      prefetcher_->take(kJob, kShuffle, partition, [promise](std::vector<HeldPtr> all) { promise->set_value(std::move(all)); });
    });
    return promise->get_future().get();
  }
  /// By map. Fails the test when a block is not what the map wrote.
  std::map<std::uint32_t, std::uint32_t> attempts_of(const std::vector<HeldPtr>& all, std::uint32_t partition) {
    std::map<std::uint32_t, std::uint32_t> found;
    for (const HeldPtr& blocks : all) {
      const auto segment = Segment::open(Fd(::dup(blocks->blocks.fd.get()))).value();
      EXPECT_EQ(segment->partitions(), blocks->maps.size());
      for (std::uint32_t i = 0; i < blocks->maps.size(); ++i) {
        std::string text;
        for (const Extent& extent : segment->extents(i)) text += as_chars(verified(*segment, extent).value());
        EXPECT_EQ(text, block_of(blocks->maps[i].map, partition));
        found[blocks->maps[i].map] = blocks->maps[i].attempt;
      }
    }
    return found;
  }

  std::optional<TempDir> dir_;
  std::unique_ptr<Store> source_, store_;
  std::unique_ptr<rpc::Reactor> serving_, reactor_, background_;
  std::optional<BlockServer> server_;
  std::unique_ptr<rpc::Listener> listener_, same_host_listener_;
  std::string address_;
  PrefetchOptions options_;
  std::unique_ptr<SameHost> same_host_;
  std::unique_ptr<Prefetcher> prefetcher_;
};

}  // namespace weft::shuffle::test
