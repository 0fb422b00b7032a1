// Records that user functions report as bad, on a cluster: counted once whatever runs twice or dies, shown, limited.
#include <string>

#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

TEST(BadRecords, OfAttemptsThatCountAreShownWhereverTheJobIs) {
  const ScratchDirectory files;
  Cluster cluster(2);
  // The executor that reads the last record dies once, when it has reported all bad ones of its task.
  auto options = cluster.options();
  options.may_die = true;
  const auto result = run(cluster.job({"bad", "--tasks", "4", "--records", "1000", "--marker", files / "died"}), options);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(access((files / "died").c_str(), F_OK), 0) << "nothing died";
  EXPECT_EQ(result.out, expected_sums(1000));
  const std::string status = cluster.admin({"job", "status", "1", "--json"}).out;
  EXPECT_TRUE(has(status, "\"bad_records\":100,\"bad_record_examples\":[\"number ")) << status;
  EXPECT_TRUE(has(status, " ends with 9\"")) << status;
  const std::string text = cluster.admin({"job", "status", "1"}).out;
  EXPECT_TRUE(has(text, "job 1: 100 bad records in stage 0, ")) << text;
}

TEST(BadRecords, AreShownAtTheEndAndFailTheJobWhenThereAreTooMany) {
  const ScratchDirectory files;
  const auto probe = [&](const std::string& limit) {
    return run(
        {program("cluster_probe"), "bad", "--tasks", "4", "--records", "1000", "--workers", "2", "--max-bad-records", limit});
  };
  const auto enough = probe("10%");
  EXPECT_EQ(enough.exit_code, 0) << enough.err;
  EXPECT_TRUE(has(enough.err, "cluster_probe: 100 bad records in stage 0, ")) << enough.err;
  for (const std::string limit : {"9%", "99", "0"}) {
    const auto failed = probe(limit);
    EXPECT_EQ(failed.exit_code, 1) << limit;
    EXPECT_TRUE(has(failed.err, "more than --max-bad-records " + limit + " allows; one of stage 0")) << failed.err;
  }
  const auto wrong = probe("many");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(has(wrong.err, "not a number of records, nor a part of them")) << wrong.err;
}

}  // namespace
}  // namespace weft::test
