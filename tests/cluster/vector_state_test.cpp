// User code finds the vector registers as code without AVX wants them, behind every source and every shuffle: what weft's libraries
// leave in their upper halves makes floating point code 2 to 20 times slower (base/vector_state.hpp).
#include "base/vector_state.hpp"

#include "tests/cluster/file_cluster.hpp"
#include "tests/storage/compressed_files.hpp"

namespace weft::test {
namespace {

class VectorState : public testing::Test {
 protected:
  void SetUp() override {
    if (!upper_halves_in_use()) GTEST_SKIP() << "this processor does not tell what its vector registers hold";
    std::string rows = "number\n", json;
    for (int i = 100; i < 600; ++i) {
      rows += std::to_string(i) + "\n";
      json += "{\"number\":" + std::to_string(i) + ",\"other\":\"" + std::string(300, 'x') + "\"}\n";
    }
    write_file(files_ / "rows.csv", rows);
    write_file(files_ / "rows.jsonl", json);
  }

  static std::string text() { return some_text(2'000'000, 3); }
  std::vector<std::string> job(const std::string& input, std::vector<std::string> where) {
    const std::string output = files_ / ("out" + std::to_string(++jobs_));
    std::filesystem::create_directory(output);
    std::vector<std::string> words{
        program("vector_state_probe"), "--quiet",  "--input", input, "--rows", files_ / "rows.csv", "--json",
        files_ / "rows.jsonl",         "--output", output};
    words.insert(words.end(), where.begin(), where.end());
    return words;
  }
  void expect_clear(const std::string& input, const std::vector<std::string>& where) {
    const ProcessResult ran = run(job(input, where), {.environment = {}, .deadline = std::chrono::seconds(100)});
    EXPECT_EQ(ran.exit_code, 0) << input << ": " << ran.err;
  }

  ScratchDirectory files_;
  int jobs_ = 0;
};

TEST_F(VectorState, IsClearInUserCodeBehindFilesOfEveryCompression) {
  write_file(files_ / "text", text());
  for (const char* threads : {"1", "2"}) expect_clear(files_ / "text", {"--threads", threads});
  for (const storage::Format format : storage::kCompressedFormats) {
    const std::string path = files_ / ("compressed" + std::to_string(static_cast<int>(format)));
    write_file(path, storage::compressed(format, text()));
    expect_clear(path, {"--threads", "1"});
  }
}

TEST_F(VectorState, IsClearInUserCodeThatSpills) {
  write_file(files_ / "text", some_text(12'000'000, 5));
  expect_clear(files_ / "text", {"--threads", "2", "--memory", "8MiB"});
}

TEST_F(VectorState, IsClearInUserCodeOnWorkers) {
  write_file(files_ / "text.gz", storage::gzipped(text()));
  write_file(files_ / "text", text());
  expect_clear(files_ / "text", {"--workers", "2"});
  expect_clear(files_ / "text.gz", {"--workers", "2"});
  expect_clear(files_ / "text", {"--workers", "2", "--shuffle-mode", "pull"});
}

TEST_F(VectorState, IsClearInUserCodeBehindFilesOfTheCluster) {
  // Workers that share nothing: blocks come over the network.
  FileCluster cluster(2, {.worker = {"--share", "false"}});
  write_file(files_ / "text", text());
  ASSERT_EQ(cluster.run_fs({"put", files_ / "text", "/text", "--chunk-size", "256KiB"}).exit_code, 0);
  expect_clear("weft://text", {"--cluster", cluster.address()});
  expect_clear("weft://text", {"--files", cluster.address(), "--threads", "2"});
}

}  // namespace
}  // namespace weft::test
