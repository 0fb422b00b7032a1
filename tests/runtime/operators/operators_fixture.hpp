// What every operator test needs: a context with a small grant, random data with printed seeds, and a segment in plain memory.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "runtime/operators/fault.hpp"
#include "shuffle/segment/segment.hpp"

namespace weft::runtime {

struct TestContext {
  explicit TestContext(std::uint64_t bytes) : grant(bytes) {
    context.memory = &grant;
    context.spill_directory = ::testing::TempDir();
    context.stop = &stop;
  }
  MemoryGrant grant;
  std::atomic<bool> stop{false};
  OperatorContext context;
};

/// A segment that keeps its extents.
class MemorySegment final : public shuffle::SegmentWriter {
 public:
  struct Piece {
    std::vector<std::byte> bytes;
    std::uint32_t records;
  };
  Result<void> append(std::uint32_t partition, ByteView bytes, std::uint32_t records) override {
    if (bytes_ + bytes.size() > limit) return fail(Code::resource_exhausted, "the segment is full");
    bytes_ += bytes.size();
    pieces[partition].push_back({{bytes.begin(), bytes.end()}, records});
    return {};
  }
  std::size_t good_extent() const override { return 64u << 10; }
  Result<shuffle::SealedSegment> seal() override { return fail(Code::internal, "not a real segment"); }
  std::uint64_t bytes() const override { return bytes_; }

  std::map<std::uint32_t, std::vector<Piece>> pieces;
  std::uint64_t limit = UINT64_MAX;

 private:
  std::uint64_t bytes_ = 0;
};

/// Words with a skewed distribution, from empty to longer than any short-key path.
inline std::string random_word(Random& random, std::uint64_t distinct) {
  const std::uint64_t number = random.below(1 + random.below(distinct));
  std::string word = number == 0 ? "" : std::to_string(number * 0x9e3779b97f4a7c15ULL % 100003);
  if (number % 7 == 3) word += std::string(number % 40, 'x');
  if (number % 11 == 5) word += std::string(1, '\0');
  return word;
}

/// The code of the TaskError that `run` throws; Code::internal when it throws none.
template <class Run>
Code error_code_of(Run&& run) {
  try {
    run();
  } catch (const TaskError& error) {
    return error.error.code();
  }
  return Code::internal;
}

struct Sum {
  using Value = std::int64_t;
  using Acc = std::int64_t;
  Acc init(Value value) const { return value; }
  void add(Acc& acc, Value value) const { acc += value; }
  void merge(Acc& acc, Acc other) const { acc += other; }
};

/// An accumulator with memory of its own.
struct Concatenate {
  using Value = std::string;
  using Acc = std::vector<std::string>;
  Acc init(const Value& value) const { return {value}; }
  void add(Acc& acc, const Value& value) const { acc.push_back(value); }
  void merge(Acc& acc, const Acc& other) const { acc.insert(acc.end(), other.begin(), other.end()); }
};

}  // namespace weft::runtime
