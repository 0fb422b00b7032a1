// Records that user functions report as bad: counted once each, kept in words, too many of them fail the job.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using runtime::BadRecordLimit;

/// A hundred lines, every tenth of which is "bad".
std::string some_bad_lines() {
  std::string text;
  for (int i = 0; i < 100; ++i) text += i % 10 == 9 ? "bad\n" : "good\n";
  return text;
}

class BadRecordsTest : public testing::Test {
 protected:
  void SetUp() override { write_file(scratch_ / "in", some_bad_lines()); }
  Result<LocalReport> run(const LocalOptions& options) const {
    return run_locally(
        [&](Flow& flow) {
          flow.read_text(scratch_ / "in")
              .filter([](std::string_view line) {
                if (line == "bad") bad_record("it says so: '" + std::string(line) + "'");
                return line != "bad";
              })
              .write_text(scratch_ / "out");
        },
        options);
  }
  const ScratchDirectory scratch_;
};

TEST_F(BadRecordsTest, AreCountedAndTheFirstAreKeptWithTheirPlaces) {
  const auto report = run({.threads = 2});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->bad_records, 10u);
  ASSERT_EQ(report->bad_record_examples.size(), runtime::kBadRecordExamples);
  EXPECT_EQ(report->bad_record_examples[0], "it says so: 'bad' (" + (scratch_ / "in") + " at byte 45)");
}

TEST_F(BadRecordsTest, InLargerNumbersThanAllowedFailTheJob) {
  EXPECT_TRUE(run({.threads = 2, .overwrite = true, .max_bad_records = BadRecordLimit{.count = 10}}));
  EXPECT_TRUE(run({.threads = 2, .overwrite = true, .max_bad_records = BadRecordLimit{.percent = 10}}));
  for (const auto& [limit, words] :
       {std::pair(BadRecordLimit{.count = 9}, "10 bad records so far, more than --max-bad-records 9 allows"),
        std::pair(BadRecordLimit{.count = 0}, "more than --max-bad-records 0 allows"),
        std::pair(BadRecordLimit{.percent = 9.9},
                  "10 of 100 records of a stage are bad, more than --max-bad-records 9.9% allows")}) {
    const auto failed = run({.threads = 1, .overwrite = true, .max_bad_records = limit});
    ASSERT_FALSE(failed);
    const std::string message = failed.error().to_string();
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_NE(message.find("it says so: 'bad' ("), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST_F(BadRecordsTest, OfAttemptsThatFailDoNotCount) {
  const auto tries = std::make_shared<std::atomic<int>>(0);
  const auto report = run_locally(
      [&](Flow& flow) {
        (void)flow
            .generate(1,
                      [tries](std::uint64_t i) {
                        bad_record("once");
                        if (tries->fetch_add(1) < 2) throw std::runtime_error("again");
                        return i;
                      })
            .count();
      },
      {.threads = 1, .max_bad_records = BadRecordLimit{.count = 1}});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(tries->load(), 3);
  EXPECT_EQ(report->bad_records, 1u);
}

TEST_F(BadRecordsTest, BehindAShuffleAreAPartOfWhatItGives) {
  const auto grouped = [](double percent) {
    return run_locally(
        [](Flow& flow) {
          (void)flow.generate(100, [](std::uint64_t i) { return std::pair(i, 1); })
              .reduce_by_key(std::plus<>(), 4)
              .map([](std::pair<std::uint64_t, int> pair) {
                if (pair.first < 20) bad_record("small");
                return pair.first;
              })
              .count();
        },
        {.threads = 2, .max_bad_records = BadRecordLimit{.percent = percent}});
  };
  EXPECT_TRUE(grouped(20));
  EXPECT_FALSE(grouped(19));
}

TEST_F(BadRecordsTest, HaveReasonsOfBoundedLengthOnOneLine) {
  const auto report = run_locally(
      [](Flow& flow) {
        (void)flow
            .generate(50,
                      [](std::uint64_t i) {
                        bad_record(std::string(100'000, 'x') + "\n");
                        bad_record("two\nlines");
                        return i;
                      })
            .count();
      },
      {.threads = 2});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->bad_records, 100u);
  ASSERT_EQ(report->bad_record_examples.size(), runtime::kBadRecordExamples);
  for (const std::string& example : report->bad_record_examples) {
    EXPECT_LE(example.size(), runtime::kBadRecordExampleBytes);
    EXPECT_EQ(example.find('\n'), std::string::npos);
  }
}

TEST_F(BadRecordsTest, CanBeReportedInTasksOnly) { EXPECT_THROW(bad_record("where?"), std::logic_error); }

}  // namespace
}  // namespace weft::test
