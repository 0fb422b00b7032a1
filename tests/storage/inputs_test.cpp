#include "storage/inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/random.hpp"
#include "storage/split.hpp"

namespace weft::storage {
namespace {

using Paths = std::vector<std::string>;

class InputsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto dir = TempDir::create();
    ASSERT_TRUE(dir);
    dir_.emplace(std::move(*dir));
  }
  std::string at(const std::string& name) const { return dir_->path() / name; }
  std::string add(const std::string& name, std::size_t size = 1) {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    EXPECT_TRUE(write_file(at(name), std::string(size, 'x')));
    return at(name);
  }
  static Result<Paths> expand(const Paths& inputs) {
    return expand_inputs(inputs).map([](InputFiles found) { return std::move(found.paths); });
  }
  std::optional<TempDir> dir_;
};

TEST_F(InputsTest, DirectoriesAreReadRecursivelyWithoutHiddenNames) {
  const Paths expected = {add("in/a"), add("in/b/c"), add("in/b/d/e")};
  add("in/_SUCCESS");
  add("in/.hidden");
  add("in/_logs/x");
  std::filesystem::create_directory_symlink(at("in"), at("in/b/loop"));
  EXPECT_EQ(*expand({at("in")}), expected);
  EXPECT_EQ(*expand({at("in/"), at("in/a"), std::string("file://") + at("in/b/c")}), expected);
}

TEST_F(InputsTest, WhatIsNamedTwiceIsReadOnceAndTold) {
  const std::string a = add("in/a"), b = add("in/b"), c = add("c");
  const auto found = expand_inputs(Paths{at("in"), a, at("in/*"), c, at("in/../c")});
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->paths, (Paths{c, a, b}));
  EXPECT_EQ(found->repeated, (Paths{c, a, b}));
  EXPECT_EQ(expand_inputs(Paths{at("in"), c})->repeated, Paths{});
}

TEST_F(InputsTest, ADirectoryThatALinkLeadsToIsReadOnceByItsOwnName) {
  const std::string a = add("logs/2026-11-26/a"), b = add("logs/2026-11-26/b");
  std::filesystem::create_directory_symlink("2026-11-26", at("logs/current"));
  std::filesystem::create_directory_symlink("2026-11-26", at("logs/0-sorts-first"));
  for (const Paths& inputs : {Paths{at("logs")}, Paths{at("logs/*")}, Paths{at("logs"), at("logs/*")}}) {
    const auto found = expand_inputs(inputs);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->paths, (Paths{a, b}));
    EXPECT_EQ(std::count(found->repeated.begin(), found->repeated.end(), at("logs/current")), 1);
    EXPECT_EQ(std::count(found->repeated.begin(), found->repeated.end(), at("logs/0-sorts-first")), 1);
    EXPECT_EQ(found->empty, Paths{});
  }
  EXPECT_EQ(*expand({at("logs/current")}), (Paths{at("logs/current/a"), at("logs/current/b")})) << "what was named alone";
  const auto both = expand_inputs(Paths{at("logs/current"), at("logs")});
  EXPECT_EQ(both->paths.size(), 2u);
  EXPECT_EQ(both->empty, Paths{});
}

TEST_F(InputsTest, AFileOfSeveralNamesIsReadOnce) {
  const std::string file = add("in/b"), other = add("in/c");
  std::filesystem::create_hard_link(file, at("in/hard"));
  std::filesystem::create_symlink("b", at("in/a-soft"));
  const auto found = expand_inputs(Paths{at("in")});
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->paths, (Paths{file, other}));
  EXPECT_EQ(found->repeated, (Paths{at("in/a-soft"), at("in/hard")}));
  EXPECT_EQ(found->versions.size(), 2u);
  const auto by_name = expand_inputs(Paths{at("in")}, nullptr, Repeats::by_name);
  EXPECT_EQ(by_name->paths, (Paths{at("in/a-soft"), file, other, at("in/hard")})) << "as copies want them";
}

TEST_F(InputsTest, LinksThatLeadAroundEndAndMultiplyNothing) {
  // Each of 12 directories has a link to each other: 12! ways.
  Paths files;
  for (int i = 10; i < 22; ++i) {
    files.push_back(add("in/" + std::to_string(i) + "/file" + std::to_string(i)));
    for (int j = 10; j < 22; ++j)
      std::filesystem::create_directory_symlink("../" + std::to_string(j),
                                                at("in/" + std::to_string(i) + "/to" + std::to_string(j)));
  }
  EXPECT_EQ(*expand({at("in")}), files);
  // What is outside of the input is read by way of the link.
  const std::string outside = add("outside/deep/x");
  std::filesystem::create_directory_symlink(at("outside"), at("in/10/z-out"));
  std::filesystem::create_directory_symlink(at("in"), at("outside/back"));
  files.insert(files.begin() + 1, at("in/10/z-out/deep/x"));
  EXPECT_EQ(*expand({at("in")}), files);
}

TEST_F(InputsTest, InputsWithoutAFileAreTold) {
  std::filesystem::create_directories(at("nothing/below/here"));
  add("hidden/_a");
  const auto found = expand_inputs(Paths{at("nothing"), add("a"), at("hidden")});
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->empty, (Paths{at("nothing"), at("hidden")}));
}

TEST_F(InputsTest, PatternsHaveHiddenNamesButNeverTheDirectoryAbove) {
  add("other");
  const std::string a = add("in/.a"), b = add("in/_b");
  EXPECT_EQ(*expand({at("in/.*")}), Paths{a});
  EXPECT_EQ(*expand({at("in/{.,_}*")}), (Paths{a, b}));
}

TEST_F(InputsTest, WhatIsSkippedInDirectoriesIsTold) {
  add("in/a");
  add("in/b/_x");
  add("in/b/.x");
  add("in/_logs/never counted one by one");
  const auto found = expand_inputs(Paths{at("in/"), at("in/b"), add("_named"), at("in/b/_*")});
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->paths, (Paths{at("_named"), at("in/a"), at("in/b/_x")}));
  EXPECT_EQ(found->skipped, (Paths{at("in/_logs"), at("in/b/.x"), at("in/b/_x")})) << "once each, and what was not named alone";
  EXPECT_EQ(expand_inputs(Paths{at("in/a")})->skipped, Paths{});
}

TEST_F(InputsTest, PatternsNamesAndMixturesAreSortedWithoutDuplicates) {
  const Paths expected = {add("x1"), add("x2"), add("y[1]")};
  EXPECT_EQ(*expand({at("x?"), at("y[1]"), at("x*"), at("x2")}), expected);
  EXPECT_EQ(*expand({at("{x2,x1}")}), (Paths{at("x1"), at("x2")}));
  EXPECT_EQ(*expand({add("_explicit")}), Paths{at("_explicit")});
}

TEST_F(InputsTest, TwoStarsAreAnyNumberOfDirectories) {
  for (const std::string below : {"d", "d/e", "d/e[1]", "d/e/f", "_hidden", "d/.git"}) std::filesystem::create_directory(at(below));
  for (const std::string name :
       {"a.log", "d/b.log", "d/e/c.log", "d/e/f/d.log", "d/e[1]/e.log", "_hidden/f.log", "d/.git/g.log", "d/e/h.txt"})
    add(name);
  const Paths logs{at("a.log"), at("d/b.log"), at("d/e/c.log"), at("d/e/f/d.log"), at("d/e[1]/e.log")};
  EXPECT_EQ(*expand({at("**/*.log")}), logs);
  EXPECT_EQ(*expand({at("d/**/*.log")}), (Paths{logs.begin() + 1, logs.end()}));
  EXPECT_EQ(*expand({at("**/e/**/*.log")}), (Paths{logs[2], logs[3]}));
  EXPECT_EQ(*expand({at("?/**/f/*")}), Paths{logs[3]});
  EXPECT_EQ(*expand({at("d/e/**")}), (Paths{logs[2], logs[3], at("d/e/h.txt")}));
  const auto none = expand({at("**/*.csv")});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().to_string().find("no input matches the pattern"), std::string::npos);
}

TEST_F(InputsTest, NothingIsAnEmptyInput) {
  std::filesystem::create_directory(at("empty"));
  EXPECT_EQ(*expand({at("empty")}), Paths{});
  EXPECT_EQ(*expand({}), Paths{});
  EXPECT_TRUE(split_files(Paths{}, {})->empty());
  EXPECT_TRUE(split_files(Paths{add("zero", 0)}, {})->empty());
}

TEST_F(InputsTest, ErrorsNameTheInput) {
  const auto expect = [&](const std::string& input, Code code) {
    const auto result = expand({input});
    ASSERT_FALSE(result) << input;
    EXPECT_EQ(result.error().code(), code) << input;
    EXPECT_NE(result.error().to_string().find(input), std::string::npos) << result.error().to_string();
  };
  expect(at("missing"), Code::not_found);
  expect(at("missing*"), Code::not_found);
  expect("hdfs://host/path", Code::invalid_argument);
  expect("/dev/null", Code::invalid_argument);
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  expect(at("fifo"), Code::invalid_argument);
  EXPECT_NE(expand({at("fifo")}).error().to_string().find("is a pipe, not a regular file"), std::string::npos);
  std::filesystem::create_symlink(at("nowhere"), at("dangling"));
  expect(at("dangling"), Code::not_found);
  EXPECT_EQ(expand({""}).error().code(), Code::invalid_argument);
}

TEST_F(InputsTest, AnUnreadableDirectoryIsAnError) {
  if (::geteuid() != 0) GTEST_SKIP() << "changing the user needs root";
  std::filesystem::create_directory(at("closed"));
  std::filesystem::permissions(at("closed"), std::filesystem::perms::none);
  std::filesystem::permissions(dir_->path(), std::filesystem::perms::all);
  ASSERT_EQ(::seteuid(65534), 0);
  const auto result = expand({at("closed")});
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().to_string().find("Permission denied"), std::string::npos);
}

TEST_F(InputsTest, APatternThatLeadsToAnUnreadableDirectoryIsAnError) {
  if (::geteuid() != 0) GTEST_SKIP() << "changing the user needs root";
  for (const std::string name : {"in/a/x.txt", "in/b/x.txt", "in/b/c/x.txt", "in/file"}) add(name);
  std::filesystem::create_symlink(at("nowhere"), at("in/dangling"));
  std::filesystem::create_symlink("around", at("in/around"));
  std::filesystem::permissions(dir_->path(), std::filesystem::perms::all);
  const auto of_anybody = [&](const std::string& pattern) {
    EXPECT_EQ(::seteuid(65534), 0);
    auto found = expand({at(pattern)});
    EXPECT_EQ(::seteuid(0), 0);
    return found;
  };
  const std::vector<std::string> patterns{"in/*/x.txt",  "in/*/*.txt",  "in/{a,b}/*.txt",
                                          "in/**/*.txt", "in/**/x.txt", "in/*/c/x.txt"};
  for (const std::string& pattern : patterns) {
    const auto all = of_anybody(pattern);
    EXPECT_TRUE(all) << all.error().to_string();
  }
  std::filesystem::permissions(at("in/b"), std::filesystem::perms::none);
  for (const std::string& pattern : patterns) {
    const auto refused = of_anybody(pattern);
    ASSERT_FALSE(refused) << pattern;
    EXPECT_NE(refused.error().to_string().find("cannot read input " + at("in/b")), std::string::npos)
        << refused.error().to_string();
    EXPECT_NE(refused.error().to_string().find("Permission denied"), std::string::npos) << refused.error().to_string();
  }
  std::filesystem::permissions(at("in/b"), std::filesystem::perms::group_exec);
  const auto found = of_anybody("in/*/x.txt");
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(*found, (Paths{at("in/a/x.txt"), at("in/b/x.txt")})) << "nothing needs to list it";
  EXPECT_FALSE(of_anybody("in/*/*.txt"));
}

std::uint64_t bytes_of(const SplitGroup& group) {
  std::uint64_t bytes = 0;
  for (const Split& split : group) bytes += split.length;
  return bytes;
}

TEST_F(InputsTest, SplitsCoverEveryFileExactlyOnceInOrder) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(std::string("seed ") + std::to_string(seed));
    Random random(seed);
    const std::uint64_t record = random.chance(0.5) ? 1 + random.below(200) : 0;
    Paths files;
    std::vector<std::uint64_t> sizes;
    for (auto n = random.below(12); n > 0; --n) {
      sizes.push_back(random.below(random.chance(0.3) ? 3'000'000 : 50'000) * (record != 0 ? record : 1) / (record > 9 ? 40 : 1));
      if (record != 0) sizes.back() -= sizes.back() % record;
      files.push_back(at(std::string("f") + std::to_string(files.size() + 100)));
      std::filesystem::remove(files.back());
      ASSERT_TRUE(write_file(files.back(), ""));
      std::filesystem::resize_file(files.back(), sizes.back());
    }
    const SplitOptions options{.target_bytes = 1 + random.below(2'000'000),
                               .min_groups = 1 + random.below(8),
                               .multiple_of = 1 + random.below(4),
                               .record_bytes = record};
    const auto groups = split_files(files, options);
    ASSERT_TRUE(groups) << groups.error().to_string();
    std::size_t file = 0;
    std::uint64_t offset = 0;
    for (const auto& group : *groups) {
      ASSERT_FALSE(group.empty());
      for (const Split& split : group) {
        while (offset == sizes[file]) ++file, offset = 0;
        ASSERT_EQ(split.path, files[file]);
        ASSERT_EQ(split.offset, offset);
        ASSERT_GT(split.length, 0u);
        ASSERT_EQ(record != 0 ? split.length % record : 0, 0u);
        offset += split.length;
      }
      ASSERT_LE(bytes_of(group), std::max<std::uint64_t>(options.target_bytes, 64u << 10) + std::max<std::uint64_t>(record, 4096));
    }
    while (file < sizes.size() && offset == sizes[file]) ++file, offset = 0;
    ASSERT_EQ(file, sizes.size());
  }
}

TEST_F(InputsTest, SmallFilesShareATask) {
  Paths files;
  for (int i = 100; i < 300; ++i) files.push_back(add(std::string("small/") + std::to_string(i), 1000));
  const auto groups = split_files(files, {});
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->size(), 1u);
  EXPECT_EQ(groups->front().size(), 200u);
}

TEST_F(InputsTest, ALargeFileFeedsAsManyTasksAsWanted) {
  const std::string file = add("large", 0);
  std::filesystem::resize_file(file, 8u << 20);
  const auto groups = split_files(Paths{file}, {.target_bytes = 32u << 20, .min_groups = 4});
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->size(), 4u);
  const auto tiny = split_files(Paths{add("tiny", 100'000)}, {.min_groups = 64});
  EXPECT_EQ(tiny->size(), 2u);  // never below 64 KiB a piece
}

TEST_F(InputsTest, AFileOfBrokenRecordsIsRefused) {
  const auto result = split_files(Paths{add("broken", 250)}, {.record_bytes = 100});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::invalid_argument);
  EXPECT_NE(result.error().message().find("broken has 250 bytes"), std::string::npos);
}

TEST_F(InputsTest, AFileThatClaimsToHaveNoBytesIsOneSplitUnlessItHasNone) {
  const std::string sizeless = "/proc/self/status";
  ASSERT_EQ(std::filesystem::file_size(sizeless), 0u);
  const auto groups = split_files(Paths{add("zero", 0), sizeless}, {.min_groups = 8});
  ASSERT_TRUE(groups) << groups.error().to_string();
  ASSERT_EQ(groups->size(), 1u);
  ASSERT_EQ(groups->front().size(), 1u);
  EXPECT_EQ(groups->front().front().path, sizeless);
  EXPECT_GT(groups->front().front().length, 100u);
  const auto refused = split_files(Paths{sizeless}, {.record_bytes = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_NE(refused.error().to_string().find(sizeless + " claims to have 0 bytes"), std::string::npos);
}

TEST_F(InputsTest, PathsThatMeanAnotherFileInEachProcessAreFollowed) {
  const std::string pid = std::to_string(::getpid());
  EXPECT_EQ(*expand({"/proc/self/status"}), Paths{"/proc/" + pid + "/status"});
  const std::string file = add("open");
  const Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(*expand({"/dev/fd/" + std::to_string(opened.get())}), Paths{file});
}

TEST_F(InputsTest, AFileThatVanishedIsNamed) {
  const auto result = split_files(Paths{at("vanished")}, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().to_string().find("vanished"), std::string::npos);
}

}  // namespace
}  // namespace weft::storage
