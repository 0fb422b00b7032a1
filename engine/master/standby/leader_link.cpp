#include "engine/master/standby/leader_link.hpp"

#include <future>
#include <utility>

#include "runtime/protocol/worker.hpp"

namespace weft::master {

namespace {

namespace protocol = runtime::protocol;
using namespace std::chrono_literals;
constexpr Duration kConnectDeadline = 2s;
constexpr Duration kFollowDeadline = 5s;  // the leader may have to announce first that this member is not in sync
constexpr Duration kSayAlive = 500ms;
/// Of the leader: another has to lead soon after it has stopped, whatever this master just copies.
constexpr Duration kSilence = kLongestPull + 1500ms;

/// The bulk of an answer, which is not late as long as it comes.
class ComingBulk final : public rpc::BulkSink {
 public:
  void begin(ByteView, std::uint64_t bytes) override { bulk_ = Buffer(bytes); }
  MutableBytes room(std::uint64_t left) override { return bulk_.span().last(left); }
  void filled(std::size_t) override {}
  Buffer take() { return std::move(bulk_); }

 private:
  Buffer bulk_;
};

}  // namespace

Result<std::unique_ptr<LeaderLink>> LeaderLink::open(const std::string& address, const Follow& follow,
                                                     const rpc::Security& security) {
  std::unique_ptr<LeaderLink> link(new LeaderLink(security));
  WEFT_ASSIGN(const rpc::Endpoint leader, rpc::Endpoint::parse(address));
  WEFT_ASSIGN(link->connection_,
              rpc::connect(*link->reactor_, leader.of(rpc::Role::master), kConnectDeadline, {}, protocol::peer_limits()));
  WEFT_ASSIGN(const rpc::Message answer,
              rpc::call(*link->reactor_, link->connection_, kFollow, to_payload(follow), kFollowDeadline));
  WEFT_ASSIGN(link->following_, from_message<Following>(answer));
  link->reactor_->run([&] { link->say_alive(); });
  return link;
}

/// The thread that pulls may be busy with its disk for a while.
void LeaderLink::say_alive() {
  connection_->notify(kAlive, {});
  alive_ = reactor_->after(kSayAlive, [this] { say_alive(); });
}

LeaderLink::~LeaderLink() {
  reactor_->run([this] {
    alive_.reset();
    if (connection_) connection_->close();
  });
  reactor_->stop();
}

Result<rpc::Message> LeaderLink::ask(rpc::MessageType type, rpc::Payload payload) {
  const auto bulk = std::make_shared<ComingBulk>();
  std::promise<Result<rpc::Message>> answered;
  reactor_->run([&] {
    connection_->request(
        type, std::move(payload), kSilence, [&answered](Result<rpc::Message> answer) { answered.set_value(std::move(answer)); },
        bulk);
  });
  WEFT_ASSIGN(rpc::Message answer, answered.get_future().get());
  answer.bulk = bulk->take();
  return answer;
}

Result<Pulled> LeaderLink::pull() {
  WEFT_ASSIGN(const rpc::Message answer, ask(kPull, to_payload(Pull{following_.session, pulled_})));
  WEFT_ASSIGN(Pulled pulled, from_message<Pulled>(answer));
  pulled_ += pulled.entries.size();
  return pulled;
}

Result<BinaryStore::Piece> LeaderLink::fetch(const ProgramId& program, std::uint64_t offset) {
  const protocol::BinaryRequest request{program.hash, offset, program.user};
  WEFT_ASSIGN(rpc::Message answer, ask(protocol::kFetchBinary, protocol::encode(request)));
  WEFT_ASSIGN(const protocol::BinaryChunk chunk, protocol::decode<protocol::BinaryChunk>(answer));
  return BinaryStore::Piece{std::move(answer.bulk), chunk.total};
}

}  // namespace weft::master
