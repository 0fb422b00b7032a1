// Records of a fixed number of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "base/bytes.hpp"
#include "base/lean/algorithm.hpp"
#include "storage/file_window.hpp"
#include "storage/split.hpp"

namespace weft::storage {

/// Keep one per task: its buffer is recycled from split to split. One thread.
class RecordReader {
 public:
  /// A larger record is resource_exhausted.
  explicit RecordReader(std::uint64_t largest_record = UINT64_MAX, RemoteFiles* remote = nullptr)
      : window_(largest_record, remote) {}

  /// Calls `fn(ByteView records)` with runs of whole records of `record_bytes` bytes each, in order; the view is valid during the
  /// call and not aligned. `fn` may return false to stop early. `position(std::uint64_t offset)` is called before it. The split
  /// must be cut at whole records (invalid_argument otherwise).
  template <class Position, class Fn>
  Result<void> for_each_run(const Split& split, std::size_t record_bytes, Position&& position, Fn&& fn);

  /// The same, record by record.
  template <class Position, class Fn>
  Result<void> for_each_record(const Split& split, std::size_t record_bytes, Position&& position, Fn&& fn);

  /// What was spent until bytes were there.
  Duration read_time() const { return window_.read_time(); }

 private:
  Result<void> start(const Split& split, std::size_t record_bytes);

  template <class Fn>
  static bool keep_going(Fn& fn, ByteView bytes) {
    if constexpr (std::is_convertible_v<decltype(fn(bytes)), bool>) {
      return static_cast<bool>(fn(bytes));
    } else {
      fn(bytes);
      return true;
    }
  }

  FileWindow window_;
};

template <class Position, class Fn>
Result<void> for_each_record(const Split& split, std::size_t record_bytes, Position&& position, Fn&& fn) {
  RecordReader reader;
  return reader.for_each_record(split, record_bytes, std::forward<Position>(position), std::forward<Fn>(fn));
}

template <class Position, class Fn>
Result<void> RecordReader::for_each_run(const Split& split, std::size_t record_bytes, Position&& position, Fn&& fn) {
  WEFT_TRY(start(split, record_bytes));
  const std::uint64_t stop = split.offset + split.length;
  while (window_.offset() < stop) {
    if (window_.size() < record_bytes) WEFT_TRY(window_.more());  // an early end of the file is its error
    const std::uint64_t available = std::min<std::uint64_t>(window_.size(), stop - window_.offset());
    const std::size_t run = static_cast<std::size_t>(available - available % record_bytes);
    if (run == 0) continue;
    position(window_.offset());
    if (!keep_going(fn, as_bytes(std::string_view(window_.begin(), run)))) break;
    window_.consume_to(window_.begin() + run);
  }
  return window_.finish();
}

template <class Position, class Fn>
Result<void> RecordReader::for_each_record(const Split& split, std::size_t record_bytes, Position&& position, Fn&& fn) {
  std::uint64_t offset = 0;
  return for_each_run(
      split, record_bytes, [&offset](std::uint64_t start) { offset = start; },
      [&](ByteView run) {
        for (; !run.empty(); run = run.subspan(record_bytes), offset += record_bytes) {
          position(offset);
          if (!keep_going(fn, run.first(record_bytes))) return false;
        }
        return true;
      });
}

}  // namespace weft::storage
