// What a prefetcher moves blocks with: the network to other workers and the disk of its own. Workers have real ones, simulated
// nodes those of their model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shuffle/prefetch/eviction_file.hpp"
#include "shuffle/transfer/block_fetcher.hpp"

namespace weft::shuffle {

/// One thread. After destruction nothing is called back.
class BlockMover {
 public:
  virtual ~BlockMover() = default;

  /// Whether tasks can map what the worker at that address has, so that nothing need be moved. `done` is called once, at once or
  /// later.
  virtual void find_out(const std::string& address, std::function<void(bool same_host)> done) = 0;

  /// See BlockFetcher::fetch(): `done` is called once, later.
  virtual void fetch(FetchRequest request, FetchDone done) = 0;
  /// See BlockFetcher::forget().
  virtual void forget(const std::string& address, const Error& why) = 0;

  /// Keeps what it counts until it goes.
  using FilePtr = std::shared_ptr<const EvictionFile>;
  using Written = std::function<void(Result<FilePtr>)>;
  /// Called once, later. resource_exhausted: there is too much in files already, or on the disk. The memory is free when the last
  /// holder of the blocks lets go, this object not being one any more when `done` is called.
  virtual void write(std::vector<HeldPtr> blocks, Written done) = 0;
  using Read = std::function<void(Result<std::vector<HeldPtr>>)>;
  /// Called once, later.
  virtual void read(FilePtr file, std::shared_ptr<const SegmentRoom> room, Read done) = 0;
  /// What files take now.
  virtual std::uint64_t file_bytes() const = 0;
};

}  // namespace weft::shuffle
