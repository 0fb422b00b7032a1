// Keys with which drivers in the cluster attach to their jobs, over an end of the master.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/master/journal/journal_check.hpp"
#include "tests/engine/master/server/driver_hosts.hpp"
#include "tests/support/small_disk.hpp"

namespace weft::master {
namespace {

using namespace test;

/// With a journal, on a disk that can be made full: nothing gets durable then.
class KeysOfDrivers : public DriversTest {
 protected:
  void SetUp() override {
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    on_reactor([&] { ASSERT_TRUE(recorder.open(path, {}, [](const Error&) {})); });
  }
  void TearDown() override {
    disk.clear();
    on_reactor([&] {
      drivers.reset();
      recorder.end(false);
    });
  }
  void fill_disk() {
    disk.fill();
    on_reactor([&] { recorder.record({"w", std::string(100'000, 'c'), "larger than what is reserved"}); });
    ASSERT_TRUE(eventually([&] { return recorder.full().has_value(); }));
  }
  /// As the next master would read it.
  std::uint64_t key_on_disk(JobId job) const {
    std::uint64_t key = 0;
    EXPECT_TRUE(read_journal(path, [&](std::uint64_t, const JournalRecord& record) {
      const auto* const fact = record.fact ? std::get_if<DriverFact>(&*record.fact) : nullptr;
      if (fact != nullptr && record.job == job) key = fact->key;
    }));
    return key;
  }

  TempDir directory = TempDir::create("weft-keys-").value();
  weft::test::SmallDisk disk{(directory.path() / "disk").string(), 4};
  const std::string path = disk.path() + "/journal";
};

TEST_F(KeysOfDrivers, ADriverIsStartedWhenTheNextMasterWouldKnowItsKey) {
  make();
  const auto first = join(1, 4), second = join(2, 2);
  detach(1);
  ASSERT_TRUE(eventually([&] { return first->starts.size() == 1; }));
  EXPECT_EQ(key_on_disk(JobId(1)), first->starts[0].key);
  fill_disk();
  end(1, JobId(1), SIGKILL, "signal 9 (SIGKILL)");
  ASSERT_TRUE(eventually([&] { return states[JobId(1)].running && states[JobId(1)].died.size() == 1; }));
  on_reactor([] {});
  EXPECT_TRUE(second->starts.empty()) << "a master that is killed now would give its key once more";
  EXPECT_EQ(key_on_disk(JobId(1)), first->starts[0].key);
  disk.clear();
  ASSERT_TRUE(eventually([&] { return second->starts.size() == 1; }));
  EXPECT_EQ(second->starts[0].key, states[JobId(1)].key);
  EXPECT_EQ(key_on_disk(JobId(1)), second->starts[0].key);
  EXPECT_NE(second->starts[0].key, first->starts[0].key);
}

TEST_F(KeysOfDrivers, AWorkerThatIsLostBeforeThatIsSentNone) {
  make();
  const auto first = join(1, 4);
  fill_disk();
  detach(1);
  const std::uint64_t key = states[JobId(1)].key;
  EXPECT_TRUE(states[JobId(1)].running);
  lose(1);
  const auto second = join(2, 2);
  ASSERT_TRUE(eventually([&] { return states[JobId(1)].running && states[JobId(1)].key != key; }));
  disk.clear();
  ASSERT_TRUE(eventually([&] { return second->starts.size() == 1; }));
  EXPECT_EQ(second->starts[0].key, states[JobId(1)].key);
  EXPECT_TRUE(first->starts.empty());
}

TEST_F(KeysOfDrivers, AJobThatIsOverBeforeThatHasNoDriver) {
  make();
  const auto worker = join(1, 4);
  fill_disk();
  detach(1);
  on_reactor([&] { ASSERT_TRUE(apply(JobKilled{JobId(1), "enough"})); });
  disk.clear();
  detach(2);
  ASSERT_TRUE(eventually([&] { return worker->starts.size() == 1; }));
  EXPECT_EQ(worker->starts[0].job, JobId(2));
}

}  // namespace
}  // namespace weft::master
