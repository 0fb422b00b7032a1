// Moves blocks between memory and eviction files on a thread that may wait for the disk. Private to the prefetcher.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "shuffle/prefetch/block_mover.hpp"

namespace weft::shuffle {

/// Reactor thread; answers come there too, and none after destruction. At most `disk_bytes` of blocks (as they take memory) lie in
/// `files` files, each of which is a descriptor.
class Evictions {
 public:
  /// Both reactors outlive the object. `background` runs what waits for the disk.
  Evictions(rpc::Reactor& reactor, rpc::Reactor& background, std::string directory, std::uint64_t disk_bytes,
            std::uint64_t files = UINT64_MAX)
      : reactor_(reactor), background_(background), directory_(std::move(directory)), most_(disk_bytes), most_files_(files) {}

  /// See BlockMover.
  using FilePtr = BlockMover::FilePtr;
  void write(std::vector<HeldPtr> blocks, BlockMover::Written done);
  void read(FilePtr file, std::shared_ptr<const SegmentRoom> room, BlockMover::Read done);

  /// Of blocks in files, or on their way there; and what the files take.
  std::uint64_t held_bytes() const { return counts_->held.load(); }
  std::uint64_t file_bytes() const { return counts_->file.load(); }

 private:
  struct Counts {
    std::atomic<std::uint64_t> held{0}, file{0}, files{0};
  };

  rpc::Reactor& reactor_;
  rpc::Reactor& background_;
  const std::string directory_;
  const std::uint64_t most_, most_files_;
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // answers look whether it is still there
};

}  // namespace weft::shuffle
