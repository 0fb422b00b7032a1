// Writes jobs into a journal until it is killed: a number on standard output for each that is on the disk.
#include "tests/faults/journal_writer.hpp"

#include <cstdio>

#include "tests/engine/master/server/job_statuses.hpp"

int main(int, char** argv) {
  using namespace weft::master;
  auto file = JournalFile::open(argv[1], weft::test::kWriterOptions);
  if (!file) {
    std::fprintf(stderr, "%s\n", file.error().to_string().c_str());
    return 1;
  }
  for (std::uint64_t id = file->history()->marks.next_job;; ++id) {
    if (auto done =
            file->commit(test::records_of({test::job_status(id, JobState::running), test::job_status(id, JobState::finished)}));
        !done) {
      std::fprintf(stderr, "%s\n", done.error().to_string().c_str());
      return 1;
    }
    std::printf("%llu\n", static_cast<unsigned long long>(id));
    std::fflush(stdout);
  }
}
