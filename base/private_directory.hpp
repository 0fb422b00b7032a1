// Directories that are of no other user's business.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.hpp"

namespace weft {

/// Makes the directory (mode 0700) and those above it that are missing, and takes the rights of group and others away from it and
/// from all that lies in it already. Symbolic links are not followed. An error names the path.
Result<void> make_private_directory(const std::filesystem::path& path);

/// From now on files and directories that this process makes are its user's alone (umask 077). To be called before there are
/// threads.
void keep_files_private();
/// The umask before that, for programs of users that this process starts; nothing when there was no such call.
std::optional<unsigned> users_umask();

}  // namespace weft
