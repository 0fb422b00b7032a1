// Records that sources or user functions reported as unreadable (weft::bad_record), from the task to the reports of its job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::runtime {

/// How many, and some of them in words: of a task, or of the tasks of a stage that count.
struct BadRecords {
  std::uint64_t count = 0;
  std::vector<std::string> examples;  // the first few, each a line of bounded length
  std::uint64_t inputs = 0;           // records of input files with such a report, each counted once
  friend bool operator==(const BadRecords&, const BadRecords&) = default;
};

inline constexpr std::size_t kBadRecordExamples = 5;
inline constexpr std::size_t kBadRecordExampleBytes = 500;

/// What a job bears (--max-bad-records).
struct BadRecordLimit {
  std::uint64_t count = 0;  // of all its tasks
  double percent = 0;       // not 0: instead, of the records that a stage reads
  friend bool operator==(const BadRecordLimit&, const BadRecordLimit&) = default;
};

inline void add(BadRecords& sum, const BadRecords& more) {
  sum.count += more.count;
  sum.inputs += more.inputs;
  for (const std::string& example : more.examples) {
    if (sum.examples.size() < kBadRecordExamples) sum.examples.push_back(example.substr(0, kBadRecordExampleBytes));
  }
}

}  // namespace weft::runtime
