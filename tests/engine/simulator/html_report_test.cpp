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

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(HtmlReport, SaysWhoseJobsEndSoonerAndWhoseLater) {
  Comparison comparison = made_up(1);
  for (SchedulerRuns& runs : comparison.schedulers) runs.runs[0].jobs.resize(4);
  const auto takes = [&](std::size_t scheduler, const std::vector<int>& seconds) {
    auto& jobs = comparison.schedulers[scheduler].runs[0].jobs;
    for (std::size_t i = 0; i < seconds.size(); ++i) jobs[i].ended = jobs[i].submitted + std::chrono::seconds(seconds[i]);
  };
  takes(0, {100, 100, 100, 100});  // of ann, bob, bob and ann
  takes(1, {50, 96, 120, 150});
  takes(2, {104, 104, 104, 104});
  const std::string page = to_html(comparison);
  EXPECT_THAT(page, HasSubstr("fair(pools=&lt;x&gt;): 1 jobs sooner, 2 later, 1 alike"));
  EXPECT_THAT(page, HasSubstr("drf: 0 jobs sooner, 0 later, 4 alike"));
  EXPECT_EQ(count(page, "<circle"), 8u);
  EXPECT_THAT(page, HasSubstr("<title>job 3: 100 s, then 150 s</title>"));
  EXPECT_THAT(page, HasSubstr("<tr><td>&lt;bob&gt;</td><td>2</td><td>100.0 s</td><td><small class='bad'>+8.0 %</small></td>"
                              "<td><small>+4.0 %</small></td></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr><td>ann</td><td>2</td><td>100.0 s</td><td><small>+0.0 %</small></td>"));
}

TEST(HtmlReport, DrawsAPartOfManyJobs) {
  const std::string page = to_html(made_up(12));  // of 2,400
  EXPECT_EQ(count(page, "<circle"), 2 * 800u);
}

TEST(HtmlReport, DrawsTasksByUserAndUplinksWithTheirLimits) {
  const std::string page = to_html(made_up(1));
  EXPECT_THAT(page, HasSubstr("Running tasks by user"));
  EXPECT_EQ(count(page, "<path class='area a0'"), 3u) << "one for each scheduler";
  EXPECT_EQ(count(page, "<path class='area a1'"), 3u);
  EXPECT_EQ(count(page, "<line class='limit'"), 2u) << "racks send as much at most, and receive any amount";
  Comparison one_user = made_up(1);
  for (SchedulerRuns& runs : one_user.schedulers) runs.runs[0].series.users.resize(1);
  EXPECT_THAT(to_html(one_user), Not(HasSubstr("Running tasks by user")));
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
