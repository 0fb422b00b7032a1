// read_parquet and write_parquet.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/field_names.hpp"
#include "storage/parquet/column.hpp"
#include "weft/detail/actions.hpp"
#include "weft/detail/json.hpp"
#include "weft/detail/path_fields.hpp"
#include "weft/detail/row_fields.hpp"
#include "weft/detail/sources.hpp"
#include "weft/rows.hpp"

namespace weft::detail {

namespace pq = storage::parquet;

template <class F>
inline constexpr bool kIsParquetField =
    std::same_as<F, std::string_view> || std::same_as<F, std::optional<std::string_view>> || IsJson<F>::value;
template <class Tuple>
inline constexpr bool kAreParquetFields = false;
template <class... F>
inline constexpr bool kAreParquetFields<std::tuple<F&...>> = (kIsParquetField<F> && ...);

/// A struct that can be a row of Parquet.
template <class T>
constexpr bool is_parquet_row() {
  if constexpr (PlainAggregate<T> && !std::is_empty_v<T>) return kAreParquetFields<FieldsOf<T>>;
  return false;
}

template <class T>
pq::Shape shape_of_row(std::span<const std::string> names);

template <class F>
pq::Shape shape_of_field(std::string name) {
  if constexpr (kIsOptional<F>) {
    pq::Shape shape = shape_of_field<typename F::value_type>(std::move(name));
    shape.optional = true;
    return shape;
  } else if constexpr (std::same_as<F, bool>) {
    return {std::move(name), pq::Kind::boolean, 8};
  } else if constexpr (std::floating_point<F>) {
    return {std::move(name), pq::Kind::real_number, sizeof(F) <= 4 ? 32 : 64};
  } else if constexpr (TimeField<F>) {
    constexpr bool kDay = std::same_as<F, Date>;
    return {std::move(name), pq::Kind::signed_number, kDay ? 32 : 64, false, {}, kDay ? pq::Calendar::day : pq::Calendar::moment};
  } else if constexpr (std::integral<F>) {
    return {std::move(name), std::signed_integral<F> ? pq::Kind::signed_number : pq::Kind::unsigned_number, 8 * sizeof(F)};
  } else if constexpr (VectorTraits<F>::value) {
    return {std::move(name), pq::Kind::list, 64, false, {shape_of_field<typename VectorTraits<F>::Element>("element")}};
  } else if constexpr (PlainAggregate<F>) {
    pq::Shape shape = shape_of_row<F>(names_in_files(kFieldNames<F>, {}));
    shape.name = std::move(name);
    return shape;
  } else {
    return {std::move(name), pq::Kind::text};
  }
}

template <class T>
pq::Shape shape_of_row(std::span<const std::string> names) {
  pq::Shape shape;
  [&]<class... F, std::size_t... I>(std::type_identity<std::tuple<F&...>>, std::index_sequence<I...>) {
    (shape.children.push_back(shape_of_field<F>(names[I])), ...);
  }(std::type_identity<FieldsOf<T>>(), std::make_index_sequence<kFieldCount<T>>());
  return shape;
}

/// Why a row cannot be read, noted while the way back to its column is walked.
struct ParquetProblem {
  std::string member;  // "order.price"
  std::string_view wanted;
  bool missing = false;
};

/// False, and the problem, when the value is missing or does not fit.
template <class F>
bool read_parquet_value(const pq::Column& column, std::size_t row, F& value, ParquetProblem& problem) {
  if constexpr (kIsOptional<F>) {
    if (column.at(row) == pq::Presence::missing) {
      value.reset();
      return true;
    }
    if (!value) value.emplace();
    return read_parquet_value(column, row, *value, problem);
  } else {
    const pq::Presence presence = column.at(row);
    if (presence != pq::Presence::there) [[unlikely]] {
      problem.missing = presence == pq::Presence::missing;
      problem.wanted = cell_kind<F>();
      return false;
    }
    if constexpr (TimeField<F>) {
      auto& number = number_of(value);
      number = static_cast<std::remove_reference_t<decltype(number)>>(column.signed_numbers[row]);
      if (number != column.signed_numbers[row]) [[unlikely]] {
        problem.wanted = cell_kind<F>();
        return false;
      }
    } else if constexpr (std::same_as<F, bool>) {
      value = column.booleans[row] != 0;
    } else if constexpr (std::floating_point<F>) {
      const double wide = column.real_numbers[row];
      value = static_cast<F>(wide);
      if constexpr (sizeof(F) < sizeof wide) {
        // As in CSV and JSON: neither infinite nor zero instead of a number that the field cannot hold.
        constexpr double kMost = std::numeric_limits<double>::max();
        const bool infinite = value > std::numeric_limits<F>::max() || value < std::numeric_limits<F>::lowest();
        if ((infinite && wide >= -kMost && wide <= kMost) || (value == 0 && wide != 0)) [[unlikely]] {
          problem.wanted = "a number that fits its field";
          return false;
        }
      }
    } else if constexpr (std::integral<F>) {
      const auto wide = [&] {
        if constexpr (std::signed_integral<F>)
          return column.signed_numbers[row];
        else
          return column.unsigned_numbers[row];
      }();
      value = static_cast<F>(wide);
      if (wide < std::numeric_limits<F>::min() || wide > std::numeric_limits<F>::max()) [[unlikely]] {
        problem.wanted = cell_kind<F>();
        return false;
      }
    } else if constexpr (std::same_as<F, std::string>) {
      value.assign(column.texts[row]);
    } else if constexpr (std::same_as<F, std::string_view>) {
      value = column.texts[row];
    } else if constexpr (VectorTraits<F>::value) {
      value.clear();
      for (auto at = static_cast<std::size_t>(column.ends[row]); at < static_cast<std::size_t>(column.ends[row + 1]); ++at) {
        typename VectorTraits<F>::Element element{};
        if (!read_parquet_value(column.children[0], at, element, problem)) {
          problem.member.insert(0, "[]");
          return false;
        }
        value.push_back(std::move(element));
      }
    } else {
      return read_parquet_row(column.children, row, value, problem, kFieldNames<F>);
    }
    return true;
  }
}

template <class T>
bool read_parquet_row(const std::vector<pq::Column>& columns, std::size_t row, T& record, ParquetProblem& problem,
                      std::span<const std::string_view> names) {
  auto fields = fields_of(record);
  const auto read = [&](std::size_t at, auto& field) {
    if (read_parquet_value(columns[at], row, field, problem)) [[likely]]
      return true;
    if (!problem.member.empty() && problem.member[0] != '[') problem.member.insert(0, ".");
    problem.member.insert(0, names[at]);
    return false;
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return (read(I, std::get<I>(fields)) && ...); }
  (std::make_index_sequence<kFieldCount<T>>());
}

/// A row that could not be read: counts as a bad record.
void bad_parquet_row(const ParquetProblem& problem);

/// What a task needs to read its part of the files.
struct ParquetInput {
  pq::Shape row;
  std::vector<pq::Condition> where;
  bool hive_partitions = true;
};

/// Reads the row groups whose middle is in the task's splits, and calls rows(self, batch, count, progress) with batches of which
/// the first `count` rows are to be read: all, unless only a sample is wanted.
void read_parquet_rows(TaskContext& context, const ParquetInput& input, void* self,
                       void (*rows)(void* self, const pq::Batch& batch, std::size_t count, SourceProgress& progress));
/// On the driver: an error at once when Parquet files cannot be read or written here.
void check_parquet();
/// The same when these cannot be written in this format.
void check_parquet_output(const pq::Shape& row, const ParquetFormat& format);

template <class T>
struct ParquetSource {
  using Record = T;
  std::shared_ptr<const ParquetInput> input;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    struct Reader {
      std::remove_reference_t<Sink>& sink;
      T record{};  // used again, so that texts keep their memory
    } reader{sink};
    read_parquet_rows(
        context, *input, &reader, [](void* self, const pq::Batch& batch, std::size_t count, SourceProgress& progress) {
          auto& into = *static_cast<Reader*>(self);
          for (std::size_t row = 0; row < count; ++row) {
            if (!batch.wanted.empty() && batch.wanted[row] == 0) continue;
            progress.count();
            if (ParquetProblem problem; !read_parquet_row(batch.columns, row, into.record, problem, kFieldNames<T>)) [[unlikely]] {
              bad_parquet_row(problem);
            } else if constexpr (std::is_trivially_copyable_v<T>) {
              into.sink(T(into.record));
            } else {
              into.sink(std::move(into.record));
            }
          }
        });
  }
};

/// Values of a column that wait to be written.
class ParquetColumnBuffer;
// Each adds a value, or what stands for a missing one.
void put_missing(ParquetColumnBuffer& buffer);
void put_flag(ParquetColumnBuffer& buffer, bool value);
void put_signed(ParquetColumnBuffer& buffer, std::int64_t value);
void put_unsigned(ParquetColumnBuffer& buffer, std::uint64_t value);
void put_real(ParquetColumnBuffer& buffer, double value);
void put_text(ParquetColumnBuffer& buffer, std::string_view value);
/// A list or a record, whose elements or members follow in its children.
void put_whole(ParquetColumnBuffer& buffer);
/// Behind the elements of a list.
void end_elements(ParquetColumnBuffer& buffer);
ParquetColumnBuffer& child_of(ParquetColumnBuffer& buffer, std::size_t index);

template <class F>
void put_parquet_value(ParquetColumnBuffer& buffer, const F* value);

/// Null: missing, because what it is a part of is.
template <class T>
void put_parquet_members(ParquetColumnBuffer& buffer, const T* record) {
  [&]<class... F, std::size_t... I>(std::type_identity<std::tuple<F&...>>, std::index_sequence<I...>) {
    if (record == nullptr) {
      (put_parquet_value<F>(child_of(buffer, I), nullptr), ...);
    } else {
      auto fields = fields_of(const_cast<T&>(*record));
      (put_parquet_value<F>(child_of(buffer, I), &std::get<I>(fields)), ...);
    }
  }(std::type_identity<FieldsOf<T>>(), std::make_index_sequence<kFieldCount<T>>());
}

template <class F>
void put_parquet_value(ParquetColumnBuffer& buffer, const F* value) {
  if constexpr (kIsOptional<F>) {
    put_parquet_value<typename F::value_type>(buffer, value != nullptr && *value ? &**value : nullptr);
  } else if constexpr (VectorTraits<F>::value) {
    using Element = typename VectorTraits<F>::Element;
    value == nullptr ? put_missing(buffer) : put_whole(buffer);
    if (value != nullptr) {
      for (const Element& element : *value) put_parquet_value<Element>(child_of(buffer, 0), &element);
    }
    end_elements(buffer);
  } else if constexpr (std::is_arithmetic_v<F> || TimeField<F> || std::convertible_to<const F&, std::string_view>) {
    if (value == nullptr)
      put_missing(buffer);
    else if constexpr (std::same_as<F, bool>)
      put_flag(buffer, *value);
    else if constexpr (std::floating_point<F>)
      put_real(buffer, static_cast<double>(*value));
    else if constexpr (TimeField<F>)
      put_signed(buffer, number_of(const_cast<F&>(*value)));
    else if constexpr (std::signed_integral<F>)
      put_signed(buffer, *value);
    else if constexpr (std::integral<F>)
      put_unsigned(buffer, *value);
    else
      put_text(buffer, *value);
  } else {
    value == nullptr ? put_missing(buffer) : put_whole(buffer);
    put_parquet_members<F>(buffer, value);
  }
}

/// The Parquet file of a task.
class ParquetTaskFile {
 public:
  /// `suffix` and `directory` are those of TaskFile.
  ParquetTaskFile(TaskContext& context, const std::string& work_directory, const pq::Shape& row, const ParquetFormat& format,
                  const std::string& suffix = ".parquet", const std::string& directory = {});
  ~ParquetTaskFile();

  /// Of all rows, as if they were one record's.
  ParquetColumnBuffer& rows();
  /// Behind each row.
  void end_record();
  /// The result of the task. A task without rows writes a file without rows, which has the columns: no bytes would be no Parquet
  /// file.
  Buffer close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

template <class D>
void write_parquet(const D& in, const std::string& path, std::string name, const ParquetFormat& format) {
  using T = typename D::Record;
  pq::Shape row = shape_of_row<T>(names_in_files(kFieldNames<T>, format.names));
  check_parquet_output(row, format);
  const std::string work = in.graph()->open_output(path);
  StageDraft draft = result_stage(in.lineage(), std::move(name), type_name<ParquetSource<T>>());
  draft.body = make_body([chain = in.chain(), work, row = std::move(row), format](TaskContext& context) {
    ParquetTaskFile file(context, work, row, format);
    chain.run(context, [&](T&& record) {
      put_parquet_members<T>(file.rows(), &record);
      file.end_record();
    });
    return file.close();
  });
  in.graph()->add_sink(std::move(draft), path);
}

/// A directory per name of the records, one file after the other.
template <class T>
struct ParquetDirectories {
  TaskContext& context;
  const std::string& work;
  const ParquetFormat& format;
  const pq::Shape& row;
  std::optional<ParquetTaskFile> file{};
  std::string name{}, written{};
  std::uint32_t opened = 0;

  void add(std::string_view directory, ByteView record) {
    if (!file || directory != name) {
      close();
      name = directory;
      file.emplace(context, work, row, format, "-" + std::to_string(opened++) + ".parquet", name);
    }
    Decoder in(record);
    const T value = decode<T>(in);
    put_parquet_members<T>(file->rows(), &value);
    file->end_record();
  }
  void close() {
    if (!file) return;
    const Buffer bytes = file->close();
    written.append(reinterpret_cast<const char*>(bytes.view().data()), bytes.view().size()).append("/").append(name).append("\n");
    file.reset();
  }
};

template <class D, class F>
void write_parquet_by(const D& in, const std::string& path, F function, std::string name, const ParquetFormat& format) {
  using T = typename D::Record;
  pq::Shape row = shape_of_row<T>(names_in_files(kFieldNames<T>, format.names));
  check_parquet_output(row, format);
  const std::string work = in.graph()->open_output(path);
  StageDraft draft = result_stage(in.lineage(), std::move(name), type_name<std::pair<ParquetSource<T>, F>>());
  draft.body = make_body([chain = in.chain(), work, function, row = std::move(row), format](TaskContext& context) {
    NamedRecords records(context);
    std::string directory;
    Encoder bytes;
    chain.run(context, [&](T&& record) {
      directory.clear();
      bytes.clear();
      append_directory(directory, function, std::as_const(record));
      encode(record, bytes);
      records.add(directory, bytes.view());
    });
    ParquetDirectories<T> directories{context, work, format, row};
    records.drain(&directories, [](void* self, std::string_view of, ByteView record) {
      static_cast<ParquetDirectories<T>*>(self)->add(of, record);
    });
    directories.close();
    if (directories.written.empty()) directories.written = "\n";  // a list of nothing
    return Buffer::copy_of(as_bytes(directories.written));
  });
  in.graph()->add_sink(std::move(draft), path);
}

}  // namespace weft::detail
