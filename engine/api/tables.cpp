#include "weft/detail/tables.hpp"

#include <vector>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "storage/remote_tables.hpp"
#include "weft/detail/sources.hpp"

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

std::string table_path(const std::string& table) { return std::string(storage::kTableScheme) + table; }

void visit_rows(TaskContext& context, void* self, void (*visit)(void* self, std::string_view key, std::string_view value)) {
  if (context.splits != nullptr && context.reading.empty()) context.reading = *context.splits;
  SourceProgress progress(context);
  for (const storage::Split& split : context.reading) {
    progress.enter(split);
    const auto rows = value_or_throw(tables_of(context).rows(split));
    std::string_view key, value;
    while (value_or_throw(rows->next(key, value))) {
      progress.count();
      visit(self, key, value);
    }
    progress.leave(split);
  }
}

struct TableOutput::Batch {
  void flush() {
    bytes = 0;
    if (rows.empty()) return;
    context.check_stop();
    value_or_throw(tables_of(context).stage(table, transaction, token, std::exchange(rows, {})));
  }

  TaskContext& context;
  const std::string table;
  const std::uint64_t transaction, token;
  std::vector<storage::RemoteRow> rows{};
  std::size_t bytes = 0;
};

TableOutput::TableOutput(TaskContext& context, const std::string& table, const std::string& transaction)
    : batch_(new Batch{context, table, parse_number<std::uint64_t>(transaction).value_or(0), token_of(context.attempt)}) {}
TableOutput::~TableOutput() = default;

void TableOutput::add(std::string_view key, std::string_view value) {
  batch_->rows.emplace_back(key, value);
  batch_->bytes += key.size() + value.size();
  if (batch_->bytes >= kBatchBytes) batch_->flush();
}

std::string TableOutput::finish() {
  batch_->flush();
  return std::to_string(batch_->token);
}

}  // namespace weft::detail
