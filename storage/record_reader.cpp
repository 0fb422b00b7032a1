#include "storage/record_reader.hpp"

namespace weft::storage {

Result<void> RecordReader::start(const Split& split, std::size_t record_bytes) {
  if (record_bytes == 0) return fail(Code::invalid_argument, "records of 0 bytes cannot be read");
  if (split.offset % record_bytes != 0 || split.length % record_bytes != 0)
    return fail(Code::invalid_argument,
                "input " + split.path + " does not hold whole records of " + std::to_string(record_bytes) + " bytes");
  WEFT_TRY(window_.open(split.path, split.version, split.offset, split.offset + split.length));
  if (window_.sizeless()) return fail(sizeless_records(split.path));
  return {};
}

}  // namespace weft::storage
