#include "shuffle/segment/segment.hpp"

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "shuffle/segment/segment_format.hpp"
#include "shuffle/store/task_shuffle.hpp"

namespace weft::shuffle {
namespace {

struct Piece {
  std::string bytes;
  std::uint32_t records;
  bool operator==(const Piece&) const = default;
};
using Contents = std::map<std::uint32_t, std::vector<Piece>>;

SealedSegment write_random(SegmentWriter& writer, Random& random, std::uint32_t partitions, Contents& expected) {
  const std::size_t lengths[] = {1, 100, 5'000, 32'768, 65'536, 200'000};
  for (int i = 0; i < 200; ++i) {
    const auto partition = static_cast<std::uint32_t>(random.below(partitions));
    Piece piece{std::string(random.below(lengths[random.below(6)]) + 1, '\0'), static_cast<std::uint32_t>(random.below(1000))};
    for (auto& c : piece.bytes) c = static_cast<char>(random());
    EXPECT_TRUE(writer.append(partition, as_bytes(piece.bytes), piece.records));
    expected[partition].push_back(std::move(piece));
  }
  auto sealed = writer.seal();
  EXPECT_TRUE(sealed) << sealed.error().to_string();
  return std::move(*sealed);
}

std::shared_ptr<const Segment> open(SealedSegment sealed) {
  if (sealed.in_process) return sealed.in_process;
  auto segment = Segment::open(std::move(sealed.fd));
  EXPECT_TRUE(segment) << segment.error().to_string();
  return segment ? *segment : nullptr;
}

Contents contents(const Segment& segment) {
  Contents found;
  for (std::uint32_t p = 0; p < segment.partitions(); ++p)
    for (const Extent& extent : segment.extents(p)) {
      EXPECT_TRUE(verified(segment, extent));
      found[p].push_back({std::string(as_chars(segment.bytes(extent))), extent.records});
    }
  return found;
}

TEST(Segment, ReadsBackWhatWasWrittenWhereverItIs) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  const auto pool = std::make_shared<PagePool>(1u << 20);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(std::string("seed ") + std::to_string(seed));
    Random random(seed);
    const auto partitions = static_cast<std::uint32_t>(1 + random.below(50));
    const SegmentMemory little{random() % 300'000, dir->path()};  // moved to disk at some point
    auto writer = seed % 5 == 0   ? SegmentWriter::on_disk(dir->path(), partitions)
                  : seed % 5 == 1 ? SegmentWriter::in_memory(partitions)
                  : seed % 5 == 2 ? SegmentWriter::in_memory(partitions, little)
                  : seed % 5 == 3 ? SegmentWriter::in_process(partitions, {}, pool)
                                  : SegmentWriter::in_process(partitions, little, pool);
    ASSERT_TRUE(writer);
    Contents expected;
    SealedSegment sealed = write_random(**writer, random, partitions, expected);
    std::vector<PartitionSize> sizes(partitions);
    for (const auto& [p, pieces] : expected)
      for (const auto& piece : pieces) {
        sizes[p].bytes += piece.bytes.size();
        sizes[p].records += piece.records;
      }
    for (std::uint32_t p = 0; p < partitions; ++p) {
      EXPECT_EQ(sealed.partitions[p].bytes, sizes[p].bytes);
      EXPECT_EQ(sealed.partitions[p].records, sizes[p].records);
    }
    const std::uint64_t size = sealed.size;
    const auto segment = open(std::move(sealed));
    ASSERT_TRUE(segment);
    EXPECT_EQ(segment->partitions(), partitions);
    EXPECT_EQ(segment->size(), size);
    EXPECT_EQ(contents(*segment), expected);
    auto file = segment->to_file(dir->path());
    ASSERT_TRUE(file) << file.error().to_string();
    const auto moved = Segment::open(*std::move(file));
    ASSERT_TRUE(moved) << moved.error().to_string();
    EXPECT_EQ((*moved)->home(), SegmentHome::file);
    EXPECT_EQ(contents(**moved), expected);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir->path()));
}

TEST(Segment, KeepsWhatWasWrittenToItsRoomWithoutCopyingIt) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  auto writer = SegmentWriter::in_process(2, {200'000, dir->path()}, std::make_shared<PagePool>(1u << 20));
  ASSERT_TRUE(writer);
  const MutableBytes room = (*writer)->room(1, 1000);
  ASSERT_GE(room.size(), 1000u);
  EXPECT_EQ((*writer)->room(1, 1000).data(), room.data()) << "room that is lent stays the partition's";
  std::fill_n(room.begin(), 600, std::byte{7});
  ASSERT_TRUE((*writer)->append(0, as_bytes("elsewhere"), 1));
  ASSERT_TRUE((*writer)->append(1, room.first(600), 3));
  EXPECT_NE((*writer)->room(1, 1000).data(), room.data());
  auto sealed = (*writer)->seal();
  ASSERT_TRUE(sealed && sealed->in_process);
  const Segment& segment = *sealed->in_process;
  ASSERT_EQ(segment.extents(1).size(), 1u);
  EXPECT_EQ(segment.bytes(segment.extents(1)[0]).data(), room.data());
  EXPECT_EQ(segment.extents(1)[0].records, 3u);
}

TEST(Segment, RoomThatIsBeingFilledSurvivesTheMoveToDisk) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  auto writer = SegmentWriter::in_process(2, {100'000, dir->path()}, std::make_shared<PagePool>(1u << 20));
  ASSERT_TRUE(writer);
  const MutableBytes room = (*writer)->room(0, 1000);
  ASSERT_FALSE(room.empty());
  std::fill(room.begin(), room.end(), std::byte{7});
  const std::string large(150'000, 'x');
  ASSERT_TRUE((*writer)->append(1, as_bytes(large), 1));
  EXPECT_TRUE((*writer)->room(1, 1000).empty()) << "a file has no room to write to";
  ASSERT_TRUE((*writer)->append(0, room, 2));
  auto sealed = (*writer)->seal();
  ASSERT_TRUE(sealed);
  const auto segment = open(*std::move(sealed));
  ASSERT_TRUE(segment);
  EXPECT_EQ(segment->home(), SegmentHome::file);
  EXPECT_EQ(contents(*segment), (Contents{{0, {{std::string(room.size(), 7), 2}}}, {1, {{large, 1}}}}));
}

TEST(Segment, WithoutAnyExtentIsValid) {
  auto writer = SegmentWriter::in_memory(3);
  ASSERT_TRUE(writer);
  auto sealed = (*writer)->seal();
  ASSERT_TRUE(sealed);
  auto segment = Segment::open(std::move(sealed->fd));
  ASSERT_TRUE(segment);
  EXPECT_TRUE((*segment)->extents(2).empty());
}

TEST(Segment, InMemoryCannotBeWrittenOnceSealed) {
  auto writer = SegmentWriter::in_memory(1);
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->append(0, as_bytes("abc"), 1));
  auto sealed = (*writer)->seal();
  ASSERT_TRUE(sealed);
  EXPECT_LT(::pwrite(sealed->fd.get(), "x", 1, 0), 0);
  EXPECT_NE(::ftruncate(sealed->fd.get(), 0), 0);
}

TEST(Segment, RefusesImpossiblePartitionCounts) {
  EXPECT_EQ(SegmentWriter::in_memory(0).error().code(), Code::invalid_argument);
  EXPECT_EQ(SegmentWriter::in_memory(1u << 25).error().code(), Code::invalid_argument);
}

std::string small_segment() {
  auto writer = SegmentWriter::in_memory(4);
  for (std::uint32_t i = 0; i < 9; ++i)
    EXPECT_TRUE((*writer)->append(i % 3, as_bytes(std::string("record ") + std::to_string(i)), 1));
  auto sealed = (*writer)->seal();
  std::string bytes(sealed->size, '\0');
  EXPECT_EQ(::pread(sealed->fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return bytes;
}

Result<std::shared_ptr<const Segment>> open_bytes(const std::string& bytes) {
  Fd fd(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_TRUE(write_all(fd.get(), as_bytes(bytes)));
  return Segment::open(std::move(fd));
}

bool damage_is_noticed(const std::string& bytes) {
  auto segment = open_bytes(bytes);
  if (!segment) return segment.error().code() == Code::corrupt || segment.error().code() == Code::version_mismatch;
  for (std::uint32_t p = 0; p < (*segment)->partitions(); ++p)
    for (const Extent& extent : (*segment)->extents(p))
      if (!verify((*segment)->bytes(extent), extent)) return true;
  return false;
}

TEST(Segment, EveryFlippedBitIsDetected) {
  const std::string good = small_segment();
  ASSERT_FALSE(damage_is_noticed(good));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_TRUE(damage_is_noticed(bad)) << "bit " << bit << " of " << good.size() * 8;
  }
}

TEST(Segment, EveryTruncationIsDetected) {
  const std::string good = small_segment();
  for (std::size_t size = 0; size < good.size(); ++size) ASSERT_TRUE(damage_is_noticed(good.substr(0, size))) << size;
  ASSERT_TRUE(damage_is_noticed(good + "x"));
}

TEST(Segment, AnotherVersionIsNamed) {
  std::string bytes = small_segment();
  bytes[8] = 9;
  auto segment = open_bytes(bytes);
  ASSERT_FALSE(segment);
  EXPECT_EQ(segment.error().code(), Code::version_mismatch);
  EXPECT_NE(segment.error().message().find("version 9"), std::string::npos);
}

TEST(Segment, AFullDiskIsResourceExhausted) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  if (::mount("tmpfs", dir->path().c_str(), "tmpfs", 0, "size=256k") != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
  {
    auto writer = SegmentWriter::on_disk(dir->path(), 1);
    ASSERT_TRUE(writer);
    const std::string block(100'000, 'x');
    Result<void> last;
    for (int i = 0; i < 10 && last; ++i) last = (*writer)->append(0, as_bytes(block), 1);
    ASSERT_FALSE(last);
    EXPECT_EQ(last.error().code(), Code::resource_exhausted);
  }
  ::umount(dir->path().c_str());
}

TEST(Segment, ABlockInMemoryMayBeKeptAndOneOnDiskIsForgottenAfterTheVisit) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  for (const bool memory : {true, false}) {
    auto writer = memory ? SegmentWriter::in_memory(2) : SegmentWriter::on_disk(dir->path(), 2);
    ASSERT_TRUE(writer);
    Random random(4);
    Contents expected;
    auto segment = Segment::open(write_random(**writer, random, 2, expected).fd);
    ASSERT_TRUE(segment);
    EXPECT_EQ((*segment)->home(), memory ? SegmentHome::memory : SegmentHome::file);
    for (int round = 0; round < 2; ++round) {  // what was forgotten can be read again
      std::vector<Piece> seen;
      std::vector<std::shared_ptr<const void>> owners;
      const auto visit = [&](const Block& block) -> Result<void> {
        seen.push_back({std::string(as_chars(block.bytes)), block.records});
        if (block.owner) owners.push_back(block.owner);
        return {};
      };
      ASSERT_TRUE(visit_extents(*segment, 1, visit, [](Error why) { return fail(std::move(why)); }));
      EXPECT_EQ(seen, expected[1]);
      EXPECT_EQ(owners.size(), memory ? seen.size() : 0);
    }
  }
}

/// A file that is cut off behind the mapping raises the same signal as a disk that does not deliver a page.
TEST(Segment, WhatItsDiskDoesNotDeliverIsDamagedAndNoSignal) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  auto writer = SegmentWriter::on_disk(dir->path(), 1);
  ASSERT_TRUE(writer);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE((*writer)->append(0, as_bytes(std::string(100'000, 'x')), 1));
  SealedSegment sealed = (*writer)->seal().value();
  const Fd file(::dup(sealed.fd.get()));
  const auto segment = Segment::open(std::move(sealed.fd)).value();
  ASSERT_EQ(segment->home(), SegmentHome::file);
  ASSERT_EQ(::ftruncate(file.get(), 250'000), 0);
  const auto extents = segment->extents(0);
  ASSERT_EQ(extents.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto bytes = verified(*segment, extents[i]);
    EXPECT_EQ(bytes ? Code::internal : bytes.error().code(), i < 2 ? Code::internal : Code::corrupt) << i;
  }
  EXPECT_TRUE(check_readable(*segment, segment->file().first(200'000)));
  EXPECT_EQ(check_readable(*segment, segment->file()).error().code(), Code::corrupt);
  int visited = 0;
  const auto count = [&](const Block&) -> Result<void> { return ++visited, Result<void>(); };
  const auto read = visit_extents(segment, 0, count, [](Error why) { return fail(std::move(why)); });
  EXPECT_EQ(read.error().code(), Code::corrupt);
  EXPECT_EQ(visited, 2);
}

TEST(Segment, ACopyOfAnExtentStaysWhenItsFileIsCutOff) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  auto writer = SegmentWriter::on_disk(dir->path(), 1).value();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(writer->append(0, as_bytes(std::string(100'000, 'x')), 1));
  SealedSegment sealed = writer->seal().value();
  const Fd file(::dup(sealed.fd.get()));
  const auto segment = Segment::open(std::move(sealed.fd)).value();
  const auto first = verified_copy(*segment, segment->extents(0)[0]);
  const auto head = readable_copy(*segment, segment->file().first(1000));
  ASSERT_TRUE(first && head);
  ASSERT_EQ(::ftruncate(file.get(), 0), 0);
  EXPECT_EQ(as_chars(first->view()), std::string(100'000, 'x'));
  EXPECT_EQ(head->size(), 1000u);
  EXPECT_EQ(verified_copy(*segment, segment->extents(0)[1]).error().code(), Code::corrupt);
  EXPECT_EQ(readable_copy(*segment, segment->file()).error().code(), Code::corrupt);
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(segment->size())), 0);
  EXPECT_EQ(verified_copy(*segment, segment->extents(0)[1]).error().code(), Code::corrupt) << "zeros";
}

/// Whatever moment its writer chooses.
TEST(Segment, AFileThatIsCutOffWhileItIsOpenedIsDamagedAndNoSignal) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  auto writer = SegmentWriter::on_disk(dir->path(), 1).value();
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(writer->append(0, as_bytes("x"), 1));
  const SealedSegment sealed = writer->seal().value();
  const std::string bytes = read_file(fmt::format("/proc/self/fd/{}", sealed.fd.get())).value();
  std::atomic<bool> stop{false};
  std::thread cutter([&] {
    while (!stop) {
      (void)::ftruncate(sealed.fd.get(), 0);
      (void)::pwrite(sealed.fd.get(), bytes.data(), bytes.size(), 0);
    }
  });
  int opened = 0;
  for (int i = 0; i < 3000; ++i) opened += Segment::map(Fd(::dup(sealed.fd.get()))) ? 1 : 0;
  stop = true;
  cutter.join();
  EXPECT_LE(opened, 3000);
}

/// So that a reader is not killed when the writer, which may be anybody's program, takes the bytes away.
TEST(Segment, WhatItsWriterCanCutOffIsReadAsAFileIs) {
  auto writer = SegmentWriter::in_memory(1).value();
  ASSERT_TRUE(writer->append(0, as_bytes("a record"), 1));
  const SealedSegment sealed = writer->seal().value();
  const std::string bytes = read_file(fmt::format("/proc/self/fd/{}", sealed.fd.get())).value();
  Fd unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_TRUE(write_all(unsealed.get(), as_bytes(bytes)));
  ASSERT_EQ(::fcntl(unsealed.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  const Fd mine(::fcntl(unsealed.get(), F_DUPFD_CLOEXEC, 0));
  const auto segment = Segment::map(std::move(unsealed));
  ASSERT_TRUE(segment) << segment.error().to_string();
  EXPECT_EQ((*segment)->home(), SegmentHome::file);
  ASSERT_EQ(::ftruncate(mine.get(), 0), 0);
  EXPECT_FALSE(verified(**segment, (*segment)->extents(0)[0]));
}

TEST(Segment, ExactlyWhatItMayUseOfMemoryStaysThere) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  const auto seal = [&](std::uint64_t bytes) {
    auto writer = SegmentWriter::in_memory(2, {bytes, dir->path()});
    EXPECT_TRUE(writer);
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_TRUE((*writer)->append(i % 2, as_bytes(std::string(500, 'x')), 1));
    EXPECT_TRUE((*writer)->append(0, as_bytes(std::string(70'000, 'y')), 1));
    return std::move((*writer)->seal()).value();
  };
  SealedSegment sealed = seal(1u << 30);
  const std::uint64_t size = sealed.size;
  EXPECT_EQ(open(std::move(sealed))->home(), SegmentHome::memory);
  EXPECT_EQ(open(seal(size))->home(), SegmentHome::memory);
  const auto on_disk = open(seal(size - 1));
  EXPECT_EQ(on_disk->home(), SegmentHome::file);
  EXPECT_EQ(contents(*on_disk).at(0).back(), (Piece{std::string(70'000, 'y'), 1}));
}

TEST(Segment, RecordsWithoutBytesCount) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  for (const bool in_process : {false, true}) {
    auto writer = in_process ? SegmentWriter::in_process(1, {100'000, dir->path()}, std::make_shared<PagePool>(1u << 20))
                             : SegmentWriter::in_memory(1);
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->append(0, {}, 3));
    ASSERT_TRUE((*writer)->append(0, {}, 0));
    auto sealed = (*writer)->seal();
    ASSERT_TRUE(sealed);
    EXPECT_EQ(sealed->partitions.at(0).records, 3u);
    EXPECT_EQ(contents(*open(std::move(*sealed))), (Contents{{0, {{"", 3}}}}));
  }
}

/// A whole segment with right checksums and these entries, of four partitions and 100 bytes.
std::string segment_with(const std::vector<format::IndexEntry>& entries) {
  const format::Header header{.partitions = 4};
  const std::string data(100, 'd');
  const ByteView index = std::as_bytes(std::span(entries));
  const auto footer = format::footer_of(header, sizeof header + data.size(), index);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += data;
  bytes += as_chars(index);
  bytes.append(reinterpret_cast<const char*>(&footer), sizeof footer);
  return bytes;
}

TEST(Segment, EntriesThatCannotBeAreRefusedThoughTheirChecksumIsRight) {
  constexpr std::uint64_t kBegin = sizeof(format::Header);
  const auto entry = [](std::uint32_t partition, std::uint64_t offset, std::uint64_t length) {
    return format::IndexEntry{.partition = partition, .records = 1, .offset = offset, .length = length, .crc32c = 0, .zero = 0};
  };
  EXPECT_TRUE(open_bytes(segment_with({entry(0, kBegin, 100), entry(3, kBegin + 100, 0)})));
  EXPECT_FALSE(open_bytes(segment_with({entry(4, kBegin, 1)}))) << "a partition that there is not";
  EXPECT_FALSE(open_bytes(segment_with({entry(0, kBegin, 101)}))) << "bytes of the index";
  EXPECT_FALSE(open_bytes(segment_with({entry(0, kBegin + 99, 2)})));
  EXPECT_FALSE(open_bytes(segment_with({entry(0, kBegin + 101, 0)})));
  EXPECT_FALSE(open_bytes(segment_with({entry(0, kBegin + 50, UINT64_MAX - 10)})));
  EXPECT_FALSE(open_bytes(segment_with({entry(0, kBegin - 1, 1)}))) << "bytes of the header";
  EXPECT_FALSE(open_bytes(segment_with({entry(2, kBegin, 1), entry(1, kBegin, 1)}))) << "not in the order of partitions";
  EXPECT_FALSE(open_bytes(segment_with({entry(0, kBegin, 60), entry(1, kBegin, 60)}))) << "more bytes than there are";
}

/// Reading the rest would take memory that nobody has written.
TEST(Segment, OneInMemoryIsNotMuchLargerThanWhatWasWritten) {
  for (const std::uint64_t mib : {16u, 256u}) {
    const std::uint64_t bytes = mib << 20;
    const format::Header header{.partitions = 1};
    const format::IndexEntry all{.partition = 0, .records = 1, .offset = sizeof header, .length = bytes, .crc32c = 0, .zero = 0};
    const auto footer = format::footer_of(header, sizeof header + bytes, std::as_bytes(std::span(&all, 1)));
    Fd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_TRUE(write_all(fd.get(), std::as_bytes(std::span(&header, 1))));
    ASSERT_GE(::lseek(fd.get(), static_cast<off_t>(sizeof header + bytes), SEEK_SET), 0);
    ASSERT_TRUE(write_all(fd.get(), std::as_bytes(std::span(&all, 1))));
    ASSERT_TRUE(write_all(fd.get(), std::as_bytes(std::span(&footer, 1))));
    ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
    EXPECT_EQ(Segment::open(std::move(fd)).has_value(), mib == 16) << mib;
  }
}

TEST(Segment, RoomThatWasNotFilledIsLentAgain) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  auto writer = SegmentWriter::in_process(1, {128u << 10, dir->path()}, std::make_shared<PagePool>(1u << 20));
  ASSERT_TRUE(writer);
  for (int i = 0; i < 200; ++i) {
    const MutableBytes room = (*writer)->room(0, 16u << 10);
    ASSERT_FALSE(room.empty()) << i;
    ASSERT_TRUE((*writer)->append(0, room.first(100), 1));
  }
  EXPECT_TRUE((*writer)->seal()->in_process) << "20 kB of 128";
}

TEST(Segment, WhatWasInMemoryIsInTheFileInTheSameOrder) {
  const auto dir = TempDir::create();
  ASSERT_TRUE(dir);
  auto writer = SegmentWriter::in_process(3, {100'000, dir->path()}, std::make_shared<PagePool>(1u << 20));
  ASSERT_TRUE(writer);
  Contents expected;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const Piece piece{std::to_string(i) + std::string(4'000, 'x'), i};
    ASSERT_TRUE((*writer)->append(i % 3, as_bytes(piece.bytes), piece.records));
    expected[i % 3].push_back(piece);
  }
  auto sealed = (*writer)->seal();
  ASSERT_TRUE(sealed);
  EXPECT_EQ(sealed->partitions.at(2).records, 610u);
  const auto segment = open(std::move(*sealed));
  EXPECT_EQ(segment->home(), SegmentHome::file);
  EXPECT_EQ(contents(*segment), expected);
}

}  // namespace
}  // namespace weft::shuffle
