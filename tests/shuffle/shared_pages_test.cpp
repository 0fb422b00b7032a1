#include "shuffle/transfer/shared_pages.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::shuffle {
namespace {

constexpr std::uint64_t kSize = 64u << 10;

SharedPages taken(SharedPool& pool, std::uint64_t bytes = kSize, std::uint64_t most = UINT64_MAX) {
  auto pages = pool.take(bytes, most);
  EXPECT_TRUE(pages) << pages.error().to_string();
  return *std::move(pages);
}

/// Pages full of `mark`, kept by the pool; what its reader has.
Fd kept(SharedPool& pool, char mark, std::uint64_t size = kSize) {
  SharedPages pages = taken(pool, size, size);
  std::memset(pages.span(0, pages.size()).data(), mark, pages.size());
  Fd reader = pages.reader();
  EXPECT_TRUE(reader.valid());
  pool.keep(std::move(pages));
  return reader;
}

/// Fresh pages are zeros.
char first_of(const SharedPages& pages) { return static_cast<char>(pages.span(0, 1)[0]); }

TEST(SharedPages, AreTakenAgainOnlyWhenTheirLastReaderIsGone) {
  SharedPool pool(1u << 20);
  Fd reader = kept(pool, 'a');
  EXPECT_EQ(first_of(taken(pool)), 0) << "a descriptor is left";
  void* const mapped = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, reader.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  Fd copy = reader.duplicate();
  reader.reset();
  EXPECT_EQ(first_of(taken(pool)), 0) << "a copy of the descriptor is left";
  copy.reset();
  EXPECT_EQ(first_of(taken(pool)), 0) << "a mapping is left";
  EXPECT_EQ(*static_cast<const char*>(mapped), 'a');
  ::munmap(mapped, kSize);
  EXPECT_EQ(first_of(taken(pool)), 'a');
  EXPECT_EQ(pool.kept(), 0u);
}

TEST(SharedPages, AReaderInAnotherProcessCountsUntilThatEnds) {
  SharedPool pool(1u << 20);
  Fd reader = kept(pool, 'a');
  int to_child[2];
  ASSERT_EQ(::pipe2(to_child, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {  // has the descriptor, too, until it is told to end
    ::close(to_child[1]);
    char byte = 0;
    _exit(static_cast<int>(::read(to_child[0], &byte, 1)));
  }
  ::close(to_child[0]);
  reader.reset();
  EXPECT_EQ(first_of(taken(pool)), 0);
  ::close(to_child[1]);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(first_of(taken(pool)), 'a');
}

TEST(SharedPages, NobodyElseWritesOrShortensThem) {
  SharedPool pool(1u << 20);
  const Fd reader = kept(pool, 'a');
  const std::string path = "/proc/self/fd/" + std::to_string(reader.get());
  const Fd writer(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(writer.valid());
  EXPECT_EQ(::pwrite(writer.get(), "b", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(writer.get(), 0), -1);
  EXPECT_EQ(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, writer.get(), 0), MAP_FAILED);
}

TEST(SharedPages, GrowWithTheirContents) {
  auto pages = SharedPages::make();
  ASSERT_TRUE(pages);
  for (const std::uint64_t size : {5'000u, 100'000u, 5'000'000u, 5'000'001u}) {
    ASSERT_TRUE(pages->grow(size));
    ASSERT_GE(pages->size(), size);
    EXPECT_EQ(pages->span(size - 1, 1)[0], std::byte{0}) << "its end was never used";
    std::ranges::fill(pages->span(0, size), std::byte{'a'});
  }
  EXPECT_EQ(pages->span(4'999'999, 1)[0], std::byte{'a'});
  EXPECT_FALSE(pages->alone()) << "not known before there is a reader";
  pages->reader().reset();
  EXPECT_TRUE(pages->alone());
  auto sealed = std::move(*pages).seal();
  ASSERT_TRUE(sealed);
  EXPECT_NE(::fcntl(sealed->get(), F_GET_SEALS) & F_SEAL_WRITE, 0);
}

TEST(SharedPool, WhatOneOwnerHadIsGivenToNoOther) {
  SharedPool pool(8 * kSize);
  auto pages = pool.take(kSize, UINT64_MAX, 1).value();
  std::memset(pages.span(0, kSize).data(), 'a', kSize);
  { const Fd reader = pages.reader(); }
  pool.keep(std::move(pages), 1);
  const auto others = pool.take(kSize, UINT64_MAX, 2).value();
  const auto bytes = others.span(0, kSize);
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_EQ(pool.kept(), kSize) << "it is still there";
  const auto again = pool.take(kSize, UINT64_MAX, 1).value();
  EXPECT_EQ(again.span(0, 1)[0], std::byte{'a'}) << "for its owner it is recycled, without the cost of clearing it";
  EXPECT_EQ(pool.kept(), 0u);
}

TEST(SharedPool, KeepsTheYoungestAndGivesWhatFits) {
  SharedPool pool(4 * kSize);
  std::vector<Fd> readers;
  for (const char mark : {'a', 'b', 'c', 'd', 'e'}) readers.push_back(kept(pool, mark, mark == 'c' ? 2 * kSize : kSize));
  readers.clear();
  EXPECT_EQ(pool.kept(), 4 * kSize);
  const SharedPages enlarged = taken(pool, 2 * kSize + 1);
  EXPECT_EQ(first_of(enlarged), 'c');
  EXPECT_EQ(enlarged.size(), 2 * kSize + 1);
  EXPECT_EQ(first_of(taken(pool, 1, kSize - 1)), 0) << "none is so small";
  EXPECT_EQ(first_of(taken(pool, 2 * kSize)), 0) << "none is nearly so large";
  EXPECT_EQ(first_of(taken(pool)), 'd') << "the oldest two made room";
  pool.clear();
  EXPECT_EQ(first_of(taken(pool)), 0);
}

}  // namespace
}  // namespace weft::shuffle
