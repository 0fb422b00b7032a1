// Parquet files through Apache Arrow's own library, which is not linked: a module of weft's (libweft-parquet.so) is loaded when the
// first Parquet file is used, and brings Arrow with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "storage/parquet/column.hpp"

namespace weft::storage::parquet {

/// The bytes of a file. One thread.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::uint64_t size() const = 0;
  /// Fills `into`; fewer bytes only at the end.
  virtual Result<std::size_t> read(std::uint64_t offset, MutableBytes into) = 0;
};

/// Consecutive rows of a file, which are read by one task.
struct RowGroup {
  std::uint64_t offset = 0;  // of its first byte in the file
  std::uint64_t bytes = 0;   // as stored
  std::uint64_t rows = 0;
};

/// One thread.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual std::span<const RowGroup> row_groups() const = 0;
  /// False: what the file says of the row group's values (least and greatest, Bloom filters) excludes every row. Statistics that
  /// are NaN, cut off or of an unknown order exclude nothing.
  virtual bool may_have_wanted(std::size_t row_group) = 0;
  /// Calls visit for batches of rows, in order. corrupt: the file is damaged.
  virtual Result<void> read(std::size_t row_group, const std::function<Result<void>(const Batch&)>& visit) = 0;
};

/// Where a new file's bytes go, in order.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Result<void> append(ByteView bytes) = 0;
};

struct WriteOptions {
  std::string compression = "zstd";            // none, snappy, gzip, lz4, zstd
  std::uint64_t row_group_bytes = 128u << 20;  // before encoding
  std::vector<std::string> sorted_by{};        // columns, "name" or "name desc": noted in the file
};

/// One thread. A file that is not finished is none.
class Writer {
 public:
  virtual ~Writer() = default;
  /// invalid_argument: a row is not in the order of WriteOptions::sorted_by.
  virtual Result<void> append(const Batch& batch) = 0;
  virtual Result<void> finish() = 0;
};

/// What a file says of itself.
struct Contents {
  Shape row;  // its columns, with the nearest kinds of fields that they can be read into
  std::uint64_t rows = 0, row_groups = 0;
  std::vector<std::string> types;     // of the columns, as Arrow names them
  std::vector<std::string> left_out;  // columns of types that no field can hold
};

/// Behind the path of a file that is something else, or whose end is missing.
inline constexpr const char* kNoParquetFile = ": this is no Parquet file, or a part of one: it does not end with PAR1";

/// What libweft-parquet.so is. Any thread.
class Module {
 public:
  virtual ~Module() = default;
  /// Rows of that shape; its children are columns. `path` is for messages. invalid_argument names the file when it is no Parquet
  /// file, is encrypted, lacks a column or has one of another type; then both types are named.
  virtual Result<std::unique_ptr<Reader>> open(std::unique_ptr<Source> source, const std::string& path, const Shape& row,
                                               std::span<const Condition> conditions) const = 0;
  /// Reads no rows. Errors are as of open().
  virtual Result<Contents> describe(std::unique_ptr<Source> source, const std::string& path) const = 0;
  virtual Result<std::unique_ptr<Writer>> create(std::unique_ptr<Sink> sink, const Shape& row,
                                                 const WriteOptions& options) const = 0;
};

/// Of this process; loaded at the first call. not_found says in one line what to install. Any thread.
Result<const Module*> load_module();
/// Programs that this process starts find its module, by their environment, wherever they are themselves. Before there are threads.
void tell_children();

/// Grows when a class above changes, so that a module of another build is refused.
inline constexpr std::uint32_t kModuleVersion = 5;
/// What the module exports as weft_parquet_module: null for another version than its own.
using ModuleEntry = const Module* (*)(std::uint32_t version);

}  // namespace weft::storage::parquet
