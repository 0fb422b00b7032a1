// What a million files take: memory, the listing of a large directory, a restart. Prints the figures; judged is the memory only,
// since no test depends on speed. WEFT_LONG=1 takes a million files instead of a hundred thousand.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <gtest/gtest.h>
#include <malloc.h>

#include "base/file.hpp"
#include "base/sanitized.hpp"
#include "storage/namespace/namespace_store.hpp"
#include "tests/support/process.hpp"

namespace weft::storage {
namespace {

double seconds_of(const std::function<void()>& what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::size_t heap() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(NamespaceSize, AFileTakesAKibibyteAtMost) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const int count = std::getenv("WEFT_LONG") != nullptr ? 1'000'000 : 100'000;
  TempDir scratch = std::move(TempDir::create().value());
  auto store = std::move(NamespaceStore::open(scratch.path() / "namespace").value());
  std::vector<std::pair<NodeId, std::vector<ChunkInfo>>> reports;
  const std::size_t before = heap();
  auto ns = std::make_unique<Namespace>();
  for (std::uint32_t i = 1; i <= 6; ++i) {
    const std::string name = "w" + std::to_string(i);
    ASSERT_TRUE(ns->node_joined(NodeId(i), {name, name, i % 2 == 0 ? "A" : "B", name}, {0, std::uint64_t{1} << 50}, Time(0)));
    ASSERT_TRUE(ns->block_report(NodeId(i), {}, true, true));
    reports.push_back({NodeId(i), {}});
  }
  for (int i = 0; i < count; ++i) {
    const std::string directory = "/directory-" + std::to_string(i / 10'000);
    if (i % 10'000 == 0) {
      ASSERT_TRUE(ns->make_directory(directory, "ann", false, 1));
    }
    const auto lease = ns->create(directory + "/part-" + std::to_string(i % 10'000), "ann", {}, Time(0));
    ASSERT_TRUE(lease);
    const auto allocation = ns->allocate(*lease, "", {}, Time(0));
    ASSERT_TRUE(allocation);
    const ChunkInfo info{allocation->chunk, 1000, static_cast<std::uint32_t>(i)};
    ASSERT_TRUE(ns->seal(*lease, info, allocation->targets, Time(0)));
    ASSERT_TRUE(ns->complete(*lease, 1, Time(0)));
    if (i % 10'000 == 9'999) {
      ns->tick(Time(0));
      std::mutex mutex;
      std::condition_variable ended;
      bool done = false;
      store->commit(ns->take_changes(), [&](Result<void> written) {
        EXPECT_TRUE(written);
        const std::lock_guard lock(mutex);
        done = true;
        ended.notify_one();
      });
      std::unique_lock lock(mutex);
      ended.wait(lock, [&] { return done; });
    }
  }
  // Leases that are over are remembered for a while, for clients that ask twice.
  for (int i = 1; i <= 20; ++i) {
    const Time now = std::chrono::seconds(5 * i);
    for (const auto& [id, chunks] : reports) ASSERT_TRUE(ns->heartbeat(id, {0, std::uint64_t{1} << 50}, now));
    ns->tick(now);
  }
  const double per_file = static_cast<double>(heap() - before) / count;
  const double listing = seconds_of([&] { EXPECT_EQ(ns->list("/directory-3", "", 20'000).value().size(), 10'000u); });
  for (int i = 0; i < count; ++i) {
    const auto places =
        ns->locate("/directory-" + std::to_string(i / 10'000) + "/part-" + std::to_string(i % 10'000), 0, 1).value().chunks;
    for (const NodeId node : places[0].nodes) reports[node.value() - 1].second.push_back(places[0].info);
  }
  const std::string described = describe(*ns);
  ns.reset();
  store.reset();
  const double restart = seconds_of([&] {
    store = std::move(NamespaceStore::open(scratch.path() / "namespace").value());
    ns = std::make_unique<Namespace>();
    EXPECT_TRUE(store->load(*ns, Time(0), 0));
  });
  const double reporting = seconds_of([&] {
    for (const auto& [id, chunks] : reports) {
      const std::string name = "w" + std::to_string(id.value());
      EXPECT_TRUE(
          ns->node_joined(NodeId(id.value() + 10), {name, name, id.value() % 2 == 0 ? "A" : "B", name}, {0, 1u << 30}, Time(0)));
      EXPECT_TRUE(ns->block_report(NodeId(id.value() + 10), chunks, true, true));
    }
    ns->tick(std::chrono::seconds(1));
    ns->tick(std::chrono::seconds(4));
    EXPECT_FALSE(ns->report().safe_mode);
  });
  EXPECT_EQ(ns->report().under_replicated, 0u);
  std::printf(
      "namespace of %d files of one chunk with 3 replicas: %.0f bytes a file (limit 1024), 10000 entries listed in %.1f ms (limit "
      "50),\n"
      "restart: %.2f s to read (limit 10) and %.2f s for all block reports\n",
      count, per_file, listing * 1e3, restart, reporting);
  EXPECT_LE(per_file, 1024);
}

}  // namespace
}  // namespace weft::storage
