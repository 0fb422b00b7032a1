// A join whose build side all tasks of a process hold together: SharedJoinTable, made by JoinBuilders and looked up by JoinProbes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "runtime/operators/aggregation_table.hpp"
#include "runtime/operators/join_kind.hpp"
#include "runtime/operators/join_matches.hpp"
#include "runtime/operators/pending_upserts.hpp"
#include "runtime/operators/shared_table.hpp"

namespace weft::runtime {

/// The build records by key, in parts by the uppermost bits of the keys' hashes. A part has a lock while the table is built. Then
/// nothing changes any more.
template <Encodable K, Encodable B>
class SharedJoinTable final : public SharedTable {
 public:
  using Matches = JoinMatches<B>;
  using Table = AggregationTable<K, Matches>;

  SharedJoinTable(MemoryPool& pool, PagePool& pages, const SharedInput& input)
      : SharedTable(input), part_bits_(part_bits(input.bytes)) {
    for (std::size_t i = 0; i < std::size_t{1} << part_bits_; ++i) parts_.push_back(std::make_unique<Part>(pool, pages));
  }
  static std::unique_ptr<SharedTable> make(MemoryPool& pool, PagePool& pages, const SharedInput& input) {
    return std::unique_ptr<SharedTable>(new SharedJoinTable(pool, pages, input));
  }

  std::size_t parts() const { return parts_.size(); }
  std::size_t part_of(std::uint64_t hash) const { return hash >> 1 >> (63 - part_bits_); }

  /// About as many records will be added. Does nothing when that is known already.
  void expect(std::uint64_t records) {
    if (expected_.exchange(true)) return;
    const std::uint64_t each = records / parts_.size();
    for (auto& part : parts_) {
      const std::lock_guard lock(part->mutex);
      part->table.reserve(each + each / 64);
    }
  }

  /// Adds encoded pairs whose keys belong to the part. False: memory is refused.
  bool add(std::size_t number, std::span<const ByteView> records, bool keep_values) {
    Part& part = *parts_[number];
    const std::lock_guard lock(part.mutex);
    for (const ByteView record : records) {
      Decoder in(record);
      Table::visit_kind(part.table.ref(Codec<K>::decode(in)), [&](const auto& kind) { part.table.prefetch(kind); });
    }
    for (const ByteView record : records) {
      Decoder in(record);
      const K key = Codec<K>::decode(in);
      if (!hold_match(part.table, part.arena, key, Codec<B>::decode(in), keep_values, part.scratch)) return false;
    }
    return true;
  }

  /// When it is complete.
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& part : parts_) bytes += part->account.used();
    return bytes;
  }

  // As PendingUpserts needs them, and for readers of a complete table.
  using Ref = typename Table::Ref;
  using Kinds = typename Table::Kinds;
  template <class Key>
  using KindRef = typename Table::template KindRef<Key>;
  template <class Visit>
  static auto visit_kind(const Ref& ref, Visit&& visit) {
    return Table::visit_kind(ref, visit);
  }
  template <class Key>
  [[gnu::always_inline]] void prefetch(const KindRef<Key>& ref) const {
    parts_[part_of(ref.hash)]->table.prefetch(ref);
  }
  template <class Key>
  [[gnu::always_inline]] void prefetch_key(const KindRef<Key>& ref) const {
    parts_[part_of(ref.hash)]->table.prefetch_key(ref);
  }
  /// Null when the key is not there.
  template <class Key>
  const Matches* find(const KindRef<Key>& ref) const {
    return parts_[part_of(ref.hash)]->table.find(ref);
  }

 private:
  static constexpr std::size_t kChunk = 64 << 10;  // bytes in which a part takes memory
  // As many parts that several threads seldom meet in one, but each of several huge pages: with others a probe misses in the TLB,
  // too.
  static constexpr std::uint64_t kPartBytes = 4 << 20;
  static constexpr unsigned kMostPartBits = 6;
  static unsigned part_bits(std::uint64_t bytes) {
    return std::min(kMostPartBits, static_cast<unsigned>(std::bit_width(bytes / kPartBytes)));
  }

  struct Part {
    Part(MemoryPool& pool, PagePool& pages)
        : grant(2 * pool.limit(), &pool),  // an account takes half of it
          context(context_of(grant, pages)),
          account(context, "join"),
          arena(account, kChunk),
          table(account, typename Table::PartOf{kChunk}) {}
    static OperatorContext context_of(MemoryGrant& grant, PagePool& pages) {
      OperatorContext context;
      context.memory = &grant;
      context.pages = &pages;
      return context;
    }

    MemoryGrant grant;
    OperatorContext context;
    Account account;
    Arena arena;
    Table table;
    Encoder scratch;
    std::mutex mutex;
  };

  void release() override {
    for (auto& part : parts_) {
      part->table.release();
      part->arena.release();
    }
  }

  const unsigned part_bits_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::atomic<bool> expected_{false};
};

/// Adds one piece of the build side for a task. When it goes before done() was called, the table is spoiled.
template <Encodable K, Encodable B>
class JoinBuilder {
 public:
  using Table = SharedJoinTable<K, B>;
  JoinBuilder(Table& table, const JoinRules& rules) try
      : table_(table), keep_values_(rules.needs_build_values()), waiting_(table.parts()) {
  } catch (...) {  // no memory, say
    table.spoil();
  }
  ~JoinBuilder() {
    if (!done_) table_.spoil();
  }
  JoinBuilder(const JoinBuilder&) = delete;
  JoinBuilder& operator=(const JoinBuilder&) = delete;

  /// Adds all of these encoded pairs. They are not looked at afterwards.
  void add(ByteView records) {
    for (Decoder in(records); !in.empty();) {
      const std::byte* const begin = in.rest().data();
      const std::size_t part = table_.part_of(key_hash(Codec<K>::decode(in)));
      static_cast<void>(Codec<B>::decode(in));
      if (waiting_.add(part, {begin, in.rest().data()})) insert(part);
    }
    for (std::size_t part = 0; part < table_.parts(); ++part) insert(part);
  }
  void done() {
    done_ = true;
    table_.added();
  }

 private:
  void insert(std::size_t part) {
    const auto records = waiting_.take(part);
    if (records.empty() || table_.state() != SharedTable::State::building) return;
    if (!table_.add(part, records, keep_values_)) table_.refuse();
  }

  Table& table_;
  const bool keep_values_;
  bool done_ = false;
  WaitingRecords waiting_;
};

/// Joins the streamed records of one task with a complete table. emit(const K&, const B*, const P*) as of Joiner; it may be called
/// when some later records have been probed, and not in their order. Only for rules that need nothing of the build records but
/// their partners.
template <Encodable K, Encodable B, Encodable P>
class JoinProbe {
 public:
  using Table = SharedJoinTable<K, B>;
  /// `table` may be null if nothing is probed. `offset`: where the source is in its file; during emit() it is where it was when the
  /// record was probed.
  JoinProbe(OperatorContext& context, const JoinRules& rules, const Table* table, std::uint64_t& offset)
      : rules_(rules), table_(table), offset_(offset), poll_(context) {}

  template <class Emit>
  void probe(const K& key, const P& value, Emit&& emit) {
    const typename Table::Ref ref = Form::ref(key, scratch_);
    if constexpr (kWaits) {
      Waiting waiting;
      waiting.offset = offset_;
      store_fixed(value, waiting.value.data());
      pending_.push(*table_, ref, waiting, Match<Emit>{this, emit});
    } else {
      poll_();
      Table::visit_kind(ref, [&](const auto& kind) { match(kind, key, value, emit); });
    }
  }

  /// Emits all that waits. More may be probed afterwards.
  template <class Emit>
  void finish(Emit&& emit) {
    if constexpr (kWaits) pending_.drain(Match<Emit>{this, emit});
  }

 private:
  using Form = KeyForm<K>;
  using Matches = typename Table::Matches;

  // A record waits while what it will look at is fetched into the cache. Its key is in what waits anyway.
  static constexpr bool kWaits = FixedSize<P> && kFixedBytes<P> <= 32;
  struct Waiting {
    std::uint64_t offset;
    std::array<std::byte, kWaits ? kFixedBytes<P> : 0> value;
  };
  struct Nothing {};
  using Pending = std::conditional_t<kWaits, PendingUpserts<K, Matches, Waiting, const Table, true>, Nothing>;
  template <class Emit>
  struct Match {
    JoinProbe* self;
    Emit& emit;
    void expect(std::size_t records) const { self->poll_(static_cast<std::uint32_t>(records)); }
    template <class Kind>
    void operator()(const Kind& kind, const Waiting& waiting) const {
      const K key = Form::load(kind.key.data(), kind.key.size());
      const std::uint64_t now = std::exchange(self->offset_, waiting.offset);
      self->match(kind, key, load_fixed<P>(waiting.value.data()), emit);
      self->offset_ = now;
    }
  };

  template <class Kind, class Emit>
  void match(const Kind& kind, const K& key, const P& value, Emit& emit) {
    const Matches* matches = table_->find(kind);
    if (matches == nullptr) {
      if (rules_.lone_probe) emit(key, static_cast<const B*>(nullptr), &value);
    } else if (rules_.pairs) {
      bool more = false;
      matches->for_each([&](const B& build) {
        if (std::exchange(more, true)) poll_();
        emit(key, &build, &value);
      });
    } else if (rules_.met_probe) {
      emit(key, static_cast<const B*>(nullptr), &value);
    }
  }

  const JoinRules rules_;
  const Table* table_;
  std::uint64_t& offset_;
  StopPoll poll_;
  Encoder scratch_;
  [[no_unique_address]] Pending pending_;
};

}  // namespace weft::runtime
