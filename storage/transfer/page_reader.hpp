// PageFetch for threads that wait. Private to storage/transfer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/transfer/client_impl.hpp"
#include "storage/transfer/page_fetch.hpp"

namespace weft::storage {

/// One thread at a time; calls block, for each replica no longer than the client's deadlines.
class PageReader {
 public:
  /// As PageFetch::open().
  static Result<std::unique_ptr<PageReader>> open(ChunkClient::Impl& client, const ChunkInfo& info,
                                                  std::vector<std::string> replicas);

  /// As ChunkReader::next(), within the chunk. An error is not the end of the reader: other pages may be good.
  Result<SharedBytes> next(std::uint64_t offset, std::uint64_t at_most);

 private:
  PageReader(ChunkClient::Impl& client, std::shared_ptr<PageFetch> fetch) : client_(client), fetch_(std::move(fetch)) {}
  Result<void> enter(std::uint64_t offset);

  ChunkClient::Impl& client_;
  const std::shared_ptr<PageFetch> fetch_;
  FetchedPages pages_;
};

}  // namespace weft::storage
