// Which file a path meant when the inputs of a job were listed, so that later readers notice that it is another one by now.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

struct stat;

namespace weft::storage {

/// What is remembered of a file. What a store does not give is 0 or empty.
struct FileVersion {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970; of local files and those of HDFS
  std::uint64_t id = 0;          // no two files have it: the number of an inode, of a file of HDFS or of the cluster
  std::uint64_t machine = 0;     // where `id` has this meaning, as this_machine() says; 0: everywhere
  std::string tag{};             // of an object: its ETag
  bool may_grow = false;         // a longer file that is the same otherwise is fine: `bytes` of it are read

  /// Nothing is known of a file that claims to have no bytes and has some, as those of /proc do.
  bool known() const { return bytes != 0 || modified_ns != 0 || id != 0 || !tag.empty(); }
};

/// An error that names the file, what changed and what to do, when `now` is not the file that was `listed`: it has another length
/// or time of modification, or is another file. Code::invalid_argument, so that no task is tried again: what was listed is gone.
/// What one of the two lacks is not compared. Numbers of inodes differ between machines and between containers: there, only length
/// and time are compared.
Result<void> check_same(const std::string& path, const FileVersion& listed, const FileVersion& now);

/// check_same() compares ids only where this is the same: between processes of a running kernel that see the same mounts. 0 when it
/// is not known.
std::uint64_t this_machine();

/// The version of a local file. Its id counts where file systems keep the numbers of inodes, as `keeps_inodes` says.
FileVersion version_of(const struct stat& info, bool keeps_inodes);
/// Whether an inode of the file system that holds `path` has one number for as long as it is there. File systems in user space and
/// some others make numbers up, and again differently when the kernel had forgotten the file.
bool keeps_inodes(const std::string& path);

}  // namespace weft::storage
