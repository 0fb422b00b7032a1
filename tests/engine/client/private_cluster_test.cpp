// Private clusters of this very program: its workers and executors are this file's main() in another role.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.hpp"
#include "engine/client/session.hpp"
#include "runtime/executor/process.hpp"

namespace weft::client {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kGate = "WEFT_TEST_GATE";      // a file without which no task ends
constexpr const char* kBroken = "WEFT_TEST_BROKEN";  // set: workers end at once

/// Each task's result is the number of its partition.
class Numbers final : public runtime::JobProgram, public runtime::StageBody {
 public:
  Result<const runtime::StageBody*> stage(StageId, std::uint64_t) override { return this; }
  void provide(ActionId, Buffer) override {}
  Buffer run(runtime::TaskContext& context) const override {
    if (const char* gate = std::getenv(kGate)) {
      std::ofstream(std::string(gate) + ".waiting") << "x";
      for (const auto end = std::chrono::steady_clock::now() + 60s; !fs::exists(gate) && std::chrono::steady_clock::now() < end;)
        std::this_thread::sleep_for(1ms);
    }
    return Buffer::copy_of(as_bytes(std::to_string(context.partition)));
  }
};

plan::PlanPart tasks(std::uint32_t count) {
  plan::Stage stage;
  stage.id = StageId{0};
  stage.name = "numbers";
  stage.branches.resize(1);
  stage.branches[0].tasks = count;
  stage.output = plan::OutputKind::result;
  plan::PlanPart part;
  part.stages = {stage};
  part.targets = {stage.id};
  return part;
}

class PrivateClusterTest : public testing::Test {
 protected:
  PrivateClusterTest() {
    options.job_name = "test";
    options.workers = 2;
    options.threads = 2;
    options.memory_bytes = 256u << 20;
    options.quiet = true;
    options.temporary_directory = directory.path();
  }
  ~PrivateClusterTest() override {
    ::unsetenv(kGate);
    ::unsetenv(kBroken);
  }
  /// Processes that this one started and that have not ended.
  static std::vector<pid_t> children() {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "stat");
      std::string line;
      if (!std::getline(file, line)) continue;
      std::istringstream rest(line.substr(line.rfind(')') + 1));
      char state = 0;
      pid_t parent = 0;
      if (rest >> state >> parent && parent == ::getpid() && state != 'Z')
        found.push_back(static_cast<pid_t>(std::stol(entry.path().filename())));
    }
    return found;
  }
  template <class Condition>
  static bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

  TempDir directory = TempDir::create("weft-private-").value();
  RunOptions options;
};

TEST_F(PrivateClusterTest, RunsAJobAndLeavesNoProcessAndNoFile) {
  auto session = open_private_cluster(options);
  ASSERT_TRUE(session) << session.error().to_string();
  EXPECT_EQ((*session)->parallelism(), 4u) << "two threads of each worker";
  EXPECT_EQ(children().size(), 2u);
  const auto results = (*session)->run(tasks(9));
  ASSERT_TRUE(results) << results.error().to_string();
  ASSERT_EQ(results->at(0).size(), 9u);
  for (std::uint32_t i = 0; i < 9; ++i) EXPECT_EQ(as_chars(results->at(0)[i].view()), std::to_string(i));
  EXPECT_TRUE((*session)->close());
  session->reset();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "all were reaped";
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST_F(PrivateClusterTest, AWorkerThatIsKilledIsReplacedAndTheJobGoesOn) {
  const std::string gate = directory.path() / "gate";
  ::setenv(kGate, gate.c_str(), 1);
  auto session = open_private_cluster(options);
  ASSERT_TRUE(session) << session.error().to_string();
  Result<std::vector<std::vector<Buffer>>> results;
  std::thread driver([&] { results = (*session)->run(tasks(4)); });
  EXPECT_TRUE(eventually([&] { return fs::exists(gate + ".waiting"); }));
  const std::vector<pid_t> before = children();
  EXPECT_EQ(before.size(), 2u);
  if (!before.empty()) ::kill(before[0], SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const auto now = children();
    return now.size() == 2 && std::find(now.begin(), now.end(), before[0]) == now.end();
  }));
  std::ofstream(gate) << "x";
  driver.join();
  ASSERT_TRUE(results) << results.error().to_string();
  EXPECT_EQ(results->at(0).size(), 4u);
}

TEST_F(PrivateClusterTest, WorkersThatDoNotStartAreAnErrorWithWhatTheySaidLast) {
  ::setenv(kBroken, "1", 1);
  const auto session = open_private_cluster(options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code(), Code::unavailable);
  const std::string line = session.error().to_string();
  EXPECT_NE(line.find("of the private cluster did not start"), std::string::npos) << line;
  EXPECT_NE(line.find("no such luck"), std::string::npos) << line;
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(PrivateClusterTest, HasOneTo256Workers) {
  for (const std::uint32_t workers : {0u, 257u}) {
    options.workers = workers;
    const auto session = open_private_cluster(options);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code(), Code::invalid_argument);
  }
  options.workers = 1;
  options.scheduler = "no such scheduler";
  EXPECT_FALSE(open_private_cluster(options));
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

}  // namespace
}  // namespace weft::client

int main(int argc, char** argv) {
  if (std::getenv(weft::runtime::kRoleVariable) != nullptr && std::getenv(weft::client::kBroken) != nullptr) {
    std::fputs("no such luck\n", stderr);
    return 3;
  }
  if (const auto role = weft::client::internal_role(argc, argv, [] { return std::make_unique<weft::client::Numbers>(); }))
    return *role;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
