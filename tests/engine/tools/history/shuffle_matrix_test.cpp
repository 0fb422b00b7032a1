// From whose maps to whose readers bytes went.
#include "engine/tools/history/shuffle_matrix.hpp"

#include <gtest/gtest.h>

#include "tests/engine/tools/history/lines.hpp"

namespace weft::history {
namespace {

using Bytes = std::vector<std::vector<std::uint64_t>>;

/// Two maps on workers 1 and 2, of two partitions each.
WrittenLog shuffled() {
  WrittenLog written;
  written.worker(0, 1, "w1");
  written.worker(0, 2, "w2");
  written.job(0, 1);
  written.stage(0, 1, 0, 2);
  written.stage(0, 1, 1, 2, {0});
  written.launch(1, 1, 0, 0, 0, 1);
  written.launch(1, 1, 0, 1, 0, 2);
  written.finish(2, 1, 0, 0, 0, 1, {10, 20});
  written.finish(2, 1, 0, 1, 0, 2, {3, 4});
  return written;
}

void read(WrittenLog& written, std::uint32_t task, std::uint32_t node, std::uint32_t partitions = 1) {
  auto launched = written.attempt(3, "task_launched", 1, 1, task, 0, node);
  launched.partitions = partitions;
  written.history.apply(launched);
  written.finish(4, 1, 1, task, 0, node);
}

TEST(ShuffleMatrix, HasWhatEachWorkerReadOfEach) {
  WrittenLog written = shuffled();
  read(written, 1, 1);
  read(written, 0, 2);
  const auto matrix = shuffle_matrix(written.history, *written.history.job(1), false);
  EXPECT_EQ(matrix.names, (std::vector<std::string>{"w1", "w2"}));
  EXPECT_EQ(matrix.bytes, (Bytes{{20, 10}, {4, 3}}));
  EXPECT_TRUE(matrix.left_out.empty());
  const auto racks = shuffle_matrix(written.history, *written.history.job(1), true);
  EXPECT_EQ(racks.names, std::vector<std::string>{"r1"});
  EXPECT_EQ(racks.bytes, Bytes{{37}});
  EXPECT_EQ(shuffle_matrix_json(racks), "{\"by\":\"rack\",\"names\":[\"r1\"],\"bytes\":[[37]],\"stages_left_out\":[]}\n");
}

TEST(ShuffleMatrix, OnlyWhatFinishedHasRead) {
  WrittenLog written = shuffled();
  read(written, 1, 2);
  written.launch(5, 1, 1, 0, 0, 1);
  EXPECT_EQ(shuffle_matrix(written.history, *written.history.job(1), false).bytes, (Bytes{{0, 20}, {0, 4}}));
}

TEST(ShuffleMatrix, ATaskOfMergedPartitionsReadsThemAll) {
  WrittenLog written = shuffled();
  read(written, 0, 2, 2);
  EXPECT_EQ(shuffle_matrix(written.history, *written.history.job(1), false).bytes, (Bytes{{0, 30}, {0, 7}}));
}

TEST(ShuffleMatrix, SplitPartitionsAreLeftOut) {
  WrittenLog written = shuffled();
  for (std::uint32_t task = 0; task < 3; ++task) read(written, task, 2);
  const auto matrix = shuffle_matrix(written.history, *written.history.job(1), false);
  EXPECT_EQ(matrix.bytes, (Bytes{{0, 0}, {0, 0}}));
  EXPECT_EQ(matrix.left_out, std::vector<std::uint32_t>{1});
}

TEST(ShuffleMatrix, WhatALostWorkerWroteIsWrittenAgainElsewhere) {
  WrittenLog written = shuffled();
  written.lost(3, 1, "gone");
  written.launch(3, 1, 0, 0, 1, 2);
  written.finish(4, 1, 0, 0, 1, 2, {10, 20});
  read(written, 0, 2);
  const auto matrix = shuffle_matrix(written.history, *written.history.job(1), false);
  EXPECT_EQ(matrix.names, (std::vector<std::string>{"w1", "w2"}));
  EXPECT_EQ(matrix.bytes, (Bytes{{0, 0}, {0, 13}}));
}

TEST(ShuffleMatrix, TheEarliestJobsAreLeftOutWhenThereIsTooMuch) {
  WrittenLog written;
  written.worker(0, 1, "w1");
  for (std::uint64_t job = 1; job <= 5; ++job) {
    written.job(0, job);
    written.stage(0, job, 0, 1);
    written.stage(0, job, 1, 1, {0});
    written.launch(1, job, 0, 0, 0, 1);
    written.finish(2, job, 0, 0, 0, 1, std::vector<std::uint64_t>(kMostOutputCells / 4, 1));
    written.launch(3, job, 1, 0, 0, 1);
    written.finish(4, job, 1, 0, 0, 1);
  }
  const auto matrix = [&written](std::uint64_t job) { return shuffle_matrix(written.history, *written.history.job(job), false); };
  EXPECT_EQ(matrix(1).left_out, std::vector<std::uint32_t>{1});
  EXPECT_EQ(matrix(1).bytes, Bytes{{0}});
  EXPECT_TRUE(matrix(2).left_out.empty());
  EXPECT_EQ(matrix(5).bytes, Bytes{{1}});
}

}  // namespace
}  // namespace weft::history
