// A small file system of a test's own, which can be made full. It takes the right to mount.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace weft::test {

/// In memory, at the path, until the object goes: with all that is on it.
class SmallDisk {
 public:
  SmallDisk(std::string path, std::uint64_t mebibytes) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, ("size=" + std::to_string(mebibytes) + "m").c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& path() const { return path_; }
  std::uint64_t free() const {
    struct statvfs disk {};
    return ::statvfs(path_.c_str(), &disk) == 0 ? std::uint64_t{disk.f_bavail} * disk.f_frsize : 0;
  }
  /// Until so many bytes are free, or up to a page fewer.
  void fill(std::uint64_t but = 0) {
    const int file = ::open((path_ + "/fill").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::vector<char> bytes(std::size_t{1} << 20);
    for (std::uint64_t left = free(); left > but; left = free()) {
      const std::uint64_t size = std::min<std::uint64_t>(bytes.size(), left - but);
      if (::write(file, bytes.data(), size) <= 0) break;
    }
    ::close(file);
  }
  /// The room is there again.
  void clear() { std::filesystem::remove(path_ + "/fill"); }

 private:
  const std::string path_;
  bool mounted_ = false;
};

}  // namespace weft::test
