// Directories to which other users have no access.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.hpp"

namespace weft {

/// Makes the directory (mode 0700) and its missing parents, and removes the rights of group and others from it and from
/// everything that is already in it. Symbolic links in it are not followed, and what belongs to neither this process's user nor the
/// directory's owner is left as it is, with all that is in it: its owner may exchange it meanwhile. An error names the path.
Result<void> make_private_directory(const std::filesystem::path& path);

/// Of a directory that is there, and that this process is to keep its own files in: takes the right to write from group and others
/// where it is this process's user's, and says so in the log. Those who may pass through it or read it still may. Where it is
/// sticky, as /tmp and a new tmpfs are, it is left as it is: others can make files there, and cannot exchange what is not theirs.
/// invalid_argument: it belongs to a user who is neither this process's nor root. One of root in which others can write is taken,
/// with a warning, where this process is not root's: only root can close it. Other errors name the path.
Result<void> keep_others_from_writing(const std::filesystem::path& path);

/// Sets umask 077, so that files and directories that this process makes are accessible to its user only. Call it before there are
/// threads.
void keep_files_private();
/// Returns the umask before that call, for users' programs that this process starts, or nothing when there was no such call.
std::optional<unsigned> users_umask();

}  // namespace weft
