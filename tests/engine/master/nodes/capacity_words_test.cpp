// What may be said of a worker's capacity, and of its days.
#include "engine/master/nodes/capacity_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::master {
namespace {

using namespace std::chrono_literals;
using schedulers::CapacityStep;
using schedulers::Resources;
using testing::HasSubstr;

Resources resources(const std::string& text) { return schedulers::parse_resources(text).value(); }

Resources after(const std::string& words) { return limited(resources("cpu=4,memory=8GiB"), parse_capacity_words(words).value()); }

std::string error(const std::string& words) {
  const auto parsed = parse_capacity_words(words);
  return parsed ? "" : parsed.error().to_string();
}

TEST(CapacityWords, LimitWhatTheyNameAndNothingElse) {
  EXPECT_EQ(after("slots=2"), resources("cpu=2,memory=8GiB"));
  EXPECT_EQ(after("cpu=0.5, memory=4GiB"), resources("cpu=0.5,memory=4GiB"));
  EXPECT_EQ(after("# by hand\nslots=0\r\n\nmemory=1GiB # for now\n"), resources("cpu=0,memory=1GiB"));
  EXPECT_EQ(after("slots=9"), resources("cpu=4,memory=8GiB")) << "no more than there is";
  EXPECT_EQ(after("nominal"), resources("cpu=4,memory=8GiB"));
  EXPECT_EQ(after("slots=1 memory=nominal"), resources("cpu=1,memory=8GiB"));
  EXPECT_EQ(limited(resources("cpu=4"), parse_capacity_words("slots=3").value()), resources("cpu=3"));
}

TEST(CapacityWords, SayWhatIsWrongWithThem) {
  for (const char* none : {"", " \n", "# slots=1\n"}) EXPECT_THAT(error(none), HasSubstr("names no amount")) << none;
  EXPECT_THAT(error("slot=1"), HasSubstr("'slot=1' is no amount of a worker's capacity"));
  EXPECT_THAT(error("slots"), HasSubstr("'slots' is no amount"));
  EXPECT_THAT(error("slots=1,cpu=2"), HasSubstr("cpu is given twice"));
  EXPECT_THAT(error("slots=-1"), HasSubstr("cpu=-1 must be finite and not negative"));
  EXPECT_THAT(error("slots=nan"), HasSubstr("cpu=nan"));
  EXPECT_THAT(error("memory=much"), HasSubstr("memory"));
  EXPECT_THAT(error("memory=0"), HasSubstr("slots=0 gives the worker no tasks"));
}

std::string forecast_error(const std::string& text) {
  const auto parsed = parse_forecast(text);
  return parsed ? "" : parsed.error().to_string();
}

TEST(Forecasts, AreHoursOfADayAndLevels) {
  const auto levels = parse_forecast("# office hours\n08:30 50%\n\n18:00 100%   # and at night\n23:59 slots=1 memory=1GiB\n");
  ASSERT_TRUE(levels) << levels.error().to_string();
  ASSERT_EQ(levels->size(), 3u);
  EXPECT_EQ((*levels)[0].from, 8h + 30min);
  EXPECT_EQ((*levels)[0].part, 0.5);
  EXPECT_EQ((*levels)[2].from, 23h + 59min);
  EXPECT_EQ((*levels)[2].words.size(), 2u);
}

TEST(Forecasts, SayWhatIsWrongWithThemAndWhere) {
  EXPECT_THAT(forecast_error("# nothing\n"), HasSubstr("it has no line"));
  for (const char* hour : {"24:00 50%", "9 50%", "9:60 50%", "x:00 50%", "09:5 50%", "-1:00 50%"})
    EXPECT_THAT(forecast_error(hour), HasSubstr("is no hour of a day")) << hour;
  EXPECT_THAT(forecast_error("08:00 50%\n\n09:00"), HasSubstr("line 3: the hour has no level"));
  EXPECT_THAT(forecast_error("08:00 50%\n08:00 60%"), HasSubstr("line 2: hours must be ascending"));
  for (const char* part : {"08:00 101%", "08:00 -1%", "08:00 nan%", "08:00 half%"})
    EXPECT_THAT(forecast_error(part), HasSubstr("is not between 0% and 100%")) << part;
  EXPECT_THAT(forecast_error("08:00 slots=x"), HasSubstr("line 1: "));
  std::string long_day;
  for (int i = 0; i < 97; ++i)
    long_day += std::to_string(i / 10) + ":" + std::to_string(i % 10 / 6) + std::to_string(i % 10) + " 1%\n";
  EXPECT_FALSE(parse_forecast(long_day));
}

TEST(Forecasts, BecomeTheStepsOfTheNextDay) {
  const auto levels = parse_forecast("08:00 50%\n12:00 slots=1\n18:00 100%\n").value();
  const Resources all = resources("cpu=4,memory=8GiB");
  const schedulers::Time now = 1000h;
  const auto at = [&](Duration after, const std::string& text) { return CapacityStep{now + after, resources(text)}; };
  EXPECT_EQ(forecast_steps(levels, all, now, 9h, 24h),
            (std::vector<CapacityStep>{at(0h, "cpu=2,memory=4GiB"), at(3h, "cpu=1,memory=8GiB"), at(9h, "cpu=4,memory=8GiB"),
                                       at(23h, "cpu=2,memory=4GiB")}));
  EXPECT_EQ(forecast_steps(levels, all, now, 7h, 2h),
            (std::vector<CapacityStep>{at(0h, "cpu=4,memory=8GiB"), at(1h, "cpu=2,memory=4GiB")}))
      << "before the first hour the last one of the day before counts";
  EXPECT_EQ(forecast_steps(levels, all, now, 18h, 5h), (std::vector<CapacityStep>{at(0h, "cpu=4,memory=8GiB")}));
  EXPECT_EQ(forecast_steps(parse_forecast("05:00 50%\n06:00 50%").value(), all, now, 0h, 24h).size(), 1u) << "no change, no step";
}

}  // namespace
}  // namespace weft::master
