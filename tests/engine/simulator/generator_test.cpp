#include "engine/simulator/workloads/generator.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/simulator/workloads/describe.hpp"
#include "engine/simulator/workloads/distribution.hpp"

namespace weft::simulator::workloads {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Workload generated(const std::string& text, std::uint64_t seed = 1) {
  auto workload = generate(text, seed);
  EXPECT_TRUE(workload.has_value()) << workload.error().to_string();
  return workload ? std::move(*workload) : Workload{};
}

std::string error_of(const std::string& text) {
  const auto workload = generate(text, 1);
  return workload ? "" : workload.error().to_string();
}

std::string fingerprint(const Workload& workload) {
  std::string text = to_json(workload, figures_of(workload));
  for (const auto& job : workload.jobs) {
    text += job.name + " " + std::to_string(job.arrival.count()) + " " + std::to_string(job.stages[0].duration.count()) + "\n";
  }
  return text;
}

TEST(Generator, IsAFunctionOfTextAndSeed) {
  const std::string text = "jobs=50,kind=dag,variation=lognormal(1,0.3),deadline=uniform(1.5,4)";
  EXPECT_EQ(fingerprint(generated(text, 7)), fingerprint(generated(text, 7)));
  EXPECT_NE(fingerprint(generated(text, 7)), fingerprint(generated(text, 8)));
  EXPECT_EQ(fingerprint(generated(text, 7)), fingerprint(generated(text + ",seed=7", 1)));
}

TEST(Generator, JobsHaveTheWeightOfTheirClass) {
  const Workload workload = generated("jobs=20,maps=1,shuffle_ratio=0,job_weight=2,class=a(job_weight=0.5),class=b()");
  for (const JobSpec& job : workload.jobs) EXPECT_EQ(job.hints.weight, job.name.starts_with("a") ? 0.5 : 2) << job.name;
  EXPECT_NE(error_of("job_weight=0"), "");
}

TEST(Generator, JobsDoNotDependOnHowManyThereAre) {
  const Workload few = generated("jobs=5"), many = generated("jobs=50");
  for (std::size_t i = 0; i < few.jobs.size(); ++i) {
    EXPECT_EQ(few.jobs[i].arrival, many.jobs[i].arrival);
    EXPECT_EQ(few.jobs[i].stages[0].input_bytes, many.jobs[i].stages[0].input_bytes);
  }
}

TEST(Generator, KeepsTheMixAndTheGap) {
  const Workload workload = generated(
      "jobs=10000,mean_gap=4s,users=3,pools=2,class=small(weight=3,maps=2,shuffle_ratio=0),class=big(maps=10,reduces=4,pool=p)");
  std::size_t small = 0;
  for (const JobSpec& job : workload.jobs) {
    if (job.stages.size() == 1) {
      ++small;
      EXPECT_EQ(job.stages[0].tasks, 2u);
      EXPECT_THAT(job.name, testing::StartsWith("small "));
    } else {
      EXPECT_EQ(job.stages[0].tasks, 10u);
      EXPECT_EQ(job.stages[1].tasks, 4u);
      EXPECT_EQ(job.options.pool, "p");
    }
  }
  EXPECT_NEAR(static_cast<double>(small), 7500, 200);  // 4.6 standard deviations
  EXPECT_NEAR(figures_of(workload).mean_gap, 4, 0.2);
  EXPECT_EQ(figures_of(workload).users, 3u);
  EXPECT_EQ(figures_of(workload).pools, 3u);
}

TEST(Generator, MakesConnectedDags) {
  const Workload workload = generated("jobs=300,kind=dag,stages=uniform(1,20),parents=uniform(0.5,3)");
  for (const JobSpec& job : workload.jobs) {
    for (std::size_t i = 0; i < job.stages.size(); ++i) {
      const StageSpec& stage = job.stages[i];
      for (const auto parent : stage.parents) {
        ASSERT_LT(parent, i);
        EXPECT_EQ(job.stages[parent].output_bytes, 0u) << "it is read by another stage";
      }
      EXPECT_EQ(stage.parents.empty(), stage.input_bytes > 0);
    }
  }
}

TEST(Generator, TakesDeadlinesFromTheTimeAlone) {
  const Workload workload = generated("jobs=20,maps=100,map_time=10s,reduces=10,reduce_time=5s,deadline=2,isolated_slots=30");
  for (const JobSpec& job : workload.jobs) EXPECT_EQ(*job.deadline, 2 * (4 * 10s + 5s));
}

TEST(Generator, ReadsAFileAndSettingsAfterIt) {
  auto directory = TempDir::create();
  ASSERT_TRUE(directory.has_value());
  const std::string path = directory->path() / "mix.toml";
  ASSERT_TRUE(write_file(path, "jobs = 7\nmean_gap = \"2s\"\narrivals = \"even\"\nclasses = [\"a(maps=3)\"]\n").has_value());
  const Workload workload = generated(path + ",jobs=4");
  ASSERT_EQ(workload.jobs.size(), 4u);
  EXPECT_EQ(workload.jobs[3].arrival, 6s);
  EXPECT_EQ(workload.jobs[0].name, "a 0");
  ASSERT_TRUE(write_file(path, "jobs = 7\nmean_gab = \"2s\"\n").has_value());
  EXPECT_THAT(error_of(path), HasSubstr("mix.toml:2: unknown key 'mean_gab' (did you mean 'mean_gap'?)"));
}

TEST(Generator, SaysWhatIsWrong) {
  EXPECT_THAT(error_of("job=5"), HasSubstr("unknown key 'job' (did you mean 'jobs'?)"));
  EXPECT_THAT(error_of("jobs=0"), HasSubstr("jobs: 0 is not between 1 and"));
  EXPECT_THAT(error_of("input=lognormal(1GiB)"), HasSubstr("class job: input: 'lognormal(1GiB)' is no distribution"));
  EXPECT_THAT(error_of("input=uniform(5,1)"), HasSubstr("must not be the larger one"));
  EXPECT_THAT(error_of("class=a(b(c)"), HasSubstr("parentheses"));
  EXPECT_THAT(error_of("class=a(weigth=1)"), HasSubstr("class a: unknown key 'weigth' (did you mean 'weight'?)"));
  EXPECT_THAT(error_of("class=a(weight=0)"), HasSubstr("must not all be 0"));
  EXPECT_THAT(error_of("kind=spark"), HasSubstr("kind must be mapreduce or dag"));
  EXPECT_THAT(error_of("maps=1e12"), HasSubstr("draw smaller numbers"));
  EXPECT_THAT(error_of("arrivals=burst"), HasSubstr("arrivals must be poisson or even"));
  EXPECT_THAT(error_of("demand=(cpus=1)"), HasSubstr("class job: demand"));
  EXPECT_THAT(error_of("jobs=1000000,mean_gap=1h"), HasSubstr("more than 100 days"));
}

TEST(Distribution, HasTheMeansItShouldHave) {
  struct Case {
    const char* text;
    Unit unit;
    double mean;
  };
  for (const Case& one : {Case{"5", Unit::number, 5},
                          {"2KiB", Unit::bytes, 2048},
                          {"uniform(1s,3s)", Unit::seconds, 2},
                          {"exponential(4)", Unit::number, 4},
                          {"normal(10,1)", Unit::number, 10},
                          {"lognormal(2,0.5)", Unit::number, 2 * std::exp(0.125)},
                          {"pareto(1,3)", Unit::number, 1.5},
                          {"choice(1,2,6)", Unit::number, 3},
                          {"bins(1:0..2,3:10..20)", Unit::number, 11.5}}) {
    const auto distribution = Distribution::parse(one.text, one.unit);
    ASSERT_TRUE(distribution.has_value()) << distribution.error().to_string();
    Random random(5);
    double sum = 0;
    for (int i = 0; i < 100'000; ++i) sum += distribution->draw(random);
    EXPECT_NEAR(sum / 100'000, one.mean, 0.03 * one.mean) << one.text;
  }
  Random random(1);
  const auto capped = Distribution::parse("pareto(1,0.5,9)", Unit::number);
  for (int i = 0; i < 1000; ++i) EXPECT_LE(capped->draw(random), 9);
}

}  // namespace
}  // namespace weft::simulator::workloads
