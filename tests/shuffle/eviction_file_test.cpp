#include "shuffle/prefetch/eviction_file.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "tests/shuffle/open_files.hpp"

namespace weft::shuffle {
namespace {

std::string noise(std::size_t bytes) {
  Random random(bytes);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

class EvictionFileTest : public testing::Test {
 protected:
  /// Extents of so many maps; of every third map none.
  static HeldPtr blocks(const std::vector<std::string>& texts) {
    const auto maps = static_cast<std::uint32_t>(texts.size() * 3 / 2 + 1);
    auto writer = SegmentWriter::in_memory(maps).value();
    HeldBlocks held;
    for (std::uint32_t map = 0, next = 0; map < maps; ++map) {
      held.maps.push_back({map, map % 2});
      if (map % 3 == 0 || next == texts.size()) continue;
      EXPECT_TRUE(writer->append(map, as_bytes(texts[next++]), map + 1));
    }
    held.blocks = writer->seal().value();
    return std::make_shared<const HeldBlocks>(std::move(held));
  }
  std::unique_ptr<EvictionFile> write(const std::vector<HeldPtr>& held) {
    auto file = EvictionFile::write(directory(), held);
    EXPECT_TRUE(file) << file.error().to_string();
    return *std::move(file);
  }
  static void expect_same(const HeldBlocks& a, const HeldBlocks& b) {
    EXPECT_EQ(a.maps, b.maps);
    const auto open = [](const HeldBlocks& held) { return Segment::open(Fd(::dup(held.blocks.fd.get()))).value(); };
    const auto one = open(a), other = open(b);
    EXPECT_EQ(other->home(), SegmentHome::memory);
    ASSERT_EQ(one->partitions(), other->partitions());
    for (std::uint32_t map = 0; map < one->partitions(); ++map) {
      ASSERT_EQ(one->extents(map).size(), other->extents(map).size());
      for (std::size_t i = 0; i < one->extents(map).size(); ++i) {
        EXPECT_EQ(as_chars(one->bytes(one->extents(map)[i])), as_chars(verified(*other, other->extents(map)[i]).value()));
        EXPECT_EQ(one->extents(map)[i].records, other->extents(map)[i].records);
      }
    }
  }
  std::string directory() const { return dir_.path().string(); }
  TempDir dir_ = TempDir::create().value();
};

TEST_F(EvictionFileTest, GivesBackWhatWasWritten) {
  const std::vector<HeldPtr> held{blocks({"a", "", std::string(100'000, 'x'), noise(3'000'000)}),
                                  blocks({noise(600), noise(70'000)}), blocks({})};
  const auto file = write(held);
  const auto back = file->read(nullptr);
  ASSERT_TRUE(back) << back.error().to_string();
  ASSERT_EQ(back->size(), held.size());
  for (std::size_t i = 0; i < held.size(); ++i) expect_same(*held[i], *(*back)[i]);
  EXPECT_TRUE(file->read(nullptr)) << "once more";
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(EvictionFileTest, IsSmallerWhereThatPaysAndRawWhereNot) {
  const auto text = write({blocks({std::string(1'000'000, 'x')})}), random = write({blocks({noise(1'000'000)})});
  EXPECT_LT(text->file_bytes(), 10'000u);
  EXPECT_EQ(random->file_bytes(), 1'000'000u);
  EXPECT_GE(text->memory_bytes(), 1'000'000u);
}

TEST_F(EvictionFileTest, DamageIsNoticed) {
  for (const std::string& content : {std::string(100'000, 'x'), noise(100'000)}) {
    const auto file = write({blocks({content})});
    const auto open = test::unnamed_files_in(dir_.path());
    ASSERT_EQ(open.size(), 1u);
    ASSERT_EQ(::pwrite(open[0], "!", 1, 200), 1);
    EXPECT_EQ(file->read(nullptr).error().code(), Code::corrupt);
    ASSERT_EQ(::ftruncate(open[0], 100), 0);
    EXPECT_EQ(file->read(nullptr).error().code(), Code::corrupt);
  }
}

TEST_F(EvictionFileTest, AFullDiskIsSaidAndNothingStays) {
  if (::mount("tmpfs", directory().c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
  const std::vector<HeldPtr> held{blocks({noise(200'000)})};
  const auto file = EvictionFile::write(directory(), held);
  EXPECT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::resource_exhausted);
  EXPECT_TRUE(test::unnamed_files_in(dir_.path()).empty());
  ::umount(directory().c_str());
}

}  // namespace
}  // namespace weft::shuffle
