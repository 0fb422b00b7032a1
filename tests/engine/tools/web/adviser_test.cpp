// Questions about other schedulers, which a process answers: a script in place of `weft`.
#include "engine/tools/web/adviser.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.hpp"
#include "tests/support/process.hpp"

namespace weft::web {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using testing::HasSubstr;
using testing::Not;

class AdviserTest : public testing::Test {
 protected:
  std::string program(const std::string& body) {
    const std::string path = directory_.path() / "program";
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string file(const std::string& name) const { return directory_.path() / name; }
  /// What is said when it has ended.
  static std::string end_of(const Adviser& adviser) {
    EXPECT_TRUE(eventually([&] { return adviser.describe().find("\"state\":\"running\"") == std::string::npos; }));
    return adviser.describe();
  }

  TempDir directory_ = TempDir::create().value();
};

TEST_F(AdviserTest, AsksAboutTheLogAndTheTimeAndGivesTheAnswer) {
  Adviser adviser("the log",
                  program("echo \"$@\" > " + file("asked") + "; while [ $(nice) = 0 ]; do sleep 0.01; done; nice > " +
                          file("nice") + "; echo '{\"recommended\":\"fair\"}'"));  // it may begin before its priority is lowered
  EXPECT_EQ(adviser.describe(), "{\"state\":\"none\"}\n");
  ASSERT_TRUE(adviser.ask(6h));
  const std::string said = end_of(adviser);
  EXPECT_THAT(said, HasSubstr(R"("state":"answered","span_seconds":21600)"));
  EXPECT_THAT(said, HasSubstr(R"(,"advice":{"recommended":"fair"}})"));
  EXPECT_EQ(read_file(file("asked"), 1000).value(), "advise --from-log the log --budget 1min --json --quiet --last 6h\n");
  EXPECT_EQ(read_file(file("nice"), 1000).value(), "10\n") << "it gives way to others";
  ASSERT_TRUE(adviser.ask(0s)) << "again, about all jobs";
  (void)end_of(adviser);
  EXPECT_THAT(read_file(file("asked"), 1000).value(), Not(HasSubstr("--last")));
}

TEST_F(AdviserTest, AnswersOneQuestionAtATime) {
  Adviser adviser("log", program("while [ ! -e " + file("go") + " ]; do sleep 0.01; done; echo {}"));
  ASSERT_TRUE(adviser.ask(1h));
  EXPECT_THAT(adviser.describe(), HasSubstr(R"("state":"running")"));
  const auto second = adviser.ask(1h);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::already_exists);
  ASSERT_TRUE(write_file(file("go"), ""));
  EXPECT_THAT(end_of(adviser), HasSubstr("\"advice\":{}"));
  EXPECT_FALSE(adviser.ask(-1s));
}

TEST_F(AdviserTest, SaysWhyThereIsNoAnswer) {
  Adviser failing("log", program("echo more; echo 'weft advise: log: the log holds no job' >&2; exit 1"));
  ASSERT_TRUE(failing.ask(1h));
  const std::string said = end_of(failing);
  EXPECT_THAT(said, HasSubstr(R"("state":"failed")"));
  EXPECT_THAT(said, HasSubstr(R"("error":"log: the log holds no job")"));
  Adviser killed("log", program("kill -9 $$"));
  ASSERT_TRUE(killed.ask(1h));
  EXPECT_THAT(end_of(killed), HasSubstr("it ended without an answer"));
  Adviser none("log", "/nowhere/weft");
  EXPECT_FALSE(none.ask(1h));
  EXPECT_EQ(none.describe(), "{\"state\":\"none\"}\n");
}

TEST(FollowedProcess, IsKilledWithItsChildrenAtItsLimitAndWithItsOwner) {
  const TempDir directory = TempDir::create().value();
  const std::string children = directory.path() / "children";
  const auto alive = [](pid_t process) { return ::kill(process, 0) == 0; };
  const auto start = [&](Duration limit) {
    std::filesystem::remove(children);
    auto made = FollowedProcess::start(
        {.path = "/bin/sh", .arguments = {"sh", "-c", "sleep 600 & echo $! > " + children + "; wait"}, .limit = limit});
    EXPECT_TRUE(made) << made.error().to_string();
    pid_t child = 0;
    EXPECT_TRUE(eventually([&] { return static_cast<bool>(std::ifstream(children) >> child); }));
    return std::pair(std::move(*made), child);
  };
  auto [late, its_child] = start(500ms);
  EXPECT_TRUE(eventually([&, &process = late] { return !process->running(); }));
  EXPECT_EQ(late->exit_code(), 128 + SIGKILL);
  EXPECT_TRUE(eventually([&, child = its_child] { return !alive(child); }));
  auto [owned, other_child] = start(0s);
  EXPECT_TRUE(owned->running());
  owned.reset();
  EXPECT_TRUE(eventually([&, child = other_child] { return !alive(child); }));
}

TEST(FollowedProcess, KeepsTheEndOfWhatItWrites) {
  auto made = FollowedProcess::start({.path = "/bin/sh",
                                      .arguments = {"sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"},
                                      .kept = 1000});
  ASSERT_TRUE(made);
  EXPECT_TRUE(eventually([&] { return !(*made)->running(); }));
  EXPECT_EQ((*made)->output().size(), 1000u);
  EXPECT_THAT((*made)->output(), testing::EndsWith("line 2999\n"));
  EXPECT_EQ((*made)->exit_code(), 0);
}

}  // namespace
}  // namespace weft::web
