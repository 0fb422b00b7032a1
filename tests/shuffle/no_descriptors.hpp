// A process that may open nothing more, for a while.
#pragma once

#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/fd.hpp"

namespace weft::shuffle::test {

/// While it lives, no descriptor is to be had in this process.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    taken_.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(taken_.front().get()) + 16;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    for (Fd next; (next = Fd(::fcntl(taken_.front().get(), F_DUPFD_CLOEXEC, 0))).valid();) taken_.push_back(std::move(next));
  }
  ~NoDescriptors() {
    taken_.clear();
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<Fd> taken_;
};

}  // namespace weft::shuffle::test
