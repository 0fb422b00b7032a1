// Days and times in forms of the user's, and the other options of how CSV is written: quotes, escapes, one file.
#include "weft/detail/time_format.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <random>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <weft/weft.h>

#include "base/file.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"
#include "weft/detail/csv_scanner.hpp"

namespace weft::test {
namespace {

std::optional<std::string> moment_in(const std::string& text, const std::string& format) {
  detail::check_time_format(format, "test");
  Timestamp time{-1};
  if (!detail::parse_time(text, format, time))
    return time.microseconds == -1 ? std::nullopt : std::optional<std::string>("changed");
  std::string line;
  LineFormat<Timestamp>::append(line, time);
  return line;
}

TEST(TimeFormat, ReadsAndWritesWhatTheCLibraryDoes) {
  std::mt19937_64 random(7);
  for (const std::string format : {"%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H.%M.%S", "%m/%d/%Y %I:%M:%S %p", "%Y%m%d%H%M%S", "%d %B %Y, %T",
                                   "%b %d %Y %H:%M:%S", "%FT%T", "%s"}) {
    detail::check_time_format(format, "test");
    for (int i = 0; i < 500; ++i) {
      const std::time_t seconds = static_cast<std::time_t>(random() % 253'402'300'800ULL);  // to the end of 9999
      std::tm calendar{};
      ::gmtime_r(&seconds, &calendar);
      char text[100];
      ASSERT_NE(std::strftime(text, sizeof text, format.c_str(), &calendar), 0u);
      Timestamp time;
      ASSERT_TRUE(detail::parse_time(text, format, time)) << format << ": " << text;
      ASSERT_EQ(time.microseconds, std::int64_t{seconds} * 1'000'000) << format << ": " << text;
      Date day;
      ASSERT_TRUE(detail::parse_time(text, format, day));
      ASSERT_EQ(day.days, seconds / 86'400);
      std::string written;
      detail::append_time(written, format, time);
      ASSERT_EQ(written, text) << format;
    }
  }
}

TEST(TimeFormat, ReadsFractionsZonesAndShortForms) {
  EXPECT_EQ(moment_in("1.2.2026 3:04:5.25", "%d.%m.%Y %H:%M:%S.%f"), "2026-02-01T03:04:05.25Z");
  EXPECT_EQ(moment_in("01/02/68 12am", "%d/%m/%y %I%p"), "2068-02-01T00:00:00Z");
  EXPECT_EQ(moment_in("01/02/69 12PM", "%d/%m/%y %I%p"), "1969-02-01T12:00:00Z");
  EXPECT_EQ(moment_in("2026-03-01 00:30 +01:00", "%F %H:%M %z"), "2026-02-28T23:30:00Z");
  EXPECT_EQ(moment_in("2026-03-01 00:30 -0130", "%F %H:%M %z"), "2026-03-01T02:00:00Z");
  EXPECT_EQ(moment_in("2026-03-01 00:30 Z", "%F %H:%M %z"), "2026-03-01T00:30:00Z");
  EXPECT_EQ(moment_in("-1", "%s"), "1969-12-31T23:59:59Z");
  EXPECT_EQ(moment_in("3-sep-2026%", "%d-%b-%Y%%"), "2026-09-03T00:00:00Z");
  Date day;
  ASSERT_TRUE(detail::parse_time("2026-03-01 00:30 +01:00", "%F %H:%M %z", day));
  EXPECT_EQ(day, Date::of(2026, 3, 1)) << "the day that is written";
}

TEST(TimeFormat, RefusesOtherTexts) {
  for (const std::string text :
       {"", "2026-02-29", "2026-13-01", "2026-1-", "2026-01-01x", "026-01-01", "2026/01/01", "2026-00-10", "2026-01-0"})
    EXPECT_EQ(moment_in(text, "%Y-%m-%d"), std::nullopt) << text;
  EXPECT_EQ(moment_in("2026-01-01 24:00:00", "%F %T"), std::nullopt);
  EXPECT_EQ(moment_in("9999999999999", "%s"), std::nullopt);
  EXPECT_EQ(moment_in("", "%s"), std::nullopt);
  for (const std::string format : {"", "%Y-%m", "%H:%M", "%Y-%m-%d %", "%Y-%m-%q", "%F %I", "%F %p"})
    EXPECT_THROW(detail::check_time_format(format, "test"), std::invalid_argument) << format;
}

TEST(Dates, ThatTheCalendarDoesNotHaveAreRefused) {
  const auto refused = [](int year, unsigned month, unsigned day) {
    EXPECT_THROW((void)Date::of(year, month, day), std::invalid_argument) << year << "-" << month << "-" << day;
  };
  refused(2026, 257, 1), refused(2026, 1, 257), refused(2026, 0, 1), refused(2026, 13, 1), refused(2026, 1, 0),
      refused(2025, 2, 29);
  refused(2026, 1U << 31, 1), refused(2026, 1, ~0U), refused(2026, 4, 31), refused(2100, 2, 29);
  refused(99999, 12, 31), refused(40000, 1, 1), refused(32768, 1, 1), refused(-32768, 1, 1), refused(67562, 1, 1),
      refused(-63510, 1, 1);
  EXPECT_EQ(Date::of(32767, 12, 31).days, 11'248'737);
  EXPECT_EQ(Date::of(-32767, 1, 1).days, -12'687'428);
  EXPECT_EQ(Date::of(2000, 2, 29).days, 11'016);
}

TEST(Dates, OfAnyNumberOfDaysHaveAYearAMonthAndADay) {
  const auto parts = [](std::int32_t days) { return std::tuple(Date{days}.year(), Date{days}.month(), Date{days}.day()); };
  EXPECT_EQ(parts(INT32_MAX), std::tuple(5'881'580, 7U, 11U));
  EXPECT_EQ(parts(INT32_MIN), std::tuple(-5'877'641, 6U, 23U));
  EXPECT_EQ(parts(11'248'738), std::tuple(32'768, 1U, 1U));
  EXPECT_EQ(parts(-12'687'429), std::tuple(-32'768, 12U, 31U));
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto days = static_cast<std::int32_t>(random());
    if (days == INT32_MAX) continue;
    const auto [year, month, day] = parts(days);
    const auto next = parts(days + 1);
    const bool last = next != std::tuple(year, month, day + 1);
    ASSERT_EQ(next, !last        ? std::tuple(year, month, day + 1)
                    : month < 12 ? std::tuple(year, month + 1, 1U)
                                 : std::tuple(year + 1, 1U, 1U));
    // Years repeat every 400, and in the first four hundred std::chrono has them.
    const int like = 2000 + (year % 400 + 400) % 400;
    ASSERT_EQ((std::int64_t{days} - Date::of(like, month, day).days) * 400, (std::int64_t{year} - like) * 146'097) << days;
    ASSERT_EQ(last,
              day >= 28 &&
                  !std::chrono::year_month_day(std::chrono::year(like), std::chrono::month(month), std::chrono::day(day + 1)).ok());
  }
}

TEST(Dates, BeyondWhatMicrosecondsHoldAreWrittenAsThemselvesAndAreNoMoments) {
  for (const std::int32_t days :
       {INT32_MIN, -106'751'993, -106'751'992, -719'529, -1, 0, 11'248'738, 106'751'991, 106'751'992, INT32_MAX}) {
    std::string text, seconds;
    detail::append_time(text, "%d.%m.%Y", Date{days});
    EXPECT_EQ(text, fmt::format("{:02}.{:02}.{:04}", Date{days}.day(), Date{days}.month(), Date{days}.year()));
    detail::append_time(seconds, "%s", Date{days});
    EXPECT_EQ(seconds, std::to_string(std::int64_t{days} * 86'400));
    Date read;
    EXPECT_TRUE(detail::parse_time(seconds, "%s", read)) << seconds;
    EXPECT_EQ(read, Date{days});
    if (days > -106'751'992 && days < 106'751'992)
      EXPECT_EQ(Timestamp::of(Date{days}).date(), Date{days});
    else
      EXPECT_THROW((void)Timestamp::of(Date{days}), std::invalid_argument) << days;
  }
  Date read{77};
  EXPECT_FALSE(detail::parse_time(std::to_string((std::int64_t{INT32_MAX} + 1) * 86'400), "%s", read));
  EXPECT_EQ(read, Date{77});
  EXPECT_THROW((void)Timestamp::of(Date{}, INT64_MAX), std::invalid_argument);
  EXPECT_THROW((void)Timestamp::of(Date{106'751'991}, 14'455), std::invalid_argument);
  EXPECT_EQ(Timestamp::of(Date{106'751'991}, 14'454).microseconds, 9'223'372'036'854'000'000);
}

TEST(Moments, AtBothEndsHaveTheirDayAndTime) {
  EXPECT_EQ(Timestamp{INT64_MIN}.microseconds_of_day(), 71'945'224'192);
  EXPECT_EQ(Timestamp{INT64_MAX}.microseconds_of_day(), 14'454'775'807);
  for (const std::int64_t time : {INT64_MIN, INT64_MIN + 1, std::int64_t{-1'000'001}, std::int64_t{-1}, std::int64_t{0},
                                  std::int64_t{999'999'999'999'999'999}, INT64_MAX - 1, INT64_MAX}) {
    std::string text;
    detail::append_time(text, "%s %f", Timestamp{time});
    Timestamp read{77};
    EXPECT_TRUE(detail::parse_time(text, "%s %f", read)) << text;
    EXPECT_EQ(read.microseconds, time) << text;
  }
  for (const std::string text : {"9223372036854 775808", "-9223372036855 224191", "9223372036855 0", "-9223372036856 999999",
                                 "999999999999999 0", "-999999999999999 0"}) {
    Timestamp read{77};
    EXPECT_FALSE(detail::parse_time(text, "%s %f", read)) << text;
    EXPECT_EQ(read, Timestamp{77});
  }
}

struct Entry {
  std::int32_t id = 0;
  Date day;
  std::optional<Timestamp> at;
  std::string note;
  friend bool operator==(const Entry&, const Entry&) = default;
};
using Entries = std::vector<Entry>;

struct CsvOptions : testing::Test {
  LocalReport run(const std::function<void(Flow&)>& define, std::uint64_t memory = 64u << 20) const {
    auto report = run_locally(define, {.threads = 2, .memory_bytes = memory, .overwrite = true});
    EXPECT_TRUE(report) << report.error().to_string();
    return report ? *report : LocalReport();
  }
  static std::string refused(const CsvFormat& format) {
    const auto report = run_locally([&](Flow& flow) { flow.read_csv<Entry>("/dev/null", format).count(); }, {});
    return report ? "" : report.error().to_string();
  }
  std::string text_of(const std::string& name) const { return read_file(scratch / name); }
  const ScratchDirectory scratch;
  const CsvFormat format{
      .delimiter = ';', .quote = '\'', .escape = '\\', .times = {{"day", "%d.%m.%Y"}, {"at", "%d %b %Y; %H:%M:%S.%f"}}};
  const Entries entries{{1, Date::of(2026, 11, 28), Timestamp::of(Date::of(2026, 2, 3), 4521), "it's; \\ \"quoted\""},
                        {2, Date::of(1969, 12, 31), std::nullopt, "\\plain\\n"}};
};

TEST_F(CsvOptions, OfQuotesEscapesAndTimesAreReadAndWritten) {
  run([&](Flow& flow) { flow.from_vector(entries, 1).write_csv(scratch / "out", format); });
  EXPECT_EQ(text_of("out/part-00000"),
            "id;day;at;note\n1;28.11.2026;'03 Feb 2026; 01:15:21.000000';'it\\'s; \\\\ \"quoted\"'\n2;31.12.1969;;\\plain\\n\n");
  run([&](Flow& flow) { EXPECT_EQ(flow.read_csv<Entry>(scratch / "out", format).collect(), entries); });
  CsvFormat lines = format;
  lines.multiline = true;
  ASSERT_TRUE(
      weft::write_file(scratch / "in", "day;at;id;note\n1.1.2026;;3;'a\\\\'\n01.01.2026;'3 feb 2026; 1:2:3.5';4;'b\\'\nc\\d'\n"));
  run([&](Flow& flow) {
    EXPECT_EQ(flow.read_csv<Entry>(scratch / "in", lines).collect(),
              (Entries{{3, Date::of(2026, 1, 1), std::nullopt, "a\\"},
                       {4, Date::of(2026, 1, 1), Timestamp{Timestamp::of(Date::of(2026, 2, 3), 3723).microseconds + 500'000},
                        "b'\nc\\d"}}));
  });
}

TEST_F(CsvOptions, ThatMakeNoSenseAreRefusedBeforeAnythingRuns) {
  EXPECT_TRUE(has(refused({.delimiter = '"'}), "must differ"));
  EXPECT_TRUE(has(refused({.delimiter = '\\', .escape = '\\'}), "must differ"));
  EXPECT_TRUE(has(refused({.quote = '\n', .escape = '\n'}), "must differ"));
  EXPECT_TRUE(has(refused({.times = {{"note", "%F"}}}), "'note' is no field that is a weft::Date or weft::Timestamp"));
  EXPECT_TRUE(has(refused({.times = {{"dya", "%F"}}}), "'dya' is no field"));
  EXPECT_TRUE(has(refused({.times = {{"day", "%H"}}}), "field 'day': '%H' does not say which day is meant"));
  ASSERT_TRUE(weft::write_file(scratch / "in", "id,day,at,note\n1,2026-11-28,,x\n"));
  const auto report = run_locally(
      [&](Flow& flow) {
        flow.read_csv<Entry>(scratch / "in", {.times = {{"day", "%d.%m.%Y"}}}).count();
      },
      {.job = {{"max-bad-records", "100%"}}});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->bad_record_examples.size(), 1u);
  EXPECT_TRUE(has(report->bad_record_examples[0], "'2026-11-28' is not a day or time of the form %d.%m.%Y"))
      << report->bad_record_examples[0];
}

TEST_F(CsvOptions, OneFileHasOneHeaderAndTheOrderOfThePartitions) {
  Entries many;
  for (std::int32_t i = 0; i < 30'000; ++i)
    many.push_back({i * 7919 % 30'000, Date{i}, std::nullopt, std::string(static_cast<std::size_t>(i % 50), 'x')});
  run(
      [&](Flow& flow) {
        flow.from_vector(many, 7).sort_by([](const Entry& entry) { return entry.id; }).write_csv_file(scratch / "out");
        flow.from_vector(Entries(), 3).write_csv_file(scratch / "none");
        flow.from_vector(many, 3).write_csv_file(scratch / "bare", {.header = false});
      },
      8u << 20);
  EXPECT_EQ(text_of("none/part-00000"), "id,day,at,note\n");
  EXPECT_FALSE(exists(scratch / "out/part-00001"));
  const std::string text = text_of("out/part-00000");
  EXPECT_TRUE(text.starts_with("id,day,at,note\n0,"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 30'001);
  std::int32_t expected = 0;
  for (std::size_t at = text.find('\n') + 1; at < text.size(); at = text.find('\n', at) + 1)
    ASSERT_EQ(std::stoi(text.substr(at, 10)), expected++);
  EXPECT_TRUE(text_of("bare/part-00000").starts_with("0,1970-01-01,,\n7919,1970-01-02,,x\n"));
}

}  // namespace
}  // namespace weft::test
