// Jobs and the command line on objects of an S3 service: that of the tests (tests/storage/s3_server.py), and a real MinIO where
// WEFT_MINIO names its program (scripts/test --integration).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "tests/cluster/store_jobs.hpp"
#include "tests/reference/reference.hpp"
#include "tests/storage/s3_service.hpp"

namespace weft::test {
namespace {

/// MinIO with the bucket "books", as S3Service has it.
class MinIo {
 public:
  explicit MinIo(std::string program, std::map<std::string, std::string> more = {})
      : program_(std::move(program)), environment_(std::move(more)) {
    std::filesystem::create_directories(scratch_ / "data/books");
    environment_.insert({{"MINIO_ROOT_USER", "AKIAWEFT"},
                         {"MINIO_ROOT_PASSWORD", "secret/of+weft"},
                         {"MINIO_BROWSER", "off"},
                         {"MINIO_UPDATE", "off"},
                         {"MINIO_CI_CD", "1"}});
    for (int attempt = 0; attempt < 5 && !ready_; ++attempt) {  // somebody may take the port meanwhile
      port_ = free_port();
      ready_ = start();
    }
    EXPECT_TRUE(ready_) << process_->err_so_far();
  }
  std::string endpoint() const { return "http://127.0.0.1:" + port_; }
  /// As when its machine loses power, and is there again.
  void kill_and_restart() {
    process_->signal(SIGKILL);
    process_->wait();
    EXPECT_TRUE(eventually([&] { return start(); })) << process_->err_so_far();
  }
  /// The folders of uploads that are neither complete nor aborted.
  std::vector<std::string> uploads() const {
    std::vector<std::string> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch_ / "data/.minio.sys/multipart", none))
      if (entry.path().filename() == "xl.meta") found.push_back(read_file(entry.path()));
    return found;
  }

 private:
  bool start() {
    process_ = std::make_unique<Process>(
        std::vector<std::string>{program_, "server", "--quiet", "--address", "127.0.0.1:" + port_, scratch_ / "data"},
        ProcessOptions{.environment = environment_, .deadline = std::chrono::seconds(600), .may_die = true});
    return eventually(
               [&] { return !process_->running() || http("127.0.0.1:" + port_, "GET", "/minio/health/ready").status == 200; }) &&
           process_->running();
  }
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

  const std::string program_;
  std::map<std::string, std::string> environment_;
  ScratchDirectory scratch_;
  std::unique_ptr<Process> process_;
  std::string port_;
  bool ready_ = false;
};

class ObjectJobs : public StoreJobs {
 protected:
  void use(const std::string& endpoint) {
    environment["AWS_ENDPOINT_URL"] = endpoint;
    environment["AWS_ACCESS_KEY_ID"] = "AKIAWEFT";
    environment["AWS_SECRET_ACCESS_KEY"] = "secret/of+weft";
    environment["HOME"] = files.path();
    environment["AWS_EC2_METADATA_DISABLED"] = "true";
  }
  virtual void expect_no_uploads() = 0;

  /// WordCount, a join, and the three of TeraSort, each with what it must write.
  struct Job {
    std::vector<std::string> command;  // without where it runs
    std::string output;
    std::function<std::string(const std::string& output)> got;
    std::string expected;
  };
  std::vector<Job> jobs() {
    const std::string words = some_text(6'000'000, 11), left = table(3'000, 1), right = table(20'000, 2);
    put(words, "s3://books/in/words");
    put(left, "s3://books/in/left");
    put(right, "s3://books/in/right");
    const auto sorted = [this](const std::string& output) { return text_of(sorted_lines(output)); };
    const auto whole = [this](const std::string& output) { return good({"cat", output + "/part-*"}).out; };
    std::vector<Job> all;
    all.push_back({{program("wordcount"), "--input", "s3://books/in/words"},
                   "s3://books/count",
                   sorted,
                   text_of(reference::wordcount({words}))});
    all.push_back({{program("join"), "--left", "s3://books/in/left", "--right", "s3://books/in/right"},
                   "s3://books/joined",
                   sorted,
                   text_of(reference::join(left, right, "inner"))});
    const auto generated = run({program("terasort"), "gen", "--quiet", "--records", "60000", "--output", files / "records"});
    EXPECT_EQ(generated.exit_code, 0) << generated.err;
    const std::string records = part_bytes(files / "records");
    all.push_back({{program("terasort"), "gen", "--records", "60000"}, "s3://books/records", whole, records});
    all.push_back(
        {{program("terasort"), "sort", "--input", "s3://books/records"}, "s3://books/sorted", whole, reference::terasort(records)});
    return all;
  }
  static std::vector<std::string> command_of(const Job& job, const std::vector<std::string>& where) {
    std::vector<std::string> command = job.command;
    command.insert(command.end(), {"--quiet", "--output", job.output});
    command.insert(command.end(), where.begin(), where.end());
    return command;
  }
  void expect_output(const Job& job) {
    EXPECT_TRUE(job.got(job.output) == job.expected) << job.output;
    EXPECT_TRUE(has(good({"ls", job.output}).out, "_SUCCESS"));
    expect_no_uploads();
    if (job.output != "s3://books/sorted") return;
    const auto valid = run_there({program("terasort"), "validate", "--input", job.output});
    EXPECT_EQ(valid.exit_code, 0) << valid.err;
    EXPECT_TRUE(has(valid.out, "records 60000")) << valid.out;
  }
  static std::string text_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
  static std::string table(int rows, unsigned seed) {
    std::mt19937 random(seed);
    std::string text;
    for (int row = 0; row < rows; ++row)
      text += "key" + std::to_string(random() % 2'000) + "\tvalue " + std::to_string(seed) + "-" + std::to_string(row) + "\n";
    return text;
  }
};

/// On that of the tests, which does what it is told.
class OwnObjects : public ObjectJobs {
 protected:
  void SetUp() override { use(own.endpoint()); }
  void expect_no_uploads() override { EXPECT_TRUE(own.has("\"uploads\": []")) << own.state(); }

  S3Service own;
};

/// On both.
class Objects : public ObjectJobs, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "Own") {
      own.emplace();
      return use(own->endpoint());
    }
    const char* const program = std::getenv("WEFT_MINIO");
    if (program == nullptr) {
      std::puts("skipped: jobs on MinIO: WEFT_MINIO does not name it (scripts/test --integration)");
      GTEST_SKIP();
    }
    minio.emplace(program);
    use(minio->endpoint());
  }
  void expect_no_uploads() override {
    EXPECT_TRUE(!own || own->has("\"uploads\": []")) << own->state();
    if (minio) {
      for (const std::string& upload : minio->uploads()) ADD_FAILURE() << "an upload is left: " << testing::PrintToString(upload);
    }
  }

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
  expect_counts_everywhere("s3://books/in/*", "s3://books/out", reference::wordcount({text}));
  expect_no_uploads();
}

TEST_P(Objects, AreSortedInRecordsOfAFixedSize) {
  std::mt19937_64 random(5);
  std::string records(100 * 50'000, '\0');
  for (char& byte : records) byte = static_cast<char>(random());
  put(records, "s3://books/records");
  const auto sorted = run_there(
      {program("terasort"), "sort", "--quiet", "--workers", "2", "--input", "s3://books/records", "--output", "s3://books/sorted"});
  ASSERT_EQ(sorted.exit_code, 0) << sorted.err;
  EXPECT_TRUE(good({"cat", "s3://books/sorted/part-*"}).out == reference::terasort(records));
}

TEST_P(Objects, ArriveAlthoughAWorkerDies) {
  FileClusterOptions options;
  options.environment = environment;
  FileCluster cluster(3, options);
  std::size_t victim = 0;
  for (const Job& job : jobs()) {
    // Tasks begin to upload what they made, and get no further: a worker is killed in the middle of that.
    if (own) own->set(R"({"hold": "PUT"})");
    Process running(command_of(job, {"--cluster", cluster.address()}), {.environment = environment});
    EXPECT_TRUE(eventually([&] { return (own ? !own->has("\"held\": 0,") : minio->uploads().size() > 1) || !running.running(); },
                           std::chrono::seconds(60)));
    EXPECT_TRUE(!own || running.running());
    cluster.kill_worker(victim);
    if (own) own->set(R"({"hold": ""})");
    const ProcessResult result = running.wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    expect_output(job);
    cluster.start_worker(victim);
    EXPECT_TRUE(cluster.ready(3));
    victim = (victim + 1) % 3;
  }
}

TEST_P(Objects, ArriveAlthoughTheServiceIsKilledAndStartedAgain) {
  FileClusterOptions options;
  options.environment = environment;
  FileCluster cluster(3, options);
  for (const Job& job : jobs()) {
    if (own) {  // with the tenth request of the job all connections end
      const std::string state = own->state();
      const auto at = state.find("\"requests\": ") + std::string("\"requests\": ").size();
      own->set("{\"outage\": 1.5, \"outage_at\": " + std::to_string(std::stoi(state.substr(at)) + 10) + "}");
    }
    Process running(command_of(job, {"--cluster", cluster.address()}), {.environment = environment});
    if (minio) {
      EXPECT_TRUE(eventually([&] { return minio->uploads().size() > 1 || !running.running(); }, std::chrono::seconds(60)));
      minio->kill_and_restart();
    }
    const ProcessResult result = running.wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    expect_output(job);
  }
  EXPECT_TRUE(!own || own->has("\"outages\": 4")) << own->state();
}

TEST_F(OwnObjects, ArriveAlthoughRequestsFail) {
  for (const Job& job : jobs()) {
    own.set(R"({"slow_down": 0.05, "cut": 0.05, "seed": 3})");
    const auto result = run_there(command_of(job, {"--workers", "2"}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    own.set(R"({"slow_down": 0, "cut": 0})");
    expect_output(job);
  }
  EXPECT_FALSE(own.has("\"slowed\": 0,"));
  EXPECT_FALSE(own.has("\"cut\": 0,"));
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

TEST(WebIdentities, TakeARoleOfMinIo) {
  const char* const minio_program = std::getenv("WEFT_MINIO");
  if (minio_program == nullptr) {
    std::puts("skipped: web identities on MinIO: WEFT_MINIO does not name it (scripts/test --integration)");
    GTEST_SKIP();
  }
  ScratchDirectory files;
  Process provider({"python3", IDENTITY_PROVIDER, files.path()}, {.daemon = true});
  ASSERT_TRUE(eventually([&] { return provider.out_so_far().ends_with('\n'); })) << provider.err_so_far();
  const std::string port = provider.out_so_far().substr(0, provider.out_so_far().find('\n'));
  const MinIo minio(minio_program,
                    {{"MINIO_IDENTITY_OPENID_CONFIG_URL", "http://127.0.0.1:" + port + "/.well-known/openid-configuration"},
                     {"MINIO_IDENTITY_OPENID_CLIENT_ID", "weft"},
                     {"MINIO_IDENTITY_OPENID_ROLE_POLICY", "readwrite"}});
  std::map<std::string, std::string> environment{
      {"AWS_ENDPOINT_URL", minio.endpoint()},
      {"AWS_EC2_METADATA_DISABLED", "true"},
      {"AWS_WEB_IDENTITY_TOKEN_FILE", files / "token"},
      {"AWS_ROLE_ARN", "arn:minio:iam:::role/xzbi_zI2_3IvkNt118TNm32QV14"},  // MinIO's, of the client "weft"
      {"HOME", files.path()}};
  const auto good = [&](const std::vector<std::string>& command) {
    const ProcessResult result = run(command, {.environment = environment});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string text = some_text(300'000, 3);
  write_file(files / "text", text);
  // MinIO asks its identity provider once it says that it is ready.
  ASSERT_TRUE(eventually([&] {
    const auto copied =
        run({program("weft"), "fs", "cp", "--overwrite", files / "text", "s3://books/text"}, {.environment = environment});
    return copied.exit_code == 0 || !has(copied.err, "is not defined");
  }));
  good({program("wordcount"), "--quiet", "--workers", "2", "--input", "s3://books/text", "--output", "s3://books/out"});
  good({program("weft"), "fs", "cp", "-r", "s3://books/out", files / "out"});
  std::vector<std::string> counted = part_lines(files / "out");
  std::sort(counted.begin(), counted.end());
  EXPECT_TRUE(counted == reference::wordcount({text}));
  environment["AWS_ROLE_ARN"] = "arn:minio:iam:::role/another";
  const ProcessResult refused = run({program("weft"), "fs", "cat", "s3://books/text"}, {.environment = environment});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "cannot get keys for the role arn:minio:iam:::role/another: ")) << refused.err;
  provider.signal(SIGKILL);
}

std::string name_of(const testing::TestParamInfo<const char*>& service) { return service.param; }

INSTANTIATE_TEST_SUITE_P(Services, Objects, testing::Values("Own", "MinIO"), name_of);

}  // namespace
}  // namespace weft::test
