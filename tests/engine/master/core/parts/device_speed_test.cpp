// When tasks of a stage take a device: as long as they are sooner done with one.
#include "engine/master/core/device_speed.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

using namespace std::chrono_literals;

void ended(DeviceSpeed& speed, bool with_device, int tasks, std::chrono::seconds each, std::uint32_t node = 1) {
  for (int i = 0; i < tasks; ++i) speed.ended(with_device, NodeId(node), each);
}

TEST(DeviceSpeed, IsThatOfTheTasksThatEndedButTheFirstOnEachNode) {
  DeviceSpeed speed;
  const schedulers::StageInfo stage;
  EXPECT_TRUE(speed.pays(stage)) << "nothing is known";
  ended(speed, true, 1, 1000s);  // it compiles the kernel
  ended(speed, true, 1, 1000s, 2);
  ended(speed, true, 2, 9s);
  ended(speed, false, 3, 10s);
  EXPECT_TRUE(speed.pays(stage)) << "two are too few";
  ended(speed, true, 1, 9s, 2);
  EXPECT_TRUE(speed.pays(stage)) << "9 s against 10 s";
  ended(speed, true, 1, 15s);
  EXPECT_FALSE(speed.pays(stage)) << "10.5 s";
  ended(speed, false, 10, 20s);
  EXPECT_TRUE(speed.pays(stage)) << "the host became slower";
}

TEST(DeviceSpeed, IsThatOfTheProfileBeforeEnoughTasksHaveEndedButOneTaskTries) {
  schedulers::StageInfo stage;
  stage.profile.emplace().kinds = {{"", 0.5}, {"accelerator=gpu", 2.0}, {"disk=ssd", 1.0}};
  DeviceSpeed speed;
  EXPECT_TRUE(speed.pays(stage)) << "devices and kernels change";
  speed.began_with_device();
  EXPECT_FALSE(speed.pays(stage)) << "four times as long";
  stage.profile->kinds[""] = 2.5;
  EXPECT_TRUE(speed.pays(stage));
  stage.profile->kinds.erase("");
  EXPECT_TRUE(speed.pays(stage)) << "it does not know both";
  stage.profile->kinds = {{"", 2.5}, {"accelerator=gpu", 2.0}};
  ended(speed, true, 4, 5s);
  ended(speed, false, 3, 4s);
  EXPECT_FALSE(speed.pays(stage)) << "what was measured goes first";
}

}  // namespace
}  // namespace weft::master
