#include "storage/files/protocol.hpp"

#include <array>

#include "base/rpc/capnp.hpp"
#include "base/rpc/payload.hpp"
#include "storage/files/protocol.capnp.h"

namespace weft::storage {
namespace {

using rpc::payload;
using rpc::string;
using rpc::text;
constexpr std::size_t kWordsOfFile = 16;  // about, with its path
unsigned count(std::size_t items) { return static_cast<unsigned>(items); }

void write(wire::Chunk::Builder out, const ChunkInfo& info) {
  out.setId(info.id.value()), out.setLength(info.length), out.setDigest(info.digest);
}
ChunkInfo read(wire::Chunk::Reader in) { return {ChunkId(in.getId()), in.getLength(), in.getDigest()}; }

template <class List, class Ids>
void write_ids(List out, const Ids& ids) {
  for (unsigned i = 0; i < out.size(); ++i) out.set(i, ids[i].value());
}
template <class Id, class List>
std::vector<Id> read_ids(List in) {
  std::vector<Id> ids;
  ids.reserve(in.size());
  for (const auto id : in) ids.emplace_back(id);
  return ids;
}
template <class List>
void write_chunks(List out, const std::vector<ChunkInfo>& chunks) {
  for (unsigned i = 0; i < out.size(); ++i) write(out[i], chunks[i]);
}
template <class List>
std::vector<ChunkInfo> read_chunks(List in) {
  std::vector<ChunkInfo> chunks;
  chunks.reserve(in.size());
  for (const auto chunk : in) chunks.push_back(read(chunk));
  return chunks;
}

void write(wire::Status::Builder out, const FileStatus& status) {
  out.setPath(text(status.path)), out.setDirectory(status.directory), out.setBytes(status.bytes), out.setEntries(status.entries);
  out.setReplication(status.replication), out.setChunkBytes(status.chunk_bytes), out.setChunks(status.chunks);
  out.setUser(text(status.user)), out.setModifiedMs(status.modified_ms);
}
FileStatus read(wire::Status::Reader in) {
  return {string(in.getPath()), in.getDirectory(), in.getBytes(),        in.getEntries(),   in.getReplication(),
          in.getChunkBytes(),   in.getChunks(),    string(in.getUser()), in.getModifiedMs()};
}

void write(wire::Place::Builder out, const FilePlace& place) {
  write(out.initChunk(), place.chunk.info);
  out.setOffset(place.offset), out.setWanted(place.chunk.wanted);
  write_ids(out.initNodes(count(place.chunk.nodes.size())), place.chunk.nodes);
  write_ids(out.initCorrupt(count(place.chunk.corrupt.size())), place.chunk.corrupt);
}
FilePlace read(wire::Place::Reader in) {
  return {{read(in.getChunk()), in.getWanted(), read_ids<NodeId>(in.getNodes()), read_ids<NodeId>(in.getCorrupt())},
          in.getOffset()};
}

void write(wire::NodeSite::Builder out, const NodeStorage& node) {
  out.setId(node.id.value()), out.setName(text(node.node.name)), out.setHost(text(node.node.host)),
      out.setRack(text(node.node.rack));
  out.setAddress(text(node.node.address)), out.setUsed(node.space.used), out.setFree(node.space.free), out.setChunks(node.chunks);
  out.setDraining(node.draining), out.setToMove(node.to_move), out.setReported(node.reported);
}
NodeStorage read(wire::NodeSite::Reader in) {
  return {NodeId(in.getId()),
          {string(in.getName()), string(in.getHost()), string(in.getRack()), string(in.getAddress())},
          {in.getUsed(), in.getFree()},
          in.getChunks(),
          in.getDraining(),
          in.getToMove(),
          in.getReported()};
}

/// What travels as FileReply::numbers: first the usage, then the report.
template <class Reply>
auto numbers_of(Reply& reply) {
  auto& u = reply.usage;
  auto& r = reply.report;
  return std::array{&u.directories,     &u.files,
                    &u.chunks,          &u.bytes,
                    &u.stored_bytes,    &r.directories,
                    &r.files,           &r.chunks,
                    &r.open_files,      &r.reported_chunks,
                    &r.missing_chunks,  &r.under_replicated,
                    &r.over_replicated, &r.corrupt_replicas,
                    &r.copies,          &r.trashed};
}

}  // namespace

rpc::Payload encode(const FileRequest& request) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<wire::FileRequest>();
  out.setOperation(static_cast<std::uint16_t>(request.operation));
  out.setPath(text(request.path)), out.setOther(text(request.other)), out.setUser(text(request.user));
  out.setLease(request.lease.value()), out.setFlag(request.flag), out.setReplication(request.replication);
  out.setChunkBytes(request.chunk_bytes), out.setOffset(request.offset), out.setLength(request.length), out.setShare(request.share);
  write(out.initChunk(), request.chunk);
  write_ids(out.initNodes(count(request.nodes.size())), request.nodes);
  return payload(message);
}

Result<FileRequest> decode_file_request(const rpc::Message& message) {
  return rpc::read_message<wire::FileRequest>(message.header.view(), "file request", [](auto in) -> Result<FileRequest> {
    return FileRequest{static_cast<Operation>(in.getOperation()),
                       string(in.getPath()),
                       string(in.getOther()),
                       string(in.getUser()),
                       LeaseId(in.getLease()),
                       in.getFlag(),
                       in.getReplication(),
                       in.getChunkBytes(),
                       in.getOffset(),
                       in.getLength(),
                       in.getShare(),
                       read(in.getChunk()),
                       read_ids<NodeId>(in.getNodes())};
  });
}

rpc::Payload encode(const FileReply& reply) {
  // Of long lists one piece, which needs no finding together.
  capnp::MallocMessageBuilder message(count(1024 + kWordsOfFile * reply.files.size()));
  auto out = message.initRoot<wire::FileReply>();
  out.setLease(reply.lease.value()), out.setChunk(reply.chunk.value());
  auto files = out.initFiles(count(reply.files.size()));
  for (unsigned i = 0; i < files.size(); ++i) {
    write(files[i].initStatus(), reply.files[i].status);
    auto places = files[i].initPlaces(count(reply.files[i].places.size()));
    for (unsigned p = 0; p < places.size(); ++p) write(places[p], reply.files[i].places[p]);
  }
  auto nodes = out.initNodes(count(reply.nodes.size()));
  for (unsigned i = 0; i < nodes.size(); ++i) write(nodes[i], reply.nodes[i]);
  auto users = out.initUsers(count(reply.users.size()));
  for (unsigned i = 0; i < users.size(); ++i) {
    const UserStatus& user = reply.users[i];
    users[i].setName(text(user.user)), users[i].setBytes(user.bytes), users[i].setEntries(user.entries);
    users[i].setMostBytes(user.quota.bytes), users[i].setMostEntries(user.quota.entries);
  }
  const auto numbers = numbers_of(reply);
  auto sent = out.initNumbers(count(numbers.size()));
  for (unsigned i = 0; i < sent.size(); ++i) sent.set(i, *numbers[i]);
  out.setFlag(reply.report.safe_mode), out.setBalancing(reply.report.balancing);
  return payload(message);
}

Result<FileReply> decode_file_reply(const rpc::Message& message) {
  return rpc::read_message<wire::FileReply>(message.header.view(), "file reply", [](auto in) -> Result<FileReply> {
    FileReply reply;
    reply.lease = LeaseId(in.getLease());
    reply.chunk = ChunkId(in.getChunk());
    reply.files.reserve(in.getFiles().size());
    for (const auto file : in.getFiles()) {
      FileEntry& entry = reply.files.emplace_back();
      entry.status = read(file.getStatus());
      for (const auto place : file.getPlaces()) entry.places.push_back(read(place));
    }
    for (const auto node : in.getNodes()) reply.nodes.push_back(read(node));
    for (const auto user : in.getUsers())
      reply.users.push_back(
          {string(user.getName()), {user.getMostBytes(), user.getMostEntries()}, user.getBytes(), user.getEntries()});
    const auto numbers = numbers_of(reply);
    const auto sent = in.getNumbers();
    for (unsigned i = 0; i < sent.size() && i < numbers.size(); ++i) *numbers[i] = sent[i];
    reply.report.safe_mode = in.getFlag();
    reply.report.balancing = in.getBalancing();
    return reply;
  });
}

rpc::Payload encode(const StorageSite& site) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<wire::StorageSite>();
  out.setEnabled(site.enabled), out.setCluster(text(site.cluster));
  return payload(message);
}
Result<StorageSite> decode_storage_site(const rpc::Message& message) {
  return rpc::read_message<wire::StorageSite>(message.header.view(), "storage site", [](auto in) -> Result<StorageSite> {
    return StorageSite{in.getEnabled(), string(in.getCluster())};
  });
}

rpc::Payload encode(const StorageJoin& join) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<wire::StorageJoin>();
  out.setAddress(text(join.address)), out.setUsed(join.space.used), out.setFree(join.space.free);
  return payload(message);
}
Result<StorageJoin> decode_storage_join(const rpc::Message& message) {
  return rpc::read_message<wire::StorageJoin>(message.header.view(), "storage join", [](auto in) -> Result<StorageJoin> {
    return StorageJoin{string(in.getAddress()), {in.getUsed(), in.getFree()}};
  });
}

rpc::Payload encode(const ChunkReport& report) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<wire::ChunkReport>();
  write_chunks(out.initChunks(count(report.chunks.size())), report.chunks);
  out.setFirst(report.first), out.setLast(report.last);
  return payload(message);
}
Result<ChunkReport> decode_chunk_report(const rpc::Message& message) {
  return rpc::read_message<wire::ChunkReport>(message.header.view(), "block report", [](auto in) -> Result<ChunkReport> {
    return ChunkReport{read_chunks(in.getChunks()), in.getFirst(), in.getLast()};
  });
}

rpc::Payload encode(const ChunkNews& news) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<wire::ChunkNews>();
  auto notes = out.initNotes(count(news.notes.size()));
  for (unsigned i = 0; i < notes.size(); ++i) {
    notes[i].setEvent(static_cast<std::uint8_t>(news.notes[i].event));
    write(notes[i].initChunk(), news.notes[i].chunk);
  }
  auto failed = out.initFailedCopies(count(news.failed_copies.size()));
  for (unsigned i = 0; i < failed.size(); ++i) {
    const FailedCopy& copy = news.failed_copies[i];
    failed[i].setChunk(copy.chunk.value()), failed[i].setTo(copy.to.value()), failed[i].setReason(text(copy.reason));
  }
  return payload(message);
}
Result<ChunkNews> decode_chunk_news(const rpc::Message& message) {
  return rpc::read_message<wire::ChunkNews>(message.header.view(), "chunk news", [](auto in) -> Result<ChunkNews> {
    ChunkNews news;
    news.notes.reserve(in.getNotes().size());
    for (const auto note : in.getNotes()) {
      if (note.getEvent() > static_cast<std::uint8_t>(kLastChunkEvent))
        return fail(Code::corrupt, "a worker sent news of chunks of another version");
      news.notes.push_back({static_cast<ChunkEvent>(note.getEvent()), read(note.getChunk())});
    }
    for (const auto copy : in.getFailedCopies())
      news.failed_copies.push_back({ChunkId(copy.getChunk()), NodeId(copy.getTo()), string(copy.getReason())});
    return news;
  });
}

rpc::Payload encode(const std::vector<StorageCommand>& commands) {
  capnp::MallocMessageBuilder message;
  auto list = message.initRoot<wire::ChunkCommands>().initCommands(count(commands.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    if (const auto* erase = std::get_if<EraseChunks>(&commands[i])) {
      write_ids(list[i].initErase(count(erase->chunks.size())), erase->chunks);
      continue;
    }
    if (const auto* verify = std::get_if<VerifyChunk>(&commands[i])) {
      list[i].setVerify(verify->chunk.value());
      continue;
    }
    const auto& copy = std::get<CopyChunk>(commands[i]);
    auto out = list[i].initCopy();
    write(out.initChunk(), copy.chunk);
    out.setTo(copy.to.value()), out.setAddress(text(copy.address));
    auto sources = out.initSources(count(copy.sources.size()));
    for (unsigned j = 0; j < sources.size(); ++j) sources.set(j, text(copy.sources[j]));
  }
  return payload(message);
}
Result<std::vector<StorageCommand>> decode_chunk_commands(const rpc::Message& message) {
  return rpc::read_message<wire::ChunkCommands>(
      message.header.view(), "chunk commands", [](auto in) -> Result<std::vector<StorageCommand>> {
        std::vector<StorageCommand> commands;
        for (const auto command : in.getCommands()) {
          if (command.isErase()) {
            commands.emplace_back(EraseChunks{{}, read_ids<ChunkId>(command.getErase())});
            continue;
          }
          if (command.isVerify()) {
            commands.emplace_back(VerifyChunk{{}, ChunkId(command.getVerify())});
            continue;
          }
          if (!command.isCopy()) return fail(Code::corrupt, "the master sent a chunk command of another version");
          const auto copy = command.getCopy();
          CopyChunk& made = std::get<CopyChunk>(
              commands.emplace_back(CopyChunk{{}, read(copy.getChunk()), NodeId(copy.getTo()), string(copy.getAddress()), {}}));
          for (const auto source : copy.getSources()) made.sources.push_back(string(source));
        }
        return commands;
      });
}

}  // namespace weft::storage
