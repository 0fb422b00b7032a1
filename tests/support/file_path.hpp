// The path of an open file, for libraries that are preloaded and replace calls on files: by system calls alone.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include <sys/syscall.h>
#include <unistd.h>

namespace weft::test {

/// Into `room`, ended by a zero; empty when `fd` is no file of a file system. Leaves errno alone.
template <std::size_t Room>
std::string_view path_of(int fd, char (&room)[Room]) {
  const int before = errno;
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long size = ::syscall(SYS_readlink, link, room, Room - 1);
  errno = before;
  room[size > 0 && room[0] == '/' ? size : 0] = '\0';
  return room;
}

}  // namespace weft::test
