#include <cerrno>
#include <set>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/crc32c.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/ids.hpp"
#include "base/random.hpp"
#include "base/result.hpp"

namespace weft {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(Code::invalid_argument, "odd");
  return value / 2;
}

Result<int> quarter(int value) {
  WEFT_ASSIGN(const int once, half(value));
  WEFT_ASSIGN(const int twice, half(once));
  return twice;
}

Result<void> check_even(int value) {
  WEFT_TRY(half(value));
  return {};
}

TEST(Error, KeepsItsChainAndPrintsItOnOneLine) {
  const auto error = Error(Code::not_found, "no such file").wrap("cannot open input").wrap(Code::user_code, "task failed");
  EXPECT_EQ(error.to_string(), "task failed: cannot open input: no such file");
  EXPECT_EQ(error.code(), Code::user_code);
  EXPECT_EQ(error.cause()->code(), Code::not_found);
  EXPECT_EQ(error.cause()->cause()->cause(), nullptr);
}

TEST(Error, FromErrnoHasACodeToReactTo) {
  EXPECT_EQ(errno_error("open", ENOENT).code(), Code::not_found);
  EXPECT_EQ(errno_error("open", EEXIST).code(), Code::already_exists);
  EXPECT_EQ(errno_error("open", ENOSPC).code(), Code::resource_exhausted);
  EXPECT_EQ(errno_error("open", EACCES).code(), Code::io);
  EXPECT_EQ(errno_error("open x", ENOENT).to_string(), "open x: No such file or directory");
}

TEST(Result, TheMacrosReturnTheError) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message(), "odd");
  EXPECT_TRUE(check_even(2).has_value());
  EXPECT_FALSE(check_even(3).has_value());
}

TEST(Assert, EndsTheProcessInReleaseToo) { EXPECT_DEATH(WEFT_ASSERT(1 + 1 == 3), "base_test.cpp:[0-9]+: .*1 \\+ 1 == 3"); }

TEST(Ids, PrintAndCompare) {
  const AttemptId id{{JobId(3), StageId(1), 17}, 2};
  EXPECT_EQ(to_string(id), "job 3 stage 1 task 17 attempt 2");
  EXPECT_LT(id.task, (TaskId{JobId(3), StageId(2), 0}));
}

TEST(Buffer, IsEmptyOnceMovedFrom) {
  Buffer a = Buffer::copy_of(as_bytes("abc"));
  const Buffer b = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): what this test is about
  EXPECT_EQ(as_chars(b.view()), "abc");
}

TEST(Buffer, IsAlignedForCapnProto) {
  for (std::size_t size = 1; size < 100; ++size) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(Buffer(size).data()) % 16, 0u);
}

TEST(SharedBytes, KeepItsBufferAlive) {
  SharedBytes copy;
  {
    const SharedBytes original(Buffer::copy_of(as_bytes("kept")));
    copy = original;
  }
  EXPECT_EQ(as_chars(copy.bytes), "kept");
}

TEST(Fd, ClosesOnceAndDuplicates) {
  const auto directory = TempDir::create().value();
  ASSERT_TRUE(write_file(directory.path() / "f", "x").has_value());
  Fd fd(::open((directory.path() / "f").c_str(), 0));
  Fd second = fd.duplicate();
  ASSERT_TRUE(second.valid());
  const int number = fd.get();
  fd.reset();
  EXPECT_FALSE(fd.valid());
  EXPECT_EQ(Fd(number).duplicate().get(), -1);
  Fd moved = std::move(second);
  EXPECT_TRUE(moved.valid());
}

TEST(Crc32c, MatchesTheStandardCheckValue) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, IsIncrementalAtEveryCut) {
  const std::string text = "the quick brown fox jumps over the lazy dog, twice and three times";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(as_bytes(std::string_view(text).substr(cut)), crc32c(as_bytes(std::string_view(text).substr(0, cut)))),
              crc32c(as_bytes(text)));
  }
}

TEST(Hash, OfAFileEqualsThatOfItsBytes) {
  const auto directory = TempDir::create().value();
  const auto path = directory.path() / "data";
  std::string content;
  for (int i = 0; i < 100'000; ++i) content += std::to_string(i);
  ASSERT_TRUE(write_file(path, content).has_value());
  const auto hash = hash_file(path).value();
  EXPECT_EQ(hash, hash128(as_bytes(content)));
  EXPECT_EQ(to_string(hash).size(), 32u);
  const auto missing = hash_file(directory.path() / "missing");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code(), Code::not_found);
}

TEST(Hash, StaysTheSameAcrossVersions) {
  EXPECT_EQ(hash64(std::string_view{}), 0x2d06800538d394c2ULL);  // XXH3's published value of the empty input
  EXPECT_EQ(mix64(0), 0u);
  EXPECT_NE(hash_combine(1, 2), hash_combine(2, 1));
}

TEST(Random, RepeatsItselfAndStaysWithinBounds) {
  Random a(42), b(42), c(43);
  bool differs = false;
  for (int i = 0; i < 1000; ++i) {
    const auto value = a();
    EXPECT_EQ(value, b());
    differs = differs || value != c();
    EXPECT_LT(a.below(7), 7u);
    b.below(7);
    const auto between = a.between(-3, 3);
    b.between(-3, 3);
    EXPECT_TRUE(between >= -3 && between <= 3);
    const double real = a.uniform();
    b.uniform();
    EXPECT_TRUE(real >= 0 && real < 1);
  }
  EXPECT_TRUE(differs);
  a.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
}

TEST(Random, ReachesEveryValueAboutEquallyOften) {
  Random random(1);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100'000; ++i) ++counts[random.below(counts.size())];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(Clock, AManualOneMovesOnlyWhenTold) {
  ManualClock clock;
  const auto start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(clock.now() - start, std::chrono::seconds(5));
  const auto earlier = SystemClock().now();
  EXPECT_LE(earlier, SystemClock().now());
}

TEST(File, ReadsWhatItWroteAndRefusesTooMuch) {
  const auto directory = TempDir::create().value();
  const auto path = directory.path() / "f";
  ASSERT_TRUE(write_file(path, "one").has_value());
  ASSERT_TRUE(write_file(path, "two").has_value());
  EXPECT_EQ(read_file(path).value(), "two");
  EXPECT_EQ(read_file(path, 2).error().code(), Code::resource_exhausted);
  EXPECT_EQ(read_file(directory.path() / "none").error().code(), Code::not_found);
  EXPECT_FALSE(write_file(directory.path() / "no" / "f", "x").has_value());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);  // no temporary is left
}

TEST(TempDir, DisappearsWithItsContent) {
  std::filesystem::path path;
  {
    auto directory = TempDir::create("prefix-").value();
    path = directory.path();
    EXPECT_EQ(path.filename().string().find("prefix-"), 0u);
    ASSERT_TRUE(write_file(path / "f", "x").has_value());
    const TempDir moved = std::move(directory);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(TempDir::create("x", "/nonexistent").has_value());
}

}  // namespace
}  // namespace weft
