#include "engine/master/log/audit_log.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "tests/support/small_disk.hpp"

namespace weft::master {
namespace {

class AuditLogTest : public testing::Test {
 protected:
  std::string path() const { return directory_.path() / "requests"; }
  static AuditEntry kill(std::uint64_t job) {
    AuditEntry entry{"bob", "user bob at 10.0.0.9:4", "kill", JobId(job)};
    entry.owner = "alice";
    return entry;
  }
  static std::string text(const std::string& file) { return weft::read_file(file).value_or(""); }

  TempDir directory_ = TempDir::create("weft-audit-").value();
};

TEST_F(AuditLogTest, ALineSaysWhoAskedForWhatAndHowItEnded) {
  AuditEntry entry = kill(7);
  EXPECT_EQ(
      audit_json(12, entry),
      R"({"time_ms":12,"user":"bob","peer":"user bob at 10.0.0.9:4","action":"kill","job":7,"owner":"alice","outcome":"done"})");
  entry.error = "he may \"not\"\n";
  EXPECT_TRUE(audit_json(12, entry).ends_with(R"("outcome":"refused","error":"he may \"not\"\n"})")) << audit_json(12, entry);
  entry.times = 12;
  EXPECT_TRUE(audit_json(12, entry).ends_with(R"(\n","times":12})")) << audit_json(12, entry);
  AuditEntry file{"eve", "unix", "rename"};
  file.object = "/a to /b";
  EXPECT_EQ(audit_json(1, file),
            R"({"time_ms":1,"user":"eve","peer":"unix","action":"rename","object":"/a to /b","outcome":"done"})");
}

TEST_F(AuditLogTest, LinesAreThereAfterARestart) {
  for (std::uint64_t master = 1; master <= 2; ++master) {
    const auto log = AuditLog::open(path()).value();
    log->note(kill(master));
  }
  const std::string all = text(path());
  EXPECT_NE(all.find("\"job\":1,"), std::string::npos) << all;
  EXPECT_NE(all.find("\"job\":2,"), std::string::npos) << all;
}

TEST_F(AuditLogTest, ItIsRotated) {
  const auto log = AuditLog::open(path(), {.bytes = 100, .period = Duration(0), .keep = 2, .compress = false}).value();
  for (std::uint64_t job = 1; job <= 20; ++job) {
    log->note(kill(job));
    log->settle();
  }
  EXPECT_TRUE(std::filesystem::exists(path() + ".000019"));
  EXPECT_NE(text(path()).find("\"job\":20,"), std::string::npos);
}

TEST_F(AuditLogTest, AFileThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const auto log = AuditLog::open(directory_.path() / "none" / "requests");
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().to_string().find("there is no directory"), std::string::npos) << log.error().to_string();
  const auto first = AuditLog::open(path());
  const auto second = AuditLog::open(path());
  ASSERT_TRUE(first && !second);
  EXPECT_NE(second.error().to_string().find("is written by another master"), std::string::npos) << second.error().to_string();
}

TEST_F(AuditLogTest, OnAFullDiskLinesAreLostAndCounted) {
  weft::test::SmallDisk disk(directory_.path() / "disk", 1);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  const std::string file = disk.path() + "/requests";
  const auto log = AuditLog::open(file, {.bytes = 0, .period = Duration(0), .compress = false}).value();
  disk.fill();
  for (std::uint64_t job = 1; job <= 1000; ++job) {
    log->note(kill(job));
    log->settle();
  }
  const auto full = std::filesystem::file_size(file);
  disk.clear();
  log->note(kill(1001));
  log->settle();
  log->note(kill(1002));
  log->settle();
  const std::string all = text(file);
  EXPECT_GT(all.size(), full);
  EXPECT_NE(all.find("\"action\":\"lines lost\",\"lines\":"), std::string::npos) << all.substr(full);
  EXPECT_NE(all.find("\"job\":1002,"), std::string::npos);
}

}  // namespace
}  // namespace weft::master
