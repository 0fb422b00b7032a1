// The control groups of this process: where they are, the limits of their memory and processors, and how many processes the kernel
// killed for lack of memory.
//
// A group may lie anywhere below the mounted hierarchy, limits may be in any group above it, and a container may see its own part
// of the hierarchy only. So the group is found from /proc/self/cgroup and the mount from /proc/self/mountinfo, for version 1
// (each controller's own hierarchy) and version 2 (one hierarchy for all), and both are looked at when both are there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct MemoryLimit {
  std::uint64_t bytes = 0;
  std::string group;  // the directory of the group that has this limit
};

/// Returns the tightest memory limit of the process's groups and their ancestors: memory.max and memory.high, or
/// memory.limit_in_bytes. Returns nothing when no limit is set or none can be read. `root` is the directory that has proc and sys.
std::optional<MemoryLimit> memory_limit(const std::filesystem::path& root = "/");

/// Returns the processors that the process's groups may use together, at most: the tightest of cpu.max, or of cpu.cfs_quota_us over
/// cpu.cfs_period_us, of the groups and their ancestors. Returns nothing when no limit is set or none can be read.
std::optional<double> processor_limit(const std::filesystem::path& root = "/");

/// Returns how many processes of this process's groups the kernel has ever killed because memory ran out; 0 when that is not known.
std::uint64_t memory_kills(const std::filesystem::path& root = "/");

/// Where this process is in the hierarchy of a controller.
struct GroupPlace {
  bool unified = false;         // version 2
  std::filesystem::path top;    // of the hierarchy, as it is mounted
  std::filesystem::path group;  // of this process: `top`, or below it
};
/// Returns nothing when the system does not have the controller. Version 1 comes first: a controller is in one hierarchy only.
std::optional<GroupPlace> group_place(std::string_view controller, const std::filesystem::path& root = "/");

/// A group of version 2 into which a process has moved so that others in the one above can have limits (base/control_group.hpp).
inline constexpr std::string_view kOwnGroup = "weft-worker";

/// Returns the directory of this process's group in the hierarchy of version 2, or of the one above when it is kOwnGroup. Returns
/// nothing when there is no such hierarchy, or when the group is the machine's topmost one. (The topmost group that a container
/// sees has a limit file, which the machine's has not.)
std::optional<std::filesystem::path> unified_group(const std::filesystem::path& root = "/");

}  // namespace weft
