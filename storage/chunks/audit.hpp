// Checks a chunk file as a whole, as its disk has it. For the store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.hpp"
#include "storage/chunks/chunk.hpp"

namespace weft::storage {

/// Reads every byte (past the page cache where the file system can) and compares all of the file with what it must be. corrupt: it
/// differs, or the disk does not give it; not_found: it is gone; cancelled: `pace`, called with the bytes of each step before it is
/// read, returned false.
Result<void> audit_chunk_file(const std::filesystem::path& path, const ChunkInfo& info, std::uint64_t cluster,
                              const std::function<bool(std::uint64_t)>& pace);

}  // namespace weft::storage
