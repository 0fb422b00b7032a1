#include "storage/transfer/chain.hpp"

#include <utility>

namespace weft::storage {

Chain::Chain(rpc::Reactor& reactor, const ChunkClientOptions& options, ChunkId id, std::vector<std::string> targets,
             std::uint64_t key)
    : reactor_(reactor), options_(options), id_(id), targets_(std::move(targets)), key_(key) {}

void Chain::begin(std::uint64_t expected_length, Done done) {
  if (targets_.empty() || targets_.size() > kMostTargets) {
    return reactor_.post([weak = weak_from_this(), done = std::move(done)] {
      if (weak.lock()) done(fail(Code::invalid_argument, "a chunk is written to 1 to 16 workers"));
    });
  }
  auto connected = [self = shared_from_this(), expected_length, done = std::move(done)](Result<rpc::ConnectionPtr> connection) {
    if (self->over_) {
      if (connection) (*connection)->close();
      connection = fail(Code::cancelled, "the chunk was abandoned");
    }
    if (!connection) return done(fail(std::move(connection).error()));
    self->connection_ = *connection;
    const WriteStart start{self->id_,
                           expected_length,
                           self->targets_.front(),
                           {self->targets_.begin() + 1, self->targets_.end()},
                           self->options_.racks->rack(),
                           self->key_};
    self->request(kBeginWrite, encode_begin(start), {}, self->for_all(self->options_.connect_deadline),
                  [self, done](Result<rpc::Message> reply) {
                    if (!reply) return done(fail(std::move(reply).error()));
                    self->rack_ = decode_served(reply->header.view());
                    done({});
                  });
  };
  auto endpoint = rpc::Endpoint::parse(targets_.front());
  if (!endpoint) return reactor_.post([connected, error = std::move(endpoint).error()] { connected(fail(error)); });
  reactor_.connect(endpoint->of(rpc::Role::worker), options_.connect_deadline, {}, chunk_limits(), std::move(connected));
}

void Chain::request(rpc::MessageType type, Buffer header, std::vector<SharedBytes> bulk, rpc::Duration deadline, rpc::Reply reply) {
  if (over_ || connection_ == nullptr) {
    return reactor_.post([reply = std::move(reply)] { reply(fail(Code::cancelled, "the chunk was abandoned")); });
  }
  auto guarded = [self = shared_from_this(), reply = std::move(reply)](Result<rpc::Message> answer) {
    if (!answer) answer = fail(std::move(answer).error().wrap("writing " + to_string(self->id_) + " to " + self->targets_.front()));
    reply(std::move(answer));
  };
  connection_->request(type, {std::move(header), std::move(bulk), {}}, deadline, std::move(guarded));
}

void Chain::send(SharedBytes bytes, Done done) {
  const std::uint64_t offset = std::exchange(sent_, sent_ + bytes.bytes.size());
  if (connection_) options_.racks->sent(rack_, bytes.bytes.size());
  request(kWriteBytes, encode_position({id_, offset}), {std::move(bytes)}, for_all(options_.write_deadline),
          [done = std::move(done)](Result<rpc::Message> reply) { reply ? done({}) : done(fail(std::move(reply).error())); });
}

void Chain::seal(const ChunkInfo& info, SealDone done) {
  request(kSealChunk, encode_seal(info), {}, for_all(options_.seal_deadline),
          [self = shared_from_this(), info, done = std::move(done)](Result<rpc::Message> reply) {
            if (!reply) return done(fail(std::move(reply).error()));
            auto written = decode_sealed(reply->header.view());
            if (written) written->info = info;
            self->abandon();  // there is nothing left to drop
            done(std::move(written));
          });
}

void Chain::abandon() {
  over_ = true;
  if (connection_) std::exchange(connection_, nullptr)->close();
}

}  // namespace weft::storage
