#include "storage/transfer/chunk_copy.hpp"

#include <algorithm>
#include <utility>

namespace weft::storage {

Duration Pacer::take(std::uint64_t bytes) {
  if (rate_ == 0) return Duration{0};
  const TimePoint now = SystemClock().now();
  const TimePoint from = std::max(due_, now);
  due_ = from + std::chrono::duration_cast<Duration>(
                    std::chrono::duration<double>(static_cast<double>(bytes) / static_cast<double>(rate_)));
  return from - now;
}

ChunkCopy::ChunkCopy(const ServerContext& context, Pacer& pacer, rpc::Peers& sources, ChunkLocation chunk,
                     std::vector<std::string> targets, ChunkServer::CopyDone done)
    : context_(context),
      pacer_(pacer),
      sources_(sources),
      chunk_(std::move(chunk)),
      chain_(std::make_shared<Chain>(context.reactor, context.chain, chunk_.info.id, std::move(targets))),
      done_(std::move(done)) {}

void ChunkCopy::start() {
  context_.threads.post([weak = weak_from_this(), &store = context_.store, id = chunk_.info.id, &reactor = context_.reactor] {
    auto file = std::make_shared<Result<std::shared_ptr<const ChunkFile>>>(store.open_chunk(id));
    reactor.post([weak, file] {
      if (const auto self = weak.lock()) self->opened(std::move(*file));
    });
  });
}

void ChunkCopy::stop() {
  done_ = nullptr;
  turn_.reset();
  if (pages_) pages_->stop();
  chain_->abandon();
}

void ChunkCopy::opened(Result<std::shared_ptr<const ChunkFile>> file) {
  if (!done_) return;
  if (!file) return go_over_to_pages(std::move(file).error(), [this] { begin_chain(); });
  file_ = std::move(*file);
  begin_chain();
}

void ChunkCopy::begin_chain() {
  chain_->begin(chunk_.info.length, [weak = weak_from_this()](Result<void> begun) {
    const auto self = weak.lock();
    if (!self || !self->done_) return;
    begun ? self->advance() : self->finish(fail(std::move(begun).error()));
  });
}

/// Reads, one step at a time, while the chain takes what was read.
void ChunkCopy::advance() {
  if (!done_ || reading_ || sealing_) return;
  const std::uint64_t length = chunk_.info.length;
  if (offset_ == length) {
    if (in_flight_ != 0) return;
    sealing_ = true;
    return chain_->seal(chunk_.info, [weak = weak_from_this()](Result<ChunkWritten> sealed) {
      if (const auto self = weak.lock(); self && self->done_) self->finish(std::move(sealed));
    });
  }
  if (in_flight_ == kPacketsInFlight) return;
  reading_ = true;
  const std::uint64_t from = offset_, step = std::min(length - offset_, kPacketBytes);
  offset_ += step;
  pages_ ? fetch(from, step) : read(from, step);
}

void ChunkCopy::read(std::uint64_t offset, std::uint64_t length) {
  context_.threads.post([weak = weak_from_this(), file = file_, &store = context_.store, &reactor = context_.reactor, offset,
                         length] {
    auto verified = std::make_shared<Result<void>>(file->verify(offset, length));
    if (!*verified) (void)store.check(file->info().id);  // sets it aside
    reactor.post([weak, verified, file, offset, length] {
      const auto self = weak.lock();
      if (!self || !self->done_) return;
      if (*verified) return self->send_in_turn(SharedBytes(file->bytes().subspan(offset, length), file));
      self->go_over_to_pages(std::move(*verified).error(), [self = self.get(), offset, length] { self->fetch(offset, length); });
    });
  });
}

/// `then` is called while this lives and the copy is not over.
void ChunkCopy::go_over_to_pages(Error why, std::function<void()> then) {
  const bool damaged = why.code() == Code::corrupt || why.code() == Code::not_found;
  if (!damaged || chunk_.replicas.empty()) return finish(fail(std::move(why)));
  pages_ = std::make_shared<PageFetch>(sources_, context_.chain, chunk_.info, chunk_.replicas);
  pages_->open([weak = weak_from_this(), then = std::move(then)](Result<void> opened) {
    const auto self = weak.lock();
    if (!self || !self->done_) return;
    opened ? then() : self->finish(fail(std::move(opened).error()));
  });
}

void ChunkCopy::fetch(std::uint64_t offset, std::uint64_t length) {
  pages_->fetch(offset, length, [weak = weak_from_this()](FetchedPages pages) {
    const auto self = weak.lock();
    if (!self || !self->done_) return;
    const auto bad = std::find(pages.good.begin(), pages.good.end(), false);
    if (bad == pages.good.end()) return self->send_in_turn(std::move(pages.bytes));
    const std::uint64_t from = static_cast<std::uint64_t>(bad - pages.good.begin()) * kPageBytes;
    const ByteRange page{pages.offset + from, std::min<std::uint64_t>(kPageBytes, pages.bytes.bytes.size() - from)};
    self->finish(fail(lacking_pages(self->chunk_.info, page, pages.failures)));
  });
}

void ChunkCopy::send_in_turn(SharedBytes bytes) {
  turn_ = context_.reactor.after(pacer_.take(bytes.bytes.size()), [weak = weak_from_this(), bytes = std::move(bytes)] {
    if (const auto waiting = weak.lock()) waiting->send(bytes);
  });
}

void ChunkCopy::send(SharedBytes bytes) {
  if (!done_) return;
  reading_ = false;
  ++in_flight_;
  chain_->send(std::move(bytes), [weak = weak_from_this()](Result<void> sent) {
    const auto self = weak.lock();
    if (!self || !self->done_) return;
    --self->in_flight_;
    sent ? self->advance() : self->finish(fail(std::move(sent).error()));
  });
  advance();
}

void ChunkCopy::finish(Result<ChunkWritten> result) {
  const auto done = std::exchange(done_, nullptr);
  if (pages_) pages_->stop();
  chain_->abandon();
  turn_.reset();
  if (!result) result = fail(std::move(result).error().wrap("copying " + to_string(chunk_.info.id)));
  done(std::move(result));
}

}  // namespace weft::storage
