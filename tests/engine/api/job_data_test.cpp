// What a job reads and writes, without a job.
#include "engine/api/job_data.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "engine/api/driver.hpp"
#include "storage/access/remote.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using detail::JobData;

Code code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const JobFailure& failure) {
    return failure.error().code();
  }
  return Code::internal;
}

std::vector<Buffer> names(std::initializer_list<std::string_view> texts) {
  std::vector<Buffer> made;
  for (const std::string_view text : texts) made.push_back(Buffer::copy_of(as_bytes(text)));
  return made;
}

/// Tables whose master loses its answers to commits.
class ForgetfulTables final : public storage::RemoteTables {
 public:
  explicit ForgetfulTables(Result<void> abort_answer) : abort_answer_(std::move(abort_answer)) {}
  Result<std::string> resolve(const std::string&, const std::string&) override { return fail(unknown()); }
  Result<std::vector<storage::SplitGroup>> splits(const std::string&) override { return fail(unknown()); }
  Result<std::unique_ptr<storage::RemoteRows>> rows(const storage::Split&) override { return fail(unknown()); }
  Result<std::uint64_t> begin(const std::string&) override { return std::uint64_t{5}; }
  Result<void> keep(const std::string&, std::uint64_t) override { return {}; }
  Result<void> stage(const std::string&, std::uint64_t, std::uint64_t, std::vector<storage::RemoteRow>) override { return {}; }
  Result<void> commit(const std::string&, std::uint64_t, std::vector<std::uint64_t>) override {
    return fail(Code::deadline_exceeded, "no answer");
  }
  Result<void> abort(const std::string&, std::uint64_t id) override {
    EXPECT_EQ(id, 5u);
    ++aborts;
    return abort_answer_;
  }
  std::size_t aborts = 0;

 private:
  static Error unknown() { return {Code::not_found, "nothing is read here"}; }
  const Result<void> abort_answer_;
};

class FilesWithTables final : public storage::RemoteFiles, public storage::TablesBesideFiles {
 public:
  explicit FilesWithTables(Result<void> abort_answer) : all(std::move(abort_answer)) {}
  storage::RemoteTables* tables() override { return &all; }
  Result<storage::InputFiles> expand(const std::string&, const storage::DirectoryFilter&) override { return fail(none()); }
  Result<std::vector<storage::RemotePiece>> pieces(const std::string&, const storage::FileVersion&) override {
    return fail(none());
  }
  Result<std::unique_ptr<storage::RemoteFile>> open(const std::string&, const storage::FileVersion&) override {
    return fail(none());
  }
  Result<std::unique_ptr<storage::RemoteOutput>> create(const std::string&) override { return fail(none()); }
  Result<std::string> normal(const std::string&) override { return fail(none()); }
  Result<bool> exists(const std::string&) override { return fail(none()); }
  Result<void> make_directory(const std::string&) override { return fail(none()); }
  Result<std::vector<std::string>> names(const std::string&) override { return fail(none()); }
  Result<void> rename(const std::string&, const std::string&, bool) override { return fail(none()); }
  Result<void> remove(const std::string&) override { return fail(none()); }
  ForgetfulTables all;

 private:
  static Error none() { return {Code::not_found, "there are no files"}; }
};

class JobDataTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return scratch / name; }

  ScratchDirectory scratch;
  JobData data{nullptr, false};
};

TEST_F(JobDataTest, AnOutputIsThereOnceItIsCommitted) {
  const std::string work = data.open_output(path("out"));
  write_file(work + "/a", "one");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  data.commit(data.name_of(path("out")), names({"a"}));
  EXPECT_EQ(read_file(path("out") + "/part-00000"), "one");
}

TEST_F(JobDataTest, AnAbandonedOutputLeavesNothing) {
  write_file(data.open_output(path("out")) + "/a", "one");
  data.abandon_outputs();
  EXPECT_TRUE(entries(scratch.path()).empty());
}

TEST_F(JobDataTest, ACommitWhoseAnswerIsLostIsAskedFor) {
  struct Case {
    Result<void> answer;
    std::optional<bool> published;
    std::size_t aborts;  // with that of abandon_outputs()
  };
  const Case cases[] = {{fail(Code::already_exists, "it was committed"), true, 1},
                        {{}, false, 1},
                        {fail(Code::not_found, "the table was dropped"), false, 1},
                        {fail(Code::unavailable, "the master is away"), std::nullopt, 2}};
  for (const Case& one : cases) {
    const auto files = std::make_shared<FilesWithTables>(one.answer);
    JobData with_tables(files, false);
    with_tables.open_output("table://t");
    EXPECT_EQ(code_of([&] { with_tables.commit("table://t", names({"7"})); }), Code::deadline_exceeded);
    const auto published = with_tables.is_published("table://t");
    EXPECT_EQ(published ? std::optional(*published) : std::nullopt, one.published);
    with_tables.abandon_outputs();
    EXPECT_EQ(files->all.aborts, one.aborts);
  }
  EXPECT_FALSE(data.is_published(path("out")).value()) << "no table";
}

TEST_F(JobDataTest, APathHasOneNameHoweverItIsWritten) {
  EXPECT_EQ(data.name_of(path("a/../out/")), data.name_of(path("out")));
  data.open_output(path("out"));
  EXPECT_EQ(code_of([&] { data.open_output(path("./out")); }), Code::already_exists);
}

TEST_F(JobDataTest, AnInputMayNotLieInAnOutputThatWasOpenedBefore) {
  std::filesystem::create_directory(path("out"));
  write_file(path("out") + "/in", "mine");
  write_file(path("out") + "/_SUCCESS", "");
  JobData replacing(nullptr, true);
  replacing.open_output(path("out"));
  const std::vector<std::string> inputs = {path("out") + "/in"};
  EXPECT_EQ(code_of([&] { replacing.expand(inputs); }), Code::invalid_argument);
}

TEST_F(JobDataTest, WhatIsBoundToBeRefusedIsRefusedBeforeTheFirstAction) {
  std::filesystem::create_directory(path("foreign"));
  write_file(path("foreign") + "/mine", "mine");
  bool began = false;
  const auto count = [&](const std::string& output, const std::string& opened = {}) {
    detail::DriverSettings settings;
    settings.output = output;
    settings.overwrite = true;
    settings.open_session = [&](runtime::JobProgram&) -> Result<std::unique_ptr<client::Session>> {
      began = true;
      return fail(Code::cancelled, "far enough");
    };
    auto graph = std::make_shared<detail::DriverGraph>(std::move(settings));
    Flow flow(graph);
    const auto numbers = flow.from_vector(std::vector<int>{1, 2});
    if (!opened.empty()) numbers.write_text(opened);
    (void)numbers.count();
  };
  EXPECT_EQ(code_of([&] { count(path("foreign")); }), Code::already_exists);
  EXPECT_FALSE(began);
  EXPECT_EQ(code_of([&] { count(path("new")); }), Code::cancelled);
  EXPECT_TRUE(began);
  EXPECT_EQ(code_of([&] { count(path("foreign"), path("foreign") + "/numbers"); }), Code::cancelled)
      << "the program has its outputs below that directory";
}

TEST_F(JobDataTest, AnOutputMayNotHoldAnInput) {
  std::filesystem::create_directory(path("in"));
  write_file(path("in/a"), "x");
  const std::vector<std::string> inputs{path("in")};
  EXPECT_EQ(data.expand(inputs), std::vector<std::string>{path("in/a")});
  EXPECT_EQ(code_of([&] { data.open_output(path("in")); }), Code::invalid_argument);
}

TEST_F(JobDataTest, RelativePathsAreRefusedAwayFromTheDirectoryThatTheyAreRelativeTo) {
  data.is_away_from("/home/ann");
  for (const std::string relative : {"out", "./out", "file://out"}) {
    EXPECT_EQ(code_of([&] { data.open_output(relative); }), Code::invalid_argument) << relative;
    EXPECT_EQ(code_of([&] { data.check_output(relative); }), Code::invalid_argument) << relative;
    EXPECT_EQ(code_of([&] { data.expand(std::vector<std::string>{relative}); }), Code::invalid_argument) << relative;
  }
  data.open_output(path("out"));
  write_file(path("in"), "x");
  EXPECT_EQ(data.expand(std::vector<std::string>{path("in"), "file://" + path("in")}), std::vector<std::string>{path("in")});
  EXPECT_EQ(entries(scratch.path()).size(), 2u);
}

TEST_F(JobDataTest, WhatIsNoPlaceIsRefused) {
  EXPECT_EQ(code_of([&] { data.open_output(""); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { data.open_output("table://t"); }), Code::invalid_argument) << "there is no cluster";
  EXPECT_EQ(code_of([&] { data.expand(std::vector<std::string>{path("missing")}); }), Code::not_found);
}

TEST_F(JobDataTest, SkippedNamesAreRemembered) {
  std::filesystem::create_directory(path("in"));
  write_file(path("in/a"), "x");
  write_file(path("in/.hidden"), "x");
  data.expand(std::vector<std::string>{path("in")});
  ASSERT_EQ(data.input_notes().skipped.size(), 1u);
  EXPECT_NE(data.input_notes().skipped.begin()->find(".hidden"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
