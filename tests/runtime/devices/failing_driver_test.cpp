// Batches on a driver whose failures the tests choose (tests/support/fake_opencl.cpp); its kernels copy their input. A process can
// load one driver only, so each test runs in a process of its own.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "runtime/devices/device.hpp"
#include "runtime/devices/kernel_run.hpp"

namespace weft::runtime {
namespace {

constexpr int kGaveUp = 86;

using Settings = std::vector<std::pair<const char*, const char*>>;

/// How many of the numbers 0, 1, 2, … came back in their order, from batches of `records`; and how many of the batches were left to
/// the host.
std::pair<std::uint64_t, int> copied(KernelRun& batches, std::uint64_t count) {
  std::uint64_t right = 0;
  int on_host = 0;
  const auto take = [&](const KernelBatch* batch) {
    if (batch == nullptr) return;
    on_host += batch->on_host ? 1 : 0;
    for (std::uint32_t i = 0; i < batch->records; ++i) {
      std::uint64_t value = 0;
      std::memcpy(&value, (batch->on_host ? batch->in : batch->out) + i * sizeof value, sizeof value);
      right += value == right ? 1 : 0;
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
  return {right, on_host};
}

/// A run whose batch is on the device when it is given up, as when its task is to stop.
[[noreturn]] void give_up_and_exit(const Settings& settings, int exit_code) {
  for (const auto& [name, value] : settings) setenv(name, value, 1);
  setenv(kDeviceVariable, "0.0", 1);
  if (dlopen(WEFT_FAKE_OPENCL, RTLD_NOW) == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  end_process_on_device_faults(exit_code);
  KernelCode code;
  code.name = "copies";
  code.in_bytes = code.out_bytes = sizeof(std::uint64_t);
  OperatorContext context;
  {
    const auto batches = KernelRun::open(code, context);
    std::memset(batches->place(8), 0, 8);
    (void)batches->start();
  }
  std::fprintf(stderr, "the process goes on\n");
  std::exit(0);
}

/// Says on standard error how a run of 1,000,000 records goes, and ends the process.
[[noreturn]] void run_and_exit(const Settings& settings) {
  for (const auto& [name, value] : settings) setenv(name, value, 1);
  setenv(kDeviceVariable, "0.0", 1);
  void* const library = dlopen(WEFT_FAKE_OPENCL, RTLD_NOW);
  if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  const auto held = reinterpret_cast<int (*)()>(dlsym(library, "fake_opencl_held"));
  end_process_on_device_faults(kGaveUp);
  KernelCode code;
  code.name = "copies";
  code.in_bytes = code.out_bytes = sizeof(std::uint64_t);
  MemoryGrant grant(64u << 20);
  OperatorContext context;
  context.memory = &grant;
  {
    const auto batches = KernelRun::open(code, context);
    if (!batches) {
      std::fprintf(stderr, "the function runs; %zu bytes and %d objects are held\n", static_cast<std::size_t>(grant.used()),
                   held());
      std::exit(0);
    }
    const auto [right, on_host] = copied(*batches, 1'000'000);
    std::fprintf(stderr, "%zu right, %d batches on the host\n", static_cast<std::size_t>(right), on_host);
  }
  if (held() != 0) std::fprintf(stderr, "%d objects of the driver are left\n", held());
  std::exit(grant.used() == 0 && held() == 0 ? 0 : 1);
}

class FailingDriver : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(FailingDriver, ThatDoesNotFailRunsEveryBatch) {
  EXPECT_EXIT(run_and_exit({}), testing::ExitedWithCode(0), "1000000 right, 0 batches on the host");
}

TEST_F(FailingDriver, WithLittleMemoryGetsSmallerBatches) {
  EXPECT_EXIT(run_and_exit({{"FAKE_OPENCL_LARGEST", "100000"}}), testing::ExitedWithCode(0),
              "1000000 right, 0 batches on the host");
}

TEST_F(FailingDriver, WithNoMemoryLeavesTheTaskToTheHost) {
  EXPECT_EXIT(run_and_exit({{"FAKE_OPENCL_LARGEST", "65535"}}), testing::ExitedWithCode(0),
              "the function runs; 0 bytes and 0 objects are held");
}

TEST_F(FailingDriver, ThatRunsOutOfResourcesLeavesFurtherBatchesToTheHost) {
  EXPECT_EXIT(run_and_exit({{"FAKE_OPENCL_REFUSES", "1"}}), testing::ExitedWithCode(0), "1000000 right, 1 batches on the host");
  EXPECT_EXIT(run_and_exit({{"FAKE_OPENCL_REFUSES", "0"}}), testing::ExitedWithCode(0), "1000000 right, 2 batches on the host");
}

TEST_F(FailingDriver, ThatFailsAKernelEndsTheProcess) {
  EXPECT_EXIT(run_and_exit({{"FAKE_OPENCL_FAILS", "1"}}), testing::ExitedWithCode(kGaveUp),
              "kernel 'copies' on device fake: it failed: OpenCL error -9999");
}

TEST_F(FailingDriver, WhoseBatchDoesNotEndWhenItsTaskStopsEndsTheExecutor) {
  const Settings holds{{"FAKE_OPENCL_HOLDS", "/proc/self"}};
  EXPECT_EXIT(give_up_and_exit(holds, kGaveUp), testing::ExitedWithCode(kGaveUp),
              "kernel 'copies' on device fake did not end when its task was stopped");
  EXPECT_EXIT(give_up_and_exit(holds, 0), testing::ExitedWithCode(0), "the process goes on") << "of an embedded run";
  EXPECT_EXIT(give_up_and_exit({}, kGaveUp), testing::ExitedWithCode(0), "the process goes on") << "a batch that has ended";
}

TEST_F(FailingDriver, WhoseBatchFailsWhenNobodyWantsItEndsNothing) {
  EXPECT_EXIT(give_up_and_exit({{"FAKE_OPENCL_FAILS", "1"}}, kGaveUp), testing::ExitedWithCode(0), "the process goes on");
}

}  // namespace
}  // namespace weft::runtime
