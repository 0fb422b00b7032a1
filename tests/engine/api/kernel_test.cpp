// Operators with kernels, in this process: on a device where there is one, and compared with the function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/kernel.hpp>
#include <weft/weft.h>

#include "base/sanitized.hpp"
#include "runtime/devices/device.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;
using Numbers = std::vector<std::uint64_t>;

constexpr const char* kTripled = R"(
kernel void tripled(global const ulong* in, global ulong* out, uint records, ulong times) {
  const size_t i = get_global_id(0);
  if (i < records) out[i] = times * in[i];
}
)";

Kernel tripled(std::uint64_t times = 3) { return Kernel("tripled", kTripled).with(times); }

Numbers by_function(std::uint64_t count) {
  Numbers all(count);
  for (std::uint64_t i = 0; i < count; ++i) all[i] = 3 * (i + 1);
  return all;
}

Result<Numbers> run(const Kernel& kernel, std::uint64_t count, bool check = true) {
  Numbers given;
  const auto define = [&](Flow& flow) {
    given = flow.generate(
                    count, [](std::uint64_t i) { return i + 1; }, 3)
                .map([](std::uint64_t n) { return 3 * n; })
                .on(kernel)
                .collect();
  };
  const auto report = run_locally(define, {.threads = 2, .check_variants = check});
  if (!report) return fail(report.error());
  return given;
}

bool has_device() {
  if (kSanitized) return false;
  std::string why;
  const auto devices = runtime::find_devices(why);
  if (!devices.empty()) setenv(runtime::kDeviceVariable, devices.front().label.c_str(), 1);
  return !devices.empty();
}

TEST(Kernels, KnowWhereTheirSourceBegins) {
  const std::uint32_t before = __LINE__;
  const Kernel kernel("a", R"(
    a line
    another)");
  EXPECT_EQ(kernel.code().line, before + 1);
  EXPECT_THAT(kernel.code().file, HasSubstr("kernel_test.cpp"));
  EXPECT_THROW(Kernel("", "source"), std::invalid_argument);
  EXPECT_THROW(Kernel("a", "source").limit(Duration(0)), std::invalid_argument);
}

TEST(Kernels, WithoutADeviceAreTheFunction) {
  unsetenv(runtime::kDeviceVariable);
  const auto given = run(Kernel("nothing", "that compiles"), 1000);
  ASSERT_TRUE(given) << given.error().to_string();
  EXPECT_EQ(*given, by_function(1000));
}

TEST(KernelsOnADevice, GiveWhatTheFunctionGives) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  for (const std::uint64_t count : {0ul, 1ul, 10'000ul}) {
    const auto given = run(tripled().batch(700), count);
    ASSERT_TRUE(given) << given.error().to_string();
    EXPECT_EQ(*given, by_function(count));
  }
}

TEST(KernelsOnADevice, ThatDifferFailTheTaskWhenTheyAreChecked) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const auto wrong = run(tripled(4), 1000);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().to_string(), HasSubstr("the kernel 'tripled' ("));
  EXPECT_THAT(wrong.error().to_string(), HasSubstr("gives another record than the operator's function for record 0 of a batch"));
  const auto unchecked = run(tripled(4), 1000, false);
  ASSERT_TRUE(unchecked);
  EXPECT_EQ(unchecked->at(9), 40u) << "the kernel made it";
}

TEST(KernelsOnADevice, OfTextsMayHaveAnyLength) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const auto text = [](std::uint64_t i) { return std::string(i == 5 ? (5u << 20) : i % 50, static_cast<char>('a' + i % 26)); };
  std::vector<std::string> given;
  const Kernel next("next", R"(
    kernel void next(global const uchar* in, global const uint* starts, global uchar* out, uint records) {
      if (get_global_id(0) >= records) return;
      for (uint at = starts[get_global_id(0)]; at < starts[get_global_id(0) + 1]; ++at) out[at] = in[at] + 1;
    })");
  const auto define = [&](Flow& flow) {
    given = flow.generate(300, text, 1)
                .map([](std::string_view in) {
                  std::string out(in);
                  for (char& c : out) ++c;
                  return out;
                })
                .on(next)
                .collect();
  };
  const auto report = run_locally(define, {.threads = 1, .check_variants = true});
  ASSERT_TRUE(report) << report.error().to_string();
  ASSERT_EQ(given.size(), 300u);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::string in = text(i);
    EXPECT_EQ(given[i], std::string(in.size(), static_cast<char>('b' + i % 26))) << i;
  }
}

}  // namespace
}  // namespace weft::test
