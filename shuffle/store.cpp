#include "shuffle/store.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/log.hpp"

namespace weft::shuffle {
namespace {

namespace fs = std::filesystem;
using SegmentPtr = std::shared_ptr<const Segment>;
constexpr std::string_view kFilePrefix = "weft-segment-";
constexpr std::uint64_t kSmallestRoom = 64u << 10;

/// Takes the directory for this process (flock on the directory itself) and removes what an earlier owner left.
Result<Fd> own_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail(errno_error("creating the shuffle directory " + path, error.value()));
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return fail(errno_error("opening the shuffle directory " + path, errno));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return fail(Code::already_exists, "the shuffle directory " + path + " is in use by another worker");
    return fail(errno_error("locking the shuffle directory " + path, errno));
  }
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().native().starts_with(kFilePrefix)) ::unlink(entry->path().c_str());
  return fd;
}

/// Segments held open at most: half of what the process may open, the soft limit being raised to the hard one.
std::size_t descriptor_budget() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  return std::clamp<std::size_t>(limit.rlim_cur / 2, 64, 24'000);  // each is a mapping too, and those are limited to 65530
}

Result<SegmentPtr> open(SealedSegment sealed) {
  if (sealed.in_process) return std::move(sealed.in_process);
  return Segment::open(std::move(sealed.fd));
}

class MemoryFirstStore final : public Store {
 public:
  MemoryFirstStore(std::string directory, Fd lock, std::uint64_t budget, std::uint32_t writers)
      : directory_(std::move(directory)),
        lock_(std::move(lock)),
        budget_(budget),
        writers_(std::max<std::uint32_t>(writers, 1)),
        max_open_(descriptor_budget()),
        pages_(std::make_shared<PagePool>(budget)) {
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
    const std::uint64_t taken = stats_.memory_bytes + stats_.reserved_bytes;
    const std::uint64_t left = budget_ > taken ? budget_ - taken : 0;
    std::uint64_t wanted = left / (2 * std::uint64_t{writers_});
    if (const auto known = sizes_.find({job, shuffle}); known != sizes_.end()) {
      const std::uint64_t usual = known->second.bytes / known->second.segments;
      wanted = std::max(wanted, usual + usual / 4);  // better not begun in memory than moved halfway
    }
    if (wanted > left || wanted < kSmallestRoom) return {};
    stats_.reserved_bytes += wanted;
    return {*this, wanted};
  }

  SegmentRoom reserve_exactly(std::uint64_t bytes) override {
    const std::lock_guard guard(mutex_);
    const std::uint64_t taken = stats_.memory_bytes + stats_.reserved_bytes;
    if (taken > budget_ || bytes > budget_ - taken) return {};
    stats_.reserved_bytes += bytes;
    return {*this, bytes};
  }

  bool prefers_disk() const override {
    const std::lock_guard guard(mutex_);
    return stats_.memory_bytes >= budget_ - budget_ / 8;
  }
  const std::string& directory() const override { return directory_; }
  const std::shared_ptr<PagePool>& pages() const override { return pages_; }

  Result<void> put(const SegmentKey& key, SealedSegment sealed) override {
    WEFT_ASSIGN(SegmentPtr segment, shuffle::open(std::move(sealed)));
    const bool memory = segment->home() != SegmentHome::file;
    std::unique_lock lock(mutex_);
    // Many tiny segments come faster than files can be made for them; beyond this the process would run out of descriptors.
    room_.wait_for(lock, std::chrono::seconds(2), [this] { return open_count() < max_open_ + max_open_ / 4 || eviction_error_; });
    if (eviction_error_ && memory && stats_.memory_bytes + segment->size() > budget_ + budget_ / 4)
      return fail(Error(*eviction_error_).wrap(Code::resource_exhausted, "the shuffle memory is full and cannot be moved to disk"));
    const auto [place, fresh] = entries_.try_emplace(key);
    if (!fresh) return fail(Code::already_exists, "map output " + std::to_string(key.map) + " is committed twice by one attempt");
    Entry& entry = place->second;
    entry =
        Entry{.segment = std::move(segment), .cached = {}, .path = {}, .size = 0, .sequence = next_sequence_++, .memory = memory};
    entry.size = entry.segment->size();
    (memory ? memory_order_ : disk_order_).emplace(entry.sequence, key);
    ++stats_.segments;
    Sizes& sizes = sizes_[{key.job, key.shuffle}];
    sizes.bytes += entry.size;
    ++sizes.segments;
    (memory ? stats_.memory_bytes : stats_.disk_bytes) += entry.size;
    if (pressed()) {
      eviction_error_.reset();  // try again
      wake_.notify_one();
    }
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
    WEFT_ASSIGN(SegmentPtr segment, Segment::open(std::move(fd)));
    entry.cached = segment;
    return segment;
  }

  void release(JobId job, ShuffleId shuffle) override {
    release_range({job, shuffle, 0, 0}, [=](const SegmentKey& key) { return key.job == job && key.shuffle == shuffle; });
  }
  void release(JobId job) override {
    release_range({job, ShuffleId(0), 0, 0}, [=](const SegmentKey& key) { return key.job == job; });
  }

  StoreStats stats() const override {
    const std::lock_guard guard(mutex_);
    return stats_;
  }

 private:
  /// Open (`segment` set), or in a named file that is opened when asked for (`path` set).
  struct Entry {
    SegmentPtr segment;
    mutable std::weak_ptr<const Segment> cached;
    std::string path;
    std::uint64_t size = 0;
    std::uint64_t sequence = 0;
    bool memory = false;
  };
  /// Of the segments that a shuffle has.
  struct Sizes {
    std::uint64_t bytes = 0;
    std::uint64_t segments = 0;
  };
  using Order = std::map<std::uint64_t, SegmentKey>;  // open entries by age
  enum class Move : std::uint8_t { to_disk, close };
  struct Victim {
    SegmentKey key;
    std::uint64_t sequence = 0;
    SegmentPtr segment;
    Move move = Move::to_disk;
  };

  static void remove_file(const Entry& entry) {
    if (!entry.path.empty()) ::unlink(entry.path.c_str());
  }

  void give_back(std::uint64_t bytes) override {
    const std::lock_guard guard(mutex_);
    stats_.reserved_bytes -= bytes;
  }

  template <class Matches>
  void release_range(const SegmentKey& first, Matches matches) {
    const std::lock_guard guard(mutex_);
    sizes_.erase(sizes_.lower_bound({first.job, first.shuffle}),
                 std::find_if(sizes_.lower_bound({first.job, first.shuffle}), sizes_.end(), [&](const auto& known) {
                   return !matches(SegmentKey{known.first.first, known.first.second, 0, 0});
                 }));
    auto place = entries_.lower_bound(first);
    while (place != entries_.end() && matches(place->first)) {
      Entry& entry = place->second;
      --stats_.segments;
      (entry.memory ? stats_.memory_bytes : stats_.disk_bytes) -= entry.size;
      (entry.memory ? memory_order_ : disk_order_).erase(entry.sequence);
      remove_file(entry);
      if (entry.segment) graveyard_.push_back(std::move(entry.segment));
      place = entries_.erase(place);
    }
    wake_.notify_one();
    room_.notify_all();
  }

  std::size_t open_count() const { return memory_order_.size() + disk_order_.size(); }
  bool too_many_open() const { return open_count() > max_open_; }
  bool over_budget() const { return stats_.memory_bytes > budget_ && !memory_order_.empty(); }
  bool pressed() const { return over_budget() || too_many_open(); }

  /// Writing gigabytes and giving back their pages takes time that neither the committing nor the releasing thread should spend.
  void evict_loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stop_ || !graveyard_.empty() || (pressed() && !eviction_error_); });
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
    const Order& order = over_budget() || disk_order_.empty() ? memory_order_ : disk_order_;
    const auto& [sequence, key] = *order.begin();
    return {key, sequence, entries_.at(key).segment, too_many_open() ? Move::close : Move::to_disk};
  }

  void evict_one(std::unique_lock<std::mutex>& lock) {
    Victim victim = choose();
    lock.unlock();
    Entry moved;
    const Result<void> done = victim.move == Move::close ? write_named(victim, moved) : write_unlinked(victim, moved);
    lock.lock();
    if (!done) {
      eviction_error_ = done.error();
      log_.warn("map outputs stay in memory: {}", done.error().to_string());
      room_.notify_all();
      return;
    }
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
      stats_.memory_bytes -= entry.size;
      stats_.disk_bytes += entry.size;
      stats_.evicted_bytes += entry.size;
    }
    (entry.memory ? memory_order_ : disk_order_).erase(entry.sequence);
    if (moved.segment) disk_order_.emplace(entry.sequence, victim.key);
    entry.memory = false;
    entry.cached = entry.segment;
    entry.segment = std::move(moved.segment);
    entry.path = std::move(moved.path);
  }

  Result<void> write_unlinked(const Victim& victim, Entry& moved) const {
    auto file = victim.segment->to_file(directory_);
    if (!file) return fail(std::move(file).error().wrap("moving map output to " + directory_));
    WEFT_ASSIGN(moved.segment, Segment::open(*std::move(file)));
    return {};
  }

  Result<void> write_named(const Victim& victim, Entry& moved) const {
    std::string path = directory_ + "/" + std::string(kFilePrefix) + std::to_string(victim.sequence);
    Fd file;
    if (victim.segment->home() != SegmentHome::file) {
      auto written = victim.segment->to_file(directory_);
      if (!written) return fail(std::move(written).error().wrap("writing " + path));
      file = *std::move(written);
    }
    const int source = file.valid() ? file.get() : victim.segment->fd();
    WEFT_TRY(give_name(source, path));
    moved.path = std::move(path);
    return {};
  }

  /// Links an unlinked file of the directory to `path`; where the file system cannot do that, copies it.
  static Result<void> give_name(int source, const std::string& path) {
    const std::string open_file = "/proc/self/fd/" + std::to_string(source);
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid()) return fail(errno_error("creating " + path, errno));
    struct stat info {};
    off_t offset = 0;
    bool copied = ::fstat(source, &info) == 0;
    while (copied && offset < info.st_size)
      copied = ::sendfile(fd.get(), source, &offset, static_cast<std::size_t>(info.st_size - offset)) > 0 || errno == EINTR;
    if (copied) return {};
    const int code = errno;
    ::unlink(path.c_str());
    return fail(errno_error("writing " + path, code));
  }

  const std::string directory_;
  const Fd lock_;
  const std::uint64_t budget_;
  const std::uint32_t writers_;
  const std::size_t max_open_;
  const std::shared_ptr<PagePool> pages_;
  const Log log_{"shuffle"};
  mutable std::mutex mutex_;
  std::condition_variable wake_;  // the evictor has something to do
  std::condition_variable room_;  // it has done something
  std::map<SegmentKey, Entry> entries_;
  std::map<std::pair<JobId, ShuffleId>, Sizes> sizes_;
  Order memory_order_;
  Order disk_order_;
  std::vector<SegmentPtr> graveyard_;
  StoreStats stats_;
  std::optional<Error> eviction_error_;
  std::uint64_t next_sequence_ = 0;
  bool stop_ = false;
  std::thread evictor_;
};

}  // namespace

Result<std::unique_ptr<Store>> Store::open(std::string directory, std::uint64_t memory_budget, std::uint32_t writers) {
  WEFT_ASSIGN(Fd lock, own_directory(directory));
  return std::make_unique<MemoryFirstStore>(std::move(directory), std::move(lock), memory_budget, writers);
}

}  // namespace weft::shuffle
