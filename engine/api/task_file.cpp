#include "weft/detail/task_file.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "base/timed.hpp"
#include "storage/output_directory.hpp"
#include "storage/output_file.hpp"

namespace weft::detail {
namespace {

/// A single record that does not fit the task's budget.
[[noreturn]] void record_too_large(const runtime::TaskContext& context, std::uint64_t bytes) {
  throw runtime::TaskError{Error(Code::resource_exhausted, "write: a single record takes " + std::to_string(bytes) +
                                                               " bytes, more than the task's memory budget of " +
                                                               std::to_string(context.operators.memory->limit()) +
                                                               " bytes; give tasks more memory")};
}

}  // namespace

TaskFile::TaskFile(runtime::TaskContext& context, const std::string& work_directory, const std::string& suffix,
                   const std::string& directory, storage::Compression compression)
    : context_(context),
      file_(runtime::value_or_throw(
          storage::OutputFile::create(work_directory,
                                      fmt::format("_task-{}-{}-{}{}", context.attempt.task.stage.value(),
                                                  context.attempt.task.index, context.attempt.attempt, suffix),
                                      context.files, compression,
                                      (directory.empty() ? "" : directory + "/") + storage::part_name(context.attempt.task.index) +
                                          std::filesystem::path(suffix).extension().string()))) {}

TaskFile::~TaskFile() = default;

void TaskFile::append(std::string_view bytes) {
  runtime::value_or_throw(timed(context_.usage.write, [&] { return file_->append(as_bytes(bytes)); }));
  context_.usage.output_bytes += bytes.size();
}

std::string TaskFile::close() {
  runtime::value_or_throw(timed(context_.usage.write, [&] { return file_->close(); }));
  return file_->name();
}

BufferedTaskFile::BufferedTaskFile(runtime::TaskContext& context, const std::string& work_directory,
                                   storage::Compression compression)
    : context_(context), file_(context, work_directory, {}, {}, compression) {
  buffer_.reserve(kFlushBytes + 4096);
}

void BufferedTaskFile::flush() {
  if (buffer_.size() > kFlushBytes + context_.operators.memory->limit()) record_too_large(context_, buffer_.size());
  file_.append(buffer_);
  buffer_.clear();
}

Buffer BufferedTaskFile::close() {
  file_.append(buffer_);
  return Buffer::copy_of(as_bytes(file_.close()));
}

}  // namespace weft::detail
