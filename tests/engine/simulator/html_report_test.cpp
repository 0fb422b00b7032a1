// The page of a comparison.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/simulator/report/reports.hpp"
#include "tests/engine/simulator/report_fixture.hpp"

namespace weft::simulator::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HtmlReport, LoadsNothingAndEscapesNames) {
  Comparison comparison = made_up(3);
  comparison.schedulers[0].runs[0].jobs[3].outcome = Outcome::failed;
  comparison.schedulers[0].runs[0].jobs[3].error = "<script>alert(1)</script>";
  const std::string page = to_html(comparison);
  if (const char* path = std::getenv("WEFT_REPORT")) {  // to look at it
    ASSERT_TRUE(write_file(path, page).has_value());
  }
  for (const char* loaded : {"http:", "https:", "src=", "@import", "url(", "<link"}) EXPECT_THAT(page, Not(HasSubstr(loaded)));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("pools=<x>")));
  EXPECT_THAT(page, HasSubstr("fair(pools=&lt;x&gt;)"));
  for (const char* part : {"Completion times", "Slowdown", "Speed-up of single jobs", "Utilisation of cpu", "Traffic between racks",
                           "Jain index over jobs", "Jobs as they came", "Jobs that did not finish", "± "}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("inf ")));
}

TEST(HtmlReport, HasARowForEachFigureThatAnyRunHas) {
  const std::string page = to_html(made_up(1));
  EXPECT_THAT(page, HasSubstr("<td>completion time, mean</td>"));
  EXPECT_THAT(page, HasSubstr("<td>bytes between racks</td><td>1.4 TB</td>"));
  EXPECT_THAT(page, HasSubstr("<td class='best'>1.1 TB <small class='good'>-21.4 %</small></td>"));
  EXPECT_THAT(page, Not(HasSubstr("deadlines missed"))) << "no job has a deadline";
  EXPECT_THAT(page, Not(HasSubstr("Means over"))) << "there is one seed";
}

TEST(HtmlReport, DrawsTheFirstJobsAndSaysSo) {
  const std::string page = to_html(made_up(1));
  EXPECT_THAT(page, HasSubstr("order of submission, the first 150")) << "of 200";
}

TEST(HtmlReport, HasAReplayBesideWhatHappened) {
  Comparison comparison = made_up(1);
  comparison.replays.push_back({"fi<fo", {{"job", 10, 11}}, 100, 90});
  const std::string page = to_html(comparison);
  EXPECT_THAT(page, HasSubstr("Compared with what happened: fi&lt;fo</h2><p>Makespan -10.0 %, jobs 10.0 % off in the mean."));
}

}  // namespace
}  // namespace weft::simulator::report
