// The file that one attempt of a task writes below the work directory of an output (storage/output_directory.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "storage/access/remote.hpp"
#include "storage/compression/compression.hpp"

namespace weft::storage {

/// Buffered, large sequential writes. One thread. The file is made with its first bytes: of many partitions most may be empty, and
/// a file costs more than a task that finds nothing.
class OutputFile {
 public:
  /// Makes nothing yet: that a file cannot be made is the error of append() or close().
  /// Compressed, the file is made even when nothing is written, because an empty file would be no valid one; its name ends as
  /// suffix_of(compression), and so will the part's. `part` is where the file will be below the output directory, without that
  /// suffix: stores that cannot rename need it now.
  static Result<std::unique_ptr<OutputFile>> create(const std::string& work_directory, std::string name,
                                                    RemoteFiles* remote = nullptr, Compression compression = Compression::none,
                                                    const std::string& part = {});
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes the file unless it was closed.
  virtual ~OutputFile() = default;
  virtual Result<void> append(ByteView bytes) = 0;
  virtual Result<void> close() = 0;
  /// For OutputDirectory::commit(), of staged files with the receipt. Empty when nothing was written.
  std::string name() const { return bytes_ == 0 ? std::string() : written_name(); }
  /// Of the file: compressed ones, if it is.
  std::uint64_t bytes() const { return bytes_; }

 protected:
  OutputFile() = default;
  virtual std::string written_name() const = 0;

  std::uint64_t bytes_ = 0;
};

}  // namespace weft::storage
