#include "storage/files/foreign_stores.hpp"

#include "base/assert.hpp"
#include "storage/hdfs/hdfs_files.hpp"
#include "storage/objects/s3_files.hpp"

namespace weft::storage::files {

ForeignStores::ForeignStores(const std::string& scratch) {
  const std::shared_ptr<ForeignFiles> hdfs = hdfs::hdfs_files(scratch);
  by_scheme_ = {{"s3://", objects::s3_files()}, {"hdfs://", hdfs}, {"webhdfs://", hdfs}};
  for (const std::string_view scheme : kForeignSchemes) WEFT_ASSERT(of(scheme) != nullptr);
}

ForeignFiles* ForeignStores::of(std::string_view path) const {
  for (const auto& [scheme, store] : by_scheme_)
    if (path.starts_with(scheme)) return store.get();
  return nullptr;
}

}  // namespace weft::storage::files
