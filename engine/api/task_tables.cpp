// Rows of tables in tasks.
#include "base/hash.hpp"
#include "base/text.hpp"
#include "weft/detail/tables.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t kBatchBytes = 2u << 20;

storage::RemoteTables& tables_of(const TaskContext& context) {
  storage::RemoteTables* const tables = storage::tables_beside(context.files);
  if (tables == nullptr) throw runtime::TaskError{Error(Code::invalid_argument, "this task knows no cluster that keeps tables")};
  return *tables;
}

/// One for each attempt of a job.
std::uint64_t token_of(const AttemptId& attempt) {
  return hash_combine(hash_combine(attempt.task.stage.value(), attempt.task.index), attempt.attempt);
}

}  // namespace

std::unique_ptr<storage::RemoteRows> open_rows(TaskContext& context, const storage::Split& split) {
  return value_or_throw(tables_of(context).rows(split));
}

TableOutput::TableOutput(TaskContext& context, std::string table, const std::string& transaction)
    : context_(context),
      table_(std::move(table)),
      transaction_(parse_number<std::uint64_t>(transaction).value_or(0)),
      token_(token_of(context.attempt)) {}

void TableOutput::add(std::string_view key, std::string_view value) {
  rows_.emplace_back(key, value);
  bytes_ += key.size() + value.size();
  if (bytes_ >= kBatchBytes) flush();
}

void TableOutput::flush() {
  bytes_ = 0;
  if (rows_.empty()) return;
  context_.check_stop();
  value_or_throw(tables_of(context_).stage(table_, transaction_, token_, std::exchange(rows_, {})));
}

std::string TableOutput::finish() {
  flush();
  return std::to_string(token_);
}

}  // namespace weft::detail
