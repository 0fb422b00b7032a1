#include <csignal>
#include <sstream>

#include <gtest/gtest.h>

#include "base/sanitized.hpp"
#include "tests/storage/transfer_fixture.hpp"

namespace weft::storage {
namespace {

using namespace std::chrono_literals;

struct ServerProcess {
  explicit ServerProcess(const std::string& directory)
      : process(std::make_unique<test::Process>(std::vector<std::string>{CHUNK_CHILD, "serve", directory})) {
    EXPECT_TRUE(test::eventually([&] { return process->out_so_far().find('\n') != std::string::npos; })) << process->err_so_far();
    address = process->out_so_far();
    address.resize(address.find('\n'));
  }
  std::unique_ptr<test::Process> process;
  std::string address;
};

TEST_F(ChunkTransferTest, WhatIsAcknowledgedSurvivesTheDeathOfAnyMember) {
  client_ = std::make_unique<ChunkClient>(*reactor_, quick_options());
  std::size_t survived = 0;
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 6u : 20u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<ServerProcess> servers;
    std::vector<std::string> targets;
    const auto home = [&](std::size_t i) { return scratch_ / ("s" + std::to_string(seed) + "-" + std::to_string(i)); };
    for (std::size_t i = 0; i < 3; ++i) targets.push_back(servers.emplace_back(home(i)).address);
    const std::size_t victim = random.below(3);
    const std::uint64_t delay = random.below(60'000);
    std::thread killer([&] {
      ::usleep(static_cast<useconds_t>(delay));
      servers[victim].process->signal(SIGKILL);
    });
    const auto written = write_chunk(*client_, ChunkId(seed), 1 + random.below(20'000'000), targets, random);
    killer.join();
    for (auto& server : servers) server.process->signal(SIGKILL);
    for (auto& server : servers) server.process->wait();
    if (!written) {
      EXPECT_EQ(victim, 0u) << written.error().to_string();  // only the first can end it
      continue;
    }
    ++survived;
    EXPECT_EQ(written->durable.size() + written->failures.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      auto store = open_store(quiet_options({home(i)}, events_[i].listener()));
      ASSERT_NE(store, nullptr);
      const bool durable = std::count(written->durable.begin(), written->durable.end(), targets[i]) != 0;
      if (!durable) continue;
      const auto content = read_chunk(*store, written->info);
      ASSERT_TRUE(content) << content.error().to_string();
      EXPECT_TRUE(*content == content_of(seed, written->info.length));
    }
  }
  EXPECT_GT(survived, 0u);
  for (const Events& events : events_) EXPECT_TRUE(events.of(ChunkEvent::corrupt).empty());
}

TEST_F(ChunkTransferTest, TheDeathOfAWriterLeavesWholeChunksOnly) {
  start(3);
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 6u : 20u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::string> command = {CHUNK_CHILD, "put", std::to_string(seed * 1000)};
    for (const std::string& address : addresses()) command.push_back(address);
    test::Process writer(command);
    const std::size_t enough = random.below(6) * 8;
    ASSERT_TRUE(test::eventually([&] { return writer.out_so_far().size() >= enough; }));
    ::usleep(static_cast<useconds_t>(random.below(30'000)));
    writer.signal(SIGKILL);
    const std::string out = writer.wait().out;
    std::istringstream lines(out.substr(0, out.rfind('\n') + 1));
    std::uint64_t id = 0, length = 0;
    while (lines >> id >> length)
      for (const auto& worker : workers_) EXPECT_EQ(worker->store().find(ChunkId(id)).value_or(ChunkInfo{}).length, length);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(test::eventually([&] { return test::entries(directory(i) + "/unsealed").empty(); }));
  }
  for (const auto& worker : workers_) {
    for (const StoredChunk& chunk : worker->store().list()) {
      const auto content = read_chunk(worker->store(), chunk.info);
      ASSERT_TRUE(content);
      EXPECT_TRUE(*content == content_of(chunk.info.id.value(), chunk.info.length));
    }
  }
}

}  // namespace
}  // namespace weft::storage
