// Records that user functions report as bad: counted once each, kept in words, too many of them fail the job.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>
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
  EXPECT_TRUE(run({.threads = 2, .overwrite = true, .job = {{"max-bad-records", "10"}}}));
  EXPECT_TRUE(run({.threads = 2, .overwrite = true, .job = {{"max-bad-records", "10%"}}}));
  for (const auto& [limit, words] :
       {std::pair("9", "10 bad records so far, more than --max-bad-records 9 allows"),
        std::pair("0", "more than --max-bad-records 0 allows"),
        std::pair("9.9%", "10 of 100 records of a stage are bad, more than --max-bad-records 9.9% allows")}) {
    const auto failed = run({.threads = 1, .overwrite = true, .job = {{"max-bad-records", limit}}});
    ASSERT_FALSE(failed);
    const std::string message = failed.error().to_string();
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_NE(message.find("it says so: 'bad' ("), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

/// Rows of numbers, of which those at `bad` are none.
std::string some_bad_rows(int rows, const std::function<bool(int)>& bad) {
  std::string text = "n\n";
  for (int i = 0; i < rows; ++i) text += bad(i) ? "no number\n" : std::to_string(i) + "\n";
  return text;
}
struct Number {
  std::int64_t n = 0;
};

TEST_F(BadRecordsTest, OfMoreThanHalfOfASourceFailTheJobUnlessItSaysOtherwise) {
  const auto with = [&](int rows, int bad, const std::map<std::string, std::string>& options = {}) {
    write_file(scratch_ / "rows", some_bad_rows(rows, [bad](int i) { return i < bad; }));
    return run_locally([&](Flow& flow) { flow.read_csv<Number>(scratch_ / "rows").write_csv(scratch_ / "out"); },
                       {.threads = 2, .overwrite = true, .job = options});
  };
  for (const auto& [rows, bad] : {std::pair(1, 1), std::pair(2, 2), std::pair(3, 2), std::pair(1000, 501)}) {
    const auto failed = with(rows, bad);
    ASSERT_FALSE(failed) << bad << " of " << rows;
    const std::string error = failed.error().to_string();
    const std::string all = rows == 1 ? "the only record" : "all " + std::to_string(rows) + " records";
    EXPECT_NE(error.find(bad == rows ? all : std::to_string(bad) + " of " + std::to_string(rows) + " records"), std::string::npos)
        << error;
    EXPECT_NE(error.find("column 'n': 'no number' is not"), std::string::npos) << error;
    EXPECT_NE(error.find("(" + (scratch_ / "rows") + " at byte 2)"), std::string::npos) << "the first: " << error;
    EXPECT_NE(error.find("--max-bad-records"), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_NE(access((scratch_ / "out").c_str(), F_OK), 0) << "something was published";
  }
  for (const auto& [rows, bad] : {std::pair(0, 0), std::pair(1, 0), std::pair(2, 1), std::pair(1000, 500)})
    EXPECT_TRUE(with(rows, bad)) << bad << " of " << rows;
  EXPECT_TRUE(with(1000, 1000, {{"max-bad-records", "100%"}}));
  EXPECT_TRUE(with(1000, 1000, {{"max-bad-records", "1000"}}));
  EXPECT_FALSE(with(1000, 400, {{"max-bad-records", "39%"}}));
}

TEST_F(BadRecordsTest, OfASourceAreCountedOverItsTasksAndNotWithThoseOfOthers) {
  // Two thirds of the file, in every task another part of its records: what fails is the file, and its first bad record is named.
  std::string error;
  write_file(scratch_ / "large", some_bad_rows(300'000, [](int i) { return i >= 70 && i % 1000 != 0 && i < 230'000; }));
  for (int run = 0; run < 3; ++run) {
    const auto failed = run_locally([&](Flow& flow) { (void)flow.read_csv<Number>(scratch_ / "large").count(); }, {.threads = 3});
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().to_string().find("of 300000 records of a source are bad, more than half"), std::string::npos)
        << failed.error().to_string();
    if (run == 0) error = failed.error().to_string();
    EXPECT_EQ(failed.error().to_string(), error) << "it depends on the order of tasks";
  }
  EXPECT_NE(error.find(scratch_ / "large at byte 202)"), std::string::npos) << error;
  // Tasks without a good record are no reason where the whole has enough of them.
  write_file(scratch_ / "large", some_bad_rows(300'000, [](int i) { return i < 140'000; }));
  EXPECT_TRUE(run_locally([&](Flow& flow) { (void)flow.read_csv<Number>(scratch_ / "large").count(); }, {.threads = 3}));
  // A good source does not hide a bad one.
  write_file(scratch_ / "bad", some_bad_rows(10, [](int) { return true; }));
  const auto both = run_locally(
      [&](Flow& flow) {
        (void)flow.read_csv<Number>(scratch_ / "large").union_with(flow.read_csv<Number>(scratch_ / "bad")).count();
      },
      {.threads = 3});
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().to_string().find("all 10 records"), std::string::npos) << both.error().to_string();
}

TEST_F(BadRecordsTest, OfAFileCountOncePerRecordWhateverIsSaidOfThem) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += std::to_string(i) + "\n";
  write_file(scratch_ / "lines", lines);
  const auto thrice = [&](int of_a_hundred) {
    return run_locally(
        [&](Flow& flow) {
          (void)flow.read_text(scratch_ / "lines")
              .map([of_a_hundred](std::string_view line) {
                const bool bad = parse_number<int>(line).value_or(0) < of_a_hundred;
                for (int i = 0; bad && i < 3; ++i) bad_record("one thing and another");
                return bad;
              })
              .count();
        },
        {.threads = 2});
  };
  const auto report = thrice(40);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->bad_records, 120u);
  EXPECT_FALSE(thrice(60));
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
      {.threads = 1, .job = {{"max-bad-records", "1"}}});
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
        {.threads = 2, .job = {{"max-bad-records", std::to_string(percent) + "%"}}});
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

TEST_F(BadRecordsTest, QuoteTheRecordSoThatNothingActsOnATerminal) {
  write_file(scratch_ / "rows", std::string("n\n1\n2\n3\n\x1b[31m\0\xff\xe2\x80\xae\n", 19));
  const auto report = run_locally([&](Flow& flow) { (void)flow.read_csv<Number>(scratch_ / "rows").count(); }, {.threads = 1});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->bad_record_examples.size(), 1u);
  EXPECT_NE(report->bad_record_examples[0].find("'\\x1b[31m\\x00\\xff\\u{202e}' is not"), std::string::npos)
      << report->bad_record_examples[0];
  const auto thrown = run_locally(
      [&](Flow& flow) {
        (void)flow.read_text(scratch_ / "in")
            .map([](std::string_view) -> int { throw std::runtime_error("\x1b[2J\nbell\x07"); })
            .count();
      },
      {.threads = 1, .job = {{"max-attempts", "1"}}});
  ASSERT_FALSE(thrown);
  EXPECT_NE(thrown.error().to_string().find("\\x1b[2J\\nbell\\x07"), std::string::npos) << thrown.error().to_string();
}

TEST_F(BadRecordsTest, CanBeReportedInTasksOnly) { EXPECT_THROW(bad_record("where?"), std::logic_error); }

}  // namespace
}  // namespace weft::test
