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

  /// `hint` may be null.
  CombiningWriter(OperatorContext& context, PartitionedWriter& out, Partitioner partitioner, Agg agg, TableHint* hint = nullptr)
      : account_(context, "combiner"),
        table_(account_),
        out_(out),
        partitioner_(std::move(partitioner)),
        agg_(std::move(agg)),
        poll_(context),
        hint_(hint) {
    table_.reserve(hint_);
  }
  ~CombiningWriter() { account_.give_back(grown_); }

  void add(const K& key, const Value& value) {
    const Ref ref = table_.ref(key);
    if (pass_ != 0) [[unlikely]]
      return pass_through(ref, value);
    if constexpr (kWaits) {
      pending_.push(table_, ref, value, Apply{this});
    } else {
      const Apply apply{this};
      apply.expect(1);
      Table::visit_kind(ref, [&](const auto& kind) { apply(kind, value); });
      if constexpr (kGrowingAcc<Acc>) account_growth(value);
    }
  }

  /// Writes what is left (and calls out.finish()).
  void finish() {
    flush_all();
    table_.tell(hint_);
    table_.release();
    out_.finish();
  }

 private:
  // Combining costs more than it saves when fewer than one in eight records finds its key; tried again after some time.
  static constexpr std::uint64_t kEnoughToJudge = 4096;
  static constexpr std::uint64_t kPassFactor = 4;
  static constexpr std::size_t kJudgeAt = 1U << 17;  // distinct keys; the table has left the cache by then

  using Table = AggregationTable<K, Acc>;
  using Ref = typename Table::Ref;
  using Pending = PendingUpserts<K, Acc, Value>;
  /// Not views and pointers: what they refer to is the record's, and gone with it.
  static constexpr bool kWaits = Pending::kPossible && !kGrowingAcc<Acc> && (FixedSize<Value> || kHoldsNumbersOnly<Value>);

  struct Apply {
    CombiningWriter* self;
    void expect(std::size_t records) const {
      self->poll_(static_cast<std::uint32_t>(records));
      self->added_ += records;
    }
    template <class Kind>
    void operator()(const Kind& kind, const Value& value) const {
      if (self->upsert(kind, value)) [[likely]]
        return;
      self->flush();
      if (!self->upsert(kind, value)) self->write(kind, value);  // larger than the whole table
    }
  };

  template <class Kind>
  bool upsert(const Kind& kind, const Value& value) {
    return table_.upsert(
        kind,
        [&](Acc& acc) {
          if constexpr (SaysMemory<Acc>) {
            growth_ = growth_by(acc, [&](Acc& mine) { agg_.add(mine, value); });
          } else {
            agg_.add(acc, value);
          }
        },
        [&]() -> Acc {
          if (++inserted_ % kJudgeAt == 0 && !promises()) pass_ = kPassFactor * added_;
          if constexpr (SaysMemory<Acc>) {
            Acc acc = agg_.init(value);
            growth_ = acc.held_bytes();
            return acc;
          } else {
            return agg_.init(value);
          }
        });
  }

  bool combines() const { return added_ >= inserted_ + added_ / 8; }

  /// While the table grows: of keys that come at random, the share that is found grows with their number. One in 26 now is one in
  /// four when there are eight times as many records. If later looks do not bear that out, it was chance.
  bool promises() const {
    const std::uint64_t looks = inserted_ / kJudgeAt;
    return combines() || (looks < 4 && (added_ - inserted_) * 26 >= added_ * looks);
  }

  void flush_all() {
    if constexpr (kWaits) pending_.drain(Apply{this});
    flush();
  }

  void flush() {
    if (added_ >= kEnoughToJudge && !combines()) pass_ = kPassFactor * added_;
    table_.for_each([&](const typename Table::Entry& entry) { write(entry.hash(), entry, entry.acc()); });
    table_.clear();
    account_.give_back(std::exchange(grown_, 0));
    added_ = inserted_ = 0;
  }

  void pass_through(const Ref& ref, const Value& value) {
    poll_();
    if (!pending_.empty() || table_.size() != 0) flush_all();  // older ones first
    if (pass_ != 0) --pass_;
    Table::visit_kind(ref, [&](const auto& kind) { write(kind, value); });
  }

  template <class Kind>
  void write(const Kind& kind, const Value& value) {
    Acc acc = agg_.init(value);
    write(kind.hash, typename Table::Entry(kind.key.data(), kind.key.size(), acc), acc);
  }

  void write(std::uint64_t hash, const typename Table::Entry& entry, const Acc& acc) {
    std::uint32_t partition = 0;
    if constexpr (std::is_same_v<Partitioner, HashPartitioner>) {
      partition = hash_partition(hash, partitioner_.partitions);
    } else {
      partition = partitioner_(entry.key());
    }
    Encoder& out = out_.begin(partition);
    entry.encode_key(out);
    Codec<Acc>::encode(acc, out);
    out_.end(partition);
  }

  void account_growth(const Value& value) {
    std::size_t bytes = sizeof(Value);
    if constexpr (SaysMemory<Acc>) {
      bytes = std::exchange(growth_, 0);
    } else if constexpr (Encodable<Value>) {
      bytes = encoded_bytes(value, scratch_);
    }
    if (account_.try_take(bytes)) {
      grown_ += bytes;
    } else {
      flush();
    }
  }

  Account account_;
  Table table_;
  Pending pending_;
  PartitionedWriter& out_;
  Partitioner partitioner_;
  Agg agg_;
  StopPoll poll_;
  TableHint* hint_;
  Encoder scratch_;
  std::uint64_t added_ = 0;     // since the last flush
  std::uint64_t inserted_ = 0;  // of them: new keys
  std::uint64_t pass_ = 0;      // records still to pass through
  std::uint64_t grown_ = 0;     // estimate of what the accumulators hold
  std::size_t growth_ = 0;      // of the accumulator that was added to last, where it says so
};

}  // namespace weft::runtime
