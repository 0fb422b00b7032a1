// weft peek: what a file has in it, and the struct that reads it.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/tools/cli/column_guess.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/text_table.hpp"
#include "storage/access/content.hpp"
#include "storage/access/input_file.hpp"
#include "storage/compression/format.hpp"
#include "storage/files/job_files.hpp"
#include "storage/inputs.hpp"
#include "storage/parquet/module.hpp"
#include "storage/text_reader.hpp"

namespace weft::tools {
namespace {

namespace pq = storage::parquet;

constexpr std::size_t kSampleLines = 10'000;
constexpr std::size_t kSampleBytes = 8u << 20;
constexpr std::size_t kShownBytes = 60;  // of a cell
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct PeekOptions {
  MasterOption master;
  std::string path;
  std::optional<char> delimiter;
  std::uint32_t rows = 5;
  bool cpp = false, json = false;
};

using Cells = std::vector<std::string>;

struct Peeked {
  std::string format;   // "CSV"
  std::string remarks;  // behind it
  std::uint64_t files = 0, bytes = 0;
  std::string example;             // the file that was looked at
  std::optional<Shape> row;        // none: lines of text
  std::vector<std::string> types;  // of the columns, where the format says them
  std::vector<Cells> rows;
  std::string read_call;  // of a Flow, with `Row` as the struct
};

std::string quoted_cpp(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      quoted += fmt::format("\\{:03o}", c);
    else
      quoted.push_back(c);
  }
  return quoted + "\"";
}

/// ".names = {{"class_", "class"}}", or nothing: columns whose field has another name. `names` are those in the file.
std::string names_option(const Shape& row, const std::vector<std::string>& names) {
  std::string pairs;
  const std::vector<std::string> fields = field_names(row, "Row");
  for (std::size_t i = 0; i < fields.size() && i < kMostFields; ++i)
    if (fields[i] != names[i])
      pairs += fmt::format("{}{{{}, {}}}", pairs.empty() ? "" : ", ", quoted_cpp(fields[i]), quoted_cpp(names[i]));
  return pairs.empty() ? "" : ".names = {" + pairs + "}";
}

std::string names_option(const Shape& row) {
  std::vector<std::string> names;
  for (const Shape& column : row.children) names.push_back(column.name);
  return names_option(row, names);
}

std::string read_call(std::string_view function, const std::string& path, const std::vector<std::string>& format) {
  std::string settings;
  for (const std::string& one : format)
    if (!one.empty()) settings += (settings.empty() ? "" : ", ") + one;
  return fmt::format("flow.{}<Row>({}{});", function, quoted_cpp(path), settings.empty() ? "" : ", {" + settings + "}");
}

// ---- CSV ------------------------------------------------------------------------------------------------------------

/// Records of CSV (RFC 4180) as far as whole ones are in `text`; `multiline` becomes true when a quoted field has a line end.
std::vector<Cells> records_of(std::string_view text, char delimiter, std::size_t most, bool& multiline) {
  std::vector<Cells> records;
  Cells cells;
  std::string cell;
  bool inside = false, was_quoted = false;
  const auto end_cell = [&] {
    cells.push_back(std::exchange(cell, {}));
    was_quoted = false;
  };
  const auto end_record = [&] {
    if (!cell.empty() && cell.back() == '\r' && !was_quoted) cell.pop_back();
    if (cells.empty() && cell.empty() && !was_quoted) return;  // an empty line is no row
    end_cell();
    records.push_back(std::exchange(cells, {}));
  };
  for (std::size_t i = 0; i < text.size() && records.size() < most; ++i) {
    const char c = text[i];
    if (inside) {
      if (c == '\n') multiline = true;
      if (c != '"')
        cell.push_back(c);
      else if (i + 1 < text.size() && text[i + 1] == '"')
        cell.push_back(text[++i]);
      else
        inside = false;
    } else if (c == '"' && cell.empty()) {
      inside = was_quoted = true;
    } else if (c == delimiter) {
      end_cell();
    } else if (c == '\n') {
      end_record();
    } else {
      cell.push_back(c);
    }
  }
  if (!inside && records.size() < most && (!cell.empty() || !cells.empty())) end_record();
  return records;
}

/// One character, as readers of CSV take it, or \t for a tabulator.
Result<char> parse_delimiter(const std::string& text) {
  if (text == "\\t") return '\t';
  if (text.size() != 1 || std::string_view("\"\r\n").find(text[0]) != std::string_view::npos ||
      static_cast<unsigned char>(text[0]) > 0x7f)
    return fail(Code::invalid_argument,
                fmt::format("'{}' is not one character that can be between columns, such as ; or \\t", escaped(text)));
  return text[0];
}

/// The delimiter that cuts most of the first records into as many cells as the first one has, at least two; nothing when there is
/// none.
std::optional<char> delimiter_of(std::string_view text) {
  std::optional<char> best;
  std::size_t best_cells = 1;
  for (const char delimiter : std::array{',', ';', '\t', '|'}) {
    bool multiline = false;
    const auto records = records_of(text, delimiter, 100, multiline);
    if (records.empty()) continue;
    const std::size_t cells = records[0].size();
    const auto same = static_cast<std::size_t>(
        std::count_if(records.begin(), records.end(), [&](const Cells& record) { return record.size() == cells; }));
    if (same * 10 < records.size() * 9 || cells <= best_cells) continue;
    best = delimiter;
    best_cells = cells;
  }
  return best;
}

/// Whether the column has no texts below the first record.
bool has_other_values(const std::vector<Cells>& records, std::size_t column) {
  TextGuess guess;
  for (std::size_t i = 1; i < records.size(); ++i)
    if (records[i].size() == records[0].size()) guess.see(records[i][column]);
  return !guess.is_text();
}

/// Names are texts and different. One may be missing, as pandas and R write it for the index of the rows, where another column
/// shows that the first record is none of the rows: below its name it has no texts.
bool is_header(const std::vector<Cells>& records) {
  if (records.empty()) return false;
  const Cells& names = records[0];
  const std::set<std::string> different(names.begin(), names.end());
  if (different.size() != names.size()) return false;
  bool other_values = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    TextGuess guess;
    guess.see(names[i]);
    if (!guess.is_text()) return false;
    other_values = other_values || has_other_values(records, i);
  }
  return !different.contains("") || other_values;
}

/// The names of the columns, of which an empty one becomes another that there is not yet: "column1" for the first column.
Cells shown_names(const Cells& names) {
  Cells shown = names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) continue;
    shown[i] = "column" + std::to_string(i + 1);
    while (std::find(names.begin(), names.end(), shown[i]) != names.end()) shown[i].push_back('_');
  }
  return shown;
}

void peek_csv(Peeked& peeked, std::string_view text, char delimiter, const PeekOptions& options) {
  bool multiline = false;
  auto records = records_of(text, delimiter, kSampleLines, multiline);
  const bool header = is_header(records);
  Cells in_file, names;
  const std::size_t width = records.empty() ? 0 : records[0].size();
  if (header) {
    in_file = records[0];
    names = shown_names(in_file);
    records.erase(records.begin());
  } else {
    for (std::size_t i = 1; i <= width; ++i) names.push_back("column" + std::to_string(i));
  }
  std::vector<TextGuess> guesses(width);
  for (const Cells& record : records)
    if (record.size() == width)
      for (std::size_t i = 0; i < width; ++i) guesses[i].see(record[i]);
  Shape row;
  for (std::size_t i = 0; i < width; ++i) row.children.push_back(guesses[i].shape(names[i]));
  peeked.format = "CSV";
  const std::string shown = delimiter == '\t' ? "tabs" : fmt::format("'{}'", delimiter);
  peeked.remarks = fmt::format("{} between the columns, {}{}", shown, header ? "with their names" : "without their names",
                               multiline ? ", with line ends in quotes" : "");
  peeked.read_call =
      read_call("read_csv", options.path,
                {delimiter == ',' ? "" : fmt::format(".delimiter = '{}'", delimiter == '\t' ? "\\t" : std::string(1, delimiter)),
                 header ? "" : ".header = false", header ? names_option(row, in_file) : "", multiline ? ".multiline = true" : ""});
  peeked.row = std::move(row);
  if (records.size() > options.rows) records.resize(options.rows);
  for (Cells& record : records) {
    record.resize(width);
    peeked.rows.push_back(std::move(record));
  }
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

/// The value as it is written, or a text without its quotes.
Result<std::string> json_cell(std::string_view line, std::string_view name) {
  JsonReader json(line, "line");
  std::string found;
  WEFT_TRY(json.object([&](std::string_view key) -> Result<void> {
    if (key != name) return json.skip();
    switch (json.peek()) {
      case JsonReader::Kind::text: {
        WEFT_ASSIGN(found, json.text());
        return {};
      }
      case JsonReader::Kind::number: {
        WEFT_ASSIGN(found, json.number_token());  // not by way of a double, which has 53 bits
        return {};
      }
      case JsonReader::Kind::flag: {
        WEFT_ASSIGN(const bool flag, json.flag());
        found = flag ? "true" : "false";
        return {};
      }
      case JsonReader::Kind::object:
        found = "{…}";
        return json.skip();
      case JsonReader::Kind::array:
        found = "[…]";
        return json.skip();
      default:
        return json.skip();
    }
  }));
  return found;
}

/// False: these are no lines of JSON objects.
bool peek_json(Peeked& peeked, const std::vector<std::string>& lines, const PeekOptions& options) {
  JsonGuess guess;
  std::size_t bad = 0, good = 0;
  std::vector<std::string> first;
  for (const std::string& line : lines) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    JsonReader probe(line, "line"), json(line, "line");
    if (probe.peek() != JsonReader::Kind::object || !probe.skip() || !probe.finish()) {
      ++bad;
      continue;
    }
    static_cast<void>(guess.see(json));
    ++good;
    if (first.size() < options.rows) first.push_back(line);
  }
  if (good == 0 || bad > good) return false;
  peeked.format = "JSON";
  peeked.remarks =
      bad == 0 ? "an object in each line" : fmt::format("an object in each line, but in {} of the first {}", bad, good + bad);
  peeked.row = guess.shape("");
  for (const std::string& line : first) {
    Cells cells;
    for (const Shape& column : peeked.row->children) cells.push_back(json_cell(line, column.name).value_or(""));
    peeked.rows.push_back(std::move(cells));
  }
  peeked.read_call = read_call("read_json", options.path, {names_option(*peeked.row)});
  return true;
}

// ---- Parquet --------------------------------------------------------------------------------------------------------

class FileSource : public pq::Source {
 public:
  explicit FileSource(storage::InputFile file) : file_(std::move(file)) {}
  std::uint64_t size() const override { return file_.size(); }
  Result<std::size_t> read(std::uint64_t offset, MutableBytes into) override { return file_.read(offset, into); }

 private:
  storage::InputFile file_;
};

std::string cell_of(const Shape& shape, const pq::Column& column, std::size_t row) {
  if (column.at(row) != pq::Presence::there) return "";
  std::string text;
  switch (shape.kind) {
    case pq::Kind::boolean:
      return column.booleans[row] != 0 ? "true" : "false";
    case pq::Kind::signed_number:
      return std::to_string(column.signed_numbers[row]);
    case pq::Kind::unsigned_number:
      return std::to_string(column.unsigned_numbers[row]);
    case pq::Kind::real_number:
      return fmt::format("{}", column.real_numbers[row]);
    case pq::Kind::text:
      return std::string(column.texts[row]);
    case pq::Kind::list:
      for (std::int64_t at = column.ends[row]; at < column.ends[row + 1] && text.size() < kShownBytes; ++at)
        text += (text.empty() ? "" : ", ") + cell_of(shape.children[0], column.children[0], static_cast<std::size_t>(at));
      return "[" + text + "]";
    default:
      for (std::size_t i = 0; i < shape.children.size(); ++i)
        text += (text.empty() ? "" : ", ") + shape.children[i].name + ": " + cell_of(shape.children[i], column.children[i], row);
      return "{" + text + "}";
  }
}

/// As it is shown: days and moments are read as text.
Shape shown(Shape shape) {
  if (shape.calendar != pq::Calendar::none) {
    shape.kind = pq::Kind::text;
    shape.calendar = pq::Calendar::none;
  }
  for (Shape& child : shape.children) child = shown(std::move(child));
  return shape;
}

Result<void> peek_parquet(Peeked& peeked, storage::RemoteFiles* remote, const PeekOptions& options) {
  WEFT_ASSIGN(const pq::Module* const module, pq::load_module());
  const auto source = [&]() -> Result<std::unique_ptr<pq::Source>> {
    WEFT_ASSIGN(storage::InputFile file, storage::InputFile::open(peeked.example, remote));
    return std::make_unique<FileSource>(std::move(file));
  };
  WEFT_ASSIGN(auto described, source());
  WEFT_ASSIGN(pq::Contents contents, module->describe(std::move(described), peeked.example));
  peeked.format = "Parquet";
  peeked.remarks =
      fmt::format("{} rows in {} row groups{}", contents.rows, contents.row_groups, peeked.files > 1 ? " in this file" : "");
  for (const std::string& name : contents.left_out) peeked.remarks += fmt::format("; no field can hold column '{}'", name);
  peeked.types = std::move(contents.types);
  peeked.read_call = read_call("read_parquet", options.path, {names_option(contents.row)});
  const Shape as_text = shown(contents.row);
  peeked.row = std::move(contents.row);
  WEFT_ASSIGN(auto read, source());
  WEFT_ASSIGN(const auto reader, module->open(std::move(read), peeked.example, as_text, {}));
  for (std::size_t group = 0; group < reader->row_groups().size() && peeked.rows.size() < options.rows; ++group) {
    const auto done = reader->read(group, [&](const pq::Batch& batch) -> Result<void> {
      for (std::size_t row = 0; row < batch.rows && peeked.rows.size() < options.rows; ++row) {
        Cells& cells = peeked.rows.emplace_back();
        for (std::size_t i = 0; i < as_text.children.size(); ++i)
          cells.push_back(cell_of(as_text.children[i], batch.columns[i], row));
      }
      if (peeked.rows.size() >= options.rows) return fail(Code::cancelled, "enough rows");
      return {};
    });
    if (!done && done.error().code() != Code::cancelled) return done;
  }
  return {};
}

// ---- Text -----------------------------------------------------------------------------------------------------------

/// What text has none of.
bool is_control(char c) {
  constexpr std::string_view kOfText = "\t\n\v\f\r";
  return (static_cast<unsigned char>(c) < 0x20 && kOfText.find(c) == std::string_view::npos) || c == 0x7f;
}

Result<void> peek_text(Peeked& peeked, storage::RemoteFiles* remote, std::uint64_t size, const PeekOptions& options) {
  std::vector<std::string> lines;
  std::string text;
  storage::TextReader reader(kSampleBytes, remote);
  storage::Split split;
  split.path = peeked.example;
  split.length = size;
  WEFT_TRY(reader.for_each_line(
      split, [](std::uint64_t) {},
      [&](std::string_view line) {
        if (lines.empty() && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
        lines.emplace_back(line);
        text.append(line).push_back('\n');
        return lines.size() < kSampleLines && text.size() < kSampleBytes;
      }));
  if (peek_json(peeked, lines, options)) return {};
  const bool is_text = std::none_of(text.begin(), text.end(), is_control);
  const bool named = peeked.example.find(".csv") != std::string::npos || peeked.example.find(".tsv") != std::string::npos;
  std::optional<char> delimiter = is_text ? delimiter_of(text) : std::nullopt;
  if (!delimiter && named) delimiter = ',';
  if (options.delimiter) delimiter = options.delimiter;
  if (delimiter && !lines.empty()) {
    peek_csv(peeked, text, *delimiter, options);
    return {};
  }
  peeked.format = "text";
  peeked.remarks = is_text ? "lines" : "lines with control characters: perhaps of a format that weft does not know";
  peeked.read_call = fmt::format("flow.read_text({});", quoted_cpp(options.path));
  for (std::size_t i = 0; i < lines.size() && i < options.rows; ++i) peeked.rows.push_back({lines[i]});
  return {};
}

// ---- All ------------------------------------------------------------------------------------------------------------

std::string cut(std::string text) {
  if (text.size() <= kShownBytes) return text;
  std::size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string text_of(const Peeked& peeked, const PeekOptions& options) {
  std::string text =
      fmt::format("{}: {}{}, {}{}\n", options.path, peeked.format, peeked.remarks.empty() ? "" : ", " + peeked.remarks,
                  human_bytes(peeked.bytes), peeked.files > 1 ? fmt::format(" in {} files", peeked.files) : "");
  if (peeked.files > 1) text += fmt::format("the first of them: {}\n", peeked.example);
  if (!peeked.row) {
    for (const Cells& row : peeked.rows) text += "  " + cut(row[0]) + "\n";
    return text;
  }
  std::vector<std::string> heading{"COLUMN", "FIELD"};
  if (!peeked.types.empty()) heading.emplace_back("TYPE");
  for (std::size_t i = 1; i <= std::min<std::size_t>(peeked.rows.size(), 3); ++i) heading.push_back("ROW " + std::to_string(i));
  TextTable table(heading);
  const auto& columns = peeked.row->children;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    Cells cells{cut(columns[i].name), cpp_type(columns[i], "struct")};
    if (!peeked.types.empty()) cells.push_back(cut(peeked.types[i]));
    for (std::size_t row = 0; row < std::min<std::size_t>(peeked.rows.size(), 3); ++row) cells.push_back(cut(peeked.rows[row][i]));
    table.add(cells);
  }
  return text + "\n" + table.text();
}

std::string json_of(const Peeked& peeked, const PeekOptions& options) {
  JsonWriter json;
  json.begin_object().member("path", options.path).member("format", peeked.format).member("remarks", peeked.remarks);
  json.member("files", peeked.files).member("bytes", peeked.bytes).member("read", peeked.read_call).key("columns").begin_array();
  if (peeked.row) {
    const std::vector<std::string> fields = field_names(*peeked.row, "Row");
    for (std::size_t i = 0; i < fields.size(); ++i)
      json.begin_object()
          .member("name", peeked.row->children[i].name)
          .member("field", fields[i])
          .member("type", cpp_type(peeked.row->children[i], "struct"))
          .end_object();
  }
  json.end_array().key("rows").begin_array();
  for (const Cells& row : peeked.rows) {
    json.begin_array();
    for (const std::string& cell : row) json.value(cell);
    json.end_array();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

Result<void> peek(const PeekOptions& options) {
  std::shared_ptr<storage::RemoteFiles> remote;
  if (storage::is_remote(options.path))
    remote = storage::files::job_files({.master = options.master.address, .at_first = options.master.at_first});
  WEFT_ASSIGN(const storage::InputFiles files, storage::expand_inputs({&options.path, 1}, remote.get()));
  Peeked peeked;
  peeked.files = files.paths.size();
  for (const auto& version : files.versions) peeked.bytes += version.bytes;
  const auto filled =
      std::find_if(files.versions.begin(), files.versions.end(), [](const auto& version) { return version.bytes > 0; });
  if (filled == files.versions.end()) return fail(Code::not_found, options.path + ": there is no file in it that has any bytes");
  peeked.example = files.paths[static_cast<std::size_t>(filled - files.versions.begin())];
  WEFT_ASSIGN(storage::InputFile file, storage::InputFile::open(peeked.example, remote.get()));
  std::string beginning(storage::kContentBytes, '\0');
  WEFT_ASSIGN(const std::size_t got, file.read(0, {reinterpret_cast<std::byte*>(beginning.data()), beginning.size()}));
  beginning.resize(got);
  if (beginning.starts_with("PAR1") || beginning.starts_with("PARE")) {
    WEFT_TRY(peek_parquet(peeked, remote.get(), options));
  } else {
    WEFT_TRY(peek_text(peeked, remote.get(), file.size(), options));
    if (const auto compression = storage::compression_of(peeked.example, beginning))
      peeked.remarks += fmt::format(", compressed by {}", storage::name_of(*compression));
  }
  if (options.json) return print(json_of(peeked, options));
  if (!options.cpp) return print(text_of(peeked, options));
  return print((peeked.row ? cpp_struct(*peeked.row, "Row") : "") + "// " + peeked.read_call + "\n");
}

}  // namespace

void add_peek(CLI::App& app, Action& action) {
  Command<PeekOptions> command(app, action, "peek", "Shows what is in a file: columns, types, the first rows", peek);
  command.argument("path", &PeekOptions::path, "File, directory or pattern: local, weft://, s3://, hdfs://")
      .value("--rows", &PeekOptions::rows, "How many rows to read for --json, and lines of text to show")
      .flag("--cpp", &PeekOptions::cpp, "Prints the struct that reads it, and the call")
      .json()
      .master();
  add_parsed(command.app(), "--delimiter", command.options().delimiter, "C", parse_delimiter,
             "Between the columns of CSV; without it the one that fits");
}

}  // namespace weft::tools
