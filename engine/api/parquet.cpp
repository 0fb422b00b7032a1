#include "weft/detail/parquet.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/timed.hpp"
#include "engine/api/path_columns.hpp"
#include "storage/access/input_file.hpp"
#include "storage/parquet/module.hpp"
#include "weft/counters.hpp"
#include "weft/detail/task_file.hpp"

namespace weft::detail {
namespace {

using runtime::value_or_throw;

/// A file as the module reads it.
class FileSource : public pq::Source {
 public:
  FileSource(storage::InputFile& file, Duration& read_time) : file_(file), read_time_(read_time) {}
  std::uint64_t size() const override { return file_.size(); }
  Result<std::size_t> read(std::uint64_t offset, MutableBytes into) override {
    if (offset >= file_.size() || into.empty()) return std::size_t{0};
    const std::uint64_t left = file_.size() - offset;
    return timed(read_time_, [&] { return file_.read(offset, into.first(std::min<std::uint64_t>(into.size(), left))); });
  }

 private:
  storage::InputFile& file_;
  Duration& read_time_;
};

/// Reads a task's splits.
class ParquetRows {
 public:
  using Rows = void (*)(void* self, const pq::Batch& batch, std::size_t count, SourceProgress& progress);
  ParquetRows(TaskContext& context, const ParquetInput& input, void* self, Rows rows)
      : context_(context), input_(input), self_(self), rows_(rows), progress_(context) {}

  void read_all() {
    if (context_.splits == nullptr) return;
    if (context_.reading.empty()) context_.reading = *context_.splits;
    std::uint64_t total = 0;
    for (const storage::Split& split : context_.reading) total += split.length;
    // Of every batch its beginning: all pages are decoded for that, but few records go on.
    if (context_.sample_bytes > 0 && total > 2 * context_.sample_bytes) one_of_ = total / context_.sample_bytes;
    for (const storage::Split& split : context_.reading) {
      progress_.enter(split);
      value_or_throw(read(split));
      progress_.leave(split);
    }
    if (one_of_ > 1 && seen_ > 0) context_.sampled_share = static_cast<double>(given_) / static_cast<double>(seen_);
  }

 private:
  Result<void> read(const storage::Split& split) {
    WEFT_ASSIGN(const pq::Module* const module, pq::load_module());
    WEFT_ASSIGN(storage::InputFile file, storage::InputFile::open(split.path, context_.files, split.version));
    PathColumns path(input_, split.path);
    WEFT_ASSIGN(const auto reader,
                module->open(std::make_unique<FileSource>(file, context_.usage.read), split.path, path.in_file(), path.where()));
    const auto groups = reader->row_groups();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::uint64_t middle = groups[i].offset + groups[i].bytes / 2;
      if (middle < split.offset || middle - split.offset >= split.length || !reader->may_have_wanted(i)) continue;
      progress_.at(groups[i].offset);
      WEFT_TRY(reader->read(i, [&](const pq::Batch& batch) -> Result<void> {
        const std::size_t count = one_of_ > 1 ? std::min<std::size_t>(batch.rows, batch.rows / one_of_ + 16) : batch.rows;
        seen_ += batch.rows;
        given_ += count;
        path.empty() ? rows_(self_, batch, count, progress_) : rows_(self_, path.with(batch), count, progress_);
        return {};
      }));
    }
    return file.check_unchanged();
  }

  TaskContext& context_;
  const ParquetInput& input_;
  void* const self_;
  const Rows rows_;
  SourceProgress progress_;
  std::uint64_t one_of_ = 1;  // rows is wanted, about
  std::uint64_t seen_ = 0, given_ = 0;
};

/// What the module writes goes to the task's file.
class TaskSink : public pq::Sink {
 public:
  explicit TaskSink(TaskFile& file) : file_(file) {}
  Result<void> append(ByteView bytes) override {
    try {
      file_.append(as_chars(bytes));
      return {};
    } catch (const runtime::TaskError& failed) {
      return fail(failed.error);
    }
  }

 private:
  TaskFile& file_;
};

}  // namespace

void read_parquet_rows(TaskContext& context, const ParquetInput& input, void* self, ParquetRows::Rows rows) {
  ParquetRows(context, input, self, rows).read_all();
}

void check_parquet() { value_or_throw(pq::load_module()); }

void check_parquet_output(const pq::Shape& row, const ParquetFormat& format) {
  class Nowhere : public pq::Sink {
    Result<void> append(ByteView) override { return {}; }
  };
  const pq::Module* const module = value_or_throw(pq::load_module());
  (void)value_or_throw(
      module->create(std::make_unique<Nowhere>(), row, {format.compression, format.row_group_bytes, format.sorted_by}));
}

void bad_parquet_row(const ParquetProblem& problem) {
  bad_record(problem.missing
                 ? fmt::format("column '{}': no value, but {} is wanted (std::optional takes none)", problem.member, problem.wanted)
                 : fmt::format("column '{}': its value is not {}", problem.member, problem.wanted));
}

class ParquetColumnBuffer {
 public:
  explicit ParquetColumnBuffer(const pq::Shape& shape)
      : kind_(shape.kind), children_(shape.children.begin(), shape.children.end()) {}

  void put(pq::Presence presence) {
    presence_.push_back(presence);
    all_there_ = all_there_ && presence == pq::Presence::there;
  }
  void put_nothing() {
    put(pq::Presence::missing);
    switch (kind_) {
      case pq::Kind::boolean:
        return booleans_.push_back(0);
      case pq::Kind::signed_number:
        return signed_.push_back(0);
      case pq::Kind::unsigned_number:
        return unsigned_.push_back(0);
      case pq::Kind::real_number:
        return real_.push_back(0);
      case pq::Kind::text:
        return text_ends_.push_back(text_.size());
      default:
        return;
    }
  }
  void put_flag(bool value) {
    put(pq::Presence::there);
    booleans_.push_back(value ? 1 : 0);
  }
  void put_signed(std::int64_t value) {
    put(pq::Presence::there);
    signed_.push_back(value);
  }
  void put_unsigned(std::uint64_t value) {
    put(pq::Presence::there);
    unsigned_.push_back(value);
  }
  void put_real(double value) {
    put(pq::Presence::there);
    real_.push_back(value);
  }
  void put_text(std::string_view value) {
    put(pq::Presence::there);
    text_.append(value);
    text_ends_.push_back(text_.size());
  }
  void end_elements() { ends_.push_back(static_cast<std::int64_t>(children_[0].presence_.size())); }
  std::vector<ParquetColumnBuffer>& children() { return children_; }
  /// What its values take.
  std::uint64_t bytes() const {
    std::uint64_t bytes = presence_.size() + booleans_.size() + text_.size();
    bytes += 8 * (signed_.size() + unsigned_.size() + real_.size() + text_ends_.size() + ends_.size());
    for (const ParquetColumnBuffer& child : children_) bytes += child.bytes();
    return bytes;
  }

  void clear() {
    all_there_ = true;
    presence_.clear();
    booleans_.clear();
    signed_.clear();
    unsigned_.clear();
    real_.clear();
    text_.clear();
    text_ends_.clear();
    ends_.assign(1, 0);
    for (ParquetColumnBuffer& child : children_) child.clear();
  }
  /// Lives until the next change.
  pq::Column column() {
    texts_.clear();
    std::size_t begin = 0;
    for (const std::size_t end : text_ends_) {
      texts_.push_back(std::string_view(text_).substr(begin, end - begin));
      begin = end;
    }
    pq::Column column;
    if (!all_there_) column.presence = presence_;
    column.booleans = booleans_;
    column.signed_numbers = signed_;
    column.unsigned_numbers = unsigned_;
    column.real_numbers = real_;
    column.texts = texts_;
    column.ends = ends_;
    for (ParquetColumnBuffer& child : children_) column.children.push_back(child.column());
    return column;
  }

 private:
  pq::Kind kind_;
  bool all_there_ = true;
  std::vector<pq::Presence> presence_;  // by row
  std::vector<std::uint8_t> booleans_;
  std::vector<std::int64_t> signed_;
  std::vector<std::uint64_t> unsigned_;
  std::vector<double> real_;
  std::string text_;  // of all rows
  std::vector<std::size_t> text_ends_;
  std::vector<std::string_view> texts_;
  std::vector<std::int64_t> ends_{0};
  std::vector<ParquetColumnBuffer> children_;
};

void put_missing(ParquetColumnBuffer& buffer) { buffer.put_nothing(); }
void put_flag(ParquetColumnBuffer& buffer, bool value) { buffer.put_flag(value); }
void put_signed(ParquetColumnBuffer& buffer, std::int64_t value) { buffer.put_signed(value); }
void put_unsigned(ParquetColumnBuffer& buffer, std::uint64_t value) { buffer.put_unsigned(value); }
void put_real(ParquetColumnBuffer& buffer, double value) { buffer.put_real(value); }
void put_text(ParquetColumnBuffer& buffer, std::string_view value) { buffer.put_text(value); }
void put_whole(ParquetColumnBuffer& buffer) { buffer.put(pq::Presence::there); }
void end_elements(ParquetColumnBuffer& buffer) { buffer.end_elements(); }
ParquetColumnBuffer& child_of(ParquetColumnBuffer& buffer, std::size_t index) { return buffer.children()[index]; }

class ParquetTaskFile::Impl {
 public:
  Impl(TaskContext& context, const std::string& work_directory, const pq::Shape& row, const ParquetFormat& format,
       const std::string& suffix, const std::string& directory)
      : context_(context),
        file_(context, work_directory, suffix, directory),
        row_(row),
        format_(format),
        directory_(!directory.empty()),
        rows_(row) {}

  ParquetColumnBuffer& rows() { return rows_; }
  void end_record() {
    if (++count_ < look_at_) return;
    const std::uint64_t bytes = rows_.bytes();
    if (count_ >= kBatchRows || bytes >= kBatchBytes) return flush();
    const std::uint64_t room = (kBatchBytes - bytes) / (bytes / count_ + 1);  // for rows such as those before
    look_at_ = count_ + std::clamp<std::uint64_t>(room, 1, kRowsBetweenLooks);
  }
  Buffer close() {
    flush();
    if (!writer_ && !directory_) begin();
    if (writer_) value_or_throw(writer_->finish());
    writer_.reset();
    return Buffer::copy_of(as_bytes(file_.close()));
  }

 private:
  static constexpr std::size_t kBatchRows = 8192, kRowsBetweenLooks = 16;
  static constexpr std::uint64_t kBatchBytes = 4u << 20;

  void begin() {
    const pq::Module* const module = value_or_throw(pq::load_module());
    const std::uint64_t memory = std::max<std::uint64_t>(context_.operators.memory->limit() / 4, 1u << 20);
    writer_ = value_or_throw(module->create(std::make_unique<TaskSink>(file_), row_,
                                            {format_.compression, std::min(format_.row_group_bytes, memory), format_.sorted_by}));
  }
  void flush() {
    if (count_ == 0) return;
    if (!writer_) begin();
    pq::Batch batch;
    batch.rows = std::exchange(count_, 0);
    look_at_ = 1;
    batch.columns = rows_.column().children;
    value_or_throw(writer_->append(batch));
    rows_.clear();
  }

  TaskContext& context_;
  TaskFile file_;
  const pq::Shape row_;
  const ParquetFormat& format_;
  const bool directory_;
  ParquetColumnBuffer rows_;
  std::size_t count_ = 0;               // of rows in it
  std::size_t look_at_ = 1;             // how many rows there are when their bytes are counted next
  std::unique_ptr<pq::Writer> writer_;  // goes before the file
};

ParquetTaskFile::ParquetTaskFile(TaskContext& context, const std::string& work_directory, const pq::Shape& row,
                                 const ParquetFormat& format, const std::string& suffix, const std::string& directory)
    : impl_(std::make_unique<Impl>(context, work_directory, row, format, suffix, directory)) {}
ParquetTaskFile::~ParquetTaskFile() = default;
ParquetColumnBuffer& ParquetTaskFile::rows() { return impl_->rows(); }
void ParquetTaskFile::end_record() { impl_->end_record(); }
Buffer ParquetTaskFile::close() { return impl_->close(); }

}  // namespace weft::detail
