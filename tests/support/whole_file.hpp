// The bytes of a file, for the module that reads Parquet.
#pragma once

#include <string>
#include <utility>

#include "storage/parquet/module.hpp"

namespace weft::test {

class WholeFile : public storage::parquet::Source {
 public:
  explicit WholeFile(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read(std::uint64_t offset, MutableBytes into) override {
    return bytes_.copy(reinterpret_cast<char*>(into.data()), into.size(), offset);
  }

 private:
  std::string bytes_;
};

}  // namespace weft::test
