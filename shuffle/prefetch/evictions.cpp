#include "shuffle/prefetch/evictions.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/guarded.hpp"
#include "base/text.hpp"

namespace weft::shuffle {

void Evictions::write(std::vector<HeldPtr> blocks, BlockMover::Written done) {
  std::uint64_t bytes = 0;
  for (const HeldPtr& held : blocks) bytes += held->blocks.size;
  const bool many = counts_->files.load() >= most_files_;
  if (many || bytes > most_ - std::min(most_, counts_->held.load())) {
    Error full(Code::resource_exhausted,
               many ? std::to_string(most_files_) + " such files are open already, and no more may be"
                    : human_bytes(counts_->held.load()) + " lie in such files already, " + human_bytes(most_) + " may");
    return reactor_.post(guarded(alive_, [full = std::move(full), done = std::move(done)] { done(fail(full)); }));
  }
  counts_->held += bytes;
  ++counts_->files;
  // Given back with the file, or when none was made.
  const std::shared_ptr<void> counted(nullptr, [counts = counts_, bytes](void*) {
    counts->held -= bytes;
    --counts->files;
  });
  background_.post([&reactor = reactor_, alive = std::weak_ptr(alive_), directory = directory_, counts = counts_, counted,
                    blocks = std::move(blocks), done = std::move(done)]() mutable {
    Result<FilePtr> outcome = fail(Code::cancelled, "");
    if (auto written = EvictionFile::write(directory, blocks)) {
      const std::uint64_t on_disk = (*written)->file_bytes();
      counts->file += on_disk;
      outcome = FilePtr(written->release(), [counts, counted, on_disk](const EvictionFile* file) {
        delete file;
        counts->file -= on_disk;
      });
    } else {
      outcome = fail(std::move(written).error().wrap("writing to " + directory));
    }
    blocks.clear();
    reactor.post(guarded(alive, [outcome = std::move(outcome), done = std::move(done)] { done(outcome); }));
  });
}

void Evictions::read(FilePtr file, std::shared_ptr<const SegmentRoom> room, BlockMover::Read done) {
  background_.post([&reactor = reactor_, alive = std::weak_ptr(alive_), file = std::move(file), room = std::move(room),
                    done = std::move(done)]() mutable {
    auto blocks = file->read(std::move(room));
    file.reset();
    reactor.post(guarded(alive, [blocks = std::move(blocks), done = std::move(done)] { done(blocks); }));
  });
}

}  // namespace weft::shuffle
