// Reduce side of an aggregation: merges accumulators by key. Any number of keys: when memory is refused, the table is spilled into
// 16 parts by hash; each part is reduced on its own afterwards, and split again by other bits of the hash if it must.
#pragma once

#include <array>
#include <optional>

#include "runtime/operators/aggregation.hpp"
#include "runtime/operators/aggregation_table.hpp"
#include "runtime/operators/pending_upserts.hpp"
#include "runtime/operators/spill.hpp"

namespace weft::runtime {

template <Encodable K, Aggregation Agg>
class ReduceTable {
 public:
  using Acc = typename Agg::Acc;
  using Value = typename Agg::Value;

  /// `hint` may be null.
  ReduceTable(OperatorContext& context, Agg agg, TableHint* hint = nullptr) : ReduceTable(context, std::move(agg), hint, 0) {}
  ~ReduceTable() { account_.give_back(grown_); }

  void merge(const K& key, const Acc& acc) {
    const Ref ref = table_.ref(key);
    if constexpr (kWaits) {
      pending_.push(table_, ref, acc, MergeNow{this});
    } else {
      poll_();
      merge_now(ref, acc);
    }
  }

  /// For aggregations without a map-side combiner.
  void add(const K& key, const Value& value) {
    poll_();
    if constexpr (SaysMemory<Acc>) {
      return put_measured(
          table_.ref(key), [&](Acc& mine) { agg_.add(mine, value); }, [&]() -> Acc { return agg_.init(value); });
    }
    if constexpr (kWaits) pending_.drain(MergeNow{this});
    put(
        table_.ref(key), [&](Acc& mine) { agg_.add(mine, value); }, [&]() -> Acc { return agg_.init(value); });
    if constexpr (kGrowingAcc<Acc> && Encodable<Value>) {
      account_growth(encoded_bytes(value, scratch_));
    } else if constexpr (kGrowingAcc<Acc>) {
      account_growth(sizeof(Value));
    }
  }

  /// emit(const K&, Acc&) once per key; a string_view key is valid during the call. Once, last.
  template <class Emit>
  void drain(Emit&& emit) {
    if constexpr (kWaits) pending_.drain(MergeNow{this});
    table_.tell(hint_);
    if (!spill_) {
      table_.for_each([&](typename Table::Entry entry) {
        poll_();
        const K key = entry.key();
        emit(key, entry.acc());
      });
      table_.release();
      return;
    }
    spill_table();
    table_.release();
    std::array<SpillRun, kFanOut> parts;
    for (std::size_t i = 0; i < kFanOut; ++i) parts[i] = spill_->writers[i].finish();
    for (SpillRun& part : parts) {
      if (part.records != 0) drain_part(std::move(part), emit);
    }
  }

 private:
  using Table = AggregationTable<K, Acc>;
  using Ref = typename Table::Ref;
  using Pending = PendingUpserts<K, Acc, Acc>;
  static constexpr bool kWaits = Pending::kPossible && !kGrowingAcc<Acc>;
  static constexpr std::size_t kFanOut = 16;

  struct Spill {
    explicit Spill(const Account& account) : file(account) {
      writers.reserve(kFanOut);
      for (std::size_t i = 0; i < kFanOut; ++i) writers.emplace_back(file, account.block_bytes());
    }
    SpillFile file;
    std::vector<SpillWriter> writers;
  };

  ReduceTable(OperatorContext& context, Agg agg, TableHint* hint, unsigned level)
      : account_(context, aggregation_name<Acc>()),
        table_(account_, level),
        agg_(std::move(agg)),
        poll_(context),
        hint_(hint),
        level_(level) {
    table_.reserve(hint_);
  }

  struct MergeNow {
    ReduceTable* self;
    void expect(std::size_t records) const { self->poll_(static_cast<std::uint32_t>(records)); }
    template <class Kind>
    void operator()(const Kind& kind, const Acc& acc) const {
      self->merge_now(kind, acc);
    }
  };

  template <class AnyRef>
  void merge_now(const AnyRef& key, const Acc& acc) {
    const auto merge = [&](Acc& mine) { agg_.merge(mine, acc); };
    const auto make = [&]() -> Acc { return acc; };
    if constexpr (SaysMemory<Acc>) {
      put_measured(key, merge, make);
    } else {
      put(key, merge, make);
      if constexpr (kGrowingAcc<Acc>) account_growth(encoded_bytes(acc, scratch_));
    }
  }

  template <class AnyRef>
  void put_measured(const AnyRef& key, const auto& change, const auto& make) {
    std::size_t growth = 0;
    put(
        key, [&](Acc& mine) { growth = growth_by(mine, change); },
        [&]() -> Acc {
          Acc acc = make();
          growth = acc.held_bytes();
          return acc;
        });
    if (growth != 0) account_growth(growth);
  }

  template <class AnyRef, class Found, class Make>
  void put(const AnyRef& key, Found&& found, Make&& make) {
    if (table_.upsert(key, found, make)) [[likely]]
      return;
    spill_table();
    if (table_.upsert(key, found, make)) return;
    table_.release();
    if (!table_.upsert(key, found, make)) account_.exhausted(Table::entry_bytes(key));
  }

  void account_growth(std::size_t bytes) {
    if (account_.try_take(bytes)) {
      grown_ += bytes;
      return;
    }
    // The sum of what was merged overestimates; look again before giving up.
    account_.give_back(std::exchange(grown_, 0));
    std::size_t real = 0;
    table_.for_each([&](typename Table::Entry entry) { real += held_bytes(entry.acc(), scratch_); });
    if (real <= account_.limit() / 2 && account_.try_take(real)) {
      grown_ = real;
    } else if (table_.size() > 1) {
      spill_table();
    } else if (real > account_.limit()) {
      account_.exhausted(real);
    }
  }

  std::size_t part_of(std::uint64_t hash) const { return (hash << (Table::kPartitionBits + 4 * level_)) >> 60; }

  void spill_table() {
    if (level_ == Table::kMaxLevel) account_.exhausted(account_.used());
    if (!spill_) spill_.emplace(account_);
    table_.for_each([&](typename Table::Entry entry) {
      poll_();
      SpillWriter& writer = spill_->writers[part_of(entry.hash())];
      Encoder& out = writer.begin();
      entry.encode_key(out);
      Codec<Acc>::encode(entry.acc(), out);
      writer.end();
    });
    table_.clear();
    account_.give_back(std::exchange(grown_, 0));
  }

  template <class Emit>
  void drain_part(SpillRun part, Emit& emit) {
    ReduceTable reduced(account_.context(), agg_, nullptr, level_ + 1);
    SpillReader reader(spill_->file, std::move(part));
    ByteView record;
    while (reader.next(record)) {
      Decoder in(record);
      const K key = Codec<K>::decode(in);
      const Acc acc = Codec<Acc>::decode(in);
      reduced.merge(key, acc);
    }
    reduced.drain(emit);
  }

  Account account_;
  Table table_;
  Agg agg_;
  Pending pending_;
  StopPoll poll_;
  TableHint* hint_;
  Encoder scratch_;
  std::optional<Spill> spill_;
  std::uint64_t grown_ = 0;  // estimate of what the accumulators hold
  unsigned level_;
};

}  // namespace weft::runtime
