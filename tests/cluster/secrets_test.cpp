// Keys of an S3 service in the environment of a job and its workers, and whether anything that the job leaves behind has them.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/file_cluster.hpp"
#include "tests/storage/s3_service.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/http_connection.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kSecret = "secret/of+weft";
constexpr const char* kToken = "planted-session-token";

class SecretsTest : public testing::Test {
 protected:
  SecretsTest() {
    environment_ = {{"AWS_ACCESS_KEY_ID", "AKIAWEFT"},
                    {"AWS_SECRET_ACCESS_KEY", kSecret},
                    {"AWS_ENDPOINT_URL", service_.endpoint()},
                    {"WEFT_PLANTED", kToken},
                    {"TMPDIR", files_.path()}};
    service_.store("in", "to be or not to be\n");
    cluster_ = std::make_unique<FileCluster>(
        2, FileClusterOptions{.master = {"--event-log", files_ / "events", "--http", "127.0.0.1:0"}, .environment = environment_});
  }
  ProcessResult job(Words words) const {
    words.insert(words.end(), {"--cluster", cluster_->address()});
    return run(words, {.environment = environment_});
  }
  ProcessResult weft(Words words) const {
    words.insert(words.begin(), {program("weft"), "--master", cluster_->address()});
    return run(words, {.environment = environment_});
  }
  static bool clean(const std::string& text) { return !has(text, kSecret) && !has(text, kToken); }
  /// Every file in the directory has none.
  static void expect_clean_files(const std::string& directory) {
    std::error_code error;
    for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
      std::error_code gone;
      if (!fs::is_regular_file(at->symlink_status(gone))) continue;
      EXPECT_TRUE(clean(read_file(at->path()))) << at->path();
    }
  }
  /// No process of the machine shows one to others.
  static void expect_clean_arguments() {
    std::error_code error;
    for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
      const std::string words = read_file(at->path() / "cmdline");
      EXPECT_FALSE(has(words, kSecret) || has(words, kToken)) << words;
    }
  }
  void expect_clean_everywhere() {
    for (const Words& words : {Words{"job", "list", "--json"}, Words{"job", "status", "1", "--json"}, Words{"job", "logs", "1"},
                               Words{"job", "diagnose", "1", "--json"}, Words{"job", "diagnose", "1"},
                               Words{"node", "list", "--json"}, Words{"job", "explain", "1"}}) {
      const auto told = weft(words);
      EXPECT_TRUE(clean(told.out + told.err)) << words[1] << ": " << told.out << told.err;
    }
    const std::string said = cluster_->master().out_so_far();
    const auto page = said.find("http://");
    ASSERT_NE(page, std::string::npos) << said;
    const std::string address = said.substr(page + 7, said.find('/', page + 7) - page - 7);
    for (const char* const path : {"/", "/api/v1/jobs", "/api/v1/jobs/1", "/api/v1/nodes", "/metrics"}) {
      const auto answer = http(address, "GET", path);
      EXPECT_NE(answer.status, 0) << path;
      EXPECT_TRUE(clean(answer.head + answer.body)) << path;
    }
    for (std::size_t i = 0; i < cluster_->size(); ++i)
      EXPECT_TRUE(clean(cluster_->worker(i).out_so_far() + cluster_->worker(i).err_so_far()));
    EXPECT_TRUE(clean(said + cluster_->master().err_so_far()));
    expect_clean_files(cluster_->scratch().path());
    expect_clean_files(files_.path());
  }

  S3Service service_;
  ScratchDirectory files_;
  std::map<std::string, std::string> environment_;
  std::unique_ptr<FileCluster> cluster_;
};

TEST_F(SecretsTest, OfAJobThatUsesThemAreNowhere) {
  const auto counted = job({program("wordcount"), "--input", "s3://books/in", "--output", "s3://books/counts"});
  ASSERT_EQ(counted.exit_code, 0) << counted.err;
  EXPECT_TRUE(clean(counted.out + counted.err));
  const auto detached =
      weft({"submit", "--detach", program("wordcount"), "--", "--input", "s3://books/in", "--output", "s3://books/again"});
  ASSERT_EQ(detached.exit_code, 0) << detached.err;
  EXPECT_EQ(weft({"job", "wait", "2"}).exit_code, 0) << weft({"job", "logs", "2"}).out;
  expect_clean_arguments();
  expect_clean_everywhere();
}

TEST_F(SecretsTest, OfAJobThatFailsAreInNoError) {
  environment_["AWS_SECRET_ACCESS_KEY"] = std::string(kSecret) + "-not";
  const auto refused = job({program("wordcount"), "--input", "s3://books/in", "--output", "s3://books/counts"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_TRUE(clean(refused.out + refused.err)) << refused.err;
  environment_["AWS_SECRET_ACCESS_KEY"] = kSecret;
  const auto missing = job({program("wordcount"), "--input", "s3://books/in", "--output", "s3://no-such-bucket/counts"});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_TRUE(clean(missing.out + missing.err)) << missing.err;
  expect_clean_everywhere();
}

TEST_F(SecretsTest, InArgumentsAreRefusedBeforeAnybodySeesThem) {
  const std::string url = std::string("s3://AKIAWEFT:") + kToken + "@books/in";
  const auto driven = job({program("wordcount"), "--quiet", "--input", url, "--output", files_ / "out"});
  EXPECT_NE(driven.exit_code, 0);
  EXPECT_TRUE(has(driven.err, "holds a password or a key") && clean(driven.err)) << driven.err;
  for (const std::string& argument :
       {url, std::string("AWS_SECRET_ACCESS_KEY=") + kToken, std::string("a,hdfs://u:") + kToken + "@host/x"}) {
    const auto detached = weft({"submit", "--detach", program("wordcount"), "--", "--input", argument});
    EXPECT_EQ(detached.exit_code, 1);
    EXPECT_TRUE(has(detached.err, "argument 2 of the job holds a password or a key") && clean(detached.err)) << detached.err;
  }
  const auto harmless =
      weft({"submit", "--detach", program("wordcount"), "--", "--input", "hdfs://user@host:8020/in", "--output", "a@b:c"});
  EXPECT_EQ(harmless.exit_code, 0) << harmless.err;
  EXPECT_NE(weft({"job", "list"}).out.find("wordcount"), std::string::npos);
  expect_clean_everywhere();
}

}  // namespace
}  // namespace weft::test
