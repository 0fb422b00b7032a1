// Short texts and small files that say how a cluster is set up, or who leads it, as bytes. What is read of them can be written and
// read again, and what they are refused with is one line.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/attributes.hpp"
#include "base/rpc/token.hpp"
#include "base/text.hpp"
#include "engine/master/election/leader_record.hpp"
#include "engine/master/election/lease_object.hpp"
#include "engine/master/nodes/capacity_words.hpp"
#include "engine/master/profiles/record.hpp"
#include "engine/master/replication/changes.hpp"
#include "schedulers/view/hints.hpp"
#include "storage/hdfs/path.hpp"
#include "storage/namespace/path.hpp"
#include "storage/transfer/wire.hpp"

namespace weft::fuzz {

template <class T>
void check_refusal(const Result<T>& result);

/// Values of options: sizes, times, addresses, paths, tokens, capacities.
inline void read_words(std::string_view text) {
  check_refusal(parse_size(text));
  check_refusal(parse_duration(text));
  check_refusal(parse_attributes(std::array{std::string(text)}));
  check_refusal(schedulers::parse_hint(text));
  check_refusal(rpc::Endpoint::parse(text));
  const auto endpoints = rpc::Endpoint::parse_list(text);
  check_refusal(endpoints);
  if (endpoints) WEFT_ASSERT(endpoints->alternatives.size() <= rpc::kMostAlternatives);
  const auto path = storage::parse_path(text);
  check_refusal(path);
  if (path) WEFT_ASSERT(storage::parse_path(*path).value() == *path);
  const auto hdfs = storage::hdfs::parse_hdfs(text);
  check_refusal(hdfs);
  if (hdfs)
    WEFT_ASSERT(storage::hdfs::url_of(storage::hdfs::parse_hdfs(storage::hdfs::url_of(*hdfs)).value()) ==
                storage::hdfs::url_of(*hdfs));
  const auto parts = rpc::split_token(text);
  check_refusal(parts);
  const auto token = rpc::parse_payload(parts ? parts->payload : text);
  check_refusal(token);
  if (token) WEFT_ASSERT(rpc::parse_payload(rpc::payload_of(*token)).value().name == token->name);
}

inline void read_capacity(std::string_view text) {
  const auto words = master::parse_capacity_words(text);
  check_refusal(words);
  const std::string amounts = words ? master::to_text(*words) : std::string();
  if (!amounts.empty()) WEFT_ASSERT(master::parse_capacity_words(amounts).has_value());
  const auto forecast = master::parse_forecast(text);
  check_refusal(forecast);
  if (!forecast) return;
  for (std::size_t i = 1; i < forecast->size(); ++i) WEFT_ASSERT((*forecast)[i - 1].from < (*forecast)[i].from);
}

/// What etcd keeps of the masters of a cluster.
inline void read_leader(std::string_view text) {
  const auto record = master::parse_leader_record(text, "weft/leader");
  check_refusal(record);
  if (!record) return;
  // Bytes that are no UTF-8 are not written as they were.
  const auto again = master::parse_leader_record(master::text_of(*record), "weft/leader").value();
  WEFT_ASSERT(master::parse_leader_record(master::text_of(again), "weft/leader").value() == again);
}

/// What the API server of Kubernetes answers about a Lease.
inline void read_lease(std::string_view text) {
  const auto lease = master::parse_lease(std::string(text));
  check_refusal(lease);
  if (!lease) return;
  master::LeaseFields fields = lease->fields;
  fields.holder = "master-1";
  const auto changed = master::changed_lease(*lease, fields);
  check_refusal(changed);
  if (changed) WEFT_ASSERT(master::parse_lease(*changed).value().fields.holder == "master-1");
}

inline void read_profiles(std::string_view text) {
  const auto records = profiles::parse_export(text, "profiles.jsonl");
  check_refusal(records);
  if (!records) return;
  for (const auto& [key, history] : *records) check_refusal(profiles::parse_record(profiles::to_json(key, history), "again"));
}

/// An entry of a log that a standby follows.
inline void read_changes(std::string_view bytes) {
  const auto changes = master::parse_changes(as_bytes(bytes));
  check_refusal(changes);
  if (changes) WEFT_ASSERT(master::parse_changes(master::to_bytes(*changes).bytes).value().changes == changes->changes);
}

/// Requests for chunks, and their answers. The first byte says which.
inline void read_transfer(std::string_view bytes) {
  using namespace storage;
  if (bytes.empty()) return;
  const ByteView header = as_bytes(bytes.substr(1));
  switch (static_cast<unsigned char>(bytes.front()) % 9) {
    case 0:
      return check_refusal(decode_open(header));
    case 1: {
      const auto range = decode_read(header);
      check_refusal(range);
      if (range) WEFT_ASSERT(range->length <= kMostReadBytes);
      return;
    }
    case 2: {
      const auto range = decode_damaged(header);
      check_refusal(range);
      if (range) WEFT_ASSERT(range->length <= kMostReadBytes);
      return;
    }
    case 3:
      static_cast<void>(decode_served(header));
      return;
    case 4:
      return check_refusal(decode_name(header));
    case 5: {
      const auto start = decode_begin(header);
      check_refusal(start);
      if (start) WEFT_ASSERT(start->targets.size() <= kMostTargets);
      return;
    }
    case 6:
      return check_refusal(decode_position(header));
    case 7:
      return check_refusal(decode_seal(header));
    default:
      return check_refusal(decode_sealed(header));
  }
}

}  // namespace weft::fuzz
