// What tests of jobs and of the command line on stores of others have in common: files put there, commands, and what they wrote.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/file_cluster.hpp"

namespace weft::test {

/// A test on a store that `environment` leads to. Paths of the store are URLs.
class StoreJobs : public testing::Test {
 protected:
  ProcessResult run_there(const std::vector<std::string>& command) {
    return run(command, {.environment = environment, .deadline = std::chrono::seconds(300)});
  }
  /// `weft fs` with these words, which must do.
  ProcessResult good(std::vector<std::string> words) {
    words.insert(words.begin(), {program("weft"), "fs"});
    const ProcessResult result = run_there(words);
    EXPECT_EQ(result.exit_code, 0) << words[2] << ": " << result.err;
    return result;
  }
  void put(const std::string& content, const std::string& url) {
    write_file(files / "content", content);
    good({"cp", "--overwrite", files / "content", url});
  }
  /// What a command says that must fail, in one line.
  std::string refusal(const std::vector<std::string>& command) {
    const ProcessResult result = run_there(command);
    EXPECT_EQ(result.exit_code, 1) << result.out;
    EXPECT_TRUE(one_line(result.err)) << result.err;
    return result.err;
  }
  /// Of all parts of an output.
  std::vector<std::string> sorted_lines(const std::string& url) {
    const std::string text = good({"cat", url + "/part-*"}).out;
    std::vector<std::string> lines;
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      lines.push_back(text.substr(begin, end - begin));
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  /// A WordCount in this process, with private workers, and on a cluster: equal to `expected` each time, and again over what is
  /// there.
  void expect_counts_everywhere(const std::string& inputs, const std::string& output, const std::vector<std::string>& expected) {
    FileClusterOptions options;
    options.environment = environment;
    FileCluster cluster(3, options);
    const std::vector<std::vector<std::string>> places{{}, {"--workers", "2"}, {"--cluster", cluster.address()}};
    int number = 0;
    for (const auto& where : places) {
      const std::string target = output + "-" + std::to_string(++number);
      std::vector<std::string> command{program("wordcount"), "--quiet", "--input", inputs, "--output", target, "--partitions", "5"};
      command.insert(command.end(), where.begin(), where.end());
      const ProcessResult result = run_there(command);
      ASSERT_EQ(result.exit_code, 0) << number << ": " << result.err;
      EXPECT_TRUE(sorted_lines(target) == expected) << number;
      EXPECT_TRUE(has(good({"ls", target}).out, "_SUCCESS"));
      EXPECT_TRUE(has(refusal(command), "exists; remove it, or use --overwrite"));
      command.emplace_back("--overwrite");
      EXPECT_EQ(run_there(command).exit_code, 0);
      EXPECT_TRUE(sorted_lines(target) == expected) << number;
    }
  }

  ScratchDirectory files;
  std::map<std::string, std::string> environment;
};

}  // namespace weft::test
