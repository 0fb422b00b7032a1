// weft table put, get, scan, delete, import, export.
#include <charconv>
#include <cstdio>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/json.hpp"
#include "base/named_file.hpp"
#include "base/text.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/cli/input_pieces.hpp"
#include "engine/tools/cli/table_commands.hpp"
#include "engine/tools/display/standard_output.hpp"

namespace weft::tools {

namespace {

using storage::tables::KeyRange;
using storage::tables::TableRow;
using storage::tables::TableWrite;
constexpr std::size_t kRowsPieceBytes = 1u << 20;
constexpr std::size_t kBatchBytes = 8u << 20, kBatchRows = 20'000;

Result<storage::tables::SnapshotId> snapshot_of(storage::tables::TableClient& tables, const TableOptions& options) {
  if (options.snapshot.empty()) return storage::tables::SnapshotId();
  return tables.find_snapshot(options.table, options.snapshot);
}

/// "name" when the bytes are text, "name_hex" otherwise.
void add_bytes(JsonWriter& json, const std::string& name, std::string_view bytes) {
  constexpr std::string_view kReplaced = "\xef\xbf\xbd";
  const bool text = json_quoted(bytes).find(kReplaced) == std::string::npos || bytes.find(kReplaced) != std::string_view::npos;
  if (text) {
    json.member(name, bytes);
    return;
  }
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  json.member(name + "_hex", hex);
}

std::string json_row(std::string_view key, const std::optional<std::string>& value) {
  JsonWriter json;
  json.begin_object();
  add_bytes(json, "key", key);
  if (value)
    add_bytes(json, "value", *value);
  else
    json.key("value").null();
  json.end_object();
  return json.text();
}

/// What standard input has as a value; more than a value may have is an error.
Result<std::string> read_value(const std::string& key) {
  std::string value;
  WEFT_TRY(read_in_pieces(STDIN_FILENO, "standard input", [&](ByteView bytes) {
    value += as_chars(bytes);
    return value.size() <= storage::tables::kLargestValueBytes ? Result<void>() : storage::tables::check_writes({{key, value}});
  }));
  return value;
}

/// Rows of lines, in batches.
class Importer {
 public:
  Importer(storage::tables::TableClient& tables, const std::string& table) : tables_(tables), table_(table) {}

  Result<void> add(std::string_view line) {
    ++lines_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) return {};
    const auto tab = line.find('\t');
    WEFT_ASSIGN(std::string key, named(unwritten(line.substr(0, tab))));
    std::optional<std::string> value;
    if (tab != std::string_view::npos) {
      WEFT_ASSIGN(value, named(unwritten(line.substr(tab + 1))));
    }
    bytes_ += line.size();
    batch_.push_back({std::move(key), std::move(value)});
    WEFT_TRY(named(storage::tables::check_writes({batch_.back()}).map([] { return 0; })));
    return bytes_ >= kBatchBytes || batch_.size() >= kBatchRows ? flush() : Result<void>();
  }
  Result<void> flush() {
    bytes_ = 0;
    if (batch_.empty()) return {};
    return tables_.put(table_, std::exchange(batch_, {}));
  }

 private:
  template <class T>
  Result<T> named(Result<T> result) const {
    if (result) return result;
    return fail(std::move(result).error().wrap(fmt::format("line {}", lines_)));
  }
  storage::tables::TableClient& tables_;
  const std::string& table_;
  std::vector<TableWrite> batch_;
  std::size_t bytes_ = 0, lines_ = 0;
};

Result<void> import_from(int file, const std::string& name, Importer& importer) {
  std::string rest;
  const auto add_lines = [&](ByteView bytes) -> Result<void> {
    rest += as_chars(bytes);
    std::size_t from = 0;
    for (std::size_t end; (end = rest.find('\n', from)) != std::string::npos; from = end + 1)
      WEFT_TRY(importer.add(std::string_view(rest).substr(from, end - from)));
    rest.erase(0, from);
    if (rest.size() <= 4 * (storage::tables::kLargestValueBytes + storage::tables::kLargestKeyBytes)) return {};
    return fail(Code::invalid_argument, fmt::format("{} has a line that is longer than any row", name));
  };
  WEFT_TRY(read_in_pieces(file, name, add_lines));
  if (!rest.empty()) WEFT_TRY(importer.add(rest));
  return importer.flush();
}

template <class Write>
Result<void> write_rows(storage::tables::TableScan& scan, std::uint64_t limit, bool json, Write&& write) {
  std::string text = json ? "[" : "";
  bool first = true;
  for (std::uint64_t rows = 0; limit == 0 || rows < limit; ++rows) {
    WEFT_ASSIGN(const TableRow* const row, scan.next());
    if (row == nullptr) break;
    if (json)
      text += (std::exchange(first, false) ? "" : ",\n") + json_row(row->key, row->value);
    else
      text += written(row->key) + '\t' + written(row->value) + '\n';
    if (text.size() < kRowsPieceBytes) continue;
    WEFT_TRY(write(as_bytes(text)));
    text.clear();
  }
  if (json) text += "]\n";
  return write(as_bytes(text));
}

}  // namespace

std::string written(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t')
      text += "\\t";
    else if (c == '\n')
      text += "\\n";
    else if (c == '\r')
      text += "\\r";
    else if (c == '\\')
      text += "\\\\";
    else if (byte < 0x20 || byte == 0x7f)
      text += fmt::format("\\x{:02x}", byte);
    else
      text += c;
  }
  return text;
}

Result<std::string> unwritten(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
      continue;
    }
    const char kind = i + 1 < text.size() ? text[i + 1] : '\0';
    unsigned value = 0;
    if (kind == 't' || kind == 'n' || kind == 'r' || kind == '\\') {
      bytes += kind == 't' ? '\t' : kind == 'n' ? '\n' : kind == 'r' ? '\r' : '\\';
      ++i;
    } else if (kind == 'x' && i + 3 < text.size() &&
               std::from_chars(text.data() + i + 2, text.data() + i + 4, value, 16).ptr == text.data() + i + 4) {
      bytes += static_cast<char>(value);
      i += 3;
    } else {
      return fail(Code::invalid_argument, fmt::format("'{}' holds a backslash that begins none of \\t, \\n, \\r, \\\\ and \\xNN",
                                                      escaped(text.substr(0, 64))));
    }
  }
  return bytes;
}

Result<void> table_put(const TableOptions& options) {
  std::string value = options.words.at(1);
  if (value == "-") {
    WEFT_ASSIGN(value, read_value(options.words[0]));
  }
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  return tables->put(options.table, {{options.words[0], std::move(value)}});
}

Result<void> table_get(const TableOptions& options) {
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  WEFT_ASSIGN(const auto snapshot, snapshot_of(*tables, options));
  WEFT_ASSIGN(const auto values, tables->get(options.table, options.words, snapshot));
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (options.json) {
      text += (i == 0 ? "[" : ",\n") + json_row(options.words[i], values[i]);
      continue;
    }
    if (!values[i]) continue;
    if (values.size() > 1) text += written(options.words[i]) + '\t';
    text += (values.size() > 1 ? written(*values[i]) : *values[i]) + '\n';
  }
  if (options.json) text += "]\n";
  WEFT_TRY(print_bytes(as_bytes(text)));
  for (std::size_t i = 0; i < values.size() && !options.json; ++i)
    if (!values[i])
      return fail(Code::not_found, fmt::format("the table '{}' has no key '{}'{}", options.table, escaped(options.words[i]),
                                               options.snapshot.empty() ? "" : " in snapshot '" + options.snapshot + "'"));
  return {};
}

Result<void> table_scan(const TableOptions& options) {
  if (!options.prefix.empty() && (!options.from.empty() || !options.to.empty()))
    return fail(Code::invalid_argument, "say either --prefix or --from and --to");
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  WEFT_ASSIGN(const auto snapshot, snapshot_of(*tables, options));
  const KeyRange range = options.prefix.empty() ? KeyRange{options.from, options.to} : KeyRange::prefix(options.prefix);
  WEFT_ASSIGN(const auto scan, tables->scan(options.table, range, snapshot));
  return write_rows(*scan, options.limit, options.json, print_bytes);
}

Result<void> table_delete(const TableOptions& options) {
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  std::vector<TableWrite> writes;
  for (const std::string& key : options.words) writes.push_back({key, std::nullopt});
  return tables->put(options.table, std::move(writes));
}

Result<void> table_import(const TableOptions& options) {
  const std::string name = options.words.empty() ? "-" : options.words[0];
  Fd file;
  if (name != "-") {
    file = Fd(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return fail(errno_error("cannot read " + name, errno));
  }
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  Importer importer(*tables, options.table);
  return import_from(name == "-" ? 0 : file.get(), name == "-" ? "standard input" : name, importer);
}

Result<void> table_export(const TableOptions& options) {
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  WEFT_ASSIGN(const auto snapshot, snapshot_of(*tables, options));
  WEFT_ASSIGN(const auto scan, tables->scan(options.table, {}, snapshot));
  const std::string name = options.words.empty() ? "-" : options.words[0];
  if (name == "-") return write_rows(*scan, 0, false, print_bytes);
  WEFT_ASSIGN(NamedFile file, NamedFile::create(name, options.overwrite ? IfExists::replace : IfExists::refuse));
  WEFT_TRY(write_rows(*scan, 0, false, [&](ByteView bytes) { return file.append(bytes); }));
  return file.close();
}

}  // namespace weft::tools
