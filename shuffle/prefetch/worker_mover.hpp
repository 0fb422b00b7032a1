// How a worker's prefetcher moves blocks: over the network to other workers, and to files of its store's directory.
#pragma once

#include <utility>

#include "shuffle/prefetch/block_mover.hpp"
#include "shuffle/prefetch/evictions.hpp"
#include "shuffle/prefetch/prefetch_options.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/block_fetcher.hpp"
#include "shuffle/transfer/same_host.hpp"

namespace weft::shuffle {

/// Reactor thread. See Prefetcher's constructor for what outlives it.
class WorkerMover final : public BlockMover {
 public:
  WorkerMover(rpc::Reactor& reactor, rpc::Reactor& background, const Store& store, SameHost& same_host,
              const PrefetchOptions& options)
      : same_host_(same_host),
        fetcher_(reactor, options.fetch),
        evictions_(reactor, background, store.directory(), options.disk_bytes, options.segments) {}
  void find_out(const std::string& address, std::function<void(bool)> done) override {
    same_host_.find_out(address, std::move(done));
  }
  void fetch(FetchRequest request, FetchDone done) override { fetcher_.fetch(std::move(request), std::move(done)); }
  void forget(const std::string& address, const Error& why) override { fetcher_.forget(address, why); }
  void write(std::vector<HeldPtr> blocks, Written done) override { evictions_.write(std::move(blocks), std::move(done)); }
  void read(FilePtr file, std::shared_ptr<const SegmentRoom> room, Read done) override {
    evictions_.read(std::move(file), std::move(room), std::move(done));
  }
  std::uint64_t file_bytes() const override { return evictions_.file_bytes(); }

 private:
  SameHost& same_host_;
  BlockFetcher fetcher_;
  Evictions evictions_;
};

}  // namespace weft::shuffle
