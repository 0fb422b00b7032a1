// Reading mapped files whose bytes cannot be had. The end of a file that is cut off raises the same signal as a failing disk.
#include "base/mapped.hpp"

#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"

namespace weft {
namespace {

constexpr std::size_t kBytes = 256u << 10;

class MappedFile {
 public:
  MappedFile() {
    const auto directory = TempDir::create("weft-mapped-");
    const std::string path = directory->path().string() + "/file";
    EXPECT_TRUE(write_file(path, std::string(kBytes, 'x')));
    fd_ = Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    data_ = static_cast<const std::byte*>(::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd_.get(), 0));
  }
  ~MappedFile() { ::munmap(const_cast<std::byte*>(data_), kBytes); }

  ByteView bytes() const { return {data_, kBytes}; }
  void cut_off() const { EXPECT_EQ(::ftruncate(fd_.get(), kBytes / 2), 0); }

 private:
  Fd fd_;
  const std::byte* data_ = nullptr;
};

TEST(Mapped, SumsWhatIsThere) {
  const MappedFile file;
  EXPECT_EQ(crc32c_of_mapped(file.bytes()), crc32c(file.bytes()));
  EXPECT_EQ(crc32c_of_mapped({}), 0u);
}

TEST(Mapped, WhatCannotBeHadIsNothingAndNoSignal) {
  const MappedFile file;
  file.cut_off();
  for (int again = 0; again < 3; ++again) EXPECT_EQ(crc32c_of_mapped(file.bytes()), std::nullopt);
  const ByteView whole = file.bytes().first(kBytes / 2);
  EXPECT_EQ(crc32c_of_mapped(whole), crc32c(whole));
}

TEST(Mapped, CopiesWhatIsThere) {
  const MappedFile file;
  Buffer copy(kBytes);
  ASSERT_TRUE(copy_mapped(file.bytes(), copy.data()));
  EXPECT_EQ(as_chars(copy.view()), as_chars(file.bytes()));
  EXPECT_TRUE(copy_mapped({}, nullptr));
  file.cut_off();
  EXPECT_FALSE(copy_mapped(file.bytes(), copy.data()));
  EXPECT_TRUE(copy_mapped(file.bytes().first(kBytes / 2), copy.data()));
}

TEST(Mapped, WorksOnThreadsThatBlockTheSignal) {
  const MappedFile file;
  file.cut_off();
  std::thread([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    EXPECT_EQ(crc32c_of_mapped(file.bytes()), std::nullopt);
  }).join();
}

TEST(MappedDeathTest, OtherBusErrorsTakeTheirCourse) {
  const MappedFile file;
  file.cut_off();
  ASSERT_EQ(crc32c_of_mapped(file.bytes()), std::nullopt);  // the handler is there
  Buffer copy(kBytes);
  ASSERT_FALSE(copy_mapped(file.bytes(), copy.data()));  // and is not its own former one
  const auto touch = [&] { return crc32c(file.bytes()); };
  EXPECT_DEATH((void)touch(), "");
  EXPECT_EXIT(
      raise(SIGBUS), [](int status) { return status != 0; }, "");
}

}  // namespace
}  // namespace weft
