// Input splits: which bytes of which file a task reads. Record boundaries are found by the reader, not by the splitter: a text
// split owns every line that *starts* in [offset, offset + length); fixed-size records are cut at whole records.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "storage/access/file_version.hpp"
#include "storage/access/remote.hpp"
#include "storage/compression/format.hpp"

namespace weft::storage {

/// A piece of one input file. `hosts` names the nodes that hold it, best first; empty means anywhere.
struct Split {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::vector<std::string> hosts;
  Format format = Format::detect;  // a compressed file that is cut says so in every piece
  FileVersion version{};           // of the file that was listed: what is read must be that one
};

/// What one task reads: one piece of a large file or many small files together.
using SplitGroup = std::vector<Split>;

struct SplitOptions {
  std::uint64_t target_bytes = 256u << 20;  // largest wanted size of a group
  std::uint64_t min_groups = 1;             // split further when the input has fewer (never below 64 KiB a piece)
  std::uint64_t multiple_of = 1;            // so that tasks of equal size keep as many slots busy to the end
  std::uint64_t record_bytes = 0;           // 0: text lines; otherwise cut at multiples and refuse a file whose size is none
  Format format = Format::detect;           // raw: lines of whatever there is, nothing is decompressed or refused
  bool whole_files = false;                 // no file is cut: its records can be found from its beginning only
  bool growing_files = false;               // a file that only grows is read as far as it was listed (FileVersion::may_grow)
};

/// Cuts the files into groups of about target_bytes, those of the cluster where their pieces end, with the hosts that hold these: a
/// group has pieces that some host holds all of. Empty files give no split. Zero groups for zero bytes. A file that claims to have
/// no bytes but has some, as those of /proc do, is one split, whose length is what was found now, at most 64 KiB: it is read until
/// it ends. As records of a fixed size it is refused. Compressed text is cut where its format allows it (storage/compression);
/// otherwise one group has the whole file. `listed` has the versions of the files, as InputFiles does, or nothing: a file that is
/// another one by now is an error (check_same).
Result<std::vector<SplitGroup>> split_files(std::span<const std::string> files, const SplitOptions& options,
                                            RemoteFiles* remote = nullptr, std::span<const FileVersion> listed = {});

/// Why a file that does not tell its size cannot be read in records of a fixed size.
Error sizeless_records(const std::string& path);

}  // namespace weft::storage
