// The control groups of this process, as far as memory goes: what limits them, and whom the kernel has killed for want of it.
//
// A group may lie anywhere below the mounted hierarchy, limits may be in any group above it, and a container may see its own part
// of the hierarchy only. So the group is found from /proc/self/cgroup and the mount from /proc/self/mountinfo, for version 1
// (the memory controller's own hierarchy) and version 2 (one hierarchy for all), and both are looked at when both are there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace weft {

struct MemoryLimit {
  std::uint64_t bytes = 0;
  std::string group;  // whose limit it is: its directory
};

/// The tightest limit on memory of the process's groups and those above them: memory.max and memory.high, or
/// memory.limit_in_bytes. Nothing when none is set, or when none can be read. `root` is where /proc and /sys are looked for.
std::optional<MemoryLimit> memory_limit(const std::filesystem::path& root = "/");

/// How many processes of this process's groups the kernel has killed because memory ran out, ever; 0 when it does not say.
std::uint64_t memory_kills(const std::filesystem::path& root = "/");

}  // namespace weft
