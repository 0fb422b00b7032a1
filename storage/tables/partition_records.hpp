// The records of a partition's database (docs/formats/table.md). Private to storage/tables.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/write_batch.h>

#include "storage/tables/types.hpp"
#include "storage/tables/versioned_key.hpp"

namespace weft::storage::tables {

inline constexpr char kPresent = '\1', kDeleted = '\0';  // the first byte of a value

inline std::string number_key(char kind, std::uint64_t number) { return kind + big_endian(number); }
inline std::string staged_key(const LogEntry& entry) {
  return number_key('x', entry.id) + big_endian(entry.token) + big_endian(entry.version);
}

template <class T>
std::string encoded(const T& value) {
  Encoder out;
  Codec<T>::encode(value, out);
  return std::string(as_chars(out.view()));
}

inline void put_writes(rocksdb::WriteBatch& batch, const std::vector<TableWrite>& writes, std::uint64_t version) {
  std::string value;
  for (const TableWrite& write : writes) {
    value.assign(1, write.value ? kPresent : kDeleted);
    if (write.value) value += *write.value;
    batch.Put(data_key(write.key, version), value);
  }
}

}  // namespace weft::storage::tables
