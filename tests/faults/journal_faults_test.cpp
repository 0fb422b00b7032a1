// Journals under kill -9 at any moment, also of a checkpoint, and on disks that give errors.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>
#include <signal.h>

#include "base/sanitized.hpp"
#include "engine/master/journal/journal_check.hpp"
#include "tests/faults/journal_writer.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

std::string program(const std::string& name) { return std::string(WEFT_BIN_DIR) + "/" + name; }
unsigned rounds() { return std::getenv("WEFT_LONG") != nullptr ? 300 : 15; }

/// The last number that is whole.
std::uint64_t last_of(const std::string& lines) {
  const auto end = lines.rfind('\n');
  if (end == std::string::npos) return 0;
  const auto before = lines.rfind('\n', end - 1);
  return std::stoull(lines.substr(before == std::string::npos ? 0 : before + 1));
}

TEST(JournalKills, LoseNothingThatWasOnTheDisk) {
  ScratchDirectory files;
  const unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  for (unsigned round = 0; round < rounds(); ++round) {
    Process writer({program("journal_writer"), files / "journal"});
    const auto lines = static_cast<std::ptrdiff_t>(random() % 300);
    ASSERT_TRUE(eventually([&] {
      const std::string out = writer.out_so_far();
      return !writer.running() || std::count(out.begin(), out.end(), '\n') > lines;
    }));
    ASSERT_TRUE(writer.running()) << writer.err_so_far();
    writer.signal(SIGKILL);
    const ProcessResult killed = writer.wait();
    const std::uint64_t told = last_of(killed.out);
    auto file = master::JournalFile::open(files / "journal", kWriterOptions);
    ASSERT_TRUE(file) << file.error().to_string();
    const master::JournalHistory history = file->history().value();
    ASSERT_GT(history.marks.next_job, told);
    ASSERT_FALSE(history.ended.empty());
    ASSERT_GE(history.ended.back().id.value(), told);
    ASSERT_LE(history.ended.back().id.value() - history.ended.front().id.value(), 19u);
    ASSERT_LT(file->size(), 128u << 10);
  }
}

class JournalDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime wants to be loaded first";
    std::filesystem::create_directories(files / "disk");
  }
  void fail_on(int error, const std::string& operations) {
    write_file(files / "faults.new", std::to_string(error) + " " + operations + " " + (files / "disk") + "\n");
    std::filesystem::rename(files / "faults.new", files / "faults");
  }
  void mend() { std::filesystem::remove(files / "faults"); }
  ProcessOptions environment() const {
    return {.environment = {{"LD_PRELOAD", WEFT_DISK_FAULTS_LIBRARY}, {"WEFT_DISK_FAULTS", files / "faults"}}};
  }
  std::vector<std::string> master_command() const {
    return {program("weft"),        "master",      "--listen",    "127.0.0.1:0", "--journal",
            files / "disk/journal", "--port-file", files / "port"};
  }

  ScratchDirectory files;
};

TEST_F(JournalDisk, ThatFailsEndsTheMasterWithTheCauseBeforeAnybodyIsToldAnything) {
  for (const std::string operation : {"write", "sync"}) {
    SCOPED_TRACE(operation);
    std::filesystem::remove(files / "port");
    Process master(master_command(), environment());
    ASSERT_TRUE(eventually([&] { return !read_file(files / "port").empty(); })) << master.err_so_far();
    std::string address = read_file(files / "port");
    address.pop_back();
    fail_on(EIO, operation);
    Process worker({program("weft"), "worker", "--master", address, "--slots", "1"});
    ASSERT_TRUE(eventually([&] { return !master.running(); })) << master.err_so_far();
    const ProcessResult ended = master.wait();
    EXPECT_EQ(ended.exit_code, 1);
    EXPECT_TRUE(has(ended.err, "weft: the journal " + (files / "disk/journal") + " cannot be continued: cannot " + operation) &&
                has(ended.err, "Input/output error"))
        << ended.err;
    mend();
    EXPECT_FALSE(master::check_journal(files / "disk/journal")->damage);
  }
}

TEST_F(JournalDisk, ThatFailsDuringACheckpointLeavesTheOldFileOrEndsTheWriter) {
  for (const std::string operation : {"rename", "open", "sync", "write"}) {
    SCOPED_TRACE(operation);
    Process writer({program("journal_writer"), files / "disk/journal"}, environment());
    ASSERT_TRUE(eventually([&] { return last_of(writer.out_so_far()) > 0; })) << writer.err_so_far();
    const std::uint64_t before = last_of(writer.out_so_far());
    fail_on(ENOSPC, operation);
    const bool goes_on = operation == "rename" || operation == "open";  // nothing but checkpoints does that
    ASSERT_TRUE(eventually([&] { return goes_on ? last_of(writer.out_so_far()) > before + 50 : !writer.running(); }))
        << writer.err_so_far();
    mend();
    writer.signal(SIGKILL);
    const std::uint64_t told = last_of(writer.wait().out);
    auto file = master::JournalFile::open(files / "disk/journal", kWriterOptions);
    ASSERT_TRUE(file) << file.error().to_string();
    ASSERT_GE(file->history()->ended.back().id.value(), told);
  }
}

}  // namespace
}  // namespace weft::test
