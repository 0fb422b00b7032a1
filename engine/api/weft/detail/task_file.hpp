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

/// One of them, for the attempt alone; `suffix` tells several of an attempt apart, and `directory` is where below the output it
/// goes. What is written counts in the task's usage. Throws TaskError. Nothing is left of a file that is not closed.
class TaskFile {
 public:
  TaskFile(runtime::TaskContext& context, const std::string& work_directory, const std::string& suffix = {},
           const std::string& directory = {}, storage::Compression compression = storage::Compression::none);
  ~TaskFile();
  TaskFile(const TaskFile&) = delete;
  TaskFile& operator=(const TaskFile&) = delete;

  void append(std::string_view bytes);
  /// Its name, or nothing when the file is not there because nothing was written.
  std::string close();

 private:
  runtime::TaskContext& context_;
  std::unique_ptr<storage::OutputFile> file_;
};

/// The same, through a buffer.
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
