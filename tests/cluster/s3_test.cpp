// Jobs and the command line on objects of an S3 service: that of the tests (tests/storage/s3_server.py), and a real MinIO where
// WEFT_MINIO names its program (scripts/test --integration).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "tests/cluster/file_cluster.hpp"
#include "tests/reference/reference.hpp"
#include "tests/storage/s3_service.hpp"

namespace weft::test {
namespace {

using Environment = std::map<std::string, std::string>;

/// MinIO with the bucket "books", as S3Service has it.
class MinIo {
 public:
  explicit MinIo(const std::string& program) {
    std::filesystem::create_directories(scratch_ / "data/books");
    for (int attempt = 0; attempt < 5 && !ready_; ++attempt) {  // somebody may take the port meanwhile
      port_ = free_port();
      process_ = std::make_unique<Process>(
          std::vector<std::string>{program, "server", "--quiet", "--address", "127.0.0.1:" + port_, scratch_ / "data"},
          ProcessOptions{.environment = {{"MINIO_ROOT_USER", "AKIAWEFT"},
                                         {"MINIO_ROOT_PASSWORD", "secret/of+weft"},
                                         {"MINIO_BROWSER", "off"},
                                         {"MINIO_UPDATE", "off"},
                                         {"MINIO_CI_CD", "1"}},
                         .deadline = std::chrono::seconds(600),
                         .may_die = true});
      ready_ = eventually([&] {
                 return !process_->running() || http("127.0.0.1:" + port_, "GET", "/minio/health/ready").status == 200;
               }) &&
               process_->running();
    }
    EXPECT_TRUE(ready_) << process_->err_so_far();
  }
  std::string endpoint() const { return "http://127.0.0.1:" + port_; }

 private:
  static std::string free_port() {
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    return std::to_string(ntohs(address.sin_port));
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Process> process_;
  std::string port_;
  bool ready_ = false;
};

class Objects : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "Own") {
      own.emplace();
      environment["AWS_ENDPOINT_URL"] = own->endpoint();
    } else {
      const char* const program = std::getenv("WEFT_MINIO");
      if (program == nullptr) {
        std::puts("skipped: jobs on MinIO: WEFT_MINIO does not name it (scripts/test --integration)");
        GTEST_SKIP();
      }
      minio.emplace(program);
      environment["AWS_ENDPOINT_URL"] = minio->endpoint();
    }
    environment["AWS_ACCESS_KEY_ID"] = "AKIAWEFT";
    environment["AWS_SECRET_ACCESS_KEY"] = "secret/of+weft";
    environment["HOME"] = files.path();
    environment["AWS_EC2_METADATA_DISABLED"] = "true";
  }
  ProcessResult with_keys(const std::vector<std::string>& command) { return run(command, {.environment = environment}); }
  ProcessResult good(std::vector<std::string> words) {
    words.insert(words.begin(), {program("weft"), "fs"});
    const ProcessResult result = with_keys(words);
    EXPECT_EQ(result.exit_code, 0) << words[2] << ": " << result.err;
    return result;
  }
  void put(const std::string& content, const std::string& url) {
    write_file(files / "content", content);
    good({"cp", "--overwrite", files / "content", url});
  }
  std::string refusal(const std::vector<std::string>& command) {
    const ProcessResult result = with_keys(command);
    EXPECT_EQ(result.exit_code, 1) << result.out;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  }
  std::vector<std::string> sorted_lines(const std::string& url) {
    std::string text = good({"cat", url + "/part-*"}).out;
    std::vector<std::string> lines;
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      lines.push_back(text.substr(begin, end - begin));
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  void expect_no_uploads() {
    if (!own) return;
    EXPECT_TRUE(own->has("\"uploads\": []")) << own->state();
  }

  ScratchDirectory files;
  Environment environment;
  std::optional<S3Service> own;
  std::optional<MinIo> minio;
};

TEST_P(Objects, AreCopiedListedAndPrinted) {
  const std::string text = some_text(12'000'000, 1);  // three parts
  put(text, "s3://books/in/a b=c");
  put("", "s3://books/in/empty");
  EXPECT_TRUE(good({"cat", "s3://books/in/a*"}).out == text);
  const std::string listed = good({"ls", "s3://books/in", "--json"}).out;
  EXPECT_TRUE(has(listed, "\"path\":\"s3://books/in/a b=c\",\"type\":\"file\",\"bytes\":12000000")) << listed;
  EXPECT_TRUE(has(good({"ls", "s3://books"}).out, "s3://books/in"));
  good({"cp", "-r", "s3://books/in", files / "copy"});
  EXPECT_TRUE(read_file(files / "copy/a b=c") == text);
  EXPECT_EQ(read_file(files / "copy/empty"), "");
  good({"cp", "-r", files / "copy", "s3://books/again/"});
  EXPECT_TRUE(good({"cat", "s3://books/again/a b=c"}).out == text);
  EXPECT_TRUE(has(refusal({program("weft"), "fs", "cp", files / "copy/empty", "s3://books/in/empty"}), "say --overwrite"));
  EXPECT_TRUE(has(refusal({program("weft"), "fs", "cp", "s3://books/in", files / "x"}), "is a directory; say --recursive"));
  EXPECT_TRUE(has(refusal({program("weft"), "fs", "cat", "s3://books/nothing"}), "s3://books/nothing is not there"));
  expect_no_uploads();
}

TEST_P(Objects, AreInputsAndOutputsOfJobsEverywhere) {
  const std::string text = some_text(6'000'000, 7);
  put(text, "s3://books/in/words");
  put("", "s3://books/in/empty");
  const auto expected = reference::wordcount({text});
  FileClusterOptions options;
  options.environment = environment;
  FileCluster cluster(3, options);
  const std::vector<std::vector<std::string>> places{{}, {"--workers", "2"}, {"--cluster", cluster.address()}};
  int number = 0;
  for (const auto& where : places) {
    const std::string output = "s3://books/out-" + std::to_string(++number);
    std::vector<std::string> command{program("wordcount"), "--quiet", "--input",      "s3://books/in/*",
                                     "--output",           output,    "--partitions", "5"};
    command.insert(command.end(), where.begin(), where.end());
    const auto result = with_keys(command);
    ASSERT_EQ(result.exit_code, 0) << number << ": " << result.err;
    EXPECT_TRUE(sorted_lines(output) == expected) << number;
    EXPECT_TRUE(has(good({"ls", output}).out, "_SUCCESS"));
    EXPECT_TRUE(has(refusal(command), "exists; remove it, or use --overwrite"));
    command.emplace_back("--overwrite");
    EXPECT_EQ(with_keys(command).exit_code, 0);
    EXPECT_TRUE(sorted_lines(output) == expected) << number;
  }
  expect_no_uploads();
}

TEST_P(Objects, AreSortedInRecordsOfAFixedSize) {
  std::mt19937_64 random(5);
  std::string records(100 * 50'000, '\0');
  for (char& byte : records) byte = static_cast<char>(random());
  put(records, "s3://books/records");
  const auto sorted = with_keys(
      {program("terasort"), "sort", "--quiet", "--workers", "2", "--input", "s3://books/records", "--output", "s3://books/sorted"});
  ASSERT_EQ(sorted.exit_code, 0) << sorted.err;
  EXPECT_TRUE(good({"cat", "s3://books/sorted/part-*"}).out == reference::terasort(records));
}

TEST_P(Objects, ArriveAlthoughRequestsFail) {
  if (!own) GTEST_SKIP() << "MinIO does not fail when it is told to";
  const std::string text = some_text(8'000'000, 9);
  put(text, "s3://books/words");
  own->set(R"({"slow_down": 0.05, "cut": 0.05, "seed": 3})");
  const auto result =
      with_keys({program("wordcount"), "--quiet", "--workers", "2", "--input", "s3://books/words", "--output", "s3://books/out"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  own->set(R"({"slow_down": 0, "cut": 0})");
  EXPECT_TRUE(sorted_lines("s3://books/out") == reference::wordcount({text}));
  expect_no_uploads();
}

TEST_P(Objects, ThatCannotBeHadAreErrorsOfOneLine) {
  put("a b c\n", "s3://books/words");
  const auto job = [&](const std::string& input, const std::string& output) {
    return refusal({program("wordcount"), "--quiet", "--input", input, "--output", output});
  };
  EXPECT_TRUE(has(job("s3://nobody/words", files / "x"), "there is no such bucket"));
  EXPECT_TRUE(has(job("s3://books/words", "s3://nobody/out"), "there is no such bucket"));
  environment["AWS_SECRET_ACCESS_KEY"] = "wrong";
  EXPECT_TRUE(has(job("s3://books/", files / "x"), "the secret key does not belong to the access key"));
  environment["AWS_ACCESS_KEY_ID"] = "nobody";
  EXPECT_TRUE(has(job("s3://books/", files / "x"), "the service does not know the access key"));
  environment.erase("AWS_ACCESS_KEY_ID");
  EXPECT_TRUE(has(job("s3://books/", files / "x"), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
}

std::string name_of(const testing::TestParamInfo<const char*>& service) { return service.param; }

INSTANTIATE_TEST_SUITE_P(Services, Objects, testing::Values("Own", "MinIO"), name_of);

}  // namespace
}  // namespace weft::test
