// Programs that make network namespaces, in a world of their own that the kernel takes away when they end, however they end.
#pragma once

#include <functional>
#include <string>

namespace weft::test {

/// Why there can be no world of one's own here; empty when there can.
std::string own_world_missing();

/// Runs `work` in a child process and ends this one with its exit code, or 128 + the signal that ended it. The child is the first
/// process of process, network and mount namespaces of its own: every process it leaves is killed with it, and the network
/// namespaces that were made in it (`ip netns add`) are gone with the last of them, also when this process is killed. Exit code 1
/// and a line when the namespaces cannot be made. Call it before there are threads.
[[noreturn]] void in_own_world(const std::function<int()>& work);

}  // namespace weft::test
