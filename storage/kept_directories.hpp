// Outputs of which a run replaces some directories only ("year=2026/month=11") and keeps the others.
#pragma once

#include <set>
#include <string>

#include "base/result.hpp"
#include "storage/access/remote.hpp"

namespace weft::storage {

/// Names of directories below an output's own, "a/b".
using DirectoryNames = std::set<std::string>;

/// Whether the name is one of these directories, or below one.
bool is_in(const std::string& name, const DirectoryNames& directories);

/// Gives all that is in the local directory `from`, except what is in `replaced` and the _SUCCESS, a second name at the same place
/// in `to`, by hard links; the directories that it makes are synced. io, which names the file: the file system has no hard links.
Result<void> link_others(const std::string& from, const std::string& to, const DirectoryNames& replaced);

/// Removes what is in the local directory and not one of these files, "a/part-00000"; directories stay.
Result<void> remove_all_but(const std::string& directory, const std::set<std::string>& files);

/// Moves these directories of `from` to the same places in `to`, which is there. Each replaces what is there under its name: in
/// one step, or where directories cannot be exchanged in two, between which there is none. When the second step fails, what was
/// there comes back; if that fails as well, it stays in `from`, and the error says where. With `repeats` those that are gone from
/// `from` were moved before.
Result<void> move_directories(RemoteFiles& files, const std::string& from, const std::string& to, const DirectoryNames& directories,
                              bool repeats);
/// Whether move_directories() has left in `directory`, its `from`, what was there before and was not replaced, or perhaps not.
Result<bool> holds_replaced(RemoteFiles& files, const std::string& directory);

}  // namespace weft::storage
