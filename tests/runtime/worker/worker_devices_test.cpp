// Which devices a worker takes, and which of them its tasks get.
#include "runtime/worker/worker_devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<Device> kAll{{"0.0", "cpu", 1u << 30, "Portable Computing Language", "pthread"},
                               {"1.0", "gpu", 80ull << 30, "NVIDIA CUDA", "H100"},
                               {"1.1", "gpu", 80ull << 30, "NVIDIA CUDA", "H100"},
                               {"2.0", "accelerator", 1ull << 30, "Somebody", "FPGA"}};

std::vector<std::string> chosen(std::string_view wanted, const std::vector<Device>& all = kAll) {
  const auto devices = choose_devices(wanted, all);
  if (!devices) return {"error: " + devices.error().to_string()};
  std::vector<std::string> labels;
  for (const Device& device : *devices) labels.push_back(device.label);
  return labels;
}

TEST(WorkerDevices, AreChosenByKindOrLabel) {
  EXPECT_THAT(chosen("none"), IsEmpty());
  EXPECT_THAT(chosen("auto"), ElementsAre("1.0", "1.1"));
  EXPECT_THAT(chosen("auto", {kAll[0], kAll[3]}), ElementsAre("2.0")) << "never the processor itself";
  EXPECT_THAT(chosen("auto", {kAll[0]}), IsEmpty());
  EXPECT_THAT(chosen("cpu"), ElementsAre("0.0"));
  EXPECT_THAT(chosen("1.1, 1.0"), ElementsAre("1.1", "1.0"));
}

TEST(WorkerDevices, ThatCannotBeAreRefusedByName) {
  EXPECT_THAT(chosen("3.0").at(0), HasSubstr("there is no device 3.0; there are 0.0 (cpu, pthread), 1.0 (gpu, H100)"));
  EXPECT_THAT(chosen("3.0", {}).at(0), HasSubstr("there is no device 3.0; there is none"));
  EXPECT_THAT(chosen("gpu0").at(0), HasSubstr("'gpu0' is neither none, auto nor cpu, nor a label"));
  EXPECT_THAT(chosen("1.0,").at(0), HasSubstr("'' is neither none"));
  EXPECT_THAT(chosen("1.0,1.0").at(0), HasSubstr("names 1.0 twice"));
  EXPECT_THAT(chosen("0.0,1.0").at(0), HasSubstr("0.0 is a cpu and 1.0 a gpu; start a worker for each kind"));
}

TEST(WorkerDevices, OfAWorkerWithoutThemChangeNothing) {
  auto none = WorkerDevices::open("none");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
  EXPECT_EQ(none->capacity("memory=1GiB"), "memory=1GiB");
  EXPECT_THAT(none->attributes(), IsEmpty());
  EXPECT_THAT(none->environment(std::nullopt), IsEmpty());
  EXPECT_FALSE(none->take({{JobId(1), StageId(0), 0}, 0}));
  EXPECT_FALSE(none->all_held());
}

AttemptId attempt(std::uint32_t task) { return {{JobId(1), StageId(0), task}, 0}; }

TEST(WorkerDevices, AreHeldByOneAttemptAtATimeAndByOneWorker) {
  std::vector<Device> two{kAll[1], kAll[2]};
  for (Device& device : two) device.name += " of process " + std::to_string(getpid());
  auto devices = WorkerDevices::claimed(two, true);
  ASSERT_TRUE(devices) << devices.error().to_string();
  EXPECT_EQ(devices->capacity("memory=1GiB"), "memory=1GiB,accelerator=2");
  EXPECT_EQ(devices->capacity(""), "accelerator=2");
  EXPECT_EQ(devices->take(attempt(1)), 0u);
  EXPECT_FALSE(devices->all_held());
  EXPECT_EQ(devices->take(attempt(2)), 1u);
  EXPECT_TRUE(devices->all_held());
  EXPECT_TRUE(devices->is_holder(attempt(2)));
  EXPECT_FALSE(devices->is_holder(attempt(3)));
  EXPECT_EQ(devices->take(attempt(1)), 0u) << "it has it already";
  EXPECT_FALSE(devices->take(attempt(3)));
  devices->give_back(attempt(3));
  devices->give_back(attempt(1));
  EXPECT_FALSE(devices->all_held());
  EXPECT_EQ(devices->take(attempt(3)), 0u);

  const auto again = WorkerDevices::claimed(two, true);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().to_string(), HasSubstr("another worker of this machine has device 1.0"));
  const auto rest = WorkerDevices::claimed(two, false);
  ASSERT_TRUE(rest);
  EXPECT_TRUE(rest->empty());
  two[0].name += ", another";
  EXPECT_TRUE(WorkerDevices::claimed({two[0]}, true)) << "labels are the same where drivers differ";
}

TEST(WorkerDevices, AreTheOnlyOnesThatTheirTasksSee) {
  Device nvidia = kAll[2], intel = kAll[2];
  nvidia.name = intel.name = "seen by process " + std::to_string(getpid());
  intel.platform = "Intel(R) OpenCL Graphics";
  const auto devices = WorkerDevices::claimed({nvidia, intel}, true);
  ASSERT_TRUE(devices) << devices.error().to_string();
  EXPECT_THAT(devices->environment(0), ElementsAre("WEFT_DEVICE=1.1", "CUDA_VISIBLE_DEVICES=1", "HIP_VISIBLE_DEVICES=-1"));
  EXPECT_THAT(devices->environment(1),
              ElementsAre("WEFT_DEVICE=1.1", "CUDA_VISIBLE_DEVICES=-1", "HIP_VISIBLE_DEVICES=-1", "ZE_AFFINITY_MASK=1"));
  EXPECT_THAT(devices->environment(std::nullopt), ElementsAre("WEFT_DEVICE=", "CUDA_VISIBLE_DEVICES=-1", "HIP_VISIBLE_DEVICES=-1"));
}

}  // namespace
}  // namespace weft::runtime
