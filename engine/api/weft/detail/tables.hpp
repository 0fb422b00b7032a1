// Tables of the cluster as sources and sinks: rows of a snapshot, and rows that appear together when the job has succeeded.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/remote_tables.hpp"
#include "weft/detail/actions.hpp"
#include "weft/detail/sources.hpp"

namespace weft::detail {

/// The rows of the running task's split. Throws TaskError.
std::unique_ptr<storage::RemoteRows> open_rows(TaskContext& context, const storage::Split& split);

/// Keys and values, as views of the reader's memory.
struct TableSource {
  using Record = std::pair<std::string_view, std::string_view>;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    if (context.splits != nullptr) context.reading = *context.splits;
    SourceProgress progress(context);
    for (const storage::Split& split : context.reading) {
      progress.enter(split);
      const auto rows = open_rows(context, split);
      Record row;
      while (value_or_throw(rows->next(row.first, row.second))) {
        progress.count();
        sink(Record(row));
      }
      progress.leave(split);
    }
  }
};

/// Sets the rows of one attempt aside, in batches.
class TableOutput {
 public:
  TableOutput(TaskContext& context, std::string table, const std::string& transaction);
  void add(std::string_view key, std::string_view value);
  /// Everything is set aside; by this name it is committed.
  std::string finish();

 private:
  void flush();

  TaskContext& context_;
  const std::string table_;
  const std::uint64_t transaction_, token_;
  std::vector<storage::RemoteRow> rows_;
  std::size_t bytes_ = 0;
};

template <class T>
inline constexpr bool kIsTableRow = false;
template <class K, class V>
inline constexpr bool kIsTableRow<std::pair<K, V>> =
    std::convertible_to<const K&, std::string_view>&& std::convertible_to<const V&, std::string_view>;
/// A pair of texts.
template <class T>
concept TableRecord = kIsTableRow<T>;

template <class D>
void write_table(const D& in, const std::string& table, std::string name) {
  const std::string path = std::string(storage::kTableScheme) + table;
  const std::string transaction = in.graph()->open_output(path);
  StageDraft draft = result_stage(in, std::move(name), type_name<typename D::Record>());
  draft.body = make_body([chain = in.chain(), table, transaction](TaskContext& context) {
    TableOutput out(context, table, transaction);
    chain.run(context, [&](typename D::Record&& record) { out.add(record.first, record.second); });
    return Buffer::copy_of(as_bytes(out.finish()));
  });
  in.graph()->add_sink(std::move(draft), path);
}

}  // namespace weft::detail
