#include "storage/transfer/page_reader.hpp"

#include <algorithm>

#include "base/rpc/await.hpp"

namespace weft::storage {
namespace {

constexpr std::uint64_t kStep = 1u << 20;

}  // namespace

Result<std::unique_ptr<PageReader>> PageReader::open(ChunkClient::Impl& client, const ChunkInfo& info,
                                                     std::vector<std::string> replicas) {
  auto fetch = std::make_shared<PageFetch>(client.workers(), client.options(), info, std::move(replicas));
  const auto opened = rpc::await<bool>(client.reactor(), "opening a damaged chunk", [fetch](auto done) {
    fetch->open([done](const Result<void>& result) { done(result ? Result<bool>(true) : fail(result.error())); });
  });
  if (!opened) return fail(opened.error());
  return std::unique_ptr<PageReader>(new PageReader(client, std::move(fetch)));
}

Result<void> PageReader::enter(std::uint64_t offset) {
  if (pages_.contains(offset)) return {};
  const std::uint64_t from = offset / kPageBytes * kPageBytes;
  const std::uint64_t length = std::min(kStep, fetch_->info().length - from);
  WEFT_ASSIGN(pages_, rpc::await<FetchedPages>(client_.reactor(), "reading pages of a damaged chunk",
                                               [fetch = fetch_, from, length](auto done) {
                                                 fetch->fetch(from, length, [done](FetchedPages pages) { done(std::move(pages)); });
                                               }));
  return {};
}

Result<SharedBytes> PageReader::next(std::uint64_t offset, std::uint64_t at_most) {
  WEFT_TRY(enter(offset));
  const auto first = pages_.good.begin() + static_cast<std::ptrdiff_t>((offset - pages_.offset) / kPageBytes);
  const auto end = std::find(first, pages_.good.end(), !*first);  // of pages that are alike
  const std::uint64_t whole = pages_.bytes.bytes.size();
  const std::uint64_t to = std::min<std::uint64_t>(whole, static_cast<std::uint64_t>(end - pages_.good.begin()) * kPageBytes);
  const std::uint64_t skip = offset - pages_.offset;
  if (*first) return SharedBytes(pages_.bytes.bytes.subspan(skip, std::min(at_most, to - skip)), pages_.bytes.owner);
  const std::uint64_t from = static_cast<std::uint64_t>(first - pages_.good.begin()) * kPageBytes;
  return fail(lacking_pages(fetch_->info(), {pages_.offset + from, to - from}, pages_.failures));
}

}  // namespace weft::storage
