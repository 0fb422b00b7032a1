// What scripts/papers says of figures, and the pages and pictures it makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "benchmarks/papers/page.hpp"

namespace weft::papers {
namespace {

using testing::HasSubstr;
using testing::Not;

Figure figure(double measured, Band band, std::string reason = "") {
  return {"what", "published", single(measured), Unit::percent, band, std::move(reason)};
}

TEST(Papers, AFigureIsInItsBandOrSaysWhyNot) {
  EXPECT_EQ(verdict(figure(0.5, {0.5, 0.6})), "in band");
  EXPECT_EQ(verdict(figure(0.6, {0.5, 0.6})), "in band");
  EXPECT_EQ(verdict(figure(0.49, {0.5, 0.6})), "MISSED");
  EXPECT_EQ(verdict(figure(0.61, {0.5, 0.6})), "MISSED");
  EXPECT_EQ(verdict(figure(0.4, {0.5, 0.6}, "of noise")), "outside: of noise");
  EXPECT_EQ(verdict(figure(0.5, {0.5, 0.6}, "of noise")), "in band");
  EXPECT_EQ(verdict(figure(0.5, {})), "for information");
  EXPECT_FALSE(figure(0.4, {0.5, 0.6}).good());
  EXPECT_TRUE(figure(0.4, {0.5, 0.6}, "of noise").good());
}

TEST(Papers, OnlyAMissWithoutAReasonFails) {
  const auto of = [](std::vector<Figure> figures, std::string missing = "") {
    return std::vector<Done>{{nullptr, {std::move(figures), {}, "", std::move(missing)}}};
  };
  EXPECT_EQ(tally(of({figure(0.5, {0.5, 0.6}), figure(0.4, {0.5, 0.6}, "of noise")})).exit_status(), 0);
  EXPECT_EQ(tally(of({}, "no trace")).exit_status(), 0);
  const Tally bad = tally(of({figure(0.5, {0.5, 0.6}), figure(0.4, {0.5, 0.6}, "of noise"), figure(0.7, {0.5, 0.6})}, "no trace"));
  EXPECT_EQ(bad.exit_status(), 1);
  EXPECT_EQ(bad.text(), "3 figures, 1 outside their bands for a known reason, 1 missed; 1 experiments not measured");
}

TEST(Papers, BandsAndMeansAreWrittenInTheirUnit) {
  EXPECT_EQ(band_text(figure(0, {0.5, 0.6})), "50 % to 60 %");
  EXPECT_EQ(band_text(figure(0, at_least(0.5))), "at least 50 %");
  EXPECT_EQ(band_text(figure(0, at_most(0.5))), "at most 50 %");
  EXPECT_EQ(band_text(figure(0, exactly(0.5))), "exactly 50 %");
  Figure several = figure(0.5, {});
  several.measured = {0.5, 0.013, 3};
  EXPECT_EQ(measured_text(several), "50 % ± 1.3");
  several.unit = Unit::change;
  EXPECT_EQ(measured_text(several), "+50 % ± 1.3");
}

TEST(Papers, SeedsAreRunOnceEachAndQuicklyOneOnly) {
  Context context;
  context.seeds = 5;
  const auto measure = [](std::uint64_t seed) { return std::vector<double>{static_cast<double>(seed), 7}; };
  const auto all = context.over_seeds(measure);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].mean, 3);
  EXPECT_EQ(all[0].runs, 5u);
  EXPECT_GT(all[0].half_width, 0);
  EXPECT_EQ(all[1].half_width, 0);
  context.quick = true;
  EXPECT_EQ(context.over_seeds(measure)[0].mean, 1);
}

TEST(Papers, ThePageHasARowForEachFigureAndSaysWhatIsMissing) {
  const Experiment experiment{"XX-1", "A claim", "Somebody 2001", "one node", "half a node", {}};
  const Experiment unmeasured{"XX-2", "Another", "Somebody 2001", "one node", "half a node", {}};
  const std::string text = page({"XX-1", "XX-2"},
                                {{&experiment, {{figure(0.4, {0.5, 0.6}, "a|b")}, {{"x.svg", "X", ""}}, "Remark.", ""}},
                                 {&unmeasured, {{}, {}, "", "no trace"}}},
                                "", Context{});
  EXPECT_THAT(text, HasSubstr("\n## XX-1: A claim"));
  EXPECT_THAT(text, HasSubstr("| what | published | 40 % | 50 % to 60 % | outside: a\\|b |"));
  EXPECT_THAT(text, HasSubstr("![X](papers/x.svg)"));
  EXPECT_THAT(text, HasSubstr("Remark."));
  EXPECT_THAT(text, HasSubstr("Not measured: no trace."));
}

TEST(Papers, APageKeepsSectionsOfWhatWasNotRunAgain) {
  const auto experiment = [](const char* id) { return Experiment{id, std::string("Of ") + id, "Somebody", "one node", "", {}}; };
  const Experiment one = experiment("XX-1"), two = experiment("XX-2"), three = experiment("XX-10");
  const auto done = [](const Experiment& of, double value) {
    return Done{&of, {{figure(value, {0.1, 0.9})}, {{"x.svg", "X", ""}}, "", ""}};
  };
  const std::vector<std::string> ids = {"XX-1", "XX-2", "XX-10"};
  const Context context;
  const std::string whole = page(ids, {done(one, 0.2), done(two, 0.3), done(three, 0.4)}, "", context);
  EXPECT_EQ(page(ids, {}, whole, context), whole);
  const std::string renewed = page(ids, {done(two, 0.5)}, whole, context);
  EXPECT_EQ(renewed, page(ids, {done(one, 0.2), done(two, 0.5), done(three, 0.4)}, "", context));
  EXPECT_EQ(page({"XX-2", "XX-10"}, {}, whole, context), page({"XX-2", "XX-10"}, {done(two, 0.3), done(three, 0.4)}, "", context))
      << "what is no experiment any more goes";
  Context more;
  more.seeds = 10;
  EXPECT_THAT(page(ids, {done(two, 0.5)}, whole, more), HasSubstr("Setting: one node.\nRandom figures: 10 seeds.\n"));
}

TEST(Papers, PicturesStandAlone) {
  const Chart chart = line_chart("x.svg", "X", "time", "part", {{"theirs", {{1, 2}, {2, -3}}, true}, {"ours", {{1, 1}, {2, 1}}}});
  EXPECT_THAT(chart.svg, testing::StartsWith("<svg xmlns="));
  EXPECT_THAT(chart.svg, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(chart.svg, HasSubstr("class='line s0 published'"));
  EXPECT_THAT(chart.svg, HasSubstr("<path class='line s0' "));
  EXPECT_THAT(chart.svg, HasSubstr(">theirs</text>"));
  EXPECT_THAT(chart.svg, Not(HasSubstr("figure")));
}

}  // namespace
}  // namespace weft::papers
