// Files without a name that this process has open, to be damaged by tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace weft::shuffle::test {

/// Descriptors of this process on removed files below `directory`; they stay its own.
inline std::vector<int> unnamed_files_in(const std::filesystem::path& directory) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && target.starts_with(directory.string() + "/") && target.ends_with(" (deleted)"))
      found.push_back(std::stoi(entry.path().filename().string()));
  }
  return found;
}

}  // namespace weft::shuffle::test
