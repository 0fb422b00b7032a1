// Batches on a real implementation of OpenCL, compared with what the processor computes.
#include "runtime/devices/kernel_run.hpp"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sanitized.hpp"
#include "runtime/devices/device.hpp"
#include "runtime/operators/fault.hpp"

namespace weft::runtime {
namespace {

constexpr int kFaultExit = 86;

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kDoubled = R"(
kernel void doubled(global const ulong* in, global ulong* out, uint records, ulong added) {
  const size_t i = get_global_id(0);
  if (i < records) out[i] = 2 * in[i] + added;
}
)";

class KernelRunTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the driver is not built for sanitizers";
    std::string why;
    const auto devices = find_devices(why);
    if (devices.empty()) GTEST_SKIP() << "no OpenCL device: " << why;
    setenv(kDeviceVariable, devices.front().label.c_str(), 1);
    context_.stop = &stop_;
    context_.memory = &grant_;
  }

  static KernelCode code(const char* name, const char* source) {
    KernelCode made;
    made.name = name;
    made.source = source;
    made.file = "jobs/example.cpp";
    made.line = 100;
    made.in_bytes = made.out_bytes = sizeof(std::uint64_t);
    return made;
  }
  static KernelCode doubled(std::uint64_t added) {
    KernelCode made = code("doubled", kDoubled);
    made.values.push_back({std::string(reinterpret_cast<const char*>(&added), sizeof added), false});
    return made;
  }

  /// What the kernel makes of 0, 1, 2, …; where a batch is the host's, 2 n + 1.
  std::vector<std::uint64_t> run(KernelRun& batches, std::uint64_t count) {
    std::vector<std::uint64_t> given;
    const auto take = [&](const KernelBatch* batch) {
      if (batch == nullptr) return;
      ++batches_;
      for (std::uint32_t i = 0; i < batch->records; ++i) {
        std::uint64_t value = 0;
        std::memcpy(&value, (batch->on_host ? batch->in : batch->out) + i * sizeof value, sizeof value);
        given.push_back(batch->on_host ? 2 * value + 1 : value);
      }
    };
    for (std::uint64_t i = 0; i < count; ++i) {
      std::byte* place = batches.place(sizeof i);
      if (place == nullptr) {
        take(batches.start());
        place = batches.place(sizeof i);
      }
      std::memcpy(place, &i, sizeof i);
    }
    take(batches.start());
    take(batches.start());
    return given;
  }
  static std::vector<std::uint64_t> expected(std::uint64_t count) {
    std::vector<std::uint64_t> all(count);
    for (std::uint64_t i = 0; i < count; ++i) all[i] = 2 * i + 1;
    return all;
  }
  std::string refusal(const KernelCode& of) {
    try {
      (void)KernelRun::open(of, context_);
    } catch (const TaskError& fault) {
      return fault.error.to_string();
    } catch (const std::exception& fault) {
      return fault.what();
    }
    return "none";
  }

  std::atomic<bool> stop_{false};
  MemoryGrant grant_{64u << 20};
  OperatorContext context_;
  std::uint64_t batches_ = 0;
};

TEST_F(KernelRunTest, GivesTheRecordsOfAllBatchesInTheirOrder) {
  for (const std::uint64_t count : {0ul, 1ul, 99ul, 100ul, 101ul, 200ul, 1234ul}) {
    KernelCode small = doubled(1);
    small.records = 100;
    batches_ = 0;
    const auto batches = KernelRun::open(small, context_);
    ASSERT_TRUE(batches);
    EXPECT_EQ(run(*batches, count), expected(count));
    EXPECT_EQ(batches_, (count + 99) / 100);
  }
  EXPECT_EQ(grant_.used(), 0u) << "what a run took of the grant comes back";
}

TEST_F(KernelRunTest, TakesSmallerBatchesOfASmallGrant) {
  MemoryGrant little(300u << 10), nothing(1000);
  context_.memory = &little;
  {
    const auto batches = KernelRun::open(doubled(1), context_);
    ASSERT_TRUE(batches);
    EXPECT_EQ(run(*batches, 100'000), expected(100'000));
    EXPECT_GT(batches_, 1u);
    EXPECT_LE(little.peak(), little.limit());
  }
  context_.memory = &nothing;
  EXPECT_FALSE(KernelRun::open(doubled(1), context_)) << "the operator's own function runs";
}

TEST_F(KernelRunTest, GivesEachRecordAWorkGroupThatAsksForOne) {
  KernelCode sums = code("sum", R"(
kernel void sum(global const ulong* in, global ulong* out, uint records, global const uint* more) {
  local uint total;
  if (get_local_id(0) == 0) total = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&total, more[get_local_id(0)]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) out[get_group_id(0)] = 2 * in[get_group_id(0)] + total;
}
)");
  std::vector<std::uint32_t> numbers(16, 0);
  numbers[3] = 1;
  sums.group = 16;
  sums.values.push_back({std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof numbers[0]), true});
  const auto batches = KernelRun::open(sums, context_);
  ASSERT_TRUE(batches);
  EXPECT_EQ(run(*batches, 5000), expected(5000));
}

TEST_F(KernelRunTest, ComputesTextsInPlace) {
  KernelCode upper = code("upper", R"(
kernel void upper(global const uchar* in, global const uint* starts, global uchar* out, uint records) {
  const size_t i = get_global_id(0);
  if (i >= records) return;
  for (uint at = starts[i]; at < starts[i + 1]; ++at) out[at] = in[at] >= 'a' && in[at] <= 'z' ? in[at] - 32 : in[at];
}
)");
  upper.in_bytes = upper.out_bytes = 0;
  const auto batches = KernelRun::open(upper, context_);
  ASSERT_TRUE(batches);
  const std::vector<std::string> words{"one", "", "Two", "three and more"};
  for (const std::string& word : words) std::memcpy(batches->place(word.size()), word.data(), word.size());
  EXPECT_EQ(batches->place(kBatchBytes + 1), nullptr);
  EXPECT_EQ(batches->start(), nullptr) << "the first batch is on its way";
  EXPECT_EQ(batches->place(kBatchBytes + 1), nullptr) << "longer than a batch can be";
  const KernelBatch* batch = batches->start();
  ASSERT_NE(batch, nullptr);
  std::vector<std::string> given;
  for (std::uint32_t i = 0; i < batch->records; ++i)
    given.emplace_back(reinterpret_cast<const char*>(batch->out) + batch->starts[i], batch->starts[i + 1] - batch->starts[i]);
  EXPECT_THAT(given, testing::ElementsAre("ONE", "", "TWO", "THREE AND MORE"));
  for (int i = 0; i < 2; ++i) EXPECT_NE(batches->place(0), nullptr);
  EXPECT_EQ(batches->start(), nullptr);
  batch = batches->start();
  ASSERT_NE(batch, nullptr) << "there is nothing to bring, and two records";
  EXPECT_EQ(batch->records, 2u);
  EXPECT_EQ(batch->starts[2], 0u);
}

std::uint64_t open_files() {
  std::uint64_t count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// Of this process, in pages.
std::uint64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident;
}

TEST_F(KernelRunTest, LeavesNothingBehindInAThousandTasks) {
  KernelCode some = doubled(1);
  some.records = 1000;
  some.values.push_back({std::string(100'000, 'x'), true});
  some.source.replace(some.source.find("ulong added"), 11, "ulong added, global const uchar* more");
  const auto tasks = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const auto batches = KernelRun::open(some, context_);
      ASSERT_TRUE(batches);
      ASSERT_EQ(run(*batches, 2500).size(), 2500u);
    }
  };
  tasks(100);  // the driver has its threads and its caches
  const std::uint64_t files = open_files(), pages = resident();
  tasks(1000);
  EXPECT_EQ(open_files(), files);
  EXPECT_LT(resident(), pages + (4u << 20) / 4096) << "a leak of a batch's buffers would be a hundred times as much";
}

TEST_F(KernelRunTest, RefusesWhatDoesNotCompileInOneLineThatNamesThePlace) {
  KernelCode wrong = doubled(1);
  wrong.source = "kernel void doubled(global const ulong* in, global ulong* out, uint records, ulong added) {\n  nothing = 1;\n}\n";
  EXPECT_THAT(refusal(wrong), AllOf(HasSubstr("kernel 'doubled' (example.cpp:100) does not compile"), HasSubstr("example.cpp:101"),
                                    HasSubstr("nothing"), testing::Not(HasSubstr("\n"))));
}

TEST_F(KernelRunTest, RefusesAnotherNameAndOtherParameters) {
  KernelCode other = doubled(1);
  other.name = "tripled";
  EXPECT_THAT(refusal(other), HasSubstr("the source at example.cpp:100 has no kernel 'tripled'"));
  KernelCode fewer = doubled(1);
  fewer.values.clear();
  EXPECT_THAT(refusal(fewer), HasSubstr("has 4 parameters: it needs 3 (in, out, records)"));
}

TEST_F(KernelRunTest, DoesNotWaitForAKernelForEver) {
  KernelCode endless = code("endless", R"(
kernel void endless(global const ulong* in, global ulong* out, uint records) {
  for (ulong i = 0; i < 4000000000ul * (in[0] + 1); ++i) out[0] += i ^ out[0];
}
)");
  endless.limit = std::chrono::milliseconds(20);
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the driver's threads are not in a forked process
  EXPECT_EXIT(
      {
        end_process_on_device_faults(kFaultExit);
        auto batches = KernelRun::open(endless, context_);
        (void)run(*batches, 1);
      },
      testing::ExitedWithCode(kFaultExit), "kernel 'endless' .jobs/example.cpp:100. on device .* did not end within 20");
}

}  // namespace
}  // namespace weft::runtime
