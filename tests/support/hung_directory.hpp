// A directory whose file system never answers, as that of a server which is gone.
#pragma once

#include <string>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"

namespace weft::test {

/// A mount in user space that nobody serves. Whoever enters it waits until it is killed, or until this is gone.
class HungDirectory {
 public:
  HungDirectory() : device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
    const std::string options = fmt::format("fd={},rootmode=40000,user_id=0,group_id=0", device_.get());
    made_ = device_.valid() && ::mount("hung", path().c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
  }
  ~HungDirectory() {
    if (made_) (void)::umount2(path().c_str(), MNT_FORCE | MNT_DETACH);
  }
  HungDirectory(const HungDirectory&) = delete;
  HungDirectory& operator=(const HungDirectory&) = delete;

  /// False: this machine has no such mounts for us; it needs root and /dev/fuse.
  bool made() const { return made_; }
  std::string path() const { return place_.path(); }

 private:
  TempDir place_ = TempDir::create("weft-hung-").value();
  Fd device_;
  bool made_ = false;
};

}  // namespace weft::test
