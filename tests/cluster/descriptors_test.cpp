// Jobs with more map outputs and partitions than a process may have open files, as in containers: they are right, and where there
// is room for nothing, a line says of what.
#include <algorithm>
#include <cctype>
#include <map>

#include "base/sanitized.hpp"
#include "tests/cluster/file_cluster.hpp"

namespace weft::test {
namespace {

class Descriptors : public testing::Test {
 protected:
  void SetUp() override { write_file(files_ / "words", text_); }

  /// rankedindex in that many partitions: a shuffle of as many maps, each of which wrote next to nothing.
  ProcessResult index(int descriptors, int partitions, const std::vector<std::string>& where) {
    std::vector<std::string> words{"/bin/sh",
                                   "-c",
                                   "ulimit -n " + std::to_string(descriptors) + "; exec \"$@\"",
                                   "sh",
                                   program("rankedindex"),
                                   "--quiet",
                                   "--overwrite",
                                   "--input",
                                   files_ / "words",
                                   "--output",
                                   files_ / "out",
                                   "--partitions",
                                   std::to_string(partitions)};
    words.insert(words.end(), where.begin(), where.end());
    return run(words, {.environment = {}, .deadline = std::chrono::seconds(250)});
  }
  std::vector<std::string> expected() const {
    std::map<std::string, int> counts;
    std::string word;
    for (const char c : text_ + " ") {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        word += c;
      } else if (!word.empty()) {
        ++counts[std::exchange(word, {})];
      }
    }
    std::vector<std::string> lines;
    for (const auto& [name, count] : counts) lines.push_back(name + "\t" + std::to_string(count) + " " + (files_ / "words"));
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  std::vector<std::string> found() const {
    auto lines = part_lines(files_ / "out");
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  ScratchDirectory files_;
  const std::string text_ = some_text(3'000, 4);
};

TEST_F(Descriptors, ThatAreFewerThanMapOutputsSuffice) {
  for (const std::vector<std::string>& where : {std::vector<std::string>{"--threads", "2"}, {"--workers", "3"}}) {
    const ProcessResult ran = index(256, 700, where);
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(found(), expected());
  }
}

TEST_F(Descriptors, ThatAreTooFewForAnythingAreNamed) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  const ProcessResult ran = index(30, 50, {"--workers", "2"});
  ASSERT_NE(ran.exit_code, 0);
  EXPECT_TRUE(has(ran.err, "open files")) << ran.err;
  EXPECT_FALSE(has(ran.err, "exit code 0")) << ran.err;
}

}  // namespace
}  // namespace weft::test
