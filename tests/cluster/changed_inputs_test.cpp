// Inputs that change while a job reads them, in one process and on workers.
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/cluster/cluster.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

/// The program `cluster_probe` appends to the file that it reads while it reads it.
TEST(ChangedInputs, FailJobsOnWorkersAtTheFirstAttempt) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "in", probe = program("cluster_probe");
  for (const std::string where : {"--threads", "--workers"}) {
    write_file(path, "a\nb\n");
    const auto failed = run({probe, "append", "--input", path, where, "2"});
    EXPECT_NE(failed.exit_code, 0);
    EXPECT_NE(failed.err.find("input " + path + " changed since it was listed: it grew from 4 to "), std::string::npos)
        << failed.err;
    EXPECT_EQ(failed.err.find("attempts"), std::string::npos) << "what changed does not get better: " << failed.err;
    EXPECT_EQ(std::filesystem::file_size(path), 6u) << "one attempt, which appended 2 bytes";
    write_file(path, "a\nb\n");
    const auto read = run({probe, "append", "--input", path, where, "2", "--growing-inputs"});
    ASSERT_EQ(read.exit_code, 0) << read.err;
    EXPECT_EQ(read.out, "count 2\n");
  }
}

}  // namespace
}  // namespace weft::test
