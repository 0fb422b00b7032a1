#include "storage/transfer/page_fetch.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "storage/chunks/chunk_file.hpp"
#include "storage/transient.hpp"

namespace weft::storage {
namespace {

bool may_come_back(const ReplicaFailure& failure) { return is_transient(failure.error); }

}  // namespace

struct PageFetch::Round {
  Round(std::uint64_t from, std::uint64_t length, Fetched then)
      : offset(from), bytes(length), good(page_count(length)), done(std::move(then)) {
    std::memset(bytes.data(), 0, bytes.size());
  }
  std::uint64_t offset;
  Buffer bytes;
  std::vector<bool> good;
  std::vector<ReplicaFailure> failures;
  std::size_t next = 0;  // replica
  Fetched done;

  /// From the first to the last page that lacks; empty when none does.
  ByteRange lacking() const {
    const auto first = std::find(good.begin(), good.end(), false);
    if (first == good.end()) return {};
    const auto last = std::find(good.rbegin(), good.rend(), false);
    const auto begin = static_cast<std::uint64_t>(first - good.begin()) * kPageBytes;
    const auto end = static_cast<std::uint64_t>(good.rend() - last) * kPageBytes;
    return {begin, std::min<std::uint64_t>(end, bytes.size()) - begin};
  }
};

void PageFetch::ask(const std::string& address, rpc::MessageType type, Buffer header, Answer answer) {
  auto shared = std::make_shared<Buffer>(std::move(header));
  peers_.get(address, [self = shared_from_this(), type, shared, answer](Result<rpc::ConnectionPtr> connection) {
    if (self->stopped_) return;
    if (!connection) return answer(fail(std::move(connection).error()));
    (*connection)->request(type, {std::move(*shared), {}, {}}, self->deadline_, [self, answer](Result<rpc::Message> reply) {
      if (reply) self->racks_->received(decode_served(reply->header.view()), reply->bulk.size());
      if (!self->stopped_) answer(std::move(reply));
    });
  });
}

void PageFetch::open(Opened done) { open_from(0, {}, std::move(done)); }

void PageFetch::open_from(std::size_t next, std::vector<ReplicaFailure> failures, Opened done) {
  if (next == replicas_.size()) {
    // A disk that fails may give later what it does not give now.
    const bool wait = failures.empty() ||
                      std::any_of(failures.begin(), failures.end(), [](const auto& one) { return one.error.code() == Code::io; });
    return done(fail(wait ? Code::unavailable : failures.back().error.code(),
                     with_reasons("nothing of " + to_string(info_.id) + " can be read", failures)));
  }
  const std::string& address = replicas_[next];
  ask(address, kOpenDamaged, encode_open({info_, racks_->rack()}),
      [self = shared_from_this(), next, failures = std::move(failures), done = std::move(done),
       &address](const Result<rpc::Message>& reply) mutable {
        const auto taken = self->take_checksums(reply);
        if (taken) return done(Result<void>());
        // A replica with damaged checksums may have good pages.
        const Code why = reply ? Code::corrupt : reply.error().code();
        if (why != Code::corrupt && why != Code::io) self->gone_.emplace(address, reply.error());
        failures.push_back({address, taken.error()});
        self->open_from(next + 1, std::move(failures), std::move(done));
      });
}

Result<void> PageFetch::take_checksums(const Result<rpc::Message>& reply) {
  if (!reply) return fail(reply.error());
  std::vector<std::uint32_t> sums(page_count(info_.length));
  if (reply->bulk.size() != sums.size() * sizeof(std::uint32_t))
    return fail(Code::corrupt, "its answer does not hold the checksums of " + to_string(info_.id));
  if (!sums.empty()) std::memcpy(sums.data(), reply->bulk.data(), reply->bulk.size());
  if (digest_of(sums) != info_.digest)
    return fail(Code::corrupt, "the checksums of the pages of " + to_string(info_.id) + " do not fit its digest");
  checksums_ = std::move(sums);
  return {};
}

void PageFetch::fetch(std::uint64_t offset, std::uint64_t length, Fetched done) {
  go_on(std::make_shared<Round>(offset, length, std::move(done)));
}

void PageFetch::go_on(const std::shared_ptr<Round>& round) {
  const ByteRange lacking = round->lacking();
  while (round->next < replicas_.size() && gone_.contains(replicas_[round->next])) ++round->next;
  if (lacking.length == 0 || round->next == replicas_.size()) {
    for (const auto& [address, why] : gone_) round->failures.push_back({address, why});
    return round->done({round->offset, SharedBytes(std::move(round->bytes)), std::move(round->good), std::move(round->failures)});
  }
  const std::string& address = replicas_[round->next++];
  ask(address, kReadDamaged,
      encode_damaged({info_, round->offset + lacking.offset, static_cast<std::uint32_t>(lacking.length), racks_->rack()}),
      [self = shared_from_this(), round, lacking, &address](const Result<rpc::Message>& reply) {
        if (!reply) {
          self->gone_.emplace(address, reply.error());
        } else if (auto taken = self->take(*round, lacking, reply->bulk.view()); !taken) {
          round->failures.push_back({address, std::move(taken).error()});
        }
        self->go_on(round);
      });
}

/// What fits its checksum. The error names a page that does not.
Result<void> PageFetch::take(Round& round, const ByteRange& range, ByteView got) const {
  if (got.size() != range.length)
    return fail(Code::corrupt, to_string(info_.id) + ": pages came with another length than asked for");
  Result<void> all;
  for (std::uint64_t at = 0; at < got.size(); at += kPageBytes) {
    const ByteView page = got.subspan(at, std::min<std::uint64_t>(kPageBytes, got.size() - at));
    const std::uint64_t begin = range.offset + at;
    if (round.good[begin / kPageBytes]) continue;
    auto fits = verify_pages(info_.id, checksums_, (round.offset + begin) / kPageBytes, page);
    if (!fits) {
      all = std::move(fits);
      continue;
    }
    std::memcpy(round.bytes.data() + begin, page.data(), page.size());
    round.good[begin / kPageBytes] = true;
  }
  return all;
}

std::string with_reasons(std::string what, const std::vector<ReplicaFailure>& failures) {
  for (const ReplicaFailure& failure : failures) what += "; " + failure.address + ": " + failure.error.to_string();
  return what;
}

Error lacking_pages(const ChunkInfo& info, const ByteRange& range, const std::vector<ReplicaFailure>& failures) {
  const bool wait = std::any_of(failures.begin(), failures.end(), may_come_back);
  const std::string what = fmt::format("no replica of {} has its bytes {} to {} undamaged", to_string(info.id), range.offset,
                                       range.offset + range.length - 1);
  return {wait ? Code::unavailable : Code::corrupt, with_reasons(what, failures)};
}

}  // namespace weft::storage
