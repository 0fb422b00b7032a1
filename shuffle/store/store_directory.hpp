// The directory of a store: its ownership, and names for its files. Private to the store.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "shuffle/segment/segment.hpp"

namespace weft::shuffle {

/// Of files that have a name: those of a store that is gone are removed by the next one.
inline constexpr std::string_view kSegmentFilePrefix = "weft-segment-";

/// Takes the directory, made when it is not there, for this process (flock on the directory itself) and removes what an earlier
/// owner left. already_exists: another process has it.
Result<Fd> own_directory(const std::string& path);

/// Links an unlinked file of the directory to `path`; where the file system cannot do that, copies it.
Result<void> give_name(int source, const std::string& path);

/// The segment as a file of that path in the directory; one that lies in a file already is given the name.
Result<void> write_named_segment(const Segment& segment, const std::string& directory, const std::string& path);

}  // namespace weft::shuffle
