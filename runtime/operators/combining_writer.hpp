// Map-side combining: equal keys are aggregated in a table before they are written as pair<K, Acc> records.
#pragma once

#include "runtime/operators/aggregation.hpp"
#include "runtime/operators/aggregation_table.hpp"
#include "runtime/operators/partitioned_writer.hpp"
#include "runtime/operators/pending_upserts.hpp"

namespace weft::runtime {

/// The default partitioner.
struct HashPartitioner {
  std::uint32_t partitions;
};

/// `Partitioner` is HashPartitioner, or a callable std::uint32_t(const K&). The table is written out whenever memory is refused.
/// Where that shows that few keys repeat, records pass through uncombined for a while.
template <Encodable K, Aggregation Agg, class Partitioner = HashPartitioner>
class CombiningWriter {
 public:
  using Value = typename Agg::Value;
  using Acc = typename Agg::Acc;

  CombiningWriter(OperatorContext& context, PartitionedWriter& out, Partitioner partitioner, Agg agg)
      : account_(context, "combiner"),
        table_(account_),
        out_(out),
        partitioner_(std::move(partitioner)),
        agg_(std::move(agg)),
        poll_(context) {}
  ~CombiningWriter() { account_.give_back(grown_); }

  void add(const K& key, const Value& value) {
    poll_();
    if (pass_ != 0) [[unlikely]]
      return pass_through(key, value);
    ++added_;
    const auto ref = table_.ref(key);
    if constexpr (kWaits) {
      if (pending_.useful(table_, ref)) return pending_.push(table_, ref, value, Apply{this});
    }
    if (!upsert(ref, value)) [[unlikely]] {
      flush();
      if (!upsert(ref, value)) pass_through(key, value);  // larger than the whole table
    }
    if constexpr (kGrowingAcc<Acc>) account_growth(value);
  }

  /// Writes what is left (and calls out.finish()).
  void finish() {
    if constexpr (kWaits) pending_.drain(Apply{this});
    flush();
    table_.release();
    out_.finish();
  }

 private:
  // Combining costs more than it saves when fewer than one in eight records finds its key; tried again after some time.
  static constexpr std::uint64_t kEnoughToJudge = 4096;
  static constexpr std::uint64_t kPassFactor = 4;
  static constexpr std::size_t kJudgeAt = 1U << 17;  // distinct keys; the table has left the cache by then

  using Ref = typename KeyForm<K>::Ref;
  using Pending = PendingUpserts<K, Acc, Value>;
  static constexpr bool kWaits = Pending::kPossible && !kGrowingAcc<Acc>;

  /// An update that has waited; the table was large a moment ago, so an empty one takes it.
  struct Apply {
    CombiningWriter* self;
    void operator()(const Ref& ref, const Value& value) const {
      if (self->upsert(ref, value)) [[likely]]
        return;
      self->flush();
      if (!self->upsert(ref, value)) self->account_.exhausted(AggregationTable<K, Acc>::entry_bytes(ref));
    }
  };

  bool upsert(const Ref& ref, const Value& value) {
    const std::size_t before = table_.size();
    const bool fits = table_.upsert(
        ref, [&](Acc& acc) { agg_.add(acc, value); }, [&]() -> Acc { return agg_.init(value); });
    if (table_.size() != before && table_.size() % kJudgeAt == 0 && !combines()) flush();
    return fits;
  }

  bool combines() const { return added_ - table_.size() >= added_ / 8; }

  void flush() {
    if (added_ >= kEnoughToJudge && !combines()) pass_ = kPassFactor * added_;
    table_.for_each([&](typename AggregationTable<K, Acc>::Entry entry) {
      const std::uint32_t partition = partition_of(entry);
      Encoder& out = out_.begin(partition);
      entry.encode_key(out);
      Codec<Acc>::encode(entry.acc(), out);
      out_.end(partition);
    });
    table_.clear();
    account_.give_back(std::exchange(grown_, 0));
    added_ = 0;
  }

  std::uint32_t partition_of(const typename AggregationTable<K, Acc>::Entry& entry) const {
    if constexpr (std::is_same_v<Partitioner, HashPartitioner>) {
      return hash_partition(entry.hash(), partitioner_.partitions);
    } else {
      return partitioner_(entry.key());
    }
  }

  void pass_through(const K& key, const Value& value) {
    if constexpr (kWaits) {
      if (!pending_.empty()) [[unlikely]] {  // older ones first
        pending_.drain(Apply{this});
        flush();
      }
    }
    if (pass_ != 0) --pass_;
    std::uint32_t partition = 0;
    if constexpr (std::is_same_v<Partitioner, HashPartitioner>) {
      partition = hash_partition(key_hash(key), partitioner_.partitions);
    } else {
      partition = partitioner_(key);
    }
    Encoder& out = out_.begin(partition);
    Codec<K>::encode(key, out);
    Codec<Acc>::encode(agg_.init(value), out);
    out_.end(partition);
  }

  void account_growth(const Value& value) {
    std::size_t bytes = sizeof(Value);
    if constexpr (Encodable<Value>) bytes = encoded_bytes(value, scratch_);
    if (account_.try_take(bytes)) {
      grown_ += bytes;
    } else {
      flush();
    }
  }

  Account account_;
  AggregationTable<K, Acc> table_;
  Pending pending_;
  PartitionedWriter& out_;
  Partitioner partitioner_;
  Agg agg_;
  StopPoll poll_;
  Encoder scratch_;
  std::uint64_t added_ = 0;  // since the last flush
  std::uint64_t pass_ = 0;   // records still to pass through
  std::uint64_t grown_ = 0;  // estimate of what the accumulators hold
};

}  // namespace weft::runtime
