// A chunk page by page from several replicas, whole or damaged: each page from the first that has it right, so that all of it comes
// as long as no page is damaged on all of them. Private to storage/transfer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/rpc/peers.hpp"
#include "storage/transfer/wire.hpp"

namespace weft::storage {

/// Whole pages of a chunk from `offset` on. Those that are not good are zeros.
struct FetchedPages {
  std::uint64_t offset = 0;
  SharedBytes bytes;
  std::vector<bool> good;
  std::vector<ReplicaFailure> failures;  // why the replicas did not give the others
  bool contains(std::uint64_t at) const { return at >= offset && at - offset < bytes.bytes.size(); }
};

/// Reactor thread, one call at a time. The owner keeps `peers` until it has called stop(), or until the last callback.
class PageFetch : public std::enable_shared_from_this<PageFetch> {
 public:
  PageFetch(rpc::Peers& peers, const ChunkClientOptions& options, const ChunkInfo& info, std::vector<std::string> replicas)
      : peers_(peers), deadline_(options.read_deadline), racks_(options.racks), info_(info), replicas_(std::move(replicas)) {}

  const ChunkInfo& info() const { return info_; }
  /// Finds the checksums of the pages; before fetch(). The error says what was wrong with each replica; its code is that of the
  /// last.
  using Opened = std::function<void(Result<void>)>;
  void open(Opened done);
  /// `offset` is a page's begin, the length at most kMostReadBytes and whole pages (the last may end the chunk).
  using Fetched = std::function<void(FetchedPages)>;
  void fetch(std::uint64_t offset, std::uint64_t length, Fetched done);
  /// No callback comes after it.
  void stop() { stopped_ = true; }

 private:
  struct Round;

  using Answer = std::function<void(Result<rpc::Message>)>;
  void ask(const std::string& address, rpc::MessageType type, Buffer header, Answer answer);
  void open_from(std::size_t next, std::vector<ReplicaFailure> failures, Opened done);
  Result<void> take_checksums(const Result<rpc::Message>& reply);
  void go_on(const std::shared_ptr<Round>& round);
  Result<void> take(Round& round, const ByteRange& range, ByteView got) const;

  rpc::Peers& peers_;
  const rpc::Duration deadline_;
  const std::shared_ptr<RackTally> racks_;
  const ChunkInfo info_;
  const std::vector<std::string> replicas_;
  std::vector<std::uint32_t> checksums_;
  std::map<std::string, Error> gone_;  // replicas that did not answer, or have nothing: not asked again
  bool stopped_ = false;
};

/// "WHAT; REPLICA: why; REPLICA: why".
std::string with_reasons(std::string what, const std::vector<ReplicaFailure>& failures);
/// Of pages that no replica had right: which bytes of which chunk, and why. unavailable when a replica did not answer, else
/// corrupt.
Error lacking_pages(const ChunkInfo& info, const ByteRange& range, const std::vector<ReplicaFailure>& failures);

}  // namespace weft::storage
