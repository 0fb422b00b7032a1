// Tables of the cluster as sources and sinks: rows of a snapshot, and rows that appear together when the job has succeeded.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/actions.hpp"

namespace weft::detail {

/// "table://NAME".
std::string table_path(const std::string& table);

/// Calls visit(self, key, value) for the rows of the running task's splits. Throws TaskError.
void visit_rows(TaskContext& context, void* self, void (*visit)(void* self, std::string_view key, std::string_view value));

/// Keys and values, as views of the reader's memory.
struct TableSource {
  using Record = std::pair<std::string_view, std::string_view>;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    visit_rows(context, &sink, [](void* self, std::string_view key, std::string_view value) {
      (*static_cast<std::remove_reference_t<Sink>*>(self))(Record(key, value));
    });
  }
};

/// Sets the rows of one attempt aside, in batches.
class TableOutput {
 public:
  TableOutput(TaskContext& context, const std::string& table, const std::string& transaction);
  ~TableOutput();
  TableOutput(const TableOutput&) = delete;
  TableOutput& operator=(const TableOutput&) = delete;
  void add(std::string_view key, std::string_view value);
  /// Sets the last rows aside. Returns the name by which all of them are committed.
  std::string finish();

 private:
  struct Batch;
  const std::unique_ptr<Batch> batch_;
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
  const std::string path = table_path(table);
  const std::string transaction = in.graph()->open_output(path);
  StageDraft draft = result_stage(in.lineage(), std::move(name), type_name<typename D::Record>());
  draft.body = make_body([chain = in.chain(), table, transaction](TaskContext& context) {
    TableOutput out(context, table, transaction);
    chain.run(context, [&](typename D::Record&& record) { out.add(record.first, record.second); });
    return Buffer::copy_of(as_bytes(out.finish()));
  });
  in.graph()->add_sink(std::move(draft), path);
}

}  // namespace weft::detail
