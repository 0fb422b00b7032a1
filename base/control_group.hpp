// Control groups that this process makes for others: what is in one has a limit of memory and of processes, and a fair share of the
// processors. Where groups are and what limits this process has is in base/cgroup.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft {

struct GroupLimits {
  std::uint64_t memory_bytes = 0;  // of anonymous memory, files in memory and caches together; 0: none
  std::uint64_t processes = 0;     // threads included; 0: none
};

/// Owns a group: one directory in version 2, one in the hierarchy of each controller in version 1. Any thread may use a const one.
class ControlGroup {
 public:
  ControlGroup(ControlGroup&&) noexcept = default;
  ControlGroup& operator=(ControlGroup&&) = delete;
  /// Kills what is in it and removes it. Waits for these processes to end, a second at most.
  ~ControlGroup();

  /// Version 1: a process enters by writing "0" into each of these, before it has a second thread. Empty in version 2.
  std::vector<int> entries() const;
  /// Version 2: the directory, for CLONE_INTO_CGROUP. -1 in version 1.
  int directory() const { return unified_.get(); }
  /// Whether the kernel counts its processes.
  bool counts_processes() const { return !pids_.empty(); }
  /// How often a process or thread was refused because of the limit.
  std::uint64_t refused_processes() const;
  /// How many of its processes the kernel has killed for lack of memory.
  std::uint64_t memory_kills() const;

 private:
  friend class GroupParent;
  ControlGroup() = default;
  Result<void> add(const std::filesystem::path& directory, bool unified);
  Result<void> limit(const GroupLimits& limits);
  void kill_all() const;

  std::vector<std::filesystem::path> directories_;
  std::vector<Fd> entries_;
  Fd unified_;
  std::filesystem::path pids_, memory_;  // the directories with these controllers; empty: there is none
};

/// Where groups are made. One thread.
class GroupParent {
 public:
  /// `where`: "auto", the groups of this process, or the name of a group, such as /weft, which is made when it is not there.
  /// Removes groups that processes of this machine have left here which are gone, and kills what is in them. In version 2 a group
  /// cannot have both processes and limited groups: with "auto" this process moves into a new group, kOwnGroup, in the present one.
  /// Error: there are no control groups, or none can be made there. `root` is the directory that has proc and sys.
  static Result<GroupParent> open(const std::string& where, const std::filesystem::path& root = "/");

  /// `name` distinguishes the groups of this process. Error: the system refuses a group or a limit.
  Result<ControlGroup> make(const std::string& name, const GroupLimits& limits) const;
  /// For a log line: the directory, or one of them.
  const std::filesystem::path& place() const { return hierarchies_.front().directory; }

 private:
  struct Hierarchy {
    std::filesystem::path directory;
    bool unified = false;
    bool pids = false, memory = false;  // controllers
  };
  void sweep() const;

  std::vector<Hierarchy> hierarchies_;  // at least one
  std::string prefix_;                  // of the groups of this process
};

}  // namespace weft
