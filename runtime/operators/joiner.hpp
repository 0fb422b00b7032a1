// Joins two sides by key. The build side is held in a hash table while it fits the grant; otherwise both sides are sorted
// (spilling) and merged. Which side is built is the caller's choice: the smaller one.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "base/codec.hpp"
#include "runtime/operators/aggregation_table.hpp"
#include "runtime/operators/cross_product.hpp"
#include "runtime/operators/fault.hpp"
#include "runtime/operators/join_kind.hpp"
#include "runtime/operators/join_matches.hpp"
#include "runtime/operators/keyed_sorter.hpp"
#include "runtime/operators/pending_upserts.hpp"

namespace weft::runtime {

/// Protocol: every build(), then every probe(), then finish(). emit(const K&, const B*, const P*): a null pointer stands for the
/// side that is missing or not asked for. Views are valid during the call.
template <Encodable K, Encodable B, Encodable P>
class Joiner {
 public:
  /// `hint` may be null.
  Joiner(OperatorContext& context, JoinRules rules, TableHint* hint = nullptr)
      : rules_(rules),
        context_(context),
        account_(context, "join"),
        table_(account_),
        arena_(account_),
        poll_(context),
        hint_(hint) {
    table_.reserve(hint_);
  }

  void build(const K& key, const B& value) {
    poll_();
    if (!sides_) {
      // Without its value a record is kept where the keys are enough.
      if (hold_match(table_, arena_, key, value, rules_.needs_build_values(), scratch_)) [[likely]]
        return;
      sort_instead();
    }
    sides_->build.add(key, value);
  }

  /// May emit at once (the build side is in memory), later, or at the end.
  template <class Emit>
  void probe(const K& key, const P& value, Emit&& emit) {
    if (sides_) [[unlikely]]
      return add_sorted_probe(key, value);
    const Ref ref = table_.ref(key);
    if constexpr (kWaits) {
      Waiting waiting{key, {}};
      store_fixed(value, waiting.value.data());
      pending_.push(table_, ref, waiting, Match<Emit>{this, emit});
    } else {
      poll_();
      match(ref, key, value, emit);
    }
  }

  /// Emits what waits only for the cache, so that it is emitted before more is probed.
  template <class Emit>
  void emit_waiting(Emit&& emit) {
    if constexpr (kWaits) pending_.drain(Match<Emit>{this, emit});
  }

  template <class Emit>
  void finish(Emit&& emit) {
    if (sides_) return merge(emit);
    if constexpr (kWaits) pending_.drain(Match<Emit>{this, emit});
    if (rules_.lone_build || rules_.met_build) {
      table_.for_each([&](typename Table::Entry entry) {
        const Matches& matches = entry.acc();
        if (matches.met() ? !rules_.met_build : !rules_.lone_build) return;
        const K key = entry.key();
        matches.for_each([&](const B& build) {
          poll_();
          emit(key, &build, kNoProbe);
        });
      });
    }
    table_.tell(hint_);
    table_.release();
    arena_.release();
  }

  /// The build side was too large for the hash table.
  bool sorts() const { return sides_.has_value(); }

 private:
  using Matches = JoinMatches<B>;
  using Table = AggregationTable<K, Matches>;
  using Ref = typename Table::Ref;
  struct Sides {
    explicit Sides(OperatorContext& context) : build(context, "join"), probe(context, "join") {}
    KeyedSorter<K> build;
    KeyedSorter<K> probe;
    bool build_complete = false;
  };

  // A probe waits while what it will look at is fetched into the cache. Only plain records can wait cheaply.
  static constexpr bool kWaits = ScalarKey<K> && FixedSize<P> && kFixedBytes<P> <= 24;
  struct Waiting {
    K key;
    std::array<std::byte, kWaits ? kFixedBytes<P> : 0> value;
  };
  struct Nothing {};
  using Pending = std::conditional_t<kWaits, PendingUpserts<K, Matches, Waiting>, Nothing>;
  template <class Emit>
  struct Match {
    Joiner* self;
    Emit& emit;
    void expect(std::size_t records) const { self->poll_(static_cast<std::uint32_t>(records)); }
    template <class Kind>
    void operator()(const Kind& kind, const Waiting& waiting) const {
      self->match(kind, waiting.key, load_fixed<P>(waiting.value.data()), emit);
    }
  };

  static constexpr const B* kNoBuild = nullptr;
  static constexpr const P* kNoProbe = nullptr;

  template <class T>
  static T read(ByteView bytes) {
    Decoder in(bytes);
    return Codec<T>::decode(in);
  }

  template <class AnyRef, class Emit>
  void match(const AnyRef& ref, const K& key, const P& value, Emit& emit) {
    Matches* matches = table_.find(ref);
    if (matches == nullptr) {
      if (rules_.lone_probe) emit(key, kNoBuild, &value);
      return;
    }
    if (rules_.lone_build || rules_.met_build) matches->meet();  // otherwise nobody asks
    if (rules_.pairs) {
      bool more = false;
      matches->for_each([&](const B& build) {
        if (std::exchange(more, true)) poll_();
        emit(key, &build, &value);
      });
    } else if (rules_.met_probe) {
      emit(key, kNoBuild, &value);
    }
  }

  /// Moves the build side from the table to a sorter.
  void sort_instead() {
    sides_.emplace(context_);
    table_.for_each([&](typename Table::Entry entry) {
      poll_();
      const K key = entry.key();
      if (!rules_.needs_build_values()) return sides_->build.add_encoded(key, ByteView());
      entry.acc().for_each_encoded([&](ByteView value) { sides_->build.add_encoded(key, value); });
    });
    table_.release();
    arena_.release();
  }

  void add_sorted_probe(const K& key, const P& value) {
    poll_();
    if (!std::exchange(sides_->build_complete, true)) sides_->build.spill_all();
    sides_->probe.add(key, value);
  }

  template <class Emit>
  void merge(Emit& emit) {
    KeyedSorter<K>& build = sides_->build;
    KeyedSorter<K>& probe = sides_->probe;
    build.finish();
    probe.finish();
    CrossProduct product(context_);
    bool more_build = build.next_group();
    bool more_probe = probe.next_group();
    while (more_build || more_probe) {
      const int order = !more_probe ? -1 : !more_build ? 1 : build.compare_group(probe);
      if (order == 0 && rules_.pairs) {
        emit_pairs(product, build, probe, emit);
      } else {
        if (order <= 0 && (order == 0 ? rules_.met_build : rules_.lone_build)) emit_build(build, emit);
        if (order >= 0 && (order == 0 ? rules_.met_probe : rules_.lone_probe)) emit_probe(probe, emit);
      }
      if (order <= 0) more_build = build.next_group();
      if (order >= 0) more_probe = probe.next_group();
    }
  }

  template <class Emit>
  void emit_build(KeyedSorter<K>& group, Emit& emit) {
    const K key = group.key();
    for (ByteView bytes; group.next(bytes);) {
      const B build = read<B>(bytes);
      emit(key, &build, kNoProbe);
    }
  }
  template <class Emit>
  void emit_probe(KeyedSorter<K>& group, Emit& emit) {
    const K key = group.key();
    for (ByteView bytes; group.next(bytes);) {
      const P probe = read<P>(bytes);
      emit(key, kNoBuild, &probe);
    }
  }
  template <class Emit>
  void emit_pairs(CrossProduct& product, KeyedSorter<K>& build, KeyedSorter<K>& probe, Emit& emit) {
    const K key = build.key();
    product.run(probe, build, [&](ByteView probe_bytes, ByteView build_bytes) {
      const P p = read<P>(probe_bytes);
      const B b = read<B>(build_bytes);
      emit(key, &b, &p);
    });
  }

  JoinRules rules_;
  OperatorContext& context_;
  Account account_;
  Table table_;
  Arena arena_;
  [[no_unique_address]] Pending pending_;
  StopPoll poll_;
  TableHint* hint_;
  Encoder scratch_;
  std::optional<Sides> sides_;
};

}  // namespace weft::runtime
