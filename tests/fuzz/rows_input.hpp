// CSV and JSON of any bytes, as read_csv and read_json take them apart; used by the fuzzers and by a test that replays the corpus.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.hpp"
#include "weft/detail/csv.hpp"
#include "weft/detail/csv_scanner.hpp"
#include "weft/detail/json.hpp"

namespace weft::fuzz {

using CsvTexts = std::vector<std::vector<std::string>>;  // a malformed record has no fields

/// Appends the records of `text`. What is partial: where `last`, as at the end of a file; otherwise given back.
inline std::string scan_csv(std::string_view text, bool multiline, bool last, CsvTexts& records) {
  using Found = detail::CsvScanner::Found;
  const std::vector<char> exact(text.begin(), text.end());  // a read behind its end is noticed
  detail::CsvScanner scanner(',', multiline);
  scanner.start({exact.data(), exact.size()});
  for (Found found = scanner.next(); found != Found::end; found = scanner.next()) {
    if (found == Found::partial && !last) return std::string(scanner.rest());
    if (found == Found::partial) scanner.end_partial();
    records.emplace_back();
    if (found != Found::record) continue;
    WEFT_ASSERT(!scanner.fields().empty());
    records.back().assign(scanner.fields().begin(), scanner.fields().end());
  }
  return {};
}

/// The short way to a number, where it is one, agrees with the long one.
inline void read_csv_cell(std::string_view cell) {
  double quick = 0, number = 0;
  if (detail::read_short_decimal(cell, quick)) {
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
    WEFT_ASSERT(error == std::errc() && end == cell.data() + cell.size() && number == quick);
  }
  std::int16_t small = 0;
  std::uint64_t large = 0;
  bool flag = false;
  if (detail::read_cell(cell, large)) WEFT_ASSERT(!cell.empty());
  if (detail::read_cell(cell, small)) WEFT_ASSERT(detail::read_cell(cell, number) && number == small);
  static_cast<void>(detail::read_cell(cell, flag));
}

/// Records are the same however the text is cut at line ends, and when they are written and read again.
inline void read_csv_bytes(std::string_view text, bool multiline) {
  CsvTexts whole, in_pieces, again;
  scan_csv(text, multiline, true, whole);
  std::string carried;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t newline = text.find('\n', from), to = newline == std::string_view::npos ? text.size() : newline + 1;
    carried = scan_csv(carried.append(text.substr(from, to - from)), multiline, to == text.size(), in_pieces);
    from = to;
  }
  WEFT_ASSERT(in_pieces == whole);
  std::string written;
  std::erase_if(whole, [](const auto& record) { return record.empty(); });
  for (const auto& record : whole) {
    for (std::size_t i = 0; i < record.size(); ++i) {
      if (i > 0) written.push_back(',');
      detail::append_csv_text(written, record[i], {});
      read_csv_cell(record[i]);
    }
    if (record.size() == 1 && record[0].empty()) written.append("\"\"");
    written.push_back('\n');
  }
  scan_csv(written, true, true, again);
  WEFT_ASSERT(again == whole);
}

struct JsonPlace {
  std::int32_t x = 0;
  std::optional<double> y;
};
struct JsonRecord {
  std::uint64_t id = 0;
  std::string text;
  std::optional<double> number;
  std::int16_t small = 0;
  bool flag = false;
  std::optional<std::string> note;
  std::vector<JsonPlace> places;
};

/// The record of a line, written again; nothing when it is none.
inline std::optional<std::string> read_json_line(detail::JsonLines& lines, std::string_view line) {
  JsonRecord record;
  const auto problem = lines.read(line, &record, [](void* self, detail::JsonNode node, detail::JsonProblem& wrong) {
    return detail::read_json(node, *static_cast<JsonRecord*>(self), kFieldNames<JsonRecord>, wrong);
  });
  if (problem) {
    WEFT_ASSERT(!problem->empty() && problem->find('\n') == std::string::npos);
    return std::nullopt;
  }
  std::string written;
  detail::append_json_object(written, record, kFieldNames<JsonRecord>);
  return written;
}

/// What is read is the same when it is written and read again.
inline void read_json_bytes(std::string_view text) {
  detail::JsonLines lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t newline = std::min(text.find('\n', from), text.size());
    if (const auto written = read_json_line(lines, text.substr(from, newline - from)))
      WEFT_ASSERT(read_json_line(lines, *written) == written);
    from = newline + 1;
  }
}

}  // namespace weft::fuzz
