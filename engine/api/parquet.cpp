#include "weft/detail/parquet.hpp"

#include <fmt/format.h>

#include "base/timed.hpp"
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
    context_.reading = *context_.splits;
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
    WEFT_ASSIGN(const auto reader,
                module->open(std::make_unique<FileSource>(file, context_.usage.read), split.path, input_.row, input_.where));
    const auto groups = reader->row_groups();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::uint64_t middle = groups[i].offset + groups[i].bytes / 2;
      if (middle < split.offset || middle - split.offset >= split.length || !reader->may_have_wanted(i)) continue;
      progress_.at(groups[i].offset);
      WEFT_TRY(reader->read(i, [&](const pq::Batch& batch) -> Result<void> {
        const std::size_t count = one_of_ > 1 ? std::min<std::size_t>(batch.rows, batch.rows / one_of_ + 16) : batch.rows;
        seen_ += batch.rows;
        given_ += count;
        rows_(self_, batch, count, progress_);
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

void bad_parquet_row(const ParquetProblem& problem) {
  bad_record(problem.missing
                 ? fmt::format("column '{}': no value, but {} is wanted (std::optional takes none)", problem.member, problem.wanted)
                 : fmt::format("column '{}': its value is not {}", problem.member, problem.wanted));
}

ParquetColumnBuffer::ParquetColumnBuffer(const pq::Shape& shape) : children(shape.children.begin(), shape.children.end()) {}

void ParquetColumnBuffer::clear() {
  rows = 0;
  all_there = true;
  presence.clear();
  booleans.clear();
  signed_numbers.clear();
  unsigned_numbers.clear();
  real_numbers.clear();
  text.clear();
  text_ends.clear();
  ends.assign(1, 0);
  for (ParquetColumnBuffer& child : children) child.clear();
}

pq::Column ParquetColumnBuffer::column() {
  texts.clear();
  std::size_t begin = 0;
  for (const std::size_t end : text_ends) {
    texts.push_back(std::string_view(text).substr(begin, end - begin));
    begin = end;
  }
  pq::Column column;
  if (!all_there) column.presence = presence;
  column.booleans = booleans;
  column.signed_numbers = signed_numbers;
  column.unsigned_numbers = unsigned_numbers;
  column.real_numbers = real_numbers;
  column.texts = texts;
  column.ends = ends;
  for (ParquetColumnBuffer& child : children) column.children.push_back(child.column());
  return column;
}

class ParquetTaskFile::Impl {
 public:
  Impl(TaskContext& context, const std::string& work_directory, const pq::Shape& row, const ParquetFormat& format)
      : context_(context), file_(context, work_directory, ".parquet"), row_(row), format_(format) {}

  void append(const pq::Batch& batch) {
    if (!writer_) begin();
    value_or_throw(writer_->append(batch));
  }
  Buffer close() {
    if (!writer_ && context_.attempt.task.index == 0) begin();
    if (writer_) value_or_throw(writer_->finish());
    writer_.reset();
    return Buffer::copy_of(as_bytes(file_.close()));
  }

 private:
  void begin() {
    const pq::Module* const module = value_or_throw(pq::load_module());
    const std::uint64_t memory = std::max<std::uint64_t>(context_.operators.memory->limit() / 4, 1u << 20);
    writer_ = value_or_throw(
        module->create(std::make_unique<TaskSink>(file_), row_, {format_.compression, std::min(format_.row_group_bytes, memory)}));
  }

  TaskContext& context_;
  TaskFile file_;
  const pq::Shape row_;
  const ParquetFormat& format_;
  std::unique_ptr<pq::Writer> writer_;  // goes before the file
};

ParquetTaskFile::ParquetTaskFile(TaskContext& context, const std::string& work_directory, const pq::Shape& row,
                                 const ParquetFormat& format)
    : columns_(row.children.begin(), row.children.end()), impl_(std::make_unique<Impl>(context, work_directory, row, format)) {}
ParquetTaskFile::~ParquetTaskFile() = default;

void ParquetTaskFile::flush() {
  if (rows_ == 0) return;
  pq::Batch batch;
  batch.rows = std::exchange(rows_, 0);
  for (ParquetColumnBuffer& column : columns_) batch.columns.push_back(column.column());
  impl_->append(batch);
  for (ParquetColumnBuffer& column : columns_) column.clear();
}

Buffer ParquetTaskFile::close() {
  flush();
  return impl_->close();
}

}  // namespace weft::detail
