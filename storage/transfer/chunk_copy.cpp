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

ChunkCopy::ChunkCopy(const ServerContext& context, Pacer& pacer, ChunkId id, std::vector<std::string> targets,
                     ChunkServer::CopyDone done)
    : context_(context),
      pacer_(pacer),
      id_(id),
      chain_(std::make_shared<Chain>(context.reactor, context.chain, id, std::move(targets))),
      done_(std::move(done)) {}

void ChunkCopy::start() {
  context_.threads.post([weak = weak_from_this(), &store = context_.store, id = id_, &reactor = context_.reactor] {
    auto file = std::make_shared<Result<std::shared_ptr<const ChunkFile>>>(store.open_chunk(id));
    reactor.post([weak, file] {
      if (const auto self = weak.lock()) self->opened(std::move(*file));
    });
  });
}

void ChunkCopy::stop() {
  done_ = nullptr;
  turn_.reset();
  chain_->abandon();
}

void ChunkCopy::opened(Result<std::shared_ptr<const ChunkFile>> file) {
  if (!done_) return;
  if (!file) return finish(fail(std::move(file).error()));
  file_ = std::move(*file);
  chain_->begin(file_->info().length, [weak = weak_from_this()](Result<void> begun) {
    const auto self = weak.lock();
    if (!self || !self->done_) return;
    begun ? self->advance() : self->finish(fail(std::move(begun).error()));
  });
}

/// Reads, one step at a time, while the chain takes what was read.
void ChunkCopy::advance() {
  if (!done_ || reading_ || sealing_) return;
  const std::uint64_t length = file_->info().length;
  if (offset_ == length) {
    if (in_flight_ != 0) return;
    sealing_ = true;
    return chain_->seal(file_->info(), [weak = weak_from_this()](Result<ChunkWritten> sealed) {
      if (const auto self = weak.lock(); self && self->done_) self->finish(std::move(sealed));
    });
  }
  if (in_flight_ == kPacketsInFlight) return;
  reading_ = true;
  const std::uint64_t from = offset_, step = std::min(length - offset_, kPacketBytes);
  offset_ += step;
  context_.threads.post([weak = weak_from_this(), file = file_, &store = context_.store, &reactor = context_.reactor, from, step] {
    auto verified = std::make_shared<Result<void>>(file->verify(from, step));
    if (!*verified) (void)store.check(file->info().id);  // sets it aside
    reactor.post([weak, verified, from, step] {
      const auto self = weak.lock();
      if (!self || !self->done_) return;
      if (!*verified) return self->finish(fail(std::move(*verified).error()));
      self->turn_ = self->context_.reactor.after(self->pacer_.take(step), [weak, from, step] {
        if (const auto waiting = weak.lock()) waiting->send(from, step);
      });
    });
  });
}

void ChunkCopy::send(std::uint64_t offset, std::uint64_t length) {
  if (!done_) return;
  reading_ = false;
  ++in_flight_;
  chain_->send(SharedBytes(file_->bytes().subspan(offset, length), file_), [weak = weak_from_this()](Result<void> sent) {
    const auto self = weak.lock();
    if (!self || !self->done_) return;
    --self->in_flight_;
    sent ? self->advance() : self->finish(fail(std::move(sent).error()));
  });
  advance();
}

void ChunkCopy::finish(Result<ChunkWritten> result) {
  const auto done = std::exchange(done_, nullptr);
  chain_->abandon();
  turn_.reset();
  if (!result) result = fail(std::move(result).error().wrap("copying " + to_string(id_)));
  done(std::move(result));
}

}  // namespace weft::storage
