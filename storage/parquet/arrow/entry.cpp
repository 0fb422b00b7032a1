// What libweft-parquet.so exports.
#include <arrow/util/utf8.h>

#include "storage/parquet/arrow/describe.hpp"
#include "storage/parquet/arrow/reader.hpp"
#include "storage/parquet/arrow/writer.hpp"

namespace weft::storage::parquet {
namespace {

class ArrowModule : public Module {
 public:
  ArrowModule() { ::arrow::util::InitializeUTF8(); }  // of what checks texts

  Result<std::unique_ptr<Reader>> open(std::unique_ptr<Source> source, const std::string& path, const Shape& row,
                                       std::span<const Condition> conditions) const override {
    return open_reader(std::move(source), path, row, conditions);
  }
  Result<Contents> describe(std::unique_ptr<Source> source, const std::string& path) const override {
    return contents_of(std::move(source), path);
  }
  Result<std::unique_ptr<Writer>> create(std::unique_ptr<Sink> sink, const Shape& row, const WriteOptions& options) const override {
    return open_writer(std::move(sink), row, options);
  }
};

}  // namespace
}  // namespace weft::storage::parquet

extern "C" __attribute__((visibility("default"))) const weft::storage::parquet::Module* weft_parquet_module(std::uint32_t version) {
  static const weft::storage::parquet::ArrowModule module;
  return version == weft::storage::parquet::kModuleVersion ? &module : nullptr;
}
