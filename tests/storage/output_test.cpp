#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.hpp"
#include "storage/output_directory.hpp"
#include "storage/output_file.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    auto dir = TempDir::create();
    ASSERT_TRUE(dir);
    dir_.emplace(std::move(*dir));
  }
  std::string at(const std::string& name) const { return dir_->path() / name; }
  static std::string write(const OutputDirectory& output, const std::string& name, const std::string& text) {
    auto file = OutputFile::create(output.work_directory(), name);
    EXPECT_TRUE(file) << file.error().to_string();
    EXPECT_TRUE((*file)->append(as_bytes(text)));
    EXPECT_EQ((*file)->bytes(), text.size());
    EXPECT_TRUE((*file)->close());
    return name;
  }
  static std::set<std::string> names(const fs::path& directory) {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory)) found.insert(entry.path().filename());
    return found;
  }
  std::set<std::string> names() const { return names(dir_->path()); }
  using Names = std::set<std::string>;
  std::optional<TempDir> dir_;
};

TEST_F(OutputTest, AppearsCompleteAtCommitAndNotBefore) {
  auto output = OutputDirectory::prepare(at("out/"), false, "run1");
  ASSERT_TRUE(output) << output.error().to_string();
  EXPECT_EQ(output->path(), at("out"));
  const auto first = write(*output, "s1-t0-a1", "zero");
  write(*output, "s1-t1-a0", "a loser");
  const auto third = write(*output, "s1-t2-a0", std::string(1'000'000, 'x'));
  EXPECT_FALSE(fs::exists(at("out")));
  ASSERT_TRUE(output->commit({first, "", third}));
  EXPECT_EQ(names(at("out")), (Names{"part-00000", "part-00001", "part-00002", "_SUCCESS"}));
  EXPECT_EQ(*read_file(at("out/part-00000")), "zero");
  EXPECT_EQ(fs::file_size(at("out/part-00001")), 0u);
  EXPECT_EQ(fs::file_size(at("out/part-00002")), 1'000'000u);
  EXPECT_EQ(names(), Names{"out"});
}

TEST_F(OutputTest, AFileIsMadeWithItsFirstBytes) {
  auto output = OutputDirectory::prepare(at("out"), false, "run1");
  ASSERT_TRUE(output);
  auto file = OutputFile::create(output->work_directory(), "task-0").value();
  ASSERT_TRUE(file->append({}));
  EXPECT_EQ(names(output->work_directory()), Names{});
  ASSERT_TRUE(file->close());
  EXPECT_EQ(file->name(), "");
  EXPECT_EQ(names(output->work_directory()), Names{});
  EXPECT_EQ(write(*output, "task-1", "x"), "task-1");
  EXPECT_EQ(names(output->work_directory()), Names{"task-1"});
}

TEST_F(OutputTest, AbandonedOutputLeavesNothing) {
  {
    auto output = OutputDirectory::prepare(at("out"), false, "run1");
    ASSERT_TRUE(output);
    write(*output, "x", "x");
    OutputDirectory moved = std::move(*output);
    auto file = OutputFile::create(moved.work_directory(), "unfinished");
    ASSERT_TRUE(file);
    file->reset();
    EXPECT_EQ(names(moved.work_directory()), Names{"x"});
  }
  EXPECT_EQ(names(), Names{});
}

TEST_F(OutputTest, AFailedCommitShowsNothing) {
  {
    auto output = OutputDirectory::prepare(at("out"), false, "run1");
    ASSERT_TRUE(output);
    write(*output, "x", "x");
    EXPECT_FALSE(output->commit({"x", "never written"}));
    EXPECT_FALSE(fs::exists(at("out")));
  }
  EXPECT_EQ(names(), Names{});
}

TEST_F(OutputTest, WhatIsBoundToBeRefusedIsRefusedEarlyAndNothingElse) {
  const auto refusal = [&](const std::string& path, bool overwrite) {
    const auto result = OutputDirectory::check_early(at(path), overwrite);
    return result ? std::string() : result.error().to_string();
  };
  EXPECT_EQ(refusal("new", false), "");
  EXPECT_NE(refusal("missing/new", false).find("does not exist"), std::string::npos);
  ASSERT_TRUE(write_file(at("file"), "mine"));
  EXPECT_NE(refusal("file", false), "");
  EXPECT_NE(refusal("file", true).find("is no directory"), std::string::npos);
  fs::create_directory(at("out"));
  EXPECT_EQ(refusal("out", false), "") << "the program may have its outputs in there";
  ASSERT_TRUE(write_file(at("out/mine.txt"), "mine"));
  EXPECT_EQ(refusal("out", false), "") << "likewise";
  EXPECT_NE(refusal("out", true).find("was not written by a job"), std::string::npos);
  fs::create_directory(at("out/counts"));
  ASSERT_TRUE(write_file(at("out/counts/_SUCCESS"), ""));
  EXPECT_EQ(refusal("out", true), "") << "it had outputs in there";
  ASSERT_TRUE(write_file(at("out/_SUCCESS"), ""));
  EXPECT_NE(refusal("out", false).find("--overwrite"), std::string::npos);
  EXPECT_EQ(refusal("out", true), "");
  EXPECT_EQ(names(), (Names{"file", "out"})) << "nothing was made";
}

TEST_F(OutputTest, ExistingOutputIsRefusedUnlessOverwritten) {
  fs::create_directory(at("out"));
  ASSERT_TRUE(write_file(at("out/part-00000"), "old"));
  ASSERT_TRUE(write_file(at("out/_SUCCESS"), ""));
  auto refused = OutputDirectory::prepare(at("out"), false, "run1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::already_exists);
  EXPECT_NE(refused.error().message().find("--overwrite"), std::string::npos);
  auto output = OutputDirectory::prepare(at("out"), true, "run2");
  ASSERT_TRUE(output);
  EXPECT_EQ(*read_file(at("out/part-00000")), "old");
  ASSERT_TRUE(output->commit({write(*output, "x", "new")}));
  EXPECT_EQ(*read_file(at("out/part-00000")), "new");
  EXPECT_EQ(names(), Names{"out"});
}

TEST_F(OutputTest, WhatNoRunHasWrittenIsNotOverwritten) {
  fs::create_directories(at("thesis/chapters"));
  ASSERT_TRUE(write_file(at("thesis/chapters/one"), "precious"));
  fs::create_directory_symlink("/", at("thesis/_SUCCESS"));
  const auto refused = OutputDirectory::prepare(at("thesis"), true, "run1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::already_exists);
  EXPECT_NE(refused.error().message().find("no _SUCCESS"), std::string::npos) << refused.error().message();
  EXPECT_NE(refused.error().message().find("remove it"), std::string::npos) << refused.error().message();
  fs::create_directory(at("empty"));
  ASSERT_TRUE(OutputDirectory::prepare(at("empty"), true, "run1")) << "nothing is lost with it";

  auto output = OutputDirectory::prepare(at("out"), true, "run1");
  ASSERT_TRUE(output);
  fs::rename(at("thesis"), at("out"));  // while the job runs
  const auto committed = output->commit({write(*output, "x", "new")});
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code(), Code::already_exists);
  EXPECT_EQ(*read_file(at("out/chapters/one")), "precious");
}

/// An output that keeps the directories that it does not write.
Result<OutputDirectory> prepare_keeping(const std::string& path, const std::string& token,
                                        OutputOwner owner = OutputOwner::process) {
  auto output = OutputDirectory::prepare(path, true, token, nullptr, owner);
  if (output) output->keep_other_directories();
  return output;
}

TEST_F(OutputTest, DirectoriesThatARunDoesNotWriteAreKeptWhenItSaysSo) {
  auto first = prepare_keeping(at("out"), "run1").value();
  ASSERT_TRUE(first.commit({write(first, "x", "1") + "/y=1\n" + write(first, "y", "2") + "/y=2/m=1\n",
                            write(first, "z", "3") + "/y=2/m=2\n" + write(first, "w", "4") + "/y=22\n"}));
  ASSERT_TRUE(write_file(at("out/y=2/note"), "of somebody else"));
  fs::permissions(at("out/y=1"), fs::perms::owner_all);
  struct stat before {};
  ASSERT_EQ(::stat(at("out/y=1/part-00000").c_str(), &before), 0);

  auto second = prepare_keeping(at("out"), "run2").value();
  ASSERT_TRUE(second.commit({write(second, "x", "new") + "/y=2/m=2\n" + write(second, "y", "new") + "/y=3\n"}));
  EXPECT_EQ(names(at("out")), (Names{"_SUCCESS", "y=1", "y=2", "y=22", "y=3"}));
  EXPECT_EQ(names(at("out/y=2")), (Names{"m=1", "m=2", "note"}));
  EXPECT_EQ(names(at("out/y=2/m=2")), Names{"part-00000"}) << "part-00001 was there before";
  EXPECT_EQ(*read_file(at("out/y=2/m=2/part-00000")), "new");
  EXPECT_EQ(*read_file(at("out/y=22/part-00001")), "4");
  struct stat after {};
  ASSERT_EQ(::stat(at("out/y=1/part-00000").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino) << "a file that is kept is the same for who reads it";
  EXPECT_EQ(before.st_mtime, after.st_mtime);
  EXPECT_EQ(fs::status(at("out/y=1")).permissions(), fs::perms::owner_all) << "nobody else may read it now either";

  auto nothing = prepare_keeping(at("out"), "run3").value();
  ASSERT_TRUE(nothing.commit({"\n"}));
  EXPECT_EQ(names(at("out")), (Names{"_SUCCESS", "y=1", "y=2", "y=22", "y=3"}));
  auto whole = prepare_keeping(at("out"), "run4").value();
  ASSERT_TRUE(whole.commit({write(whole, "x", "all")}));
  EXPECT_EQ(names(at("out")), (Names{"_SUCCESS", "part-00000"})) << "its own directory is the whole";
  EXPECT_EQ(names(), Names{"out"});
}

TEST_F(OutputTest, RunsThatReplaceDirectoriesOfOneOutputAtTheSameTimeLoseNothing) {
  constexpr int kRuns = 12;
  std::vector<OutputDirectory> outputs;
  std::vector<std::string> written;
  for (int i = 0; i < kRuns; ++i) {
    outputs.push_back(prepare_keeping(at("out"), "run" + std::to_string(i)).value());
    written.push_back(write(outputs.back(), "x", "text") + "/n=" + std::to_string(i) + "\n");
  }
  std::vector<std::thread> threads;  // one of them makes the output
  for (std::size_t i = 0; i < kRuns; ++i)
    threads.emplace_back([&, i] {
      const auto committed = outputs[i].commit({written[i]});
      EXPECT_TRUE(committed) << committed.error().to_string();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(names(at("out")).size(), kRuns + 1u);
  EXPECT_EQ(names(), Names{"out"});
}

TEST_F(OutputTest, WhatAJobsEarlierDriverHasKeptIsLookedAtAgain) {
  {
    auto first = prepare_keeping(at("out"), "run1").value();
    ASSERT_TRUE(first.commit({write(first, "x", "1") + "/y=1\n" + write(first, "y", "1") + "/y=2\n"}));
  }
  auto output = prepare_keeping(at("out"), "job7-0123abcd", OutputOwner::job).value();
  const std::string written = write(output, "x", "new") + "/y=2\n";
  // As if a driver had been killed before it published, and then another job had replaced what that driver kept.
  fs::create_directory(fs::path(output.work_directory()) / "y=1");
  fs::create_hard_link(at("out/y=1/part-00000"), fs::path(output.work_directory()) / "y=1/part-00000");
  fs::remove(at("out/y=1/part-00000"));
  ASSERT_TRUE(write_file(at("out/y=1/part-00007"), "newer"));
  ASSERT_TRUE(output.commit({written}));
  EXPECT_EQ(names(at("out/y=1")), Names{"part-00007"});
  EXPECT_EQ(*read_file(at("out/y=2/part-00000")), "new");
}

TEST_F(OutputTest, WhatAProcessThatDiedHasSetAsideIsKept) {
  auto first = prepare_keeping(at("out"), "run1").value();
  ASSERT_TRUE(first.commit({write(first, "x", "1") + "/y=1\n"}));
  auto second = prepare_keeping(at("out"), "run2").value();
  // As if a process had been killed between the two steps that replacing takes where directories cannot be exchanged.
  fs::rename(at("out"), at("out.weft-replaced"));
  ASSERT_TRUE(second.commit({write(second, "x", "new") + "/y=2\n"}));
  EXPECT_EQ(names(at("out")), (Names{"_SUCCESS", "y=1", "y=2"}));
  EXPECT_EQ(names(), Names{"out"});
}

TEST_F(OutputTest, OutputThatAppearsMeanwhileIsNotTouched) {
  auto output = OutputDirectory::prepare(at("out"), false, "run1");
  ASSERT_TRUE(output);
  fs::create_directory(at("out"));
  const auto result = output->commit({write(*output, "x", "new")});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::already_exists);
  EXPECT_EQ(names(at("out")), Names{});
}

TEST_F(OutputTest, FilesAndThePlaceWeAreInAreNeverOverwritten) {
  ASSERT_TRUE(write_file(at("file"), "precious"));
  EXPECT_FALSE(OutputDirectory::prepare(at("file"), true, "t"));
  EXPECT_FALSE(OutputDirectory::prepare(fs::current_path(), true, "t"));
  EXPECT_FALSE(OutputDirectory::prepare(fs::current_path().parent_path(), true, "t"));
  EXPECT_FALSE(OutputDirectory::prepare("/", true, "t"));
  EXPECT_EQ(*read_file(at("file")), "precious");
}

TEST_F(OutputTest, AMissingParentIsNamed) {
  auto output = OutputDirectory::prepare(at("no/such/out"), false, "t");
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code(), Code::not_found);
  EXPECT_NE(output.error().message().find(at("no/such")), std::string::npos);
}

TEST_F(OutputTest, NoPermissionIsClear) {
  if (::geteuid() != 0) GTEST_SKIP() << "changing the user needs root";
  fs::permissions(dir_->path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  ASSERT_EQ(::seteuid(65534), 0);
  auto output = OutputDirectory::prepare(at("out"), false, "t");
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code(), Code::io);
  EXPECT_NE(output.error().to_string().find("Permission denied"), std::string::npos);
}

TEST_F(OutputTest, WorkOfRunsThatDiedIsRemovedAndThatOfLivingOnesIsNot) {
  auto living = OutputDirectory::prepare(at("out"), false, "living");
  ASSERT_TRUE(living);
  const pid_t child = ::fork();
  if (child == 0) {
    auto output = OutputDirectory::prepare(at("out"), false, "dying");
    ::_exit(output && OutputFile::create(output->work_directory(), "x") ? 0 : 1);  // as if killed: no destructor runs
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fs::exists(at(".out.weft-dying")));
  auto next = OutputDirectory::prepare(at("out"), false, "next");
  ASSERT_TRUE(next);
  EXPECT_EQ(names(), (Names{".out.weft-living", ".out.weft-next"}));
  auto twin = OutputDirectory::prepare(at("out"), false, "next");
  ASSERT_TRUE(twin);
  EXPECT_NE(twin->work_directory(), next->work_directory());
}

TEST_F(OutputTest, AFullDiskIsResourceExhaustedAndLeavesNothing) {
  if (::mount("tmpfs", dir_->path().c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
  {
    auto output = OutputDirectory::prepare(at("out"), false, "t");
    ASSERT_TRUE(output);
    auto file = OutputFile::create(output->work_directory(), "x");
    ASSERT_TRUE(file);
    Result<void> last;
    for (int i = 0; i < 100 && last; ++i) last = (*file)->append(as_bytes(std::string(100'000, 'x')));
    ASSERT_FALSE(last);
    EXPECT_EQ(last.error().code(), Code::resource_exhausted);
    EXPECT_NE(last.error().to_string().find(output->work_directory()), std::string::npos);
  }
  EXPECT_EQ(names(), Names{});
  ::umount(dir_->path().c_str());
}

}  // namespace
}  // namespace weft::storage
