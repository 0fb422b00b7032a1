// The files of a task that writes several, one for each name that its records have.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/executor/task.hpp"

namespace weft::detail {

/// The first few names have open files. Records with other names are sorted by these, on disk where memory does not suffice, and
/// then written name after name: there may be any number. Throws TaskError.
class NamedOutputs {
 public:
  NamedOutputs(runtime::TaskContext& context, std::string work_directory);
  ~NamedOutputs();
  NamedOutputs(const NamedOutputs&) = delete;
  NamedOutputs& operator=(const NamedOutputs&) = delete;

  /// A name is one of a directory below the output, "2026/11" as well; std::invalid_argument when it cannot be.
  void add(const std::string& name, std::string_view line);
  /// What OutputDirectory::commit() wants to know. Once, last.
  std::string finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::detail
