// Labels and lines of devices, and the list of those of this machine.
#include "runtime/devices/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

TEST(Devices, HaveLabelsOfPlatformAndNumber) {
  const auto label = parse_device_label("1.20");
  ASSERT_TRUE(label);
  EXPECT_EQ(label->platform, 1u);
  EXPECT_EQ(label->device, 20u);
  for (const char* wrong : {"", ".", "1", "1.", ".1", "a.b", "1.2.3", "-1.0", "1.0 ", "99999999999.0"})
    EXPECT_FALSE(parse_device_label(wrong)) << wrong;
}

TEST(Devices, AreLinesOfAList) {
  const Device device{"0.1", "gpu", 80ull << 30, "NVIDIA CUDA", "NVIDIA H100 80GB HBM3"};
  EXPECT_EQ(parse_device_line(to_line(device)), device);
  for (const char* wrong : {"", "weft-device", "a driver's own words", "weft-device\t0.1\tgpu\tmuch\tp\tn",
                            "weft-device\tx\tgpu\t1\tp\tn", "weft-device\t0.1\tgpu\t1\tp\tn\tmore"})
    EXPECT_FALSE(parse_device_line(wrong)) << wrong;
}

TEST(Devices, OfThisMachineCanBeTried) {
  std::string why;
  const auto devices = find_devices(why);
  if (devices.empty()) GTEST_SKIP() << "no OpenCL device: " << why;
  for (const Device& device : devices) {
    EXPECT_TRUE(parse_device_label(device.label));
    EXPECT_GT(device.memory_bytes, 0u);
    const auto works = try_device(device.label);
    EXPECT_TRUE(works) << works.error().to_string();
  }
  const auto missing = try_device("77.0");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().to_string(), HasSubstr("there is no device 77.0"));
}

}  // namespace
}  // namespace weft::runtime
