#include "storage/parquet/arrow/writer.hpp"

#include <cstring>
#include <limits>
#include <map>

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/utf8.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include "storage/parquet/arrow/files.hpp"
#include "storage/parquet/arrow/sorted_rows.hpp"

namespace weft::storage::parquet {
namespace {

using ArrayPtr = std::shared_ptr<::arrow::Array>;
using TypePtr = std::shared_ptr<::arrow::DataType>;

TypePtr type_of(const Shape& shape);

std::shared_ptr<::arrow::Field> field_of(const Shape& shape, const std::string& name) {
  return ::arrow::field(name, type_of(shape), shape.optional);
}

TypePtr type_of_number(const Shape& shape) {
  if (shape.calendar == Calendar::day) return ::arrow::date32();
  if (shape.calendar == Calendar::moment) return ::arrow::timestamp(::arrow::TimeUnit::MICRO, "UTC");
  if (shape.kind == Kind::real_number) return shape.bits <= 32 ? ::arrow::float32() : ::arrow::float64();
  const bool is_signed = shape.kind == Kind::signed_number;
  switch (shape.bits) {
    case 8:
      return is_signed ? ::arrow::int8() : ::arrow::uint8();
    case 16:
      return is_signed ? ::arrow::int16() : ::arrow::uint16();
    case 32:
      return is_signed ? ::arrow::int32() : ::arrow::uint32();
    default:
      return is_signed ? ::arrow::int64() : ::arrow::uint64();
  }
}

TypePtr type_of(const Shape& shape) {
  switch (shape.kind) {
    case Kind::boolean:
      return ::arrow::boolean();
    case Kind::text:
      return ::arrow::utf8();
    case Kind::list:
      return ::arrow::list(field_of(shape.children[0], "element"));
    case Kind::record: {
      ::arrow::FieldVector members;
      for (const Shape& member : shape.children) members.push_back(field_of(member, member.name));
      return ::arrow::struct_(members);
    }
    default:
      return type_of_number(shape);
  }
}

template <class Builder, class Values>
::arrow::Result<ArrayPtr> built(const Column& column, std::size_t rows, const Values& values) {
  Builder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<std::int64_t>(rows)));
  for (std::size_t row = 0; row < rows; ++row) {
    if (column.at(row) == Presence::there)
      builder.UnsafeAppend(static_cast<typename Builder::value_type>(values[row]));
    else
      builder.UnsafeAppendNull();
  }
  return builder.Finish();
}

/// The same of values that are stored as they are: if all are there, they are not copied, and live until the batch is written.
template <class Builder, class Values>
::arrow::Result<ArrayPtr> same(const Column& column, std::size_t rows, const Values& values) {
  if (!column.presence.empty()) return built<Builder>(column, rows, values);
  using Array = typename ::arrow::TypeTraits<typename Builder::TypeClass>::ArrayType;
  return std::make_shared<Array>(static_cast<std::int64_t>(rows), ::arrow::Buffer::Wrap(values.data(), rows));
}

::arrow::Result<ArrayPtr> built_texts(const Shape& shape, const Column& column, std::size_t rows) {
  ::arrow::StringBuilder builder;
  std::int64_t bytes = 0;
  for (const std::string_view text : column.texts) bytes += static_cast<std::int64_t>(text.size());
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<std::int64_t>(rows)));
  ARROW_RETURN_NOT_OK(builder.ReserveData(bytes));
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string_view text = column.texts[row];
    if (column.at(row) != Presence::there) {
      builder.UnsafeAppendNull();
      continue;
    }
    if (!::arrow::util::ValidateUTF8(text))
      return ::arrow::Status::Invalid("column '" + shape.name + "' has a text that is not UTF-8, which Parquet's texts are");
    builder.UnsafeAppend(text);
  }
  return builder.Finish();
}

::arrow::Result<ArrayPtr> built_numbers(const Shape& shape, const Column& column, std::size_t rows) {
  if (shape.kind == Kind::real_number)
    return shape.bits <= 32 ? built<::arrow::FloatBuilder>(column, rows, column.real_numbers)
                            : same<::arrow::DoubleBuilder>(column, rows, column.real_numbers);
  if (shape.kind == Kind::signed_number) {
    switch (shape.bits) {
      case 8:
        return built<::arrow::Int8Builder>(column, rows, column.signed_numbers);
      case 16:
        return built<::arrow::Int16Builder>(column, rows, column.signed_numbers);
      case 32:
        return built<::arrow::Int32Builder>(column, rows, column.signed_numbers);
      default:
        return same<::arrow::Int64Builder>(column, rows, column.signed_numbers);
    }
  }
  switch (shape.bits) {
    case 8:
      return built<::arrow::UInt8Builder>(column, rows, column.unsigned_numbers);
    case 16:
      return built<::arrow::UInt16Builder>(column, rows, column.unsigned_numbers);
    case 32:
      return built<::arrow::UInt32Builder>(column, rows, column.unsigned_numbers);
    default:
      return same<::arrow::UInt64Builder>(column, rows, column.unsigned_numbers);
  }
}

/// Bits of which rows are there; null when all are.
::arrow::Result<std::shared_ptr<::arrow::Buffer>> bits_of(const Column& column, std::size_t rows) {
  if (column.presence.empty()) return nullptr;
  ARROW_ASSIGN_OR_RAISE(auto bits, ::arrow::AllocateEmptyBitmap(static_cast<std::int64_t>(rows)));
  for (std::size_t row = 0; row < rows; ++row)
    if (column.at(row) == Presence::there)
      bits->mutable_data()[row / 8] = static_cast<std::uint8_t>(bits->mutable_data()[row / 8] | 1u << row % 8);
  return std::shared_ptr<::arrow::Buffer>(std::move(bits));
}

::arrow::Result<ArrayPtr> array_of(const Shape& shape, const Column& column, std::size_t rows) {
  if (shape.kind == Kind::boolean) return built<::arrow::BooleanBuilder>(column, rows, column.booleans);
  if (shape.kind == Kind::text) return built_texts(shape, column, rows);
  if (shape.kind != Kind::list && shape.kind != Kind::record) {
    ARROW_ASSIGN_OR_RAISE(auto numbers, built_numbers(shape, column, rows));
    return shape.calendar == Calendar::none ? numbers : numbers->View(type_of_number(shape));
  }
  ARROW_ASSIGN_OR_RAISE(auto bits, bits_of(column, rows));
  if (shape.kind == Kind::record) {
    std::vector<ArrayPtr> members;
    for (std::size_t i = 0; i < shape.children.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(members.emplace_back(), array_of(shape.children[i], column.children[i], rows));
    }
    return std::make_shared<::arrow::StructArray>(type_of(shape), static_cast<std::int64_t>(rows), members, bits);
  }
  if (column.ends[rows] > std::numeric_limits<std::int32_t>::max())
    return ::arrow::Status::CapacityError("column '" + shape.name +
                                          "' has more elements in a few rows than a file can hold together (" +
                                          std::to_string(column.ends[rows]) + ", and 2147483647 at most)");
  ARROW_ASSIGN_OR_RAISE(auto elements,
                        array_of(shape.children[0], column.children[0], static_cast<std::size_t>(column.ends[rows])));
  ARROW_ASSIGN_OR_RAISE(auto offsets, ::arrow::AllocateBuffer(static_cast<std::int64_t>((rows + 1) * sizeof(std::int32_t))));
  auto* const into = reinterpret_cast<std::int32_t*>(offsets->mutable_data());
  for (std::size_t row = 0; row <= rows; ++row) into[row] = static_cast<std::int32_t>(column.ends[row]);
  return std::make_shared<::arrow::ListArray>(type_of(shape), static_cast<std::int64_t>(rows),
                                              std::shared_ptr<::arrow::Buffer>(std::move(offsets)), elements, bits);
}

/// What a batch takes before it is encoded, about.
std::uint64_t bytes_of(const Shape& shape, const Column& column, std::size_t rows) {
  std::uint64_t bytes = 0;
  if (shape.kind == Kind::text)
    for (const std::string_view text : column.texts) bytes += text.size() + 4;
  else if (shape.kind != Kind::list && shape.kind != Kind::record)
    bytes += rows * shape.bits / 8;
  for (std::size_t i = 0; i < shape.children.size(); ++i)
    bytes += bytes_of(shape.children[i], column.children[i],
                      shape.kind == Kind::list ? static_cast<std::size_t>(column.ends[rows]) : rows);
  return bytes;
}

Result<::parquet::Compression::type> compression_of(const std::string& name) {
  static const std::map<std::string, ::parquet::Compression::type> kKnown{{"none", ::parquet::Compression::UNCOMPRESSED},
                                                                          {"snappy", ::parquet::Compression::SNAPPY},
                                                                          {"gzip", ::parquet::Compression::GZIP},
                                                                          {"lz4", ::parquet::Compression::LZ4},
                                                                          {"zstd", ::parquet::Compression::ZSTD}};
  const auto found = kKnown.find(name);
  if (found == kKnown.end())
    return fail(Code::invalid_argument,
                "Parquet files have no compression '" + name + "'; there are none, snappy, gzip, lz4, zstd");
  return found->second;
}

class ArrowWriter : public Writer {
 public:
  Result<void> open(std::unique_ptr<Sink> sink, const Shape& row, const WriteOptions& options) {
    row_ = row;
    most_bytes_ = options.row_group_bytes;
    WEFT_ASSIGN(const auto compression, compression_of(options.compression));
    WEFT_TRY(sorted_.begin(row, options.sorted_by));
    ::arrow::FieldVector columns;
    for (const Shape& column : row.children) columns.push_back(field_of(column, column.name));
    schema_ = ::arrow::schema(columns);
    return guarded(kept_, Code::io, "write_parquet", [&]() -> ::arrow::Status {
      const auto properties = ::parquet::WriterProperties::Builder()
                                  .compression(compression)
                                  ->set_sorting_columns(sorted_.columns())
                                  ->enable_page_checksum()
                                  ->build();
      return ::parquet::arrow::FileWriter::Open(*schema_, ::arrow::default_memory_pool(), arrow_stream(std::move(sink), kept_),
                                                properties)
          .Value(&file_);
    });
  }

  Result<void> append(const Batch& batch) override {
    if (!sorted_.follows(batch))
      return fail(Code::invalid_argument, "write_parquet: the rows of a file are not sorted by " + sorted_.words() +
                                              ", as ParquetFormat::sorted_by says; sort_by() them before");
    return guarded(kept_, Code::invalid_argument, "write_parquet", [&]() -> ::arrow::Status {
      std::vector<ArrayPtr> arrays;
      std::uint64_t bytes = 0;
      for (std::size_t i = 0; i < row_.children.size(); ++i) {
        ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(), array_of(row_.children[i], batch.columns[i], batch.rows));
        bytes += bytes_of(row_.children[i], batch.columns[i], batch.rows);
      }
      if (!begun_ || bytes_ + bytes > most_bytes_) {
        ARROW_RETURN_NOT_OK(file_->NewBufferedRowGroup());
        begun_ = true;
        bytes_ = 0;
      }
      bytes_ += bytes;
      return file_->WriteRecordBatch(*::arrow::RecordBatch::Make(schema_, static_cast<std::int64_t>(batch.rows), arrays));
    });
  }

  Result<void> finish() override {
    return guarded(kept_, Code::io, "write_parquet", [&] { return file_->Close(); });
  }

 private:
  Shape row_;
  std::uint64_t most_bytes_ = 0, bytes_ = 0;  // of a row group, of the one that is written
  bool begun_ = false;
  SortedRows sorted_;
  KeptError kept_;
  std::shared_ptr<::arrow::Schema> schema_;
  std::unique_ptr<::parquet::arrow::FileWriter> file_;
};

}  // namespace

Result<std::unique_ptr<Writer>> open_writer(std::unique_ptr<Sink> sink, const Shape& row, const WriteOptions& options) {
  auto writer = std::make_unique<ArrowWriter>();
  WEFT_TRY(writer->open(std::move(sink), row, options));
  return std::unique_ptr<Writer>(std::move(writer));
}

}  // namespace weft::storage::parquet
