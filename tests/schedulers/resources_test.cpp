#include "schedulers/view/resources.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace weft::schedulers {
namespace {

TEST(Resources, OperateOnEveryKind) {
  const Resources all{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Resources twice = all + all;
  for (const auto& kind : kResourceKinds) {
    EXPECT_EQ(twice.*kind.amount, 2 * (all.*kind.amount)) << kind.name;
    EXPECT_EQ((twice - all).*kind.amount, all.*kind.amount) << kind.name;
    EXPECT_EQ((all * 0.5).*kind.amount, all.*kind.amount / 2) << kind.name;
    Resources bad = all;
    bad.*kind.amount = -1;
    EXPECT_FALSE(valid(bad)) << kind.name;
    Resources half = all;
    half.*kind.amount /= 2;
    EXPECT_TRUE(fits(all, {}, all));
    EXPECT_FALSE(fits(all, {}, half)) << kind.name;
    Resources one;
    one.*kind.amount = all.*kind.amount;
    EXPECT_EQ(dominant_share(one, twice), 0.5) << kind.name;
  }
}

TEST(Resources, OnlyCpuAndDevicesAreAccountedForWhereThereAreNone) {
  EXPECT_TRUE(fits({.cpu = 1, .memory = 100}, {}, {.cpu = 1}));
  EXPECT_FALSE(fits({.cpu = 1}, {}, {.memory = 100}));
  EXPECT_FALSE(fits({.cpu = 1, .accelerator = 1}, {}, {.cpu = 1}));
  EXPECT_TRUE(fits({.memory = 1}, {}, {.memory = 100})) << "what is not asked for always fits";
}

TEST(Resources, AreWrittenAndReadAsText) {
  EXPECT_EQ(to_string(Resources{}), "cpu=0");
  EXPECT_EQ(to_string(Resources{.cpu = 1, .memory = 512u << 20}), "cpu=1,memory=512MiB");
  EXPECT_EQ(parse_resources(" cpu = 0.5, memory=1.5GiB ,network_in=1.25e8,map_slots=2").value(),
            (Resources{.cpu = 0.5, .memory = 1.5 * (1u << 30), .network_in = 1.25e8, .map_slots = 2}));
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    Resources resources;
    for (const auto& kind : kResourceKinds) {
      if (random.chance(0.5)) resources.*kind.amount = static_cast<double>(random.below(1u << 30)) / (random.chance(0.5) ? 1 : 3);
    }
    ASSERT_EQ(parse_resources(to_string(resources)).value(), resources) << "seed " << seed;
  }
}

TEST(Resources, BadTextIsRefusedInOneLineThatNamesIt) {
  auto message = [](std::string_view text) { return parse_resources(text).error().to_string(); };
  EXPECT_NE(message("gpu=1").find("'gpu=1' is no amount"), std::string::npos);
  EXPECT_NE(message("gpu=1").find("known: cpu, memory, disk_read"), std::string::npos);
  EXPECT_NE(message("").find("'' is no amount"), std::string::npos);
  EXPECT_NE(message("cpu=1,").find("'' is no amount"), std::string::npos);
  EXPECT_NE(message("cpu").find("'cpu' is no amount"), std::string::npos);
  EXPECT_EQ(message("cpu=1,cpu=2"), "cpu is given twice");
  EXPECT_EQ(message("cpu=one"), "cpu=one is not a number");
  EXPECT_EQ(message("cpu=1MiB"), "cpu=1MiB is not a number");
  EXPECT_EQ(message("cpu=-1"), "cpu=-1 must be finite and not negative");
  EXPECT_EQ(message("memory=inf"), "memory=inf must be finite and not negative");
  EXPECT_NE(message("memory=much").find("memory: 'much' is not a size"), std::string::npos);
}

}  // namespace
}  // namespace weft::schedulers
