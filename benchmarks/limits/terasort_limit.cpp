// TeraSort as one would write it by hand for this machine: two threads turn mapped records into entries of sixteen bytes (the key's
// ten and the record's number), deal them out to buckets by key range, sort bucket after bucket inside the second-level cache, and
// copy each record once, into a write buffer. Each thread writes its half of the key range to a file of its own: two writers of one
// file would wait for each other's inode lock. No engine, no failure handling: what weft is measured against.
//
//   terasort_limit FILE OUTPUT-DIRECTORY [THREADS]
#include <algorithm>
#include <barrier>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "benchmarks/limits/files.hpp"
#include "benchmarks/limits/huge_memory.hpp"

namespace limits {
namespace {

constexpr std::size_t kRecord = 100;

/// The ten bytes of the key as numbers that compare like the bytes, and the record's number in the lower bits of `rest`: entries
/// are never equal, and no comparison looks at a record.
struct Entry {
  std::uint64_t prefix;
  std::uint64_t rest;

  static constexpr int kIndexBits = 48;
  static Entry of(const char* record, std::size_t index) {
    std::uint64_t prefix;
    std::uint16_t tail;
    std::memcpy(&prefix, record, 8);
    std::memcpy(&tail, record + 8, 2);
    return {__builtin_bswap64(prefix), std::uint64_t{__builtin_bswap16(tail)} << kIndexBits | index};
  }
  std::size_t index() const { return rest & ((std::uint64_t{1} << kIndexBits) - 1); }
  bool operator<(const Entry& other) const { return prefix != other.prefix ? prefix < other.prefix : rest < other.rest; }
};

/// Maps keys to 2^bits or fewer digits in the order of the keys: the distance from the smallest key, without its lower bits.
class Digits {
 public:
  Digits(std::uint64_t smallest, std::uint64_t largest, int bits)
      : smallest_(smallest), shift_(std::max(0, static_cast<int>(std::bit_width(largest - smallest)) - bits)) {}
  std::size_t operator()(const Entry& entry) const { return (entry.prefix - smallest_) >> shift_; }

 private:
  std::uint64_t smallest_;
  int shift_;
};

struct Range {
  std::uint64_t smallest = ~std::uint64_t{0}, largest = 0;
  void add(std::uint64_t prefix) {
    smallest = std::min(smallest, prefix);
    largest = std::max(largest, prefix);
  }
};

/// Records mapped from a file; the pages are made present in the pieces that are read next, by the thread that reads them.
class Records {
 public:
  explicit Records(const InputFile& file) : count_(file.size() / kRecord) {
    void* pages = ::mmap(nullptr, std::max<std::size_t>(file.size(), 1), PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (pages == MAP_FAILED) fail("mmap");
    data_ = static_cast<const char*>(pages);
  }
  std::size_t size() const { return count_; }
  const char* operator[](std::size_t i) const { return data_ + i * kRecord; }
  void populate(std::size_t begin, std::size_t end) const {
    constexpr std::uintptr_t kPage = 4096;
    const auto from = reinterpret_cast<std::uintptr_t>((*this)[begin]) & ~(kPage - 1);
    const auto to = reinterpret_cast<std::uintptr_t>((*this)[end]);
    ::madvise(reinterpret_cast<void*>(from), to - from, MADV_POPULATE_READ);  // without it the pages come by faults, only slower
  }

 private:
  const char* data_;
  std::size_t count_;
};

/// Makes the entries of records [begin, end).
Range make_entries(const Records& records, std::size_t begin, std::size_t end, Entry* entries) {
  constexpr std::size_t kPiece = 20'000;
  Range range;
  for (std::size_t at = begin; at < end; at += kPiece) {
    const std::size_t stop = std::min(at + kPiece, end);
    records.populate(at, stop);
    for (std::size_t i = at; i < stop; ++i) {
      entries[i] = Entry::of(records[i], i);
      range.add(entries[i].prefix);
    }
  }
  return range;
}

/// Sorts one bucket by dealing it out once more, to about as many digits as it has entries, and then moving the few that are still
/// out of place. Keys that crowd on few digits are left to std::sort.
class BucketSorter {
 public:
  void sort(std::span<Entry> bucket) {
    if (bucket.size() < 32) return insertion_sort(bucket);
    Range range;
    for (const Entry& entry : bucket) range.add(entry.prefix);
    const auto bits = static_cast<int>(std::bit_width(bucket.size()));
    const Digits digit(range.smallest, range.largest, bits);
    ends_.assign((std::size_t{1} << bits) + 1, 0);
    for (const Entry& entry : bucket) ++ends_[digit(entry)];
    if (*std::max_element(ends_.begin(), ends_.end()) > 64) return std::sort(bucket.begin(), bucket.end());
    std::uint32_t sum = 0;
    for (std::uint32_t& end : ends_) sum += std::exchange(end, sum);
    copy_.resize(std::max(copy_.size(), bucket.size()));
    for (const Entry& entry : bucket) copy_[ends_[digit(entry)]++] = entry;
    std::copy_n(copy_.begin(), bucket.size(), bucket.begin());
    insertion_sort(bucket);
  }

 private:
  static void insertion_sort(std::span<Entry> entries) {
    for (std::size_t i = 1; i < entries.size(); ++i) {
      const Entry entry = entries[i];
      std::size_t j = i;
      for (; j > 0 && entry < entries[j - 1]; --j) entries[j] = entries[j - 1];
      entries[j] = entry;
    }
  }
  std::vector<std::uint32_t> ends_;
  std::vector<Entry> copy_;
};

void write_records(const Records& records, std::span<const Entry> sorted, OutputFile& output) {
  constexpr std::size_t kAhead = 24;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i + kAhead < sorted.size()) {
      const char* soon = records[sorted[i + kAhead].index()];
      __builtin_prefetch(soon);
      __builtin_prefetch(soon + kRecord - 1);
    }
    char* out = output.room(kRecord);
    std::memcpy(out, records[sorted[i].index()], kRecord);
    output.advance(out + kRecord);
  }
}

/// The sort: each thread runs work(); they meet at a barrier between the steps.
class Sort {
 public:
  Sort(const Records& records, const char* directory, std::size_t threads)
      : records_(records),
        directory_(directory),
        threads_(threads),
        arrived_(static_cast<std::ptrdiff_t>(threads)),
        ranges_(threads),
        places_(threads, std::vector<std::uint32_t>(kBuckets + 1)),
        unsorted_(records.size()),
        entries_(records.size()) {}

  void work(std::size_t thread) {
    const std::size_t begin = records_.size() * thread / threads_, end = records_.size() * (thread + 1) / threads_;
    ranges_[thread] = make_entries(records_, begin, end, unsorted_.data());
    arrived_.arrive_and_wait();
    const Digits digit = digits_of_all();
    for (std::size_t i = begin; i < end; ++i) ++places_[thread][digit(unsorted_[i])];
    arrived_.arrive_and_wait();
    if (thread == 0) give_places();
    arrived_.arrive_and_wait();
    for (std::size_t i = begin; i < end; ++i) entries_[places_[thread][digit(unsorted_[i])]++] = unsorted_[i];
    arrived_.arrive_and_wait();
    sort_and_write(thread);
  }

 private:
  static constexpr int kBucketBits = 13;  // a bucket's entries fit the second-level cache, and the buckets' ends as well
  static constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;

  Digits digits_of_all() const {
    Range all;
    for (const Range& range : ranges_) {
      all.add(range.smallest);
      all.add(range.largest);
    }
    return {all.smallest, all.largest, kBucketBits};
  }
  /// Turns counts into where each thread's share of each bucket starts.
  void give_places() {
    std::uint32_t sum = 0;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
      for (auto& places : places_) sum += std::exchange(places[bucket], sum);
  }
  /// Where a bucket ends, once all entries are placed.
  std::size_t end_of(std::size_t bucket) const { return places_.back()[bucket]; }
  /// The first bucket that ends behind the thread's share of all entries.
  std::size_t first_bucket(std::size_t thread) const {
    const std::size_t goal = records_.size() * thread / threads_;
    std::size_t bucket = 0;
    while (bucket < kBuckets && end_of(bucket) <= goal) ++bucket;
    return bucket;
  }
  void sort_and_write(std::size_t thread) {
    OutputFile output(part_path(directory_, thread));
    BucketSorter sorter;
    const std::size_t last = thread + 1 == threads_ ? kBuckets : first_bucket(thread + 1);
    for (std::size_t bucket = first_bucket(thread); bucket < last; ++bucket) {
      const std::size_t begin = bucket == 0 ? 0 : end_of(bucket - 1);
      const std::span<Entry> entries(entries_.data() + begin, end_of(bucket) - begin);
      sorter.sort(entries);
      write_records(records_, entries, output);
    }
  }

  const Records& records_;
  const char* directory_;
  std::size_t threads_;
  std::barrier<> arrived_;
  std::vector<Range> ranges_;
  std::vector<std::vector<std::uint32_t>> places_;
  HugeArray<Entry> unsorted_, entries_;
};

}  // namespace
}  // namespace limits

int main(int argc, char** argv) {
  using namespace limits;
  if (argc < 3) return std::fprintf(stderr, "usage: terasort_limit FILE OUTPUT-DIRECTORY [THREADS]\n"), 2;
  const std::size_t threads = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 2;
  const InputFile file(argv[1]);
  const Records records(file);
  Sort sort(records, argv[2], threads);
  in_parallel(threads, threads, [&](std::size_t thread) { sort.work(thread); });
  std::_Exit(0);  // giving memory back page by page would only cost time
}
