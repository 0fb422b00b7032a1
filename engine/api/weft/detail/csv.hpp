// read_csv and write_csv.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/field_names.hpp"
#include "weft/detail/actions.hpp"
#include "weft/detail/arrange.hpp"
#include "weft/detail/path_fields.hpp"
#include "weft/detail/row_fields.hpp"
#include "weft/detail/sources.hpp"
#include "weft/detail/time_format.hpp"
#include "weft/rows.hpp"

namespace weft::detail {

/// std::invalid_argument when the characters of the format are not all different, or a time's form is none. `types` are those of
/// the fields, which `times` may name where they are days or moments.
void check_csv_format(const CsvFormat& format, std::span<const CellType> types, std::span<const std::string_view> fields);
/// By field, the forms of days and moments.
std::vector<std::string> time_formats(std::span<const std::string_view> fields, const CsvFormat& format);

/// Where the fields of a struct are in the rows of a file. `format` outlives it.
class CsvColumns {
 public:
  CsvColumns(std::span<const std::string_view> fields, const CsvFormat& format);
  ~CsvColumns();

  /// The rows that follow are of this file. Fields whose value is the name of a directory have no column in it.
  void enter(const std::string& path);
  /// The header of a file. A missing or repeated column throws TaskError (invalid_argument), which names the file.
  void take_header(std::span<const std::string_view> header, const std::string& path);
  /// What columns() has behind the cells of a row: values of directories. A missing one has no data().
  std::span<const std::string_view> path_cells() const { return path_cells_; }
  /// For each field, the index of its column.
  const std::uint32_t* columns() const { return columns_.data(); }
  std::size_t width() const { return width_; }
  const std::string& name(std::size_t field) const { return names_[field]; }
  /// Of a day or moment; empty: ISO 8601.
  const std::string& time_format(std::size_t field) const { return times_[field]; }

 private:
  void find(std::span<const std::string_view> header, const std::string& where);
  /// The index of the field among those of the path; their number when it is not there.
  std::size_t on_path(std::size_t field) const;

  const CsvFormat& format_;
  std::vector<std::string> names_, times_;
  const std::vector<std::string> file_times_;
  std::string path_;
  std::vector<std::uint32_t> path_fields_;  // that directories give a value
  std::vector<std::string> path_texts_;
  std::vector<std::string_view> path_cells_;
  std::vector<std::uint32_t> columns_;
  std::size_t width_ = 0;  // of a row
};

/// Calls row(self, fields) for every row of the task's splits that has as many fields as there are columns, and bad_record() for
/// the others.
void read_csv_rows(TaskContext& context, const CsvFormat& format, CsvColumns& columns, void* self,
                   void (*row)(void* self, std::span<const std::string_view> fields));

/// A cell that could not be read: counts as a bad record.
void bad_cell(const CsvColumns& columns, std::size_t field, std::string_view text, std::string_view wanted);

/// A cell without the blanks around it, and whether its text means that the value is missing.
std::string_view trimmed(std::string_view text);
inline bool is_missing(std::string_view text, const std::vector<std::string>& missing) {
  if (text.data() == nullptr) return true;
  for (const std::string& word : missing) {
    if (text == word) return true;
  }
  return false;
}

template <class T>
struct CsvSource {
  using Record = T;
  std::shared_ptr<const CsvFormat> format;

  bool whole_files() const { return format->multiline; }

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    CsvColumns columns(kFieldNames<T>, *format);
    Reader<std::remove_reference_t<Sink>> reader{*format, columns, sink, T{}};
    read_csv_rows(context, *format, columns, &reader, [](void* self, std::span<const std::string_view> fields) {
      static_cast<Reader<std::remove_reference_t<Sink>>*>(self)->row(fields);
    });
  }

 private:
  template <class Sink>
  struct Reader {
    const CsvFormat& format;
    const CsvColumns& columns;
    Sink& sink;
    T record;  // used again, so that texts keep their memory

    void row(std::span<const std::string_view> cells) {
      if (!read(cells, std::make_index_sequence<kFieldCount<T>>())) return;
      if constexpr (std::is_trivially_copyable_v<T>) {
        sink(T(record));
      } else {
        sink(std::move(record));
      }
    }
    template <std::size_t... I>
    bool read(std::span<const std::string_view> cells, std::index_sequence<I...>) {
      auto fields = fields_of(record);
      const std::uint32_t* const at = columns.columns();
      return (read_field(I, cells[at[I]], std::get<I>(fields)) && ...);
    }
    template <class Field>
    bool read_field(std::size_t index, std::string_view text, Field& field) {
      constexpr bool kText = !std::is_arithmetic_v<Field> && !kIsOptional<Field> && !TimeField<Field>;
      if constexpr (!kText) {
        if (format.trim) text = trimmed(text);
      }
      if constexpr (kIsOptional<Field>) {
        if (is_missing(text, format.missing)) {
          field.reset();
          return true;
        }
        if (!field) field.emplace();
        if (read_value(index, text, *field)) [[likely]]
          return true;
      } else {
        if (read_value(index, text, field)) [[likely]]
          return true;
      }
      bad_cell(columns, index, text, cell_kind<Field>());
      return false;
    }
    template <class Value>
    bool read_value(std::size_t index, std::string_view text, Value& value) {
      if constexpr (TimeField<Value>) {
        if (const std::string& form = columns.time_format(index); !form.empty()) return parse_time(text, form, value);
      }
      return read_cell(text, value);
    }
  };
};

/// How rows are written.
struct CsvStyle {
  char delimiter = ',', quote = '"', escape = '"';
  std::vector<std::string> times{};  // by field
  std::string missing{};             // the cell of a value that is missing
  bool any_quoted = false;           // the delimiter or the quote may be part of a number, a truth value, a day or a moment
};
CsvStyle csv_style(std::span<const std::string_view> fields, const CsvFormat& format);

/// Quotes text that needs it, as Python's csv module does with QUOTE_MINIMAL.
void append_csv_text(std::string& line, std::string_view text, const CsvStyle& style);
/// The line of column names.
void append_csv_header(std::string& line, std::span<const std::string_view> fields, const CsvFormat& format);

/// Numbers, truth values, days and moments, without quotes.
template <class Field>
void append_csv_value(std::string& line, const Field& field, std::string_view time_form) {
  if constexpr (std::is_same_v<Field, bool>) {
    line.append(field ? "true" : "false");
  } else if constexpr (TimeField<Field>) {
    time_form.empty() ? LineFormat<Field>::append(line, field) : append_time(line, time_form, field);
  } else if constexpr (std::is_same_v<Field, char>) {
    LineFormat<std::int32_t>::append(line, field);  // as it is read: a number
  } else {
    LineFormat<Field>::append(line, field);
  }
}

template <class Field>
void append_csv_cell(std::string& line, const Field& field, const CsvStyle& style, std::size_t index) {
  if constexpr (kIsOptional<Field>) {
    if (field)
      append_csv_cell(line, *field, style, index);
    else
      append_csv_text(line, style.missing, style);
  } else if constexpr (std::is_arithmetic_v<Field> || TimeField<Field>) {
    if (!style.any_quoted && (!TimeField<Field> || style.times[index].empty())) [[likely]]
      return append_csv_value(line, field, {});
    std::string text;
    append_csv_value(text, field, style.times[index]);
    append_csv_text(line, text, style);
  } else {
    append_csv_text(line, field, style);
  }
}

template <class T>
inline constexpr bool kIsTuple = false;
template <class A, class B>
inline constexpr bool kIsTuple<std::pair<A, B>> = true;
template <class... T>
inline constexpr bool kIsTuple<std::tuple<T...>> = true;

/// Calls cell(part) for the parts of pairs and tuples, and for those of parts that are some themselves.
template <class T, class Cell>
void each_part(const T& part, const Cell& cell) {
  if constexpr (kIsTuple<T>)
    std::apply([&](const auto&... parts) { (each_part(parts, cell), ...); }, part);
  else
    cell(part);
}
template <class T>
struct CsvParts {
  static constexpr bool kCells = kIsCell<T>;
  static void add_types(std::vector<CellType>& types) { types.push_back(cell_type<T>()); }
};
template <class T>
struct CsvPartsOf {
  static constexpr bool kCells = false;
};
template <class... T>
struct CsvPartsOf<std::tuple<T...>> {
  static constexpr bool kCells = (CsvParts<T>::kCells && ...);
  static void add_types(std::vector<CellType>& types) { (CsvParts<T>::add_types(types), ...); }
};
template <class... T>
struct CsvParts<std::tuple<T...>> : CsvPartsOf<std::tuple<T...>> {};
template <class A, class B>
struct CsvParts<std::pair<A, B>> : CsvPartsOf<std::tuple<A, B>> {};

/// Whether write_csv can write them: plain structs, and pairs and tuples.
template <class T>
constexpr bool is_written_as_csv() {
  if constexpr (kIsTuple<T>)
    return CsvParts<T>::kCells;
  else
    return is_csv_row<T>();
}

template <class T>
void append_csv_row(std::string& line, const T& record, const CsvStyle& style) {
  const std::size_t begin = line.size();
  std::size_t index = 0;
  const auto cell = [&](const auto& field) {
    if (index > 0) line.push_back(style.delimiter);
    append_csv_cell(line, field, style, index++);
  };
  if constexpr (kIsTuple<T>)
    each_part(record, cell);
  else
    std::apply([&](const auto&... field) { (cell(field), ...); }, fields_of(record));
  if (line.size() == begin) line.append(2, style.quote);  // one column without a value: an empty line is no row
  line.push_back('\n');
}

template <class T>
struct CsvPrinter {
  std::string header;
  CsvStyle style;
  void operator()(std::string& buffer, const T& record) const { append_csv_row(buffer, record, style); }
};

/// The names of the columns of pairs and tuples. std::invalid_argument when the format does not have one for each.
std::vector<std::string_view> names_of_parts(const CsvFormat& format, std::size_t parts);

/// How rows become lines of CSV.
template <class T>
CsvPrinter<T> csv_printer(const CsvFormat& format) requires kIsTuple<T> {
  std::vector<CellType> types;
  CsvParts<T>::add_types(types);
  const auto names = names_of_parts(format, types.size());
  check_csv_format(format, types, names);
  CsvPrinter<T> print{{}, csv_style(names, format)};
  if (format.header) append_csv_header(print.header, names, format);
  return print;
}
template <class T>
CsvPrinter<T> csv_printer(const CsvFormat& format) {
  check_csv_format(format, kCellTypes<FieldsOf<T>>, kFieldNames<T>);
  CsvPrinter<T> print{{}, csv_style(kFieldNames<T>, format)};
  if (format.header) append_csv_header(print.header, kFieldNames<T>, format);
  return print;
}

template <class D>
void write_csv(const D& in, const std::string& path, std::string name, const CsvFormat& format, storage::Compression compression) {
  using T = typename D::Record;
  write_files(in, path, std::move(name), type_name<CsvSource<T>>(), csv_printer<T>(format), compression);
}

/// Lines that are printed already, behind their header.
struct CsvLines {
  std::string header;
  void operator()(std::string& buffer, std::string_view line) const { buffer.append(line); }
};

/// All rows in the file of one task, in the order of the partitions: that in which a task reads a shuffle.
template <class D>
void write_csv_file(const D& in, const std::string& path, const std::string& name, const CsvFormat& format,
                    storage::Compression compression) {
  using T = typename D::Record;
  const CsvPrinter<T> print = csv_printer<T>(format);
  const auto lines = in.map([print](const T& record) {
    std::string line;
    print(line, record);
    return line;
  });
  const auto together = rearrange(lines, name, 1, Routing::key, [](TaskContext&) { return [](const auto&) { return 0u; }; });
  write_files(together, path, name, type_name<std::pair<CsvSource<T>, CsvLines>>(), CsvLines{print.header}, compression);
}

}  // namespace weft::detail
