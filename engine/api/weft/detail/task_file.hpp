// The files that tasks write, in a hidden directory beside the target.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "runtime/executor/task.hpp"
#include "storage/compression/compression.hpp"

namespace weft::storage {
class OutputFile;
}

namespace weft::detail {

/// A file of one attempt. `suffix` distinguishes several files of an attempt, and `directory` is its place below the output. What
/// is written counts in the task's usage. Throws TaskError. A file that is not closed is removed.
class TaskFile {
 public:
  TaskFile(runtime::TaskContext& context, const std::string& work_directory, const std::string& suffix = {},
           const std::string& directory = {}, storage::Compression compression = storage::Compression::none);
  ~TaskFile();
  TaskFile(const TaskFile&) = delete;
  TaskFile& operator=(const TaskFile&) = delete;

  void append(std::string_view bytes);
  /// Its name; empty if there is no file because nothing was written.
  std::string close();

 private:
  runtime::TaskContext& context_;
  std::unique_ptr<storage::OutputFile> file_;
};

/// A TaskFile behind a buffer.
class BufferedTaskFile {
 public:
  BufferedTaskFile(runtime::TaskContext& context, const std::string& work_directory, storage::Compression compression);

  /// To append a record to; end_record() follows.
  std::string& buffer() { return buffer_; }
  void end_record() {
    if (buffer_.size() >= kFlushBytes) flush();
  }
  /// The result of the task.
  Buffer close();

 private:
  static constexpr std::size_t kFlushBytes = 256u << 10;

  void flush();

  runtime::TaskContext& context_;
  TaskFile file_;
  std::string buffer_;
};

}  // namespace weft::detail
