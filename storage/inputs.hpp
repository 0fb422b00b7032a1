// From the inputs that a user wrote to the files to read.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "storage/access/remote.hpp"

namespace weft::storage {

/// What is reported of a job's inputs when it has ended: the lists of InputFiles, of all that it read.
struct InputNotes {
  std::set<std::string> skipped, repeated, empty;
};

/// What counts as one file: all names of it, or each name.
enum class Repeats : std::uint8_t { once, by_name };

/// Expands files, directories (recursively, skipping names that start with '.' or '_') and glob patterns, in sorted order. A
/// path that is named twice is read once. So is, with Repeats::once, a file with several names: hard links, and symbolic links to a
/// file or directory that is read anyway. Names without a link on their way are preferred. A plain path that does not exist, a
/// pattern without a match, an unreadable file and what can be read only once (FIFOs, sockets, devices) are errors that name it.
/// "file://" is stripped; "weft://" means files of the cluster, "s3://" objects, "hdfs://" and "webhdfs://" files of HDFS, for
/// which `remote` is asked; other schemes are refused. An empty directory is an empty input. Links in directories are followed, but
/// not those to a directory that they lie in. Links of /dev and /proc that mean another file in each process are followed here.
/// Directories below an input that `wanted` refuses are not listed, where that saves anything; the caller has to leave out what is
/// given of them all the same.
Result<InputFiles> expand_inputs(std::span<const std::string> inputs, RemoteFiles* remote = nullptr,
                                 Repeats repeats = Repeats::once, const DirectoryFilter& wanted = {});

}  // namespace weft::storage
