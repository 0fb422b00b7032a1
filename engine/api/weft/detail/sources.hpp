// Where chains begin: files, vectors and generated records.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lean/algorithm.hpp"
#include "storage/record_reader.hpp"
#include "storage/text_reader.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/stage.hpp"
#include "weft/text.hpp"

namespace weft::detail {

/// When keys are sampled, a split is read in this many evenly spaced windows.
inline constexpr std::uint64_t kSampleWindows = 8;

/// Throws std::invalid_argument for records of no bytes.
void check_record_bytes(std::uint64_t bytes);

/// The splits of the running task, or some windows of them when only a sample is wanted.
std::vector<storage::Split> splits_to_read(TaskContext& context, std::uint64_t record_bytes);

/// Polls the stop flag every now and then, and keeps the task's position in its input.
class SourceProgress {
 public:
  explicit SourceProgress(TaskContext& context) : context_(context) {}
  ~SourceProgress() { context_.input_records += records_; }
  SourceProgress(const SourceProgress&) = delete;
  SourceProgress& operator=(const SourceProgress&) = delete;

  void enter(const storage::Split& split) {
    context_.position_path = split.path.c_str();
    context_.position_offset = split.offset;
  }
  void at(std::uint64_t offset) { context_.position_offset = offset; }
  void count() {
    if ((++records_ & 1023) == 0) context_.check_stop();
  }
  void leave(const storage::Split& split) {
    context_.input_bytes += split.length;
    context_.position_path = nullptr;
  }

 private:
  TaskContext& context_;
  std::uint64_t records_ = 0;
};

/// Calls read(reader, split, progress) for every split of the task; errors name the operator.
template <class Reader, class Read>
void visit_splits(TaskContext& context, const char* what, Read&& read, std::uint64_t record_bytes = 1) {
  // Kept by the context, so that a failure can still name the path after the stack is unwound, and if the chain runs twice.
  if (context.reading.empty()) context.reading = splits_to_read(context, record_bytes);
  Reader reader(context.operators.memory->limit(), context.files);
  SourceProgress progress(context);
  for (const storage::Split& split : context.reading) {
    progress.enter(split);
    if (auto done = read(reader, split, progress); !done) throw runtime::TaskError{std::move(done).error().wrap(what)};
    progress.leave(split);
  }
  context.usage.read += reader.read_time();
}

/// Lines of text, as views of the reader's memory.
struct TextSource {
  using Record = std::string_view;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    const auto read = [&](storage::TextReader& reader, const storage::Split& split, SourceProgress& progress) {
      return reader.for_each_line(
          split, [&](std::uint64_t offset) { progress.at(offset); },
          [&](std::string_view line) {
            progress.count();
            sink(std::move(line));
          });
    };
    visit_splits<storage::TextReader>(context, "read_text", read);
  }
};

/// The words of all lines are the words of the text: the ends of lines do not matter. (Of source code, whose lines are short,
/// finding them took a fifth of a word count.)
template <>
struct FlatMap<TextSource, SplitWords> {
  using Record = std::string_view;
  TextSource input;
  SplitWords function;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    const auto read = [&](storage::TextReader& reader, const storage::Split& split, SourceProgress& progress) {
      return reader.for_each_piece(split, [&](std::uint64_t offset, std::string_view lines) {
        for (std::string_view word : function(lines)) {
          progress.at(offset + static_cast<std::uint64_t>(word.data() - lines.data()));
          progress.count();
          sink(std::move(word));
        }
      });
    };
    visit_splits<storage::TextReader>(context, "read_text", read);
  }
};

/// Records of a fixed size, as views.
struct FixedSource {
  using Record = std::string_view;
  std::uint64_t record_bytes;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    const auto read = [&](storage::RecordReader& reader, const storage::Split& split, SourceProgress& progress) {
      return reader.for_each_record(
          split, record_bytes, [&](std::uint64_t offset) { progress.at(offset); },
          [&](ByteView record) {
            progress.count();
            sink(as_chars(record));
          });
    };
    visit_splits<storage::RecordReader>(context, "read_records", read, record_bytes);
  }
};

/// Visits the task's share of [0, count), or windows of it when only a sample is wanted.
template <class Visit>
void visit_range(TaskContext& context, Visit&& visit) {
  if (context.splits == nullptr || context.splits->empty()) return;
  constexpr std::uint64_t kWindow = 1000;
  const std::uint64_t first = context.splits->front().offset, length = context.splits->front().length;
  const bool sampled = context.sample_bytes > 0 && length > 2 * kWindow * kSampleWindows;
  const std::uint64_t windows = sampled ? kSampleWindows : 1, window = sampled ? kWindow : length;
  if (sampled) context.sampled_share = static_cast<double>(windows * window) / static_cast<double>(length);
  for (std::uint64_t w = 0; w < windows; ++w) {
    const std::uint64_t from = first + length / windows * w;
    for (std::uint64_t i = from; i < from + window; ++i) {
      if ((i & 1023) == 0) context.check_stop();
      ++context.input_records;
      visit(i);
    }
  }
}

template <class T>
struct VectorSource {
  using Record = T;
  std::shared_ptr<const std::vector<T>> records;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    visit_range(context, [&](std::uint64_t i) { sink(T((*records)[i])); });
  }
};

template <class F>
struct GenerateSource {
  using Record = std::remove_cvref_t<std::invoke_result_t<const F&, std::uint64_t>>;
  F function;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    visit_range(context, [&](std::uint64_t i) { sink(Record(std::invoke(function, i))); });
  }
};

/// The same with another function.
template <class F, class G>
auto with_function(const GenerateSource<F>&, G other) {
  return GenerateSource<G>{std::move(other)};
}

}  // namespace weft::detail
