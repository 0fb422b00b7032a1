// Input splits: which bytes of which file a task reads. Record boundaries are found by the reader, not by the splitter: a text
// split owns every line that *starts* in [offset, offset + length); fixed-size records are cut at whole records.
#pragma once

#include <cstdint>
#include <set>
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

/// What there is to say of a job's inputs when it has ended: InputFiles, of all that it read.
struct InputNotes {
  std::set<std::string> skipped, repeated, empty;
};

/// Expands files, directories (recursively, skipping names that start with '.' or '_') and glob patterns, in sorted order. What is
/// named twice is read once, and so is with Repeats::once what several names mean: hard links, and symbolic links to a file or
/// directory that is read anyway, which the names without a link on their way have first. A plain path that does not exist, a
/// pattern without a match, an unreadable file and what can be read only once (FIFOs, sockets, devices) are errors that name it.
/// "file://" is stripped; "weft://" means files of the cluster, "s3://" objects, "hdfs://" and "webhdfs://" files of HDFS, for
/// which `remote` is asked; other schemes are refused. An empty directory is an empty input. Links in directories are followed, but
/// not those to a directory that they lie in. Links of /dev and /proc that mean another file in each process are followed here.
enum class Repeats : std::uint8_t { once, by_name };
Result<InputFiles> expand_inputs(std::span<const std::string> inputs, RemoteFiles* remote = nullptr,
                                 Repeats repeats = Repeats::once);

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
