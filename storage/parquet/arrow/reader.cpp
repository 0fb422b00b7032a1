#include "storage/parquet/arrow/reader.hpp"

#include <algorithm>
#include <array>

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include "storage/parquet/arrow/array_columns.hpp"
#include "storage/parquet/arrow/conditions.hpp"
#include "storage/parquet/arrow/files.hpp"
#include "storage/parquet/arrow/selection.hpp"

namespace weft::storage::parquet {
namespace {

constexpr std::int64_t kBatchRows = 8192;
constexpr std::int64_t kBatchBytes = 8 << 20;  // about, where rows are large
constexpr std::int64_t kReadAhead = 1 << 20;   // bytes of a column that are read at once; a whole chunk may not fit into memory

class ArrowReader : public Reader {
 public:
  Result<void> open(std::unique_ptr<Source> source, const std::string& path, const Shape& row,
                    std::span<const Condition> conditions);

  std::span<const RowGroup> row_groups() const override { return groups_; }
  bool may_have_wanted(std::size_t row_group) override;
  Result<void> read(std::size_t row_group, const std::function<Result<void>(const Batch&)>& visit) override;

 private:
  Result<void> add(const Condition& condition);
  Result<void> find_row_groups(std::uint64_t size);
  std::int64_t batch_rows(std::size_t row_group) const;
  Result<bool> next(::arrow::RecordBatchReader& batches);
  ::arrow::Status take(const ::arrow::RecordBatch& arrow);
  bool mark_wanted();

  std::string path_;
  Shape row_;  // with a column for each condition behind those of the struct
  std::size_t fields_ = 0;
  std::vector<Predicate> predicates_;
  KeptError kept_;
  std::unique_ptr<::parquet::arrow::FileReader> file_;
  Selection selection_;
  std::vector<RowGroup> groups_;
  std::vector<ArrayColumn> columns_;
  std::vector<std::uint8_t> wanted_;
  Batch batch_;
};

/// Better words than Arrow's for what is most often wrong.
Result<void> check_magic(Source& source, const std::string& path) {
  constexpr std::uint64_t kLeast = 12;  // two magic numbers and a length
  std::array<std::byte, 4> end{};
  if (source.size() >= kLeast) {
    WEFT_ASSIGN(const std::size_t read, source.read(source.size() - end.size(), end));
    const std::string_view magic(reinterpret_cast<const char*>(end.data()), read);
    if (magic == "PAR1") return {};
    if (magic == "PARE")
      return fail(Code::invalid_argument, path + ": the Parquet file is encrypted, which weft does not read; decrypt it first");
  }
  return fail(Code::invalid_argument, path + kNoParquetFile);
}

Result<void> ArrowReader::open(std::unique_ptr<Source> source, const std::string& path, const Shape& row,
                               std::span<const Condition> conditions) {
  path_ = path;
  row_ = row;
  fields_ = row.children.size();
  const std::uint64_t size = source->size();
  WEFT_TRY(open_file(std::move(source), path, kept_, file_));
  WEFT_TRY(find_row_groups(size));
  for (const Condition& condition : conditions) WEFT_TRY(add(condition));
  WEFT_ASSIGN(selection_, select(row_, file_->manifest(), path));
  auto& leaves = selection_.leaves;  // a column of a condition may be one of the struct's, too
  std::sort(leaves.begin(), leaves.end());
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return {};
}

/// What is no column of the file is left to select().
Result<void> ArrowReader::add(const Condition& condition) {
  for (const auto& field : file_->manifest().schema_fields) {
    if (field.field->name() != condition.column) continue;
    WEFT_ASSIGN(Predicate predicate, Predicate::on(field, condition, path_));
    row_.children.push_back(predicate.shape());
    predicates_.push_back(std::move(predicate));
    return {};
  }
  row_.children.push_back({condition.column, Kind::text});
  return {};
}

/// Tasks choose their row groups by their places, so that each must be in the file, of `size` bytes.
Result<void> ArrowReader::find_row_groups(std::uint64_t size) {
  const auto metadata = file_->parquet_reader()->metadata();
  for (int i = 0; i < metadata->num_row_groups(); ++i) {
    const auto group = metadata->RowGroup(i);
    RowGroup& found = groups_.emplace_back();
    found.rows = static_cast<std::uint64_t>(std::max<std::int64_t>(group->num_rows(), 0));
    if (group->num_columns() > 0) {
      const auto first = group->ColumnChunk(0);
      std::int64_t offset = first->data_page_offset();
      if (first->has_dictionary_page() && first->dictionary_page_offset() > 0)
        offset = std::min(offset, first->dictionary_page_offset());
      found.offset = static_cast<std::uint64_t>(std::max<std::int64_t>(offset, 0));
    }
    if (found.offset >= size)
      return fail(Code::corrupt, path_ + ": the Parquet file is damaged: row group " + std::to_string(i) + " begins at byte " +
                                     std::to_string(found.offset) + ", behind its end");
    found.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(group->total_compressed_size(), 0));
    found.bytes = std::min(found.bytes, size - found.offset);
  }
  return {};
}

bool ArrowReader::may_have_wanted(std::size_t row_group) {
  bool room = true;
  KeptError ignored;
  // What cannot be read of statistics excludes nothing; damage shows when the rows are read.
  static_cast<void>(guarded(ignored, Code::corrupt, path_, [&]() -> ::arrow::Status {
    for (const Predicate& predicate : predicates_)
      room = room && predicate.may_hold(*file_->parquet_reader(), static_cast<int>(row_group));
    return ::arrow::Status::OK();
  }));
  kept_.error.reset();
  return room;
}

/// Nothing at the end. What visitors throw does not pass through here.
Result<bool> ArrowReader::next(::arrow::RecordBatchReader& batches) {
  bool more = false;
  WEFT_TRY(guarded(kept_, Code::corrupt, path_, [&]() -> ::arrow::Status {
    std::shared_ptr<::arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(batches.ReadNext(&batch));
    more = batch != nullptr;
    return more ? take(*batch) : ::arrow::Status::OK();
  }));
  return more;
}

std::int64_t ArrowReader::batch_rows(std::size_t row_group) const {
  const auto group = file_->parquet_reader()->metadata()->RowGroup(static_cast<int>(row_group));
  const std::int64_t bytes_of_row = group->total_byte_size() / std::max<std::int64_t>(group->num_rows(), 1);
  return std::clamp<std::int64_t>(kBatchBytes / std::max<std::int64_t>(bytes_of_row, 1), 1, kBatchRows);
}

Result<void> ArrowReader::read(std::size_t row_group, const std::function<Result<void>(const Batch&)>& visit) {
  std::unique_ptr<::arrow::RecordBatchReader> batches;
  WEFT_TRY(guarded(kept_, Code::corrupt, path_, [&]() -> ::arrow::Status {
    file_->set_batch_size(batch_rows(row_group));
    return file_->GetRecordBatchReader({static_cast<int>(row_group)}, selection_.leaves).Value(&batches);
  }));
  for (;;) {
    WEFT_ASSIGN(const bool more, next(*batches));
    if (!more) return {};
    if (!predicates_.empty() && !mark_wanted()) continue;
    WEFT_TRY(visit(batch_));
  }
}

::arrow::Status ArrowReader::take(const ::arrow::RecordBatch& arrow) {
  columns_.resize(fields_);
  batch_.rows = static_cast<std::uint64_t>(arrow.num_rows());
  batch_.columns.clear();
  for (std::size_t i = 0; i < row_.children.size(); ++i) {
    const auto array = arrow.GetColumnByName(row_.children[i].name);
    if (array == nullptr) return ::arrow::Status::Invalid("its column '" + row_.children[i].name + "' is not there");
    if (i >= fields_) {
      predicates_[i - fields_].take(array);
      continue;
    }
    columns_[i].take(row_.children[i], array);
    batch_.columns.push_back(columns_[i].column());
  }
  batch_.wanted = {};
  return ::arrow::Status::OK();
}

/// False when no row of the batch is wanted.
bool ArrowReader::mark_wanted() {
  wanted_.assign(batch_.rows, 1);
  for (const Predicate& predicate : predicates_) predicate.keep_where(wanted_);
  batch_.wanted = wanted_;
  return std::find(wanted_.begin(), wanted_.end(), 1) != wanted_.end();
}

}  // namespace

Result<void> open_file(std::unique_ptr<Source> source, const std::string& path, KeptError& kept,
                       std::unique_ptr<::parquet::arrow::FileReader>& file) {
  WEFT_TRY(check_magic(*source, path));
  const auto open = [&]() -> ::arrow::Status {
    ::parquet::ReaderProperties properties(::arrow::default_memory_pool());
    properties.enable_buffered_stream();
    properties.set_buffer_size(kReadAhead);
    properties.set_page_checksum_verification(true);  // of pages that have one
    ::parquet::ArrowReaderProperties of_arrow(false);
    of_arrow.set_pre_buffer(false);
    // In nanoseconds, years before 1678 and after 2262 wrap around.
    of_arrow.set_coerce_int96_timestamp_unit(::arrow::TimeUnit::MICRO);
    auto parquet = ::parquet::ParquetFileReader::Open(arrow_file(std::move(source), kept), properties);
    return ::parquet::arrow::FileReader::Make(::arrow::default_memory_pool(), std::move(parquet), of_arrow).Value(&file);
  };
  WEFT_TRY(guarded(kept, Code::invalid_argument, path, open));
  if (file->parquet_reader()->metadata()->is_encryption_algorithm_set())
    return fail(Code::invalid_argument,
                path + ": the Parquet file has encrypted columns, which weft does not read; decrypt it first");
  return {};
}

Result<std::unique_ptr<Reader>> open_reader(std::unique_ptr<Source> source, const std::string& path, const Shape& row,
                                            std::span<const Condition> conditions) {
  auto reader = std::make_unique<ArrowReader>();
  WEFT_TRY(reader->open(std::move(source), path, row, conditions));
  return std::unique_ptr<Reader>(std::move(reader));
}

}  // namespace weft::storage::parquet
