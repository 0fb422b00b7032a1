// A journal in a directory of its own, and what tests of journals do with its bytes.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/master/journal/journal.hpp"
#include "tests/engine/master/server/job_statuses.hpp"

namespace weft::master::test {

class JournalFiles : public testing::Test {
 protected:
  JournalFile open() {
    auto file = JournalFile::open(path, options);
    EXPECT_TRUE(file) << file.error().to_string();
    return std::move(file).value();
  }
  JournalHistory history() { return open().history().value(); }
  std::string bytes() const { return read_file(path, std::uint64_t{1} << 30).value(); }
  void write(const std::string& content) const { std::ofstream(path, std::ios::binary | std::ios::trunc) << content; }
  void flip(std::size_t bit) const {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(bit / 8));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(bit / 8));
    file.put(static_cast<char>(byte ^ (1 << bit % 8)));
  }
  /// Four records of two jobs; the offsets of their ends.
  std::vector<std::uint64_t> write_some() {
    JournalFile file = open();
    std::vector<std::uint64_t> ends;
    for (const JobStatus& job : {job_status(1, JobState::running, 1), job_status(2, JobState::running, 1),
                                 job_status(1, JobState::finished), job_status(2, JobState::running, 2)}) {
      EXPECT_TRUE(file.commit(records_of({job})));
      ends.push_back(file.size());
    }
    return ends;
  }

  TempDir directory = TempDir::create("weft-journal-").value();
  std::string path = (directory.path() / "journal").string();
  JournalOptions options;
};

inline std::vector<std::uint64_t> ids_of(const std::vector<JobStatus>& jobs) {
  std::vector<std::uint64_t> ids;
  for (const JobStatus& job : jobs) ids.push_back(job.id.value());
  return ids;
}
inline std::vector<std::uint64_t> ids_of(const std::vector<JournaledJob>& jobs) {
  std::vector<std::uint64_t> ids;
  for (const JournaledJob& job : jobs) ids.push_back(job.status.id.value());
  return ids;
}
using Ids = std::vector<std::uint64_t>;

}  // namespace weft::master::test
