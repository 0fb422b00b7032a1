// Programs that are started over HTTP: which may be, what is told of them, and that none is left.
#include "engine/tools/web/submissions.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace weft::web {
namespace {

namespace fs = std::filesystem;

class SubmissionsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "weft-submissions-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }
  void program(const std::string& name, const std::string& body) {
    std::ofstream(directory_ / name) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(directory_ / name, fs::perms::owner_all);
  }
  static bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
  }
  static bool says(const Submissions& all, std::uint64_t number, const std::string& part) {
    return all.describe(number).value().find(part) != std::string::npos;
  }
  /// What is said of it when it has ended.
  static std::string end_of(const Submissions& all, std::uint64_t number) {
    EXPECT_TRUE(eventually([&] { return says(all, number, "\"state\":\"ended\""); }));
    return all.describe(number).value();
  }

  fs::path directory_;
};

TEST_F(SubmissionsTest, AProgramGetsItsArgumentsAndTheMaster) {
  program("tell", "echo $# \"$@\"; echo aside >&2; exit 3");
  Submissions all(directory_, "127.0.0.1:7");
  EXPECT_EQ(all.list(), "[]\n");
  const auto number = all.start("tell", {"--input", "a b", ""});
  ASSERT_TRUE(number) << number.error().to_string();
  EXPECT_EQ(end_of(all, *number),
            "{\"submission\":1,\"program\":\"tell\",\"arguments\":[\"--input\",\"a b\",\"\"],\"state\":\"ended\",\"exit_code\":3,"
            "\"output\":\"5 --input a b  --cluster 127.0.0.1:7\\naside\\n\"}\n");
}

TEST_F(SubmissionsTest, OnlyProgramsOfTheDirectoryAreStarted) {
  program("there", "true");
  fs::create_directory(directory_ / "folder");
  std::ofstream(directory_ / "text") << "not executable";
  Submissions all(directory_ / "folder" / "..", "m:1");
  for (const char* name : {"", ".", "..", "../there", "/bin/sh", "folder/../there", "./there"}) {
    const auto refused = all.start(name, {});
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code(), Code::invalid_argument) << name;
  }
  for (const char* name : {"none", "folder", "text"}) EXPECT_EQ(all.start(name, {}).error().code(), Code::not_found) << name;
  EXPECT_EQ(all.start("there", std::vector<std::string>(1001)).error().code(), Code::invalid_argument);
  EXPECT_EQ(all.start("there", {std::string("a\0b", 3)}).error().code(), Code::invalid_argument);
  EXPECT_EQ(all.describe(1).error().code(), Code::not_found);
  EXPECT_EQ(all.stop(1).error().code(), Code::not_found);
  EXPECT_TRUE(all.start("there", {}));
}

TEST_F(SubmissionsTest, TheEndOfALongOutputIsKept) {
  program("talk", "seq -f 'line %.0f' 0 29999");
  Submissions all(directory_, "m:1");
  ASSERT_TRUE(all.start("talk", {}));
  const std::string said = end_of(all, 1);
  EXPECT_LT(said.size(), 80u << 10);
  EXPECT_GT(said.size(), 60u << 10);
  EXPECT_NE(said.find("line 29999\\n\"}"), std::string::npos) << said.substr(said.size() - 100);
}

TEST_F(SubmissionsTest, AProgramIsAskedToEndWithItsChildren) {
  program("wait", "sleep 1000 & echo began; wait");
  Submissions all(directory_, "m:1");
  ASSERT_TRUE(all.start("wait", {}));
  ASSERT_TRUE(eventually([&] { return says(all, 1, "began"); }));
  EXPECT_TRUE(says(all, 1, "\"state\":\"running\""));
  EXPECT_TRUE(all.stop(1));
  EXPECT_NE(end_of(all, 1).find("\"exit_code\":143"), std::string::npos);
  EXPECT_TRUE(all.stop(1));  // nothing happens
}

TEST_F(SubmissionsTest, TooManyAtATimeAreRefusedAndNoneIsLeft) {
  program("wait", "echo $$; exec sleep 1000");
  pid_t last = 0;
  {
    Submissions all(directory_, "m:1");
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(all.start("wait", {}));
    EXPECT_EQ(all.start("wait", {}).error().code(), Code::resource_exhausted);
    ASSERT_TRUE(eventually([&] { return !says(all, 64, "\"output\":\"\""); }));
    const std::string said = all.describe(64).value();
    last = std::stoi(said.substr(said.find("\"output\":\"") + 10));
    EXPECT_EQ(::kill(last, 0), 0);
  }
  EXPECT_NE(::kill(last, 0), 0);
}

TEST_F(SubmissionsTest, TheOldestThatEndedAreForgotten) {
  program("quick", "true");
  Submissions all(directory_, "m:1");
  for (std::uint64_t i = 1; i <= 260; ++i) {
    ASSERT_TRUE(all.start("quick", {}));
    if (i % 32 == 0) end_of(all, i);
  }
  EXPECT_EQ(all.describe(1).error().code(), Code::not_found);
  EXPECT_TRUE(all.describe(260));
}

}  // namespace
}  // namespace weft::web
