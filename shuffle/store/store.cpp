#include "shuffle/store/store.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.hpp"
#include "shuffle/store/store_directory.hpp"
#include "shuffle/store/store_memory.hpp"

namespace weft::shuffle {
namespace {

using SegmentPtr = std::shared_ptr<const Segment>;

/// Three eighths of what the process may open, the soft limit being raised to the hard one.
std::size_t descriptor_budget() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  return std::clamp<std::size_t>(limit.rlim_cur / 8 * 3, 64, 24'000);
}

Result<SegmentPtr> open(SealedSegment sealed) {
  if (sealed.in_process) return std::move(sealed.in_process);
  return Segment::open(std::move(sealed.fd));
}

class MemoryFirstStore final : public Store {
 public:
  MemoryFirstStore(std::string directory, Fd lock, std::uint64_t budget, std::uint32_t writers, const StoreLimits& limits)
      : directory_(std::move(directory)),
        lock_(std::move(lock)),
        max_open_(limits.descriptors > 0 ? limits.descriptors : descriptor_budget()),
        max_mapped_(limits.mappings),
        pages_(std::make_shared<PagePool>(budget)),
        memory_(budget, writers) {
    evictor_ = std::thread([this] { evict_loop(); });
  }
  ~MemoryFirstStore() override {
    {
      const std::lock_guard guard(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    evictor_.join();
    for (const auto& [key, entry] : entries_) remove_file(entry);
  }

  SegmentRoom reserve(JobId job, ShuffleId shuffle) override {
    const std::lock_guard guard(mutex_);
    const StoreMemory::Grant grant = memory_.reserve(job, shuffle);
    if (grant.others_go) wake_.notify_one();
    return room_of(job, grant);
  }

  SegmentRoom reserve_exactly(JobId job, std::uint64_t bytes) override {
    const std::lock_guard guard(mutex_);
    return room_of(job, memory_.reserve_exactly(job, bytes));
  }

  bool prefers_disk() const override {
    const std::lock_guard guard(mutex_);
    return memory_.bytes() >= memory_.budget() - memory_.budget() / 8;
  }
  const std::string& directory() const override { return directory_; }
  const std::shared_ptr<PagePool>& pages() const override { return pages_; }

  Result<void> put(const SegmentKey& key, SealedSegment sealed) override {
    WEFT_ASSIGN(SegmentPtr segment, shuffle::open(std::move(sealed)));
    const bool memory = segment->home() != SegmentHome::file;
    std::unique_lock lock(mutex_);
    // Many tiny segments come faster than files can be made for them; beyond this the process would run out of mappings.
    room_.wait_for(lock, std::chrono::seconds(2), [this] { return mapped_ < max_mapped_ + max_mapped_ / 4 || evictor_rests_; });
    if (memory && eviction_error_ && is_too_full_for(*segment)) {
      try_to_evict_again();  // its disk may have room by now
      room_.wait_for(lock, std::chrono::seconds(2), [&] { return evictor_rests_ || !is_too_full_for(*segment); });
      if (eviction_error_ && is_too_full_for(*segment))
        return fail(
            Error(*eviction_error_).wrap(Code::resource_exhausted, "the shuffle memory is full and cannot be moved to disk"));
    }
    const auto [place, fresh] = entries_.try_emplace(key);
    if (!fresh) return fail(Code::already_exists, "map output " + std::to_string(key.map) + " is committed twice by one attempt");
    Entry& entry = place->second;
    entry =
        Entry{.segment = std::move(segment), .cached = {}, .path = {}, .size = 0, .sequence = next_sequence_++, .memory = memory};
    entry.size = entry.segment->size();
    memory_.came(key, entry.size, memory);
    if (!memory) {
      disk_order_.emplace(entry.sequence, key);
      stats_.disk_bytes += entry.size;
    }
    ++stats_.segments;
    holds(key, entry);
    if (pressed()) try_to_evict_again();
    return {};
  }

  Result<SegmentPtr> get(const SegmentKey& key) const override {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end())
      return fail(Code::not_found, "this worker has no output of map " + std::to_string(key.map) + " attempt " +
                                       std::to_string(key.attempt) + " of shuffle " + std::to_string(key.shuffle.value()));
    const Entry& entry = found->second;
    if (entry.segment) return entry.segment;
    if (SegmentPtr cached = entry.cached.lock()) return cached;
    Fd fd(::open(entry.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return fail(errno_error("opening map output " + entry.path, errno));
    WEFT_ASSIGN(SegmentPtr segment, Segment::map(std::move(fd)));
    entry.cached = segment;
    return segment;
  }

  void release(const SegmentKey& key) override {
    const std::lock_guard guard(mutex_);
    const auto place = entries_.find(key);
    if (place == entries_.end()) return;
    remove(place);
    wake_.notify_one();
    room_.notify_all();
  }
  void release(JobId job, ShuffleId shuffle) override {
    release_range({job, shuffle, 0, 0}, [=](const SegmentKey& key) { return key.job == job && key.shuffle == shuffle; });
  }
  void release(JobId job) override {
    release_range({job, ShuffleId(0), 0, 0}, [=](const SegmentKey& key) { return key.job == job; });
  }

  StoreStats stats() const override {
    const std::lock_guard guard(mutex_);
    StoreStats stats = stats_;
    stats.memory_bytes = memory_.bytes();
    stats.reserved_bytes = memory_.reserved();
    return stats;
  }

  std::vector<SegmentKey> segments() const override {
    const std::lock_guard guard(mutex_);
    std::vector<SegmentKey> keys;
    keys.reserve(entries_.size());
    for (const auto& [key, entry] : entries_) keys.push_back(key);
    return keys;
  }

 private:
  /// Mapped (`segment` set), with a descriptor or without, or in a named file that is mapped when requested (`path` set).
  struct Entry {
    SegmentPtr segment;
    mutable std::weak_ptr<const Segment> cached;
    std::string path;
    std::uint64_t size = 0;
    std::uint64_t sequence = 0;
    bool memory = false;
  };
  enum class Move : std::uint8_t { to_disk, unmap };
  struct Victim {
    SegmentKey key;
    std::uint64_t sequence = 0;
    SegmentPtr segment;
    Move move = Move::to_disk;
  };

  static void remove_file(const Entry& entry) {
    if (!entry.path.empty()) ::unlink(entry.path.c_str());
  }

  SegmentRoom room_of(JobId job, const StoreMemory::Grant& grant) {
    return grant.bytes > 0 ? SegmentRoom(*this, job, grant.bytes, grant.others_go) : SegmentRoom();
  }

  void give_back(JobId job, std::uint64_t bytes, bool others_go) override {
    const std::lock_guard guard(mutex_);
    memory_.give_back(job, bytes, others_go);
  }

  /// Its memory is given back by the evictor.
  std::map<SegmentKey, Entry>::iterator remove(std::map<SegmentKey, Entry>::iterator place) {
    Entry& entry = place->second;
    --stats_.segments;
    memory_.went(place->first, entry.size, entry.memory);
    if (!entry.memory) {
      stats_.disk_bytes -= entry.size;
      disk_order_.erase(entry.sequence);
    }
    remove_file(entry);
    lets_go(place->first, entry);
    if (entry.segment) graveyard_.push_back(std::move(entry.segment));
    return entries_.erase(place);
  }

  template <class Matches>
  void release_range(const SegmentKey& first, Matches matches) {
    const std::lock_guard guard(mutex_);
    auto place = entries_.lower_bound(first);
    while (place != entries_.end() && matches(place->first)) place = remove(place);
    wake_.notify_one();
    room_.notify_all();
  }

  void try_to_evict_again() {
    evictor_rests_ = false;
    wake_.notify_one();
  }
  bool is_too_full_for(const Segment& added) const {
    return pressed() && memory_.bytes() + added.size() > memory_.budget() + memory_.budget() / 4;
  }
  bool too_many_mapped() const { return mapped_ > max_mapped_; }
  bool pressed() const { return memory_.over_budget() || too_many_mapped(); }

  /// The entry's segment is held from now on. Where that is one descriptor too many, the smallest segment loses its own: for
  /// readers that cannot map it, its blocks are copied in the shortest time.
  void holds(const SegmentKey& key, const Entry& entry) {
    if (!entry.segment || entry.segment->home() == SegmentHome::process) return;
    ++mapped_;
    if (entry.segment->fd() < 0) return;
    open_.emplace(entry.size, key);
    if (open_.size() <= max_open_) return;
    Entry& smallest = entries_.at(open_.begin()->second);
    smallest.segment = smallest.segment->without_descriptor();
    open_.erase(open_.begin());
  }
  void lets_go(const SegmentKey& key, const Entry& entry) {
    if (!entry.segment || entry.segment->home() == SegmentHome::process) return;
    --mapped_;
    open_.erase({entry.size, key});
  }

  /// Writing gigabytes and giving back their pages takes time that neither the committing nor the releasing thread should spend.
  void evict_loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stop_ || !graveyard_.empty() || (pressed() && !evictor_rests_); });
      if (stop_) return;
      if (!graveyard_.empty()) {
        std::vector<SegmentPtr> dead;
        dead.swap(graveyard_);
        lock.unlock();
        dead.clear();
        lock.lock();
      } else {
        evict_one(lock);
      }
    }
  }

  Victim choose() const {
    const bool from_memory = memory_.over_budget() || disk_order_.empty();
    const SegmentKey& key = from_memory ? memory_.next() : disk_order_.begin()->second;
    const Entry& entry = entries_.at(key);
    return {key, entry.sequence, entry.segment, too_many_mapped() ? Move::unmap : Move::to_disk};
  }

  void evict_one(std::unique_lock<std::mutex>& lock) {
    Victim victim = choose();
    lock.unlock();
    Entry moved;
    const Result<void> done = victim.move == Move::unmap ? write_named(victim, moved) : write_unlinked(victim, moved);
    lock.lock();
    if (!done) {
      eviction_error_ = done.error();
      evictor_rests_ = true;
      log_.warn("map outputs stay in memory: {}", done.error().to_string());
      room_.notify_all();
      return;
    }
    eviction_error_.reset();
    const auto place = entries_.find(victim.key);
    if (place == entries_.end() || place->second.sequence != victim.sequence) {
      remove_file(moved);  // released meanwhile
      return;
    }
    adopt(place->second, std::move(moved), victim);
    lock.unlock();
    room_.notify_all();
    victim.segment.reset();  // gives back the memory
    lock.lock();
  }

  void adopt(Entry& entry, Entry moved, const Victim& victim) {
    if (entry.memory) {
      memory_.moved(victim.key, entry.size);
      stats_.disk_bytes += entry.size;
      stats_.evicted_bytes += entry.size;
    } else {
      disk_order_.erase(entry.sequence);
    }
    if (moved.segment) disk_order_.emplace(entry.sequence, victim.key);
    lets_go(victim.key, entry);
    entry.memory = false;
    entry.cached = entry.segment;
    entry.segment = std::move(moved.segment);
    entry.path = std::move(moved.path);
    holds(victim.key, entry);
  }

  Result<void> write_unlinked(const Victim& victim, Entry& moved) const {
    auto file = victim.segment->to_file(directory_);
    if (!file) return fail(std::move(file).error().wrap("moving map output to " + directory_));
    WEFT_ASSIGN(moved.segment, Segment::open(*std::move(file)));
    return {};
  }

  Result<void> write_named(const Victim& victim, Entry& moved) const {
    std::string path = directory_ + "/" + std::string(kSegmentFilePrefix) + std::to_string(victim.sequence);
    WEFT_TRY(write_named_segment(*victim.segment, directory_, path));
    moved.path = std::move(path);
    return {};
  }

  const std::string directory_;
  const Fd lock_;
  const std::size_t max_open_, max_mapped_;
  const std::shared_ptr<PagePool> pages_;
  const Log log_{"shuffle"};
  mutable std::mutex mutex_;
  std::condition_variable wake_;  // the evictor has something to do
  std::condition_variable room_;  // it has done something
  std::map<SegmentKey, Entry> entries_;
  StoreMemory memory_;                                   // of those in memory
  std::map<std::uint64_t, SegmentKey> disk_order_;       // mapped files by age
  std::set<std::pair<std::uint64_t, SegmentKey>> open_;  // by size: of which a descriptor is held
  std::size_t mapped_ = 0;
  std::vector<SegmentPtr> graveyard_;
  StoreStats stats_;
  std::optional<Error> eviction_error_;  // of the last one
  bool evictor_rests_ = false;           // after an error, until something is to be put
  std::uint64_t next_sequence_ = 0;
  bool stop_ = false;
  std::thread evictor_;
};

}  // namespace

Result<std::unique_ptr<Store>> Store::open(std::string directory, std::uint64_t memory_budget, std::uint32_t writers,
                                           const StoreLimits& limits) {
  WEFT_ASSIGN(Fd lock, own_directory(directory));
  return std::make_unique<MemoryFirstStore>(std::move(directory), std::move(lock), memory_budget, writers, limits);
}

}  // namespace weft::shuffle
