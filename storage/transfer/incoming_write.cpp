#include "storage/transfer/incoming_write.hpp"

#include <fmt/core.h>

namespace weft::storage {
namespace {

constexpr std::uint64_t kMostUnwritten = 64u << 20;
constexpr std::uint64_t kMostReserved = kDefaultChunkBytes;  // a writer may claim any length

/// What a writer sent before it could know that the chunk was not begun, or was given up.
tl::unexpected<Error> not_begun(ChunkId id) { return fail(Code::cancelled, to_string(id) + " is not being written any more"); }

}  // namespace

struct IncomingWrite::Answer {
  explicit Answer(rpc::Responder to) : responder(std::move(to)) {}
  rpc::Responder responder;
  unsigned waiting = 1;  // for this worker; one more for those behind
  std::optional<Error> failure;
  Buffer header;         // of the answer to a beginning
  ChunkWritten written;  // of a seal

  /// True when it was the last.
  bool arrived() { return --waiting == 0; }
  void confirm() {
    if (arrived()) failure ? responder.fail(*failure) : responder.reply({std::move(header), {}, {}});
  }
};

IncomingWrite::IncomingWrite(const ServerContext& context, WriteStart start)
    : context_(context), start_(std::move(start)), queue_(std::make_shared<IoQueue>(context.threads)) {}

template <class T>
void IncomingWrite::on_disk(std::function<Result<T>(Local&)> call, std::function<void(Result<T>)> done) {
  queue_->post([local = local_, call = std::move(call), done = std::move(done), &reactor = context_.reactor] {
    auto result = std::make_shared<Result<T>>(call(*local));
    reactor.post([result, done] { done(std::move(*result)); });
  });
}

void IncomingWrite::begin(rpc::Responder responder) {
  auto answer = std::make_shared<Answer>(std::move(responder));
  answer->header = encode_served(context_.chain.racks->rack());
  if (!start_.targets.empty()) {
    ++answer->waiting;
    next_ = std::make_shared<Chain>(context_.reactor, context_.chain, start_.id, start_.targets);
    next_->begin(start_.expected_length, [weak = weak_from_this(), answer](Result<void> begun) {
      if (const auto self = weak.lock(); self && !begun) self->cut(begun.error());
      answer->confirm();
    });
  }
  on_disk<void>(
      [&store = context_.store, id = start_.id, length = start_.expected_length](Local& local) -> Result<void> {
        WEFT_ASSIGN(local.appender, store.create(id, length, kMostReserved));
        return {};
      },
      [weak = weak_from_this(), answer](Result<void> created) {
        const auto self = weak.lock();
        if (self && !created) self->fail_here(created.error());
        if (!created) answer->failure = std::move(created).error();
        answer->confirm();
      });
}

void IncomingWrite::write(std::uint64_t offset, Buffer bytes, rpc::Responder responder) {
  if (failure_) return responder.fail(*failure_);
  if (sealing_ || offset != received_ || bytes.empty() || bytes.size() > kMostPacketBytes)
    return responder.fail(Error(Code::invalid_argument, fmt::format("{} bytes from {} on do not go on with {}, which has {}",
                                                                    bytes.size(), offset, to_string(start_.id), received_)));
  if (unwritten_ > kMostUnwritten)
    return responder.fail(Error(Code::resource_exhausted, "more bytes of " + to_string(start_.id) + " than there is credit for"));
  const SharedBytes shared(std::move(bytes));
  received_ += shared.bytes.size();
  unwritten_ += shared.bytes.size();
  context_.chain.racks->received(start_.rack, shared.bytes.size());
  auto answer = std::make_shared<Answer>(std::move(responder));
  if (next_) {
    ++answer->waiting;
    next_->send(shared, [weak = weak_from_this(), answer](Result<void> sent) {
      if (const auto self = weak.lock(); self && !sent) self->cut(sent.error());
      answer->confirm();
    });
  }
  on_disk<void>(
      [shared, id = start_.id](Local& local) -> Result<void> {
        if (local.appender == nullptr) return not_begun(id);
        return local.appender->append(shared.bytes, shared.owner);
      },
      [weak = weak_from_this(), answer, size = shared.bytes.size()](Result<void> appended) {
        if (const auto self = weak.lock()) {
          self->unwritten_ -= size;
          if (!appended) self->fail_here(appended.error());
        }
        if (!appended) answer->failure = std::move(appended).error();
        answer->confirm();
      });
}

void IncomingWrite::seal(const ChunkInfo& info, rpc::Responder responder) {
  if (failure_) return responder.fail(*failure_);
  if (sealing_ || info.id != start_.id || info.length != received_)
    return responder.fail(Error(Code::invalid_argument, fmt::format("{} cannot be sealed with {} bytes: it has {}",
                                                                    to_string(start_.id), info.length, received_)));
  sealing_ = true;
  auto answer = std::make_shared<Answer>(std::move(responder));
  const auto finish = [self = shared_from_this(), answer] {
    if (!answer->arrived()) return;
    ChunkWritten& written = answer->written;
    if (written.durable.empty()) return answer->responder.fail(*answer->failure);
    if (answer->failure) written.failures.insert(written.failures.begin(), {self->start_.self, *answer->failure});
    written.failures.insert(written.failures.end(), self->failures_.begin(), self->failures_.end());
    answer->responder.reply({encode_sealed(written), {}, {}});
  };
  if (next_) {
    ++answer->waiting;
    next_->seal(info, [self = shared_from_this(), answer, finish](Result<ChunkWritten> behind) {
      if (behind) {
        auto& durable = answer->written.durable;
        durable.insert(durable.end(), behind->durable.begin(), behind->durable.end());
        answer->written.failures = std::move(behind->failures);
      } else {
        self->cut(behind.error());
      }
      finish();
    });
  }
  on_disk<ChunkInfo>(
      [info](Local& local) -> Result<ChunkInfo> {
        if (local.appender == nullptr) return not_begun(info.id);
        return local.appender->seal(info);
      },
      [self = shared_from_this(), answer, finish](Result<ChunkInfo> sealed) {
        auto& durable = answer->written.durable;
        if (sealed) durable.insert(durable.begin(), self->start_.self);
        if (!sealed) answer->failure = std::move(sealed).error();
        finish();
      });
}

void IncomingWrite::abandon() {
  if (sealing_) return;
  if (next_) std::exchange(next_, nullptr)->abandon();
  queue_->post([local = local_] { local->appender.reset(); });
}

void IncomingWrite::forget(const std::string& address, const Error& why) {
  if (next_ && next_->targets().front() == address) cut(why);
}

/// Without this worker's part the chain behind it ends here, too.
void IncomingWrite::fail_here(Error error) {
  if (failure_) return;
  failure_ = std::move(error);
  abandon();
}

void IncomingWrite::cut(const Error& why) {
  if (!next_) return;
  const auto& targets = next_->targets();
  for (const std::string& address : targets) {
    const bool first = address == targets.front();
    failures_.push_back({address, first ? why : Error(Code::unavailable, "it is behind " + targets.front() + " in the chain")});
  }
  std::exchange(next_, nullptr)->abandon();
}

}  // namespace weft::storage
