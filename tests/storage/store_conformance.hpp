// What every store of inputs and outputs of jobs must do, whatever it is: local disks, files of the cluster, objects, HDFS. A test
// program says which stores it has with INSTANTIATE_TEST_SUITE_P(…, Stores, …).
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/access/remote.hpp"
#include "storage/inputs.hpp"
#include "storage/output_directory.hpp"
#include "storage/output_file.hpp"
#include "storage/split.hpp"
#include "storage/text_reader.hpp"

namespace weft::storage {

/// Empty, and its own of every test.
class Store {
 public:
  virtual ~Store() = default;
  /// Null: local paths.
  virtual RemoteFiles* files() = 0;
  /// Of "/a/b".
  virtual std::string url(const std::string& path) = 0;
  virtual void put(const std::string& path, const std::string& content) {
    auto file = files()->create(url(path));
    ASSERT_TRUE(file) << file.error().to_string();
    ASSERT_TRUE((*file)->append(as_bytes(content)));
    const auto closed = (*file)->close();
    ASSERT_TRUE(closed) << closed.error().to_string();
  }
  /// Names in a directory, sorted.
  virtual std::vector<std::string> names(const std::string& directory) {
    auto found = files()->names(url(directory));
    EXPECT_TRUE(found) << found.error().to_string();
    if (found) std::sort(found->begin(), found->end());
    return found ? *found : std::vector<std::string>();
  }
};

struct StoreKind {
  const char* name;
  std::function<std::unique_ptr<Store>()> make;
};

class Stores : public testing::TestWithParam<StoreKind> {
 protected:
  using Names = std::vector<std::string>;

  void SetUp() override { store = GetParam().make(); }
  std::vector<std::string> expand(const std::string& path) {
    const Names inputs{store->url(path)};
    const auto found = expand_inputs(inputs, store->files());
    if (!found) return {found.error().to_string()};
    Names paths;
    for (const std::string& url : found->paths) paths.push_back(url.substr(store->url("/").size() - 1));
    return paths;
  }
  /// All lines, read split by split as tasks do.
  std::string read_all(const std::string& path, std::uint64_t pieces) {
    const Names inputs{store->url(path)};
    const auto found = expand_inputs(inputs, store->files());
    if (!found) return found.error().to_string();
    const auto groups = split_files(found->paths, {.min_groups = pieces}, store->files(), found->versions);
    if (!groups) return groups.error().to_string();
    std::string text;
    TextReader reader(UINT64_MAX, store->files());
    for (const SplitGroup& group : *groups)
      for (const Split& split : group) {
        const auto read = reader.for_each_line(
            split, [](std::uint64_t) {}, [&](std::string_view line) { text.append(line).append("\n"); });
        if (!read) return read.error().to_string();
      }
    return text;
  }
  Result<OutputDirectory> prepare(const std::string& path, bool overwrite = false, const std::string& token = "token") {
    return OutputDirectory::prepare(store->url(path), overwrite, token, store->files());
  }
  std::unique_ptr<OutputFile> begin(const OutputDirectory& output, std::size_t part, int number = 0) {
    auto file = OutputFile::create(output.work_directory(), "task-1-" + std::to_string(part) + "-" + std::to_string(number),
                                   store->files(), Compression::none, part_name(part));
    EXPECT_TRUE(file);
    return *std::move(file);
  }
  /// One attempt's file with this content; what the driver learns of it.
  std::string attempt(const OutputDirectory& output, std::size_t part, const std::string& content, int number = 0) {
    const auto file = begin(output, part, number);
    const auto appended = file->append(as_bytes(content));
    EXPECT_TRUE(appended) << appended.error().to_string();
    const auto closed = file->close();
    EXPECT_TRUE(closed) << closed.error().to_string();
    return file->name();
  }
  static std::string lines(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "line " + std::to_string(i) + " of a text that is read in pieces\n";
    return text;
  }

  std::unique_ptr<Store> store;
};

TEST_P(Stores, LeaveOutDirectoriesThatAreNotWanted) {
  for (const char* const path : {"/in/year=2024/a", "/in/year=2025/month=1/b", "/in/year=2025/month=2/c", "/in/plain/d"})
    store->put(path, "x\n");
  const auto names = [&](const char* input, const DirectoryFilter& wanted) -> Names {
    const Names inputs{store->url(input)};
    const auto found = expand_inputs(inputs, store->files(), Repeats::once, wanted);
    if (!found) return {found.error().to_string()};
    EXPECT_EQ(found->empty, Names()) << "it has files, though none is wanted";
    Names last;
    for (const std::string& path : found->paths) last.push_back(path.substr(path.rfind('/') + 1));
    std::sort(last.begin(), last.end());
    return last;
  };
  EXPECT_EQ(names("/in", {}), (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(names("/in", [](std::string_view name) { return name != "year=2024" && name != "month=2"; }), (Names{"b", "d"}));
  EXPECT_EQ(names("/in/year=2025", [](std::string_view name) { return !name.starts_with("month="); }), Names());
}

TEST_P(Stores, GiveEachLineOnceHoweverTheyAreCut) {
  const std::string text = lines(100'000);  // more than two parts of what is read ahead
  store->put("/in/a", text);
  store->put("/in/b", "the last line has no end");
  store->put("/in/empty", "");
  for (const std::uint64_t pieces : {1u, 7u, 40u})
    EXPECT_TRUE(read_all("/in", pieces) == text + "the last line has no end\n") << pieces;
  EXPECT_EQ(read_all("/in/empty", 3), "");
}

TEST_P(Stores, KnowDirectoriesAndPatterns) {
  for (const char* path : {"/in/a.txt", "/in/b.csv", "/in/deep/c.txt", "/in/deep/er/d.txt", "/in/_hidden", "/in/.dir/e.txt"})
    store->put(path, "x\n");
  EXPECT_EQ(expand("/in"), (Names{"/in/a.txt", "/in/b.csv", "/in/deep/c.txt", "/in/deep/er/d.txt"}));
  EXPECT_EQ(expand("/in/*.txt"), Names{"/in/a.txt"});
  EXPECT_EQ(expand("/in/{a.txt,b.csv}"), (Names{"/in/a.txt", "/in/b.csv"}));
  EXPECT_EQ(expand("/in/d*"), (Names{"/in/deep/c.txt", "/in/deep/er/d.txt"}));
  EXPECT_EQ(expand("/in/[a-b].*"), (Names{"/in/a.txt", "/in/b.csv"}));
}

TEST_P(Stores, TakeNamesAsTheyAre) {
  for (const char* name : {"a b", "c+d", "e=f", "g%20h", "i&j", "m'n", "s#t", "\xc3\xbc", "x;y"}) {
    const std::string path = std::string("/odd/") + name;
    store->put(path, path + "\n");
    EXPECT_EQ(expand(path), Names{path});
    EXPECT_EQ(read_all(path, 1), path + "\n");
  }
  EXPECT_EQ(expand("/odd").size(), 9u);
}

TEST_P(Stores, ShowAnOutputWhenItIsCommittedAndNothingElse) {
  store->put("/there", "x");
  const std::string large(9u << 20, 'x');  // more than what is sent at once
  {
    auto output = prepare("/out").value();
    const std::string first = attempt(output, 0, large);
    attempt(output, 0, "of an attempt that lost", 1);
    const auto dropped = begin(output, 1, 7);
    EXPECT_TRUE(dropped->append(as_bytes(large)));
    const auto visible = store->names("/");
    EXPECT_EQ(std::count(visible.begin(), visible.end(), "out"), 0);
    const auto committed = output.commit({first, "", attempt(output, 2, "three")});
    ASSERT_TRUE(committed) << committed.error().to_string();
  }
  EXPECT_EQ(store->names("/out"), (Names{"_SUCCESS", "part-00000", "part-00001", "part-00002"}));
  EXPECT_EQ(store->names("/"), (Names{"out", "there"}));
  EXPECT_TRUE(read_all("/out", 5) == large + "\nthree\n");
}

TEST_P(Stores, ReplaceAnOutputOfAJobOnlyAndOnlyWhenTold) {
  for (const char* content : {"old", "new"}) {
    if (std::string(content) == "new") {
      EXPECT_EQ(prepare("/out").error().code(), Code::already_exists);
    }
    auto output = prepare("/out", true).value();
    std::vector<std::string> parts{attempt(output, 0, content)};
    if (std::string(content) == "old") parts.push_back(attempt(output, 1, "more"));
    const auto committed = output.commit(parts);
    ASSERT_TRUE(committed) << committed.error().to_string();
    EXPECT_EQ(store->names("/out").size(), 1 + parts.size());
  }
  EXPECT_EQ(read_all("/out", 1), "new\n");
  EXPECT_EQ(store->names("/"), Names{"out"});
  store->put("/thesis/one", "precious");
  EXPECT_EQ(prepare("/thesis", true).error().code(), Code::already_exists);
}

TEST_P(Stores, LeaveNothingOfAJobThatFails) {
  store->put("/there", "x");
  {
    auto output = prepare("/out").value();
    attempt(output, 0, "one");
    const auto unfinished = begin(output, 1);
    EXPECT_TRUE(unfinished->append(as_bytes(std::string(9u << 20, 'x'))));
  }
  EXPECT_EQ(store->names("/"), Names{"there"});
  auto first = prepare("/out", false, "first").value(), second = prepare("/out", false, "second").value();
  const std::string one = attempt(first, 0, "one"), two = attempt(second, 0, "two");
  ASSERT_TRUE(first.commit({one}));
  EXPECT_FALSE(second.commit({two}));
  EXPECT_EQ(read_all("/out", 1), "one\n");
}

TEST_P(Stores, NameWhatIsNotThere) {
  store->put("/there", "x");
  for (const char* path : {"/nothing", "/nothing*", "/nothing/x"}) {
    const Names inputs{store->url(path)};
    const auto refused = expand_inputs(inputs, store->files());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::not_found);
    EXPECT_NE(refused.error().to_string().find(store->url(path)), std::string::npos) << refused.error().to_string();
    EXPECT_EQ(refused.error().to_string().find('\n'), std::string::npos);
  }
}

inline std::string store_name(const testing::TestParamInfo<StoreKind>& info) { return info.param.name; }

}  // namespace weft::storage
