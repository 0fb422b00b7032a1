// What a master learns of the tasks of real jobs, and says of the next run: predictions of WordCount and TeraSort, the store after
// a kill and after damage, and the commands.
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>

#include "tests/cluster/cluster.hpp"
#include "tests/cluster/task_seconds.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Profiles : public testing::Test {
 protected:
  /// A master whose profiles are beside its journal.
  std::vector<std::string> kept() const { return {"--journal", files / "journal"}; }
  std::string directory() const { return files / "journal.profiles"; }

  TaskSeconds run_job(const Cluster& cluster, std::vector<std::string> words) {
    words.insert(words.end(), {"--quiet", "--cluster", cluster.address()});
    const auto result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto sum = task_seconds_of(cluster.admin({"job", "status", std::to_string(++jobs), "--json"}).out);
    EXPECT_TRUE(sum) << sum.error().to_string();
    return sum.value_or(TaskSeconds());
  }
  TaskSeconds count_words(const Cluster& cluster, const std::string& input) {
    return run_job(cluster, {program("wordcount"), "--input", input, "--output", files / ("out" + std::to_string(jobs))});
  }
  std::string words_of(int megabytes) {
    std::string text;
    for (std::uint64_t i = 0; text.size() < static_cast<std::size_t>(megabytes) << 20; ++i) {
      text += "word" + std::to_string(i * i % 50021);
      text += i % 9 == 8 ? '\n' : ' ';
    }
    const std::string path = files / (std::to_string(megabytes) + ".txt");
    write_file(path, text);
    return path;
  }
  /// Once, twice, and with twice the input; again where the machine did something else meanwhile.
  void expect_predicted(const Cluster& cluster, const std::function<TaskSeconds(int)>& run_with) {
    constexpr int kTries = 4;
    std::string seen;
    for (int i = 0; i < kTries; ++i) {
      ASSERT_EQ(cluster.admin({"profile", "forget", "--all"}).exit_code, 0);
      (void)run_with(1);
      const TaskSeconds same = run_with(1), twice = run_with(2);
      EXPECT_GE(same.stages, 2);
      EXPECT_GE(twice.stages, 2);
      if (same.error() <= 0.3 && twice.error() <= 0.5) return;
      seen += " " + std::to_string(same.error()) + "/" + std::to_string(twice.error());
    }
    ADD_FAILURE() << "the errors for the same and for twice the input:" << seen;
  }

  ScratchDirectory files;
  int jobs = 0;
};

TEST_F(Profiles, PredictWordCountTheSecondTimeAndWithTwiceTheInput) {
  Cluster cluster(2);
  const std::string once = words_of(12), twice = words_of(24);
  expect_predicted(cluster, [&](int times) { return count_words(cluster, times == 1 ? once : twice); });
  const auto shown = cluster.admin({"profile", "show", "wordcount"});
  EXPECT_THAT(shown.out, HasSubstr("MEDIAN"));
  EXPECT_THAT(cluster.admin({"job", "status", std::to_string(jobs)}).out, HasSubstr("(history)"));
}

TEST_F(Profiles, PredictTeraSortTheSecondTimeAndWithTwiceTheInput) {
  Cluster cluster(2);
  for (const int times : {1, 2})
    ASSERT_EQ(run({program("terasort"), "gen", "--quiet", "--records", std::to_string(times * 150000), "--output",
                   files / ("in" + std::to_string(times))})
                  .exit_code,
              0);
  expect_predicted(cluster, [&](int times) {
    return run_job(cluster, {program("terasort"), "sort", "--input", files / ("in" + std::to_string(times)), "--output",
                             files / ("out" + std::to_string(jobs))});
  });
}

TEST_F(Profiles, OutliveAMasterThatIsKilled) {
  {
    Cluster cluster(1, kept());
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
    cluster.master().signal(SIGKILL);  // what the first run taught is on its way to the disk since the second began
    EXPECT_EQ(cluster.master().wait().exit_code, 137);
  }
  Cluster again(1, kept());
  EXPECT_THAT(again.admin({"profile", "list"}).out, HasSubstr("cluster_probe"));
  EXPECT_EQ(run(again.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  EXPECT_THAT(again.admin({"job", "status", "3", "--json"}).out, HasSubstr("\"predicted_by\":\"history\""));
}

TEST_F(Profiles, ThatAreDamagedAreSetAsideAndLearnedAgain) {
  {
    Cluster cluster(1, kept());
    EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("MANIFEST") || name.ends_with(".log")) write_file(entry.path(), "no database\n");
  }
  Cluster again(1, kept());
  EXPECT_EQ(run(again.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  EXPECT_TRUE(std::filesystem::exists(directory() + ".damaged-1"));
  EXPECT_THAT(again.master().err_so_far(), HasSubstr("it is set aside as " + directory() + ".damaged-1"));
  EXPECT_THAT(again.admin({"profile", "list", "--json"}).out, HasSubstr("\"program\":\"cluster_probe\""));
}

TEST_F(Profiles, AreListedShownCarriedOverAndForgotten) {
  const std::string file = files / "profiles.json";
  Cluster cluster(1), other(1);
  EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  EXPECT_THAT(cluster.admin({"profile", "show", "cluster_probe", "--json"}).out, HasSubstr("\"classes\":[["));
  const auto unknown = cluster.admin({"profile", "show", "nobody"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_TRUE(has(unknown.err, "there are no profiles of 'nobody'") && one_line(unknown.err)) << unknown.err;
  ASSERT_EQ(cluster.admin({"profile", "export", "--output", file}).exit_code, 0);
  const auto taken = other.admin({"profile", "import", file});
  EXPECT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_THAT(taken.out, HasSubstr("stages imported"));
  EXPECT_EQ(run(other.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  EXPECT_THAT(other.admin({"job", "status", "1", "--json"}).out, HasSubstr("\"predicted_by\":\"history\""));

  std::string text = read_file(file);
  const std::string_view key = "\"fingerprint\":\"";
  const std::size_t at = text.find(key) + key.size();
  text[at] = text[at] == 'f' ? '0' : 'f';
  write_file(file, text);
  const auto refused = other.admin({"profile", "import", file});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "is of another version of the program") && one_line(refused.err)) << refused.err;
  write_file(file, "words\n");
  EXPECT_THAT(other.admin({"profile", "import", file}).err, HasSubstr("does not begin with"));
  EXPECT_EQ(other.admin({"profile", "forget"}).exit_code, 2);
  EXPECT_EQ(other.admin({"profile", "forget", "cluster_probe"}).exit_code, 0);
  EXPECT_THAT(other.admin({"profile", "list"}).out, Not(HasSubstr("cluster_probe")));
}

TEST_F(Profiles, AreWhatDecisionsGoByAndTheLogSays) {
  const std::string log = files / "events";
  Cluster cluster(1, {"--event-log", log, "--scheduler", "srtf"});
  EXPECT_EQ(run(cluster.job({"sums", "--records", "3000", "--hint", "shuffle_ratio=0.25"})).out, expected_sums(3000));
  Process held(cluster.job({"sums", "--records", "3000"}), cluster.options());
  EXPECT_EQ(held.wait().exit_code, 0);
  const std::string events = read_file(log);
  EXPECT_THAT(events, HasSubstr("\"hints\":{\"shuffle_ratio\":\"0.25\"}"));
  EXPECT_THAT(events, HasSubstr("\"profile\":{\"constant_ns\":"));
  Process waits(cluster.job({"wait", "--tasks", "5", "--records", "1000000", "--marker", files / "begun"}), cluster.options());
  ASSERT_TRUE(eventually([&] { return has(cluster.admin({"job", "explain", "3"}).out, "(history: about "); }));
  EXPECT_THAT(cluster.admin({"job", "explain", "3", "--json"}).out, HasSubstr("\"source\":\"history\""));
  EXPECT_EQ(cluster.admin({"job", "kill", "3"}).exit_code, 0);
  (void)waits.wait();
}

TEST_F(Profiles, HintsThatAreNoneAreRefusedByNameAlsoWhenSubmitted) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{program("cluster_probe"), "noop", "--hint", "shufle_ratio=1"},
        {program("weft"), "submit", "--hint", "shufle_ratio=1", program("cluster_probe")}}) {
    const auto result = run(words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(has(result.err, "did you mean shuffle_ratio?") && one_line(result.err)) << result.err;
  }
}

}  // namespace
}  // namespace weft::test
