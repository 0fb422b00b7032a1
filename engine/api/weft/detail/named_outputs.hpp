// The files of a task that writes several, one for each name that its records have.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "runtime/executor/task.hpp"
#include "storage/compression/compression.hpp"

namespace weft::detail {

/// What the files of each name are like.
struct NamedFiles {
  std::string header{};  // what each begins with
  storage::Compression compression = storage::Compression::none;
};

/// The first few names have open files. Records with other names are sorted by name, on disk if they do not fit in memory, and then
/// written name after name. So there may be any number of names. Throws TaskError.
class NamedOutputs {
 public:
  NamedOutputs(runtime::TaskContext& context, std::string work_directory, NamedFiles files);
  ~NamedOutputs();
  NamedOutputs(const NamedOutputs&) = delete;
  NamedOutputs& operator=(const NamedOutputs&) = delete;

  /// A name is that of a directory below the output, such as "2026/11"; std::invalid_argument if it cannot be one.
  void add(const std::string& name, std::string_view line);
  /// The list for OutputDirectory::commit(). Called once, last.
  std::string finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Records that are sorted by name, on disk if they do not fit in memory, to be written one name after the other: for files of
/// which each takes memory while it is open. Throws TaskError.
class NamedRecords {
 public:
  explicit NamedRecords(runtime::TaskContext& context);
  ~NamedRecords();
  NamedRecords(const NamedRecords&) = delete;
  NamedRecords& operator=(const NamedRecords&) = delete;

  /// As of NamedOutputs.
  void add(const std::string& name, ByteView record);
  /// Calls visit(self, name, record) for all, name after name. Once, last.
  void drain(void* self, void (*visit)(void* self, std::string_view name, ByteView record));

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::detail
