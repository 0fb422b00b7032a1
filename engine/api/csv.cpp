#include "weft/detail/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <system_error>

#include "engine/api/path_choice.hpp"
#include "storage/text_reader.hpp"
#include "weft/counters.hpp"
#include "weft/detail/csv_scanner.hpp"

namespace weft::detail {
namespace {

constexpr const char* kOrMultiline = ", or, if fields may contain line ends, read the file with CsvFormat{.multiline = true}";
constexpr std::uint64_t kLongestMultiline = 16u << 20;

std::string quoted_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list.append(list.empty() ? "'" : ", '").append(name).append("'");
  return list;
}

/// read_csv_rows() of one task.
class CsvRows {
 public:
  using Row = void (*)(void* self, std::span<const std::string_view> fields);

  CsvRows(TaskContext& context, const CsvFormat& format, CsvColumns& columns, void* self, Row row)
      : context_(context),
        format_(format),
        columns_(columns),
        self_(self),
        row_(row),
        scanner_(format.delimiter, format.multiline, format.quote, format.escape) {}
  Result<void> read(storage::TextReader& reader, const storage::Split& split, SourceProgress& progress);

 private:
  /// From the beginning of the file, when the split is a later part of it.
  void read_header(const storage::Split& split);
  /// The scanner has found the line of column names.
  void take_header(CsvScanner::Found found, const std::string& path);
  [[noreturn]] void refuse_unclosed() const;
  [[noreturn]] static void refuse_endless();
  /// `last`: of its file.
  void scan(std::string_view text, bool last, std::uint64_t offset, SourceProgress& progress);
  void take_row(CsvScanner::Found found);

  TaskContext& context_;
  const CsvFormat& format_;
  CsvColumns& columns_;
  void* const self_;
  const Row row_;
  CsvScanner scanner_;
  std::string header_of_;  // the file whose header is known
  bool header_next_ = false;
  std::vector<std::string_view> cells_;  // of a row and of its file's directories
  std::string carried_;                  // the beginning of a record that goes on in the next piece
  std::uint64_t carried_from_ = 0;       // where that record begins
};

}  // namespace

CsvColumns::CsvColumns(std::span<const std::string_view> fields, const CsvFormat& format)
    : format_(format), names_(names_in_files(fields, format.names)), file_times_(time_formats(fields, format)) {}

CsvColumns::~CsvColumns() = default;

std::size_t CsvColumns::on_path(std::size_t field) const {
  std::size_t at = 0;
  while (at < path_fields_.size() && path_fields_[at] != field) ++at;
  return at;
}

void CsvColumns::enter(const std::string& path) {
  if (path == path_) return;
  path_ = path;
  path_fields_.clear();
  path_texts_.clear();
  path_cells_.clear();
  const auto values = format_.hive_partitions ? path_values(path, names_) : std::vector<PathValue>();
  times_ = file_times_;
  for (const PathValue& value : values) {
    times_[value.field].clear();  // directories have ISO 8601
    path_fields_.push_back(static_cast<std::uint32_t>(value.field));
    path_texts_.push_back(value.text.value_or(std::string()));
  }
  for (std::size_t at = 0; at < values.size(); ++at)
    path_cells_.push_back(values[at].text ? std::string_view(path_texts_[at]) : std::string_view());
  if (format_.header) return;
  std::vector<std::string_view> header(format_.columns.begin(), format_.columns.end());
  for (std::size_t field = 0; field < names_.size() && format_.columns.empty(); ++field)
    if (on_path(field) == path_fields_.size()) header.emplace_back(names_[field]);
  find(header, "the columns that the program names");
}

void CsvColumns::find(std::span<const std::string_view> header, const std::string& where) {
  columns_.clear();
  width_ = header.size();
  for (std::size_t field = 0; field < names_.size(); ++field) {
    const std::string& name = names_[field];
    if (const std::size_t at = on_path(field); at < path_fields_.size()) {
      columns_.push_back(static_cast<std::uint32_t>(width_ + at));
      continue;
    }
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end() || std::find(found + 1, header.end(), name) != header.end()) {
      throw runtime::TaskError{
          Error(Code::invalid_argument,
                "read_csv: " + where + (found == header.end() ? " have no '" : " have more than one '") + name + "' among " +
                    quoted_list(std::vector<std::string>(header.begin(), header.end())) +
                    "; name the struct's fields like the columns, or use CsvFormat::names, ::columns, ::header or ::delimiter")};
    }
    columns_.push_back(static_cast<std::uint32_t>(found - header.begin()));
  }
}

void CsvColumns::take_header(std::span<const std::string_view> header, const std::string& path) {
  find(header, "the columns of " + path);
}

void read_csv_rows(TaskContext& context, const CsvFormat& format, CsvColumns& columns, void* self, CsvRows::Row row) {
  CsvRows rows(context, format, columns, self, row);
  const auto read = [&](storage::TextReader& reader, const storage::Split& split, SourceProgress& progress) {
    return rows.read(reader, split, progress);
  };
  visit_splits<storage::TextReader>(context, "read_csv", read);
}

Result<void> CsvRows::read(storage::TextReader& reader, const storage::Split& split, SourceProgress& progress) {
  bool first = split.offset == 0;
  if (format_.multiline && !first) return {};  // a window of a sample: nothing shows where a record begins
  columns_.enter(split.path);
  header_next_ = format_.header && first;
  if (format_.header && !first && header_of_ != split.path) read_header(split);
  carried_.clear();
  auto done = reader.for_each_piece(split, [&](std::uint64_t offset, std::string_view text) {
    if (std::exchange(first, false) && text.starts_with(kByteOrderMark)) {
      text.remove_prefix(kByteOrderMark.size());
      offset += kByteOrderMark.size();
    }
    if (carried_.empty()) return scan(text, false, offset, progress);
    std::string whole = std::exchange(carried_, {});
    whole.append(text);
    scan(whole, false, carried_from_, progress);
  });
  if (done && !carried_.empty()) scan(std::exchange(carried_, {}), true, carried_from_, progress);
  return done;
}

void CsvRows::read_header(const storage::Split& split) {
  storage::TextReader reader(context_.operators.memory->limit(), context_.files);
  storage::Split before = split;
  before.offset = 0;
  before.length = split.offset;
  bool first = true;
  header_next_ = true;  // unless it comes before this split, as it does where that has more than empty lines
  value_or_throw(reader.for_each_piece(before, [&](std::uint64_t, std::string_view text) {
    if (std::exchange(first, false) && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    scanner_.start(text);
    const CsvScanner::Found found = scanner_.next();
    if (found != CsvScanner::Found::end) take_header(found, split.path);
    return found == CsvScanner::Found::end;
  }));
}

void CsvRows::take_header(CsvScanner::Found found, const std::string& path) {
  if (found != CsvScanner::Found::record)
    throw runtime::TaskError{Error(Code::invalid_argument, "read_csv: the names of the columns of " + path +
                                                               " are no CSV: " + scanner_.why() + "; correct that line" +
                                                               (found == CsvScanner::Found::unclosed ? kOrMultiline : ""))};
  columns_.take_header(scanner_.fields(), path);
  header_of_ = path;
  header_next_ = false;
}

/// The line may be the first of a record of several lines. The others would be read as rows that nobody wrote, perhaps by the tasks
/// of other splits, which cannot know it. Every such record has a first line, and the task that reads that line reports it.
void CsvRows::refuse_unclosed() const {
  throw runtime::TaskError{
      Error(Code::invalid_argument, "read_csv: " + std::string(scanner_.why()) + "; correct the line" + kOrMultiline)};
}

/// What follows may be inside of the quotes still, and would be read as rows that nobody wrote.
void CsvRows::refuse_endless() {
  throw runtime::TaskError{
      Error(Code::invalid_argument, "read_csv: a quoted field does not end within 16 MiB; correct the record that begins there")};
}

void CsvRows::scan(std::string_view text, bool last, std::uint64_t offset, SourceProgress& progress) {
  using Found = CsvScanner::Found;
  scanner_.start(text);
  for (Found found = scanner_.next(); found != Found::end; found = scanner_.next()) {
    progress.at(offset + scanner_.offset());
    if (found == Found::partial && scanner_.rest().size() > kLongestMultiline) refuse_endless();
    if (found == Found::partial && !last) {
      carried_.assign(scanner_.rest());
      carried_from_ = offset + scanner_.offset();
      return;
    }
    if (found == Found::partial) scanner_.end_partial();
    if (header_next_) {
      take_header(found, context_.position_path);
      continue;
    }
    if (found == Found::unclosed) refuse_unclosed();
    progress.count();
    take_row(found);
  }
}

void CsvRows::take_row(CsvScanner::Found found) {
  if (found != CsvScanner::Found::record) {
    bad_record(scanner_.why());
  } else if (scanner_.fields().size() != columns_.width()) {
    bad_record(std::to_string(scanner_.fields().size()) + " fields instead of " + std::to_string(columns_.width()));
  } else if (columns_.path_cells().empty()) {
    row_(self_, scanner_.fields());
  } else {
    cells_.assign(scanner_.fields().begin(), scanner_.fields().end());
    cells_.insert(cells_.end(), columns_.path_cells().begin(), columns_.path_cells().end());
    row_(self_, cells_);
  }
}

void bad_cell(const CsvColumns& columns, std::size_t field, std::string_view text, std::string_view wanted) {
  const std::string form = "a day or time of the form " + columns.time_format(field);
  if (!columns.time_format(field).empty()) wanted = form;
  std::string reason = "column '" + columns.name(field) + "': ";
  if (text.empty()) {
    reason.append("no value, but ").append(wanted).append(" is wanted (std::optional takes none)");
  } else {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool too_wide = wanted == cell_kind<double>() && end == text.data() + text.size() && error != std::errc::invalid_argument;
    reason.append("'").append(text.substr(0, 60)).append("' is not ").append(wanted).append(too_wide ? " that fits its field" : "");
  }
  bad_record(reason);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return text.substr(0, 0);
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void check_csv_format(const CsvFormat& format, std::span<const CellType> types, std::span<const std::string_view> fields) {
  const std::string marks{format.delimiter, format.quote, format.escape, '\n', '\r'};
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks.find(marks[i], i + 1) == std::string::npos ||
        (i == 1 && format.escape == format.quote && format.quote != '\n' && format.quote != '\r'))
      continue;
    throw std::invalid_argument(
        "CsvFormat: the delimiter, the quote and the escape must differ, and none may be a line end (only the "
        "escape may be the quote)");
  }
  for (const auto& [field, form] : format.times) {
    const auto at = static_cast<std::size_t>(std::find(fields.begin(), fields.end(), field) - fields.begin());
    if (at == fields.size() || (types[at].kind != CellClass::day && types[at].kind != CellClass::moment))
      throw std::invalid_argument("CsvFormat::times: '" + field + "' is no field that is a weft::Date or weft::Timestamp");
    check_time_format(form, "CsvFormat::times, field '" + field + "'");
  }
}

std::vector<std::string_view> names_of_parts(const CsvFormat& format, std::size_t parts) {
  std::vector<std::string_view> names(format.columns.begin(), format.columns.end());
  if (names.empty() && !format.header) names.resize(parts);
  if (names.size() == parts) return names;
  throw std::invalid_argument("write_csv: the records are pairs or tuples of " + std::to_string(parts) +
                              " parts, so CsvFormat::columns must name as many columns, and names " + std::to_string(names.size()));
}

std::vector<std::string> time_formats(std::span<const std::string_view> fields, const CsvFormat& format) {
  std::vector<std::string> forms(fields.size());
  for (std::size_t field = 0; field < fields.size(); ++field)
    if (const auto found = format.times.find(std::string(fields[field])); found != format.times.end()) forms[field] = found->second;
  return forms;
}

CsvStyle csv_style(std::span<const std::string_view> fields, const CsvFormat& format) {
  // The empty cell, unless the format reads that as a value.
  const bool empty = format.missing.empty() || is_missing(std::string_view(""), format.missing);
  const auto in_values = [](char c) {
    const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    return letter || std::string_view("0123456789+-.: ").find(c) != std::string_view::npos;
  };
  return {format.delimiter,
          format.quote,
          format.escape,
          time_formats(fields, format),
          empty ? std::string() : format.missing.front(),
          in_values(format.delimiter) || in_values(format.quote)};
}

void append_csv_text(std::string& line, std::string_view text, const CsvStyle& style) {
  const bool plain = std::none_of(text.begin(), text.end(),
                                  [&](char c) { return c == style.delimiter || c == style.quote || c == '\n' || c == '\r'; });
  if (plain && !text.starts_with(kByteOrderMark)) {  // at the beginning of a file, a mark would be skipped
    line.append(text);
    return;
  }
  line.push_back(style.quote);
  for (const char c : text) {
    if (c == style.quote || c == style.escape) line.push_back(style.escape);
    line.push_back(c);
  }
  line.push_back(style.quote);
}

void append_csv_header(std::string& line, std::span<const std::string_view> fields, const CsvFormat& format) {
  const CsvStyle style = csv_style(fields, format);
  const std::size_t begin = line.size();
  bool first = true;
  for (const std::string& name : names_in_files(fields, format.names)) {
    if (!std::exchange(first, false)) line.push_back(format.delimiter);
    append_csv_text(line, name, style);
  }
  if (line.size() == begin) line.append(2, style.quote);  // as append_csv_row()
  line.push_back('\n');
}

}  // namespace weft::detail
