// Inputs and outputs that are no local files, on a pretended cluster in memory.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "storage/inputs.hpp"
#include "storage/output_directory.hpp"
#include "storage/output_file.hpp"
#include "storage/record_reader.hpp"
#include "storage/split.hpp"
#include "storage/text_reader.hpp"

namespace weft::storage {
namespace {

/// Files by URL, in pieces of a fixed size that lie on hosts in turn. Directories are names that files begin with.
class PretendedCluster final : public RemoteFiles {
 public:
  explicit PretendedCluster(std::uint64_t piece) : piece_(piece) {}

  using RemoteFiles::expand;
  Result<InputFiles> expand(const std::string& input, const DirectoryFilter&) override {
    InputFiles found;
    for (const auto& [path, content] : files) {
      if (path != input && !path.starts_with(input + "/")) continue;
      const bool skipped = path != input && is_skipped(path.substr(path.rfind('/') + 1));
      (skipped ? found.skipped : found.paths).push_back(path);
    }
    if (found.paths.empty() && found.skipped.empty()) return fail(Code::not_found, input + " does not exist");
    return found;
  }
  using RemoteFiles::open;
  using RemoteFiles::pieces;
  Result<std::vector<RemotePiece>> pieces(const std::string& path, const FileVersion&) override {
    std::vector<RemotePiece> all;
    const std::uint64_t size = files.at(path).size();
    for (std::uint64_t offset = 0; offset < size; offset += piece_)
      all.push_back({offset,
                     std::min(piece_, size - offset),
                     {"h" + std::to_string(all.size() % 3), "h" + std::to_string(all.size() % 3 + 1)}});
    return all;
  }
  Result<std::unique_ptr<RemoteFile>> open(const std::string& path, const FileVersion&) override {
    if (!files.contains(path)) return fail(Code::not_found, path + " does not exist");
    return std::unique_ptr<RemoteFile>(std::make_unique<File>(files.at(path)));
  }
  Result<std::unique_ptr<RemoteOutput>> create(const std::string& path) override {
    return std::unique_ptr<RemoteOutput>(std::make_unique<Output>(*this, path));
  }
  Result<std::string> normal(const std::string& path) override { return path; }
  Result<bool> exists(const std::string& path) override { return expand(path).has_value() || directories.contains(path); }
  Result<void> make_directory(const std::string& path) override {
    if (dead()) return killed();
    ++leased;
    directories.insert(path);
    return step();
  }
  Result<void> make_subdirectory(const std::string& path) override {
    if (dead()) return killed();
    directories.insert(path);
    return step();
  }
  Result<std::vector<std::string>> names(const std::string& directory) override {
    std::set<std::string> found;
    const auto add = [&](const std::string& path) {
      const std::string name = path.substr(std::min(path.size(), directory.size() + 1));
      if (path.starts_with(directory + "/")) found.insert(name.substr(0, name.find('/')));
    };
    for (const auto& [path, content] : files) add(path);
    for (const std::string& path : directories) add(path);
    return std::vector<std::string>(found.begin(), found.end());
  }
  Result<void> rename(const std::string& from, const std::string& to, bool replace) override {
    if (dead()) return killed();
    if (refusals[to] > 0) return --refusals[to], fail(Code::resource_exhausted, to + ": the quota is exceeded");
    if (!exists(from).value()) return fail(Code::not_found, from + " does not exist");
    if (exists(to).value()) {
      if (!replace) return fail(Code::already_exists, to + " exists");
      erase(to);
    }
    std::map<std::string, std::string> moved;
    for (const auto& [path, content] : files)
      moved[path == from || path.starts_with(from + "/") ? to + path.substr(from.size()) : path] = content;
    files = std::move(moved);
    std::set<std::string> places;
    for (const std::string& path : directories)
      places.insert(path == from || path.starts_with(from + "/") ? to + path.substr(from.size()) : path);
    directories = std::move(places);
    return step();
  }
  Result<void> remove(const std::string& path) override {
    if (dead()) return killed();
    erase(path);
    return step();
  }
  bool leaves_directories(const std::string&) override { return leaves; }

  /// Of the changes from now on, number `changes` is made, and the process counts as killed before it is told. 0: never.
  void kill_after(int changes) { left_ = changes; }
  bool dead() const { return left_ < 0; }

  std::map<std::string, std::string> files;
  std::set<std::string> directories;
  std::map<std::string, int> refusals;  // how often nothing can be moved there
  bool leaves = false;
  int leased = 0;  // directories

 private:
  static tl::unexpected<Error> killed() { return fail(Code::unavailable, "killed"); }
  /// After a change.
  Result<void> step() {
    if (left_ <= 0 || --left_ > 0) return {};
    left_ = -1;
    return killed();
  }
  void erase(const std::string& path) {
    const auto below = [&](const std::string& name) { return name == path || name.starts_with(path + "/"); };
    std::erase_if(files, [&](const auto& item) { return below(item.first); });
    std::erase_if(directories, below);
  }
  class File final : public RemoteFile {
   public:
    explicit File(std::string content) : content_(std::move(content)) {}
    std::uint64_t size() const override { return content_.size(); }
    Result<std::size_t> read(std::uint64_t offset, MutableBytes into) override {
      const std::size_t count =
          std::min<std::size_t>(into.size(), content_.size() - std::min<std::size_t>(offset, content_.size()));
      std::copy_n(as_bytes(content_).begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
      return count;
    }

   private:
    std::string content_;
  };
  class Output final : public RemoteOutput {
   public:
    Output(PretendedCluster& cluster, std::string path) : cluster_(cluster), path_(std::move(path)) {}
    Result<void> append(ByteView bytes) override {
      content_.append(as_chars(bytes));
      return {};
    }
    Result<void> close() override {
      if (cluster_.dead()) return killed();
      if (cluster_.exists(path_).value()) return fail(Code::already_exists, path_ + " exists");
      cluster_.files[path_] = content_;
      return cluster_.step();
    }

   private:
    PretendedCluster& cluster_;
    std::string path_, content_;
  };

  std::uint64_t piece_;
  int left_ = 0;
};

TEST(RemoteSplits, EndWherePiecesEndAndGiveEachLineOnce) {
  Random random(1);
  for (int round = 0; round < 30; ++round) {
    PretendedCluster cluster(70'000 + random.below(200'000));
    std::vector<std::string> expected;
    for (int file = 0; file < 3; ++file) {
      std::string& content = cluster.files["weft://in/f" + std::to_string(file)];
      const std::uint64_t size = random.below(900'000);
      while (content.size() < size) {
        expected.push_back(std::string(random.below(300), 'x') + std::to_string(expected.size()));
        content += expected.back() + "\n";
      }
    }
    SplitOptions options;
    options.min_groups = 1 + random.below(20);
    const std::vector<std::string> inputs{"weft://in"};
    cluster.files["weft://in/_SUCCESS"] = "";
    const InputFiles found = expand_inputs(inputs, &cluster).value();
    const auto& files = found.paths;
    ASSERT_EQ(files.size(), 3u);
    EXPECT_EQ(found.skipped, std::vector<std::string>{"weft://in/_SUCCESS"});
    const auto groups = split_files(files, options, &cluster).value();
    std::vector<std::string> lines;
    TextReader reader(UINT64_MAX, &cluster);
    for (const SplitGroup& group : groups) {
      std::set<std::string> common(group[0].hosts.begin(), group[0].hosts.end());
      for (const Split& split : group) {
        const auto pieces = cluster.pieces(split.path).value();
        const auto in = [&](const RemotePiece& piece) {
          return split.offset >= piece.offset && split.offset + split.length <= piece.offset + piece.length &&
                 piece.hosts == split.hosts;
        };
        EXPECT_EQ(std::count_if(pieces.begin(), pieces.end(), in), 1);
        std::erase_if(common, [&](const auto& host) { return std::count(split.hosts.begin(), split.hosts.end(), host) == 0; });
        ASSERT_TRUE(reader.for_each_line(
            split, [](std::uint64_t) {}, [&](std::string_view line) { lines.emplace_back(line); }));
      }
      EXPECT_FALSE(common.empty()) << "no host has all of a group";
    }
    EXPECT_TRUE(lines == expected);
  }
}

TEST(RemoteSplits, KeepRecordsWhole) {
  PretendedCluster cluster(100'000);
  cluster.files["weft://f"] = std::string(7'000 * 100, 'r');
  SplitOptions options;
  options.min_groups = 9;
  options.record_bytes = 7'000;
  std::uint64_t end = 0;
  const std::vector<std::string> files{"weft://f"};
  const auto groups = split_files(files, options, &cluster).value();
  for (const SplitGroup& group : groups)
    for (const Split& split : group) {
      EXPECT_EQ(split.offset, end);
      EXPECT_EQ(split.length % 7'000, 0u);
      end += split.length;
    }
  EXPECT_EQ(end, 700'000u);
  options.record_bytes = 11;
  EXPECT_EQ(split_files(files, options, &cluster).error().code(), Code::invalid_argument);
}

TEST(RemoteInputs, ThatAreNoTextAreRefused) {
  PretendedCluster cluster(100);
  cluster.files["weft://zipped"] = std::string("PK\3\4 and more", 13);
  TextReader reader(UINT64_MAX, &cluster);
  const auto refused = reader.for_each_line(
      {"weft://zipped", 0, 13, {}}, [](std::uint64_t) {}, [](std::string_view) {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("weft://zipped is a zip archive"), std::string::npos);
}

TEST(RemoteInputs, WithoutAClusterAreRefusedByName) {
  const std::vector<std::string> inputs{"weft://in"};
  const auto refused = expand_inputs(inputs);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("weft://in"), std::string::npos);
  PretendedCluster cluster(100);
  EXPECT_EQ(expand_inputs(inputs, &cluster).error().code(), Code::not_found);
}

TEST(RemoteOutput, AppearsAtOnceOrNotAtAll) {
  PretendedCluster cluster(100);
  {
    auto output = OutputDirectory::prepare("weft://out", false, "token", &cluster).value();
    auto first = OutputFile::create(output.work_directory(), "task-0", &cluster).value();
    auto loser = OutputFile::create(output.work_directory(), "task-0b", &cluster).value();
    ASSERT_TRUE(first->append(as_bytes("one")));
    ASSERT_TRUE(first->close());
    ASSERT_TRUE(loser->append(as_bytes("lost")));
    ASSERT_TRUE(loser->close());
    EXPECT_EQ(first->bytes(), 3u);
    EXPECT_FALSE(cluster.exists("weft://out").value());
    ASSERT_TRUE(output.commit({"task-0", ""}));
  }
  EXPECT_EQ(cluster.files, (std::map<std::string, std::string>{
                               {"weft://out/part-00000", "one"}, {"weft://out/part-00001", ""}, {"weft://out/_SUCCESS", ""}}));
  EXPECT_EQ(OutputDirectory::prepare("weft://out", false, "token", &cluster).error().code(), Code::already_exists);
  {
    auto output = OutputDirectory::prepare("weft://out", true, "token", &cluster).value();
    auto file = OutputFile::create(output.work_directory(), "task-0", &cluster).value();
    ASSERT_TRUE(file->append(as_bytes("two")));
    ASSERT_TRUE(file->close());
  }  // given up
  EXPECT_EQ(cluster.files.size(), 3u);
  EXPECT_EQ(cluster.directories, std::set<std::string>{"weft://out"});
  auto output = OutputDirectory::prepare("weft://out", true, "token", &cluster).value();
  ASSERT_TRUE(output.commit({}));
  EXPECT_EQ(cluster.files, (std::map<std::string, std::string>{{"weft://out/_SUCCESS", ""}}));
  EXPECT_FALSE(OutputDirectory::prepare("weft://", false, "token", &cluster));
}

/// What a driver of a job does; tasks run once.
Result<void> drive(PretendedCluster& cluster, bool overwrite) {
  WEFT_ASSIGN(auto output, OutputDirectory::prepare("weft://out", overwrite, "job7-0123abcd", &cluster, OutputOwner::job));
  if (!cluster.files.contains("weft://ran")) {
    for (const char* name : {"task-0", "task-2", "task-2-loser", "task-3-0", "task-3-1"})
      cluster.files[output.work_directory() + "/" + name] = name;
    cluster.files["weft://ran"] = "";
  }
  return output.commit({"task-0", "", "task-2", "task-3-0/a\ntask-3-1/b/c\n"});
}

TEST(RemoteOutput, OfAJobIsFinishedByTheNextDriverWhereverTheFirstIsKilled) {
  for (const bool overwrite : {false, true}) {
    int changes = 1;
    for (bool finished = false; !finished; ++changes) {
      SCOPED_TRACE(testing::Message() << (overwrite ? "overwriting, " : "") << "killed after change " << changes);
      PretendedCluster cluster(100);
      if (overwrite)
        cluster.files = {{"weft://out/part-00000", "old"}, {"weft://out/part-00009", "old"}, {"weft://out/_SUCCESS", ""}};
      cluster.kill_after(changes);
      finished = drive(cluster, overwrite).has_value();
      for (int next = 0; next < 2; ++next) {
        cluster.kill_after(0);
        const auto ended = drive(cluster, overwrite);
        ASSERT_TRUE(ended) << ended.error().to_string();
        cluster.files.erase("weft://ran");
        EXPECT_EQ(cluster.files, (std::map<std::string, std::string>{{"weft://out/part-00000", "task-0"},
                                                                     {"weft://out/part-00001", ""},
                                                                     {"weft://out/part-00002", "task-2"},
                                                                     {"weft://out/a/part-00003", "task-3-0"},
                                                                     {"weft://out/b/c/part-00003", "task-3-1"},
                                                                     {"weft://out/_SUCCESS", "job7-0123abcd\n"}}));
        for (const std::string& directory : cluster.directories) EXPECT_TRUE(directory.starts_with("weft://out")) << directory;
        cluster.files["weft://ran"] = "";
      }
      ASSERT_FALSE(testing::Test::HasFailure());
    }
    EXPECT_GT(changes, 12);
  }
}

/// The same when the job keeps the directories that it does not write.
Result<void> drive_keeping(PretendedCluster& cluster) {
  WEFT_ASSIGN(auto output, OutputDirectory::prepare("weft://out", true, "job7-0123abcd", &cluster, OutputOwner::job));
  output.keep_other_directories();
  if (!cluster.files.contains("weft://ran")) {
    for (const char* name : {"task-0-0", "task-0-1", "task-1-0", "task-1-1", "task-1-loser"})
      cluster.files[output.work_directory() + "/" + name] = name;
    cluster.files["weft://ran"] = "";
  }
  return output.commit({"task-0-0/y=1/m=1\ntask-0-1/y=3/m=1\n", "task-1-0/y=1/m=1\ntask-1-1/y=3/m=2\n"});
}

using Files = std::map<std::string, std::string>;

/// An output of which drive_keeping() replaces y=1/m=1.
PretendedCluster output_of_directories(bool leaves) {
  PretendedCluster cluster(100);
  cluster.leaves = leaves;
  cluster.files = {{"weft://out/_SUCCESS", ""},
                   {"weft://out/y=1/m=1/part-00000", "old"},
                   {"weft://out/y=1/m=1/part-00009", "old"},
                   {"weft://out/y=1/m=2/part-00000", "old"},
                   {"weft://out/y=2/part-00000", "old"}};
  for (const char* name : {"", "/y=1", "/y=1/m=1", "/y=1/m=2", "/y=2"})
    cluster.directories.insert(std::string("weft://out") + name);
  return cluster;
}

/// The next driver of the job ends what was begun, and the one after it finds it done.
void ends_whole(PretendedCluster& cluster) {
  for (int next = 0; next < 2; ++next) {
    const auto ended = drive_keeping(cluster);
    ASSERT_TRUE(ended) << ended.error().to_string();
    cluster.files.erase("weft://ran");
    EXPECT_EQ(cluster.files, (Files{{"weft://out/y=1/m=2/part-00000", "old"},
                                    {"weft://out/y=2/part-00000", "old"},
                                    {"weft://out/y=1/m=1/part-00000", "task-0-0"},
                                    {"weft://out/y=1/m=1/part-00001", "task-1-0"},
                                    {"weft://out/y=3/m=1/part-00000", "task-0-1"},
                                    {"weft://out/y=3/m=2/part-00001", "task-1-1"},
                                    {"weft://out/_SUCCESS", "job7-0123abcd\n"}}));
    for (const std::string& directory : cluster.directories) EXPECT_TRUE(directory.starts_with("weft://out")) << directory;
    cluster.files["weft://ran"] = "";
  }
}

TEST(RemoteOutput, OfAJobThatKeepsOtherDirectoriesIsFinishedByTheNextDriverToo) {
  for (const bool leaves : {false, true}) {
    int changes = 1;
    for (bool finished = false; !finished; ++changes) {
      SCOPED_TRACE(testing::Message() << "in " << (leaves ? "two steps" : "one step") << ", killed after change " << changes);
      PretendedCluster cluster = output_of_directories(leaves);
      cluster.kill_after(changes);
      finished = drive_keeping(cluster).has_value();
      cluster.kill_after(0);
      ends_whole(cluster);
      ASSERT_FALSE(testing::Test::HasFailure());
    }
    EXPECT_GT(changes, 10);
  }
}

TEST(RemoteOutput, ADirectoryThatCannotBeReplacedComesBackWhereverTheDriverBeforeWasKilled) {
  int changes = 1;
  for (bool replaced = false; !replaced; ++changes) {
    SCOPED_TRACE(testing::Message() << "killed after change " << changes);
    PretendedCluster cluster = output_of_directories(true);
    const Files before = cluster.files;
    cluster.kill_after(changes);
    (void)drive_keeping(cluster);
    cluster.kill_after(0);
    replaced = cluster.files.contains("weft://out/y=1/m=1/part-00001");
    cluster.refusals["weft://out/y=1/m=1"] = 1;
    EXPECT_EQ(drive_keeping(cluster).has_value(), replaced);
    cluster.files.erase("weft://ran");
    if (!replaced) {
      EXPECT_EQ(cluster.files, before);
    }
  }
  EXPECT_GT(changes, 5);
}

TEST(RemoteOutput, ADirectoryThatCannotComeBackEitherIsKept) {
  PretendedCluster cluster = output_of_directories(true);
  cluster.refusals["weft://out/y=1/m=1"] = 2;
  const auto failed = drive_keeping(cluster);
  const std::string kept = "weft://.out.weft-job7-0123abcd/_replaced-0";
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().to_string(),
            "what was at weft://out/y=1/m=1 is at " + kept + "; move it back: weft://out/y=1/m=1: the quota is exceeded");
  EXPECT_EQ(failed.error().code(), Code::resource_exhausted);
  EXPECT_TRUE(cluster.files.contains(kept + "/part-00009"));
  auto next = OutputDirectory::prepare("weft://out", true, "token", &cluster).value();  // does not take it for a leftover
  next.keep_other_directories();
  cluster.files[next.work_directory() + "/task"] = "new";
  ASSERT_TRUE(next.commit({"task/y=2\n"}));
  EXPECT_EQ(cluster.files.at("weft://out/y=2/part-00000"), "new");
  EXPECT_TRUE(cluster.files.contains(kept + "/part-00009"));
}

TEST(RemoteOutput, OfAProcessThatKeepsOtherDirectoriesIsANewOneOrReplacesThem) {
  PretendedCluster cluster(100);
  for (int round = 0; round < 2; ++round) {
    auto output = OutputDirectory::prepare("weft://out", true, "token", &cluster).value();
    output.keep_other_directories();
    cluster.files[output.work_directory() + "/task"] = std::to_string(round);
    ASSERT_TRUE(output.commit({"task/n=" + std::to_string(round) + "\n"}));
  }
  EXPECT_EQ(cluster.files,
            (std::map<std::string, std::string>{
                {"weft://out/n=0/part-00000", "0"}, {"weft://out/n=1/part-00000", "1"}, {"weft://out/_SUCCESS", ""}}));
  for (const std::string& directory : cluster.directories) EXPECT_TRUE(directory.starts_with("weft://out")) << directory;
}

TEST(RemoteOutput, OfManyDirectoriesHasOneLease) {
  PretendedCluster cluster(100);
  auto output = OutputDirectory::prepare("weft://out", false, "job7-0123abcd", &cluster, OutputOwner::job).value();
  cluster.files[output.work_directory() + "/task"] = cluster.files[output.work_directory() + "/other"] = "";
  ASSERT_TRUE(output.commit({"task/y=1/m=1\nother/y=1/m=2\n"}));
  EXPECT_TRUE(cluster.directories.contains("weft://out/y=1/m=2"));
  EXPECT_EQ(cluster.leased, 1);
}

TEST(RemoteOutput, OfAJobThatSomebodyElseMadeMeanwhileIsNotTouched) {
  for (const bool overwrite : {false, true}) {
    for (int changes = 1;; ++changes) {
      PretendedCluster cluster(100);
      cluster.kill_after(changes);
      if (drive(cluster, overwrite)) break;
      const bool published = cluster.files.contains("weft://out/_SUCCESS");
      if (!published) cluster.files["weft://out/precious"] = "mine";
      cluster.kill_after(0);
      EXPECT_EQ(drive(cluster, overwrite).has_value(), published) << changes;
      EXPECT_EQ(cluster.files.contains("weft://out/precious"), !published);
      for (const auto& [path, content] : cluster.files) EXPECT_FALSE(path.starts_with("weft://.out")) << path;
      EXPECT_TRUE(published || cluster.directories.empty());
    }
  }
}

TEST(RemoteOutput, OfAJobClearsAwayWhatWasReplacedInTwoSteps) {
  PretendedCluster cluster(100);
  cluster.leaves = true;
  // As a driver leaves it that is killed between the renames of HDFS and the removal of what was replaced.
  cluster.files = {
      {"weft://out/part-00000", "task-0"}, {"weft://out/_SUCCESS", "job7-0123abcd\n"}, {"weft://out.weft-replaced/a", "old"}};
  ASSERT_TRUE(drive(cluster, true));
  EXPECT_FALSE(cluster.files.contains("weft://out.weft-replaced/a"));
}

TEST(RemoteOutput, WhatNoRunHasWrittenIsNotOverwritten) {
  PretendedCluster cluster(100);
  cluster.files["weft://thesis/one"] = "precious";
  const auto refused = OutputDirectory::prepare("weft://thesis", true, "token", &cluster);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::already_exists);
  EXPECT_NE(refused.error().message().find("no _SUCCESS"), std::string::npos) << refused.error().message();
  auto output = OutputDirectory::prepare("weft://out", true, "token", &cluster).value();
  cluster.files["weft://out/one"] = "precious";  // meanwhile
  EXPECT_FALSE(output.commit({}));
  EXPECT_EQ(cluster.files.at("weft://out/one"), "precious");
}

}  // namespace
}  // namespace weft::storage
