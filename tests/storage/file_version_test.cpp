// Files that are others, or are written to, between the time when they are listed and the end of reading them.
#include "storage/access/file_version.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"
#include "storage/inputs.hpp"
#include "storage/record_reader.hpp"
#include "storage/split.hpp"
#include "storage/text_reader.hpp"
#include "tests/storage/compressed_files.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;
using Change = std::function<void(const std::string& path)>;

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line " + std::to_string(1'000'000 + i) + "\n";
  return text;
}
void append(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::app) << bytes; }
/// In place: the inode stays.
void rewrite(const std::string& path, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out);
  file << bytes;
}
/// As if the change had been made a second later: the clock of some file systems goes in steps.
void later(const std::string& path) { fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1)); }

std::string words_of(const Result<void>& result) { return result ? "same" : result.error().to_string(); }

TEST(FileVersions, TellWhatChanged) {
  const FileVersion listed{.bytes = 100, .modified_ns = 5'000'000'001, .id = 7, .machine = 1};
  const auto told = [&](const std::function<void(FileVersion&)>& change, bool may_grow = false) {
    FileVersion before = listed, now = listed;
    before.may_grow = may_grow;
    change(now);
    return words_of(check_same("/in/a", before, now));
  };
  const std::string begin = "input /in/a changed since it was listed: ", end = "; try again when nobody writes to it";
  EXPECT_EQ(told([](FileVersion&) {}), "same");
  EXPECT_EQ(told([](FileVersion& now) { now.bytes = 99; }), begin + "it shrank from 100 to 99 bytes" + end);
  EXPECT_EQ(told([](FileVersion& now) { now.bytes = 101; }),
            begin + "it grew from 100 to 101 bytes" + end +
                ", or with --growing-inputs, which reads what was listed of files that only grow");
  EXPECT_EQ(
      told([](FileVersion& now) { now.modified_ns = 6'000'000'000; }),
      begin + "it was modified at 1970-01-01T00:00:06.000000000Z, and when it was listed, at 1970-01-01T00:00:05.000000001Z" + end);
  EXPECT_EQ(told([](FileVersion& now) { now.id = 8; }), begin + "another file is in its place" + end);
  EXPECT_EQ(told([](FileVersion& now) { now.id = 8, now.machine = 2; }), "same") << "inodes of another machine say nothing";
  EXPECT_NE(told([](FileVersion& now) { now.modified_ns = 1, now.machine = 2; }).find("copies must have the same time"),
            std::string::npos);
  EXPECT_TRUE(check_same("/proc/x", {.modified_ns = 5, .id = 1}, {.modified_ns = 6, .id = 2})) << "files without bytes lose none";
  // Of files that may grow, all else is compared as well.
  EXPECT_EQ(told([](FileVersion& now) { now.bytes = 101, now.modified_ns = 6; }, true), "same");
  EXPECT_EQ(told([](FileVersion& now) { now.bytes = 99; }, true), begin + "it shrank from 100 to 99 bytes" + end);
  EXPECT_NE(told([](FileVersion& now) { now.modified_ns = 6; }, true), "same") << "it was written to, but not behind its end";
  EXPECT_EQ(told([](FileVersion& now) { now.bytes = 500, now.id = 8; }, true), begin + "another file is in its place" + end);
}

TEST(FileVersions, AreOfObjectsAndOldPlans) {
  const FileVersion object{.bytes = 5, .tag = "\"a\""};
  EXPECT_EQ(words_of(check_same("s3://b/k", object, {.bytes = 5, .tag = "\"b\""})),
            "input s3://b/k changed since it was listed: it was written again; try again when nobody writes to it");
  EXPECT_TRUE(check_same("s3://b/k", object, {.bytes = 5})) << "a service that tells no ETag";
  EXPECT_FALSE(FileVersion{}.known());
  EXPECT_TRUE(check_same("/a", {}, object)) << "a plan of a release that remembered nothing";
}

TEST(FileVersions, AreErrorsThatNoOtherAttemptEndsBetter) {
  EXPECT_EQ(check_same("/a", {.bytes = 1}, {.bytes = 2}).error().code(), Code::invalid_argument);
}

/// A way to read all that the splits of a file have; what is given for each line or record.
struct Way {
  const char* name;
  std::uint64_t record_bytes = 0;
  Format compression = Format::detect;
};
constexpr Way kWays[] = {
    {"lines"}, {"records", 13}, {"gzip", 0, Format::gzip}, {"zstd", 0, Format::zstd}, {"bzip2", 0, Format::bzip2}};
const std::map<std::string, Change> kChanges{
    {"it grew from", [](const std::string& path) { append(path, numbered_lines(3)); }},
    {"it shrank from", [](const std::string& path) { fs::resize_file(path, fs::file_size(path) - 13); }},
    {"it was modified at",
     [](const std::string& path) {
       rewrite(path, "LINE");
       later(path);
     }},
    {"another file is in its place",
     [](const std::string& path) {
       fs::copy_file(path, path + ".new");
       struct stat info {};
       ASSERT_EQ(::stat(path.c_str(), &info), 0);
       const timespec times[] = {info.st_mtim, info.st_mtim};
       ASSERT_EQ(::utimensat(AT_FDCWD, (path + ".new").c_str(), times, 0), 0);
       fs::rename(path + ".new", path);
     }},
};

class ChangedFiles : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    text_ = numbered_lines(60'000);
    std::string bytes;
    for (std::size_t at = 0; at < text_.size() && GetParam().compression != Format::detect; at += 130'000)
      bytes += compressed(GetParam().compression, text_.substr(at, 130'000));
    ASSERT_TRUE(write_file(path_, bytes.empty() ? text_ : bytes));
    list();
  }
  void list() {
    const std::vector<std::string> inputs{path_};
    found_ = expand_inputs(inputs).value();
    ASSERT_EQ(found_.versions.size(), 1u);
  }
  Result<std::vector<SplitGroup>> split(bool growing = false) {
    SplitOptions options;
    options.min_groups = 4;
    options.record_bytes = GetParam().record_bytes;
    options.growing_files = growing;
    return split_files(found_.paths, options, nullptr, found_.versions);
  }
  /// `meanwhile` is called with the first record of all.
  Result<std::string> read(
      const std::vector<SplitGroup>& groups, const std::function<void()>& meanwhile = [] {}) {
    std::string all;
    const auto take = [&](std::string_view record) {
      if (all.empty()) meanwhile();
      all.append(record);
    };
    TextReader lines;
    RecordReader records;
    const auto nowhere = [](std::uint64_t) {};
    for (const SplitGroup& group : groups)
      for (const Split& split : group) {
        if (GetParam().record_bytes == 0)
          WEFT_TRY(lines.for_each_line(split, nowhere, [&](std::string_view line) { take(std::string(line) + "\n"); }));
        else
          WEFT_TRY(
              records.for_each_record(split, GetParam().record_bytes, nowhere, [&](ByteView record) { take(as_chars(record)); }));
      }
    return all;
  }
  void expect_error(const Result<void>& result, const std::string& what) {
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().code(), Code::invalid_argument);
    EXPECT_NE(result.error().to_string().find("input " + path_ + " changed since it was listed: " + what), std::string::npos)
        << result.error().to_string();
  }
  static Result<void> nothing(Result<std::string> read) {
    return read ? Result<void>() : Result<void>(fail(std::move(read).error()));
  }

  const TempDir directory_ = TempDir::create().value();
  const std::string path_ = directory_.path() / "in";
  std::string text_;
  InputFiles found_;
};

TEST_P(ChangedFiles, AreReadWhenNothingChanges) {
  const auto all = read(split().value());
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_TRUE(*all == text_);
}

TEST_P(ChangedFiles, BetweenListingAndSplittingAreErrors) {
  for (const auto& [what, change] : kChanges) {
    SetUp();
    change(path_);
    auto groups = split();
    expect_error(groups ? Result<void>() : Result<void>(fail(groups.error())), what);
  }
}

TEST_P(ChangedFiles, BetweenSplittingAndReadingAreErrors) {
  for (const auto& [what, change] : kChanges) {
    SetUp();
    const auto groups = split().value();
    change(path_);
    expect_error(nothing(read(groups)), what);
    for (const SplitGroup& group : groups) expect_error(nothing(read({group})), what);
  }
}

TEST_P(ChangedFiles, WhileTheyAreReadAreErrors) {
  for (const auto& [what, change] : kChanges) {
    SetUp();
    const auto groups = split().value();
    if (groups.size() == 1 && what == "another file is in its place") continue;  // nobody opens it again
    expect_error(nothing(read(groups, [&, &change = change] { change(path_); })), what);
  }
}

TEST_P(ChangedFiles, ThatAreReplacedWhileASplitIsReadGiveWhatWasListed) {
  const auto groups = split().value();
  const auto first = read({groups[0]});
  const auto replaced = read({groups[0]}, [&] { kChanges.at("another file is in its place")(path_); });
  ASSERT_TRUE(replaced) << replaced.error().to_string();
  EXPECT_TRUE(*replaced == *first);
}

TEST_P(ChangedFiles, ThatOnlyGrowGiveWhatWasListed) {
  const Change grow = kChanges.at("it grew from");
  grow(path_);  // not listed yet: `found_` is of before
  const auto groups = split(true).value();
  const auto all = read(groups, [&] { grow(path_); });
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_TRUE(*all == text_);
  for (const char* what : {"it shrank from", "another file is in its place"}) {
    SetUp();
    const auto others = split(true).value();
    kChanges.at(what)(path_);
    expect_error(nothing(read(others)), what);
  }
}

INSTANTIATE_TEST_SUITE_P(Reads, ChangedFiles, testing::ValuesIn(kWays),
                         [](const testing::TestParamInfo<Way>& way) { return std::string(way.param.name); });

TEST(GrowingFiles, AreCutWhereTheyEndedEvenWithinALine) {
  const TempDir directory = TempDir::create().value();
  const std::string path = directory.path() / "log";
  ASSERT_TRUE(write_file(path, "one\ntwo\nthr"));
  const std::vector<std::string> inputs{path};
  const auto found = expand_inputs(inputs).value();
  append(path, "ee\nfour\n");
  std::vector<std::string> lines;
  const auto groups = split_files(found.paths, {.growing_files = true}, nullptr, found.versions).value();
  for (const SplitGroup& group : groups)
    for (const Split& split : group)
      ASSERT_TRUE(for_each_line(
          split, [](std::uint64_t) {}, [&](std::string_view line) { lines.emplace_back(line); }));
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "thr"}));
}

TEST(FilesWithoutSize, AreReadThoughTheirTimesChange) {
  const std::vector<std::string> inputs{"/proc/self/status"};
  const auto found = expand_inputs(inputs).value();
  const auto groups = split_files(found.paths, {}, nullptr, found.versions).value();
  ASSERT_EQ(groups.size(), 1u);
  std::size_t lines = 0;
  ASSERT_TRUE(for_each_line(
      groups[0][0], [](std::uint64_t) {}, [&](std::string_view) { ++lines; }));
  EXPECT_GT(lines, 10u);
}

}  // namespace
}  // namespace weft::storage
