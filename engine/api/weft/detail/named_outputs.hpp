// The files of a task that writes several, one for each name that its records have.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/executor/task.hpp"

namespace weft::detail {

/// The first few names have open files. Records with other names are sorted by name, on disk if they do not fit in memory, and then
/// written name after name. So there may be any number of names. Throws TaskError.
class NamedOutputs {
 public:
  NamedOutputs(runtime::TaskContext& context, std::string work_directory);
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

}  // namespace weft::detail
