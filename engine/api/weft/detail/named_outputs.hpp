// The files of a task that writes several, one for each name that its records have.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/executor/task.hpp"
#include "runtime/operators/account.hpp"
#include "runtime/operators/external_sorter.hpp"
#include "storage/output.hpp"

namespace weft::detail {

/// The first few names have open files. Records with other names are sorted by these, on disk where memory does not suffice, and
/// then written name after name: there may be any number. Throws TaskError.
class NamedOutputs {
 public:
  NamedOutputs(runtime::TaskContext& context, std::string work_directory);

  /// A name is one of a directory below the output, "2026/11" as well; std::invalid_argument when it cannot be.
  void add(const std::string& name, std::string_view line);
  /// What OutputDirectory::commit() wants to know. Once, last.
  std::string finish();

 private:
  using Line = std::pair<std::string_view, std::string_view>;
  struct ByName {
    std::string_view operator()(const Line& line) const { return line.first; }
  };
  using Sorter = runtime::ExternalSorter<Line, ByName>;
  using File = std::unique_ptr<storage::OutputFile>;

  static void check(const std::string& name);
  File open();
  void append(storage::OutputFile& file, std::string_view line);
  void close(storage::OutputFile& file, const std::string& name);

  runtime::TaskContext& context_;
  const std::string work_;
  std::map<std::string, File> files_;
  std::optional<Sorter> others_;
  std::uint32_t opened_ = 0;
  std::string written_;
};

}  // namespace weft::detail
