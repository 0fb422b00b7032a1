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

/// Returns the directory of this process's group in the hierarchy of version 2. Returns nothing when there is no such hierarchy, or
/// when the group is the machine's topmost one. (The topmost group that a container sees has a limit file, which the machine's has
/// not.)
std::optional<std::filesystem::path> unified_group(const std::filesystem::path& root = "/");

}  // namespace weft
