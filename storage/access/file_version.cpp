#include "storage/access/file_version.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/file.hpp"
#include "base/hash.hpp"

namespace weft::storage {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// "2026-11-26T23:04:05.123456789Z".
std::string moment(std::int64_t nanoseconds) {
  const std::int64_t rest = (nanoseconds % kSecond + kSecond) % kSecond;
  const auto seconds = static_cast<std::time_t>((nanoseconds - rest) / kSecond);
  std::tm parts{};
  std::array<char, 32> text{};
  if (::gmtime_r(&seconds, &parts) == nullptr || std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S.", &parts) == 0)
    return std::to_string(nanoseconds) + " ns";
  std::string fraction = std::to_string(rest);
  return text.data() + std::string(9 - fraction.size(), '0') + fraction + "Z";
}

/// What is different; empty when nothing is.
std::string difference(const FileVersion& listed, const FileVersion& now) {
  if (listed.bytes == 0 && now.bytes == 0) return {};  // files of /proc have new times, and nothing else is lost
  const bool comparable = listed.machine == 0 || listed.machine == now.machine;
  if (comparable && listed.id != 0 && now.id != 0 && listed.id != now.id) return "another file is in its place";
  if (listed.bytes > now.bytes || (listed.bytes < now.bytes && !listed.may_grow))
    return std::string("it ") + (listed.bytes > now.bytes ? "shrank" : "grew") + " from " + std::to_string(listed.bytes) + " to " +
           std::to_string(now.bytes) + " bytes";
  if (listed.bytes < now.bytes) return {};
  const bool timed = listed.modified_ns != 0 && now.modified_ns != 0;
  if (timed && listed.modified_ns != now.modified_ns)
    return "it was modified at " + moment(now.modified_ns) + ", and when it was listed, at " + moment(listed.modified_ns) +
           (comparable ? "" : ", on another machine: copies must have the same time");
  return listed.tag.empty() || now.tag.empty() || listed.tag == now.tag ? std::string() : "it was written again";
}

}  // namespace

Result<void> check_same(const std::string& path, const FileVersion& listed, const FileVersion& now) {
  if (!listed.known() || !now.known()) return {};
  const std::string what = difference(listed, now);
  if (what.empty()) return {};
  const bool grew = what.starts_with("it grew");
  return fail(Code::invalid_argument,
              "input " + path + " changed since it was listed: " + what + "; try again when nobody writes to it" +
                  (grew ? ", or with --growing-inputs, which reads what was listed of files that only grow" : ""));
}

std::uint64_t this_machine() {
  static const std::uint64_t machine = []() -> std::uint64_t {
    const auto boot = read_file("/proc/sys/kernel/random/boot_id", 4096);
    struct stat mounts {};
    if (!boot || ::stat("/proc/self/ns/mnt", &mounts) != 0) return 0;
    return std::max<std::uint64_t>(hash64(*boot, mounts.st_ino), 1);
  }();
  return machine;
}

FileVersion version_of(const struct stat& info, bool keeps_inodes) {
  FileVersion version;
  version.bytes = static_cast<std::uint64_t>(info.st_size);
  version.modified_ns = info.st_mtim.tv_sec * kSecond + info.st_mtim.tv_nsec;
  version.machine = this_machine();
  if (keeps_inodes && version.machine != 0) version.id = info.st_ino;
  return version;
}

bool keeps_inodes(const std::string& path) {
  // ext, XFS, Btrfs, tmpfs, overlayfs, NFS, F2FS, ZFS, Ceph, Lustre.
  constexpr std::array<std::uint32_t, 10> kKept{0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630,
                                                0x6969, 0xf2f52010, 0x2fc12fc1, 0x00c36400, 0x0bd00bd0};
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return false;
  return std::find(kKept.begin(), kKept.end(), static_cast<std::uint32_t>(info.f_type)) != kKept.end();
}

}  // namespace weft::storage
