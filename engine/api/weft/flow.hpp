// Flow: what a job's definition builds its datasets from.
//
// `define(Flow&, const Options&)` must be deterministic: executors run it again to find the code of their stages. The driver
// records values of actions and of broadcast() and passes them on, so a program may depend on those. What must happen only once
// (printing, reading a clock or a file) belongs in broadcast() or on_driver().
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "weft/dataset.hpp"
#include "weft/detail/path_fields.hpp"
#include "weft/detail/sources.hpp"
#include "weft/detail/tables.hpp"
#include "weft/rows.hpp"

namespace weft {

/// A value made by the driver, the same in every task. Cheap to copy; capture it by value.
template <class T>
class Broadcast {
 public:
  explicit Broadcast(std::shared_ptr<const T> value) : value_(std::move(value)) {}
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

 private:
  std::shared_ptr<const T> value_;
};

/// Files, directories (recursively; names beginning with '.' or '_' are skipped) and glob patterns.
class Paths {
 public:
  Paths(std::string path) : paths_{std::move(path)} {}                 // NOLINT(google-explicit-constructor)
  Paths(const char* path) : paths_{path} {}                            // NOLINT(google-explicit-constructor)
  Paths(std::vector<std::string> paths) : paths_(std::move(paths)) {}  // NOLINT(google-explicit-constructor)
  Paths(std::initializer_list<std::string> paths) : paths_(paths) {}
  const std::vector<std::string>& list() const { return paths_; }

 private:
  std::vector<std::string> paths_;
};

/// How read_text handles files that are not plain text. `detect` decompresses gzip, zstd, bzip2, xz and lz4, and refuses others
/// (archives, binary tables, programs, images). `raw` reads the bytes of any file as lines.
enum class InputFormat : std::uint8_t { detect, raw };

class Flow {
  using Where = std::source_location;

 public:
  explicit Flow(std::shared_ptr<detail::Graph> graph) : graph_(std::move(graph)) { graph_->definition_begins(this); }
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  /// Lines, without "\n" or "\r\n", as views. Compressed files are decompressed.
  Dataset<std::string_view, detail::TextSource> read_text(const Paths& paths, InputFormat format = InputFormat::detect,
                                                          Where where = Where::current()) {
    return from_files(paths, 0, "read_text", where, detail::TextSource{}, format);
  }

  /// Records of a fixed size, as views.
  Dataset<std::string_view, detail::FixedSource> read_records(const Paths& paths, std::uint64_t record_bytes,
                                                              Where where = Where::current()) {
    detail::check_record_bytes(record_bytes);
    return from_files(paths, record_bytes, "read_records", where, detail::FixedSource{record_bytes});
  }
  template <std::size_t N>
  auto read_records(const Paths& paths, Where where = Where::current()) {
    return read_records(paths, N, where);
  }
  /// Records as write_records writes them; T has a fixed size and no padding.
  template <class T>
  auto read_records(const Paths& paths, Where where = Where::current()) {
    if constexpr (detail::check_flat_record<T>()) {
      const auto bytes = from_files(paths, sizeof(T), "read_records", where, detail::FixedSource{sizeof(T)});
      return bytes.map(
          [](std::string_view record) {
            Decoder in(as_bytes(record));
            return decode<T>(in);
          },
          where);
    } else {
      return detail::Refused();
    }
  }

  /// Rows of CSV (RFC 4180) as plain structs: each field is the column of its name, or the directory: of a file in "year=2026" the
  /// field `year` is 2026 (CsvFormat::hive_partitions, ::where). So it is in read_json and read_parquet. Malformed rows, and rows
  /// with a cell that does not fit its field, are skipped and count as bad records. std::string_view fields live while the record
  /// is processed.
  template <class T>
  auto read_csv(const Paths& paths, CsvFormat format = {}, Where where = Where::current()) {
    if constexpr (detail::check_read_csv<T>()) {
      detail::check_csv_format(format, detail::kCellTypes<FieldsOf<T>>, kFieldNames<T>);
      const auto fields = detail::path_fields("read_csv", detail::kCellTypes<FieldsOf<T>>, names_of<T>(format), format.where,
                                              format.hive_partitions, false, format.missing);
      return from_files(paths, 0, "read_csv", where, detail::CsvSource<T>{std::make_shared<const CsvFormat>(std::move(format))},
                        InputFormat::detect, fields.get());
    } else {
      return detail::Refused();
    }
  }
  /// Lines of JSON objects as plain structs: each field is the member of its name; other members are ignored. Lines that are not
  /// JSON, or have a member that does not fit its field, are skipped and count as bad records.
  template <class T>
  auto read_json(const Paths& paths, const JsonFormat& format = {}, Where where = Where::current()) {
    if constexpr (detail::check_read_json<T>()) {
      detail::JsonSource<T> source{detail::json_input(names_of<T>(format), format)};
      const auto fields = detail::path_fields("read_json", detail::kCellTypes<FieldsOf<T>>, source.input->names, format.where,
                                              format.hive_partitions, false);
      return from_files(paths, 0, "read_json", where, std::move(source), InputFormat::detect, fields.get());
    } else {
      return detail::Refused();
    }
  }

  /// Rows of Parquet as plain structs: each field is the column of its name, and no other columns are read. Whole numbers fit into
  /// any number; days are days since 1970 and times microseconds since then, or ISO texts; decimals are numbers or texts. Rows with
  /// a missing value where there is no std::optional, or one that does not fit its field, are skipped and count as bad records.
  /// std::string_view fields live while the record is processed.
  template <class T>
  auto read_parquet(const Paths& paths, ParquetFormat format = {}, Where where = Where::current()) {
    if constexpr (detail::check_read_parquet<T>()) {
      detail::check_parquet();
      const auto names = names_of<T>(format);
      const auto fields =
          detail::path_fields("read_parquet", detail::kCellTypes<FieldsOf<T>>, names, format.where, format.hive_partitions, true);
      auto input = std::make_shared<detail::ParquetInput>();
      input->row = detail::shape_of_row<T>(names);
      input->where = std::move(format.where);
      input->hive_partitions = format.hive_partitions;
      return from_files(paths, 0, "read_parquet", where, detail::ParquetSource<T>{std::move(input)}, InputFormat::raw,
                        fields.get());
    } else {
      return detail::Refused();
    }
  }

  /// Keys and values of a table of the cluster, as views. They are those of `snapshot` or, if it is empty, of a snapshot that is
  /// made now and kept while the job lasts.
  Dataset<std::pair<std::string_view, std::string_view>, detail::TableSource> read_table(const std::string& table,
                                                                                         const std::string& snapshot = "",
                                                                                         Where where = Where::current()) {
    return from_files(detail::table_path(table) + "@" + snapshot, 0, "read_table", where, detail::TableSource{});
  }

  template <class T>
  auto from_vector(std::vector<T> records, std::uint32_t partitions = 0, Where where = Where::current()) {
    const std::uint64_t count = records.size();
    return from_range(count, partitions, "from_vector", where,
                      detail::VectorSource<T>{std::make_shared<const std::vector<T>>(std::move(records))});
  }

  /// f(0), f(1), …, f(count - 1).
  template <class F>
  auto generate(std::uint64_t count, F f, std::uint32_t partitions = 0, Where where = Where::current()) {
    if constexpr (detail::check_generate<F>()) {
      detail::check_captures(*graph_, f, "generate", where);
      return from_range(count, partitions, "generate", where, detail::GenerateSource<F>{std::move(f)});
    } else {
      return detail::Refused();
    }
  }

  /// Runs `make` on the driver only; tasks get the value.
  template <class F>
  auto broadcast(F make) {
    static_assert(
        std::invocable<F>,
        "weft broadcast: it takes a function without parameters, which runs once, on the driver: broadcast([] { return …; })");
    if constexpr (std::invocable<F>) {
      using T = Owned<std::remove_cvref_t<std::invoke_result_t<F>>>;
      static_assert(
          detail::kEncodes<T>,
          "weft broadcast: the value (F's result) has no codec, so it cannot be sent to the tasks; make it of numbers, strings, "
          "pairs, vectors and plain structs of those (a sorted vector of pairs in place of a map), or specialise weft::Codec<T>");
      static_assert(
          !kHoldsViews<T>,
          "weft broadcast: the value (F's result) has std::string_view in a struct, and would refer to text that is gone; "
          "make the fields std::string");
      if constexpr (Encodable<T>) {
        const Buffer value = graph_->value([&] { return detail::encoded(T(std::invoke(make))); });
        return Broadcast<T>(std::make_shared<const T>(detail::decoded<T>(value)));
      } else {
        return Broadcast<T>(nullptr);
      }
    } else {
      return detail::RefusedValue();
    }
  }

  /// Runs `f` on the driver only: for printing and other effects.
  template <class F>
  void on_driver(F f) {
    static_assert(std::invocable<F>, "weft on_driver: it takes a function without parameters: on_driver([&] { … })");
    if constexpr (std::invocable<F>) {
      if (graph_->on_driver()) std::invoke(f);
    }
  }

 private:
  template <class T>
  static std::vector<std::string> names_of(const auto& format) {
    return detail::names_in_files(kFieldNames<T>, format.names);
  }

  template <class Chain>
  Dataset<typename Chain::Record, Chain> from_files(const Paths& paths, std::uint64_t record_bytes, std::string_view what,
                                                    const Where& where, Chain chain, InputFormat format = InputFormat::detect,
                                                    const detail::PathFields* chosen = nullptr) {
    detail::Origin origin;
    origin.kind = detail::Origin::Kind::files;
    origin.raw = format == InputFormat::raw;
    origin.files = graph_->expand(paths.list(), chosen);
    origin.record_bytes = record_bytes;
    if constexpr (requires { chain.whole_files(); }) origin.whole_files = chain.whole_files();
    return start(std::move(origin), what, where, std::move(chain));
  }

  template <class Chain>
  Dataset<typename Chain::Record, Chain> from_range(std::uint64_t count, std::uint32_t partitions, std::string_view what,
                                                    const Where& where, Chain chain) {
    detail::Origin origin;
    origin.count = count;
    origin.tasks = partitions;
    return start(std::move(origin), what, where, std::move(chain));
  }

  template <class Chain>
  Dataset<typename Chain::Record, Chain> start(detail::Origin origin, std::string_view what, const Where& where, Chain chain) {
    return Dataset<typename Chain::Record, Chain>(
        graph_, detail::Lineage::of(std::move(origin), detail::operator_name(what, where), detail::type_name<Chain>()),
        std::move(chain));
  }

  std::shared_ptr<detail::Graph> graph_;
};

}  // namespace weft
